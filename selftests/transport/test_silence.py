"""A silent node is lost with every kind of connection; a working node is not."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import asyncssh
import pytest
from testing.throwaway_sshd import SshServer, start_server
from testing.waiting import pass_time, wait_until
from testing.wires import Wire

from railgauge.core.errors import AuthenticationFailed, ConnectionLost
from railgauge.core.model import Command, Node
from railgauge.transport import Session, agent, carriers, local, shell, silence
from railgauge.transport.job import LinkSession
from railgauge.transport.local import LocalPipes, ProgramLink, started
from railgauge.transport.login import silent_hop
from railgauge.transport.registry import connect
from railgauge.transport.tag import Tag

pytestmark = pytest.mark.usefixtures("impatient")

BEAT_S, LIMIT_S = 0.2, 1.5
LONG_S = 2 * LIMIT_S  # how long a tool prints nothing


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "BEAT_S", BEAT_S)
    monkeypatch.setattr(silence, "LIMIT_S", LIMIT_S)
    monkeypatch.setattr(carriers, "LOOK_S", 0.1)
    monkeypatch.setattr(local, "_LOOK_S", 0.1)
    monkeypatch.setattr(shell, "_BEATS_FROM_S", 0.0)


@pytest.fixture
def wire(ssh_server: SshServer) -> Iterator[Wire]:
    """What leads to the node; a jump host is on the near side of it."""
    wire = Wire(("127.0.0.1", ssh_server.port))
    wire.open()
    public = ssh_server.host_key.export_public_key().decode()
    with ssh_server.known_hosts.open("a") as file:
        file.write(f"[127.0.0.1]:{wire.port} {public}\n")
    yield wire
    wire.release()
    wire.close()


@pytest.fixture
def jump(tmp_path: Path, ssh_server: SshServer) -> Iterator[SshServer]:
    folder = tmp_path / "jump"
    folder.mkdir()
    server = start_server(folder)
    keys = asyncssh.read_authorized_keys(str(ssh_server.folder / "authorized_keys"))
    server.on_loop(lambda: server.acceptor.update(authorized_client_keys=keys))
    with ssh_server.known_hosts.open("a") as file:
        file.write(server.known_hosts.read_text())
    yield server
    server.vanish()
    server.stop()


def directly(ssh_server: SshServer, wire: Wire, _: SshServer) -> Node:
    return ssh_server.node(port=wire.port)


def behind_a_jump_host(ssh_server: SshServer, wire: Wire, jump: SshServer) -> Node:
    return ssh_server.node(port=wire.port, jump=f"tester@127.0.0.1:{jump.port}")


RELAY = """
import os, socket, sys, threading
far = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def back():
    while data := far.recv(65536):
        os.write(1, data)
threading.Thread(target=back, daemon=True).start()
while data := os.read(0, 65536):
    far.sendall(data)
"""


def by_a_proxy_command(ssh_server: SshServer, wire: Wire, _: SshServer) -> Node:
    line = shlex.join([sys.executable, "-c", RELAY, str(wire.port)])
    program = ssh_server.folder / "relay"
    program.write_text(f"#!/bin/sh\nexec {line}\n")
    program.chmod(0o755)
    config = ssh_server.folder / "config"
    config.write_text(f"Host *\n  ProxyCommand {program} && exit\n")
    return ssh_server.node(port=wire.port)


WAYS = (directly, behind_a_jump_host, by_a_proxy_command)


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def session(
    request: pytest.FixtureRequest, ssh_server: SshServer, wire: Wire, jump: SshServer
) -> Iterator[Session]:
    session = connect("ssh", request.param(ssh_server, wire, jump))
    yield session
    wire.release()
    session.close()


def within(limit_s: float, began: float) -> bool:
    return time.monotonic() - began < limit_s


def test_a_node_is_lost_while_a_command_runs(session: Session, wire: Wire) -> None:
    running = session.start(Command("n01", ("sh", "-c", "echo begun; sleep 60")))
    assert running.first_line(10) == "begun"
    began = time.monotonic()
    wire.hold()
    lost = running.wait(60)
    assert within(LIMIT_S + 5, began)
    assert (lost.exit_code, lost.error, lost.stdout) == (None, "connection-lost", "begun\n")


def test_a_node_is_lost_before_a_command_is_sent(
    session: Session, wire: Wire, jump: SshServer
) -> None:
    """The jump host of these tests, which is this process, sometimes answers no sooner."""
    wire.hold()
    began = time.monotonic()
    ports = f"({wire.port}|{jump.port})"
    with pytest.raises(ConnectionLost, match=rf"nothing has come from 127.0.0.1 port {ports} "):
        session.run(Command("n01", ("true",)))
    assert within(LIMIT_S + 5, began)


def test_a_tool_that_prints_nothing_for_long_loses_no_connection(session: Session) -> None:
    done = session.run(Command("n01", ("sh", "-c", f"sleep {LONG_S}; echo done")))
    assert (done.exit_code, done.error, done.stdout) == (0, "", "done\n")


def test_a_network_that_is_away_for_a_moment_loses_nothing(session: Session, wire: Wire) -> None:
    running = session.start(Command("n01", ("sh", "-c", f"sleep {LONG_S}; echo done")))
    for _ in range(3):
        wire.hold()
        pass_time(LIMIT_S / 2, "shorter than the silence that is too long")
        wire.release()
        pass_time(LIMIT_S / 4, "in which the node answers")
    assert running.wait(60).stdout == "done\n"


def test_an_agent_that_never_answers_is_not_waited_for(
    ssh_server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like a forwarded agent of a machine that sleeps."""
    monkeypatch.setattr(agent, "_ANSWER_LIMIT_S", 0.3)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sleeping:
        sleeping.bind(str(tmp_path / "agent"))
        sleeping.listen()
        connect("ssh", ssh_server.node(agent=True)).close()
        monkeypatch.setenv("HOME", str(tmp_path))
        with pytest.raises(AuthenticationFailed, match="SSH_AUTH_SOCK does not answer"):
            connect("ssh", ssh_server.node(agent=True, key=None))


# --- a program that runs commands ---


@pytest.fixture
def there() -> Iterator[Session]:
    session = connect("exec", Node("n01", "x", "x", exec=("env", "-u", "SHLVL")), Tag("r", "main"))
    yield session
    session.close()


@contextmanager
def frozen(group: int) -> Iterator[None]:
    """Stop all processes of a command, as if their machine could not be reached any more."""
    os.killpg(group, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def test_a_node_behind_a_program_is_lost(there: Session) -> None:
    running = there.start(Command("n01", ("sh", "-c", "echo $(ps -o pgid= $$); sleep 60")))
    other = there.start(Command("n01", ("sleep", "60")))
    with frozen(int(running.first_line(10))):
        began = time.monotonic()
        lost = running.wait(60)
        assert (lost.exit_code, lost.error) == (None, "connection-lost")
        assert there.lost == f"nothing has come from the node for {LIMIT_S:g} s"
        with pytest.raises(ConnectionLost, match="nothing has come from the node"):
            there.run(Command("n01", ("true",)))
        assert other.stop().error == "connection-lost", "it cannot be ended there"
        assert within(LIMIT_S + 5, began)


def test_a_program_that_never_answers_is_lost() -> None:
    """Nothing of the command runs there any more, so nothing has to be ended."""
    link = ProgramLink(
        "n01", "by sleep", lambda sent, lose: LocalPipes(started("sleep", "60"), "", lose=lose)
    )
    session = LinkSession(Node("n01", "x", "x"), link)
    began = time.monotonic()
    assert session.run(Command("n01", ("true",))).error == "connection-lost"
    assert within(LIMIT_S + 5, began)


def test_a_silent_tool_behind_a_program_shows_that_it_runs(there: Session) -> None:
    script = f"echo begun; sleep {LONG_S}; echo bad >&2; exit 3"
    done = there.run(Command("n01", ("sh", "-c", script)))
    assert (done.exit_code, done.error) == (3, "")
    assert (done.stdout, done.stderr) == ("begun\n", "bad\n")


RUN = f"""
from railgauge.core.model import Command, Node
from railgauge.transport import shell, silence
from railgauge.transport.registry import connect
silence.BEAT_S, silence.LIMIT_S, shell._BEATS_FROM_S = {BEAT_S}, {LIMIT_S}, 0.0
running = connect("exec", Node("n01", "x", "x", exec=("env",))).start(
    Command("n01", ("sh", "-c", "echo begun; sleep {2 * LONG_S}; echo done")))
print(running.first_line(20), flush=True)
print(running.wait(60).stdout.split()[-1], flush=True)
"""


def test_a_run_that_was_stopped_for_long_blames_no_node() -> None:
    with subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        assert run.stdout.readline() == "begun\n"
        run.send_signal(signal.SIGSTOP)
        pass_time(LONG_S, "longer than the silence that is too long")
        run.send_signal(signal.SIGCONT)
        assert run.stdout.read() == "done\n"


@pytest.mark.parametrize("end", ["exit 0", "sleep 60", "trap '' TERM; sleep 60; sleep 60"])
def test_nothing_that_shows_that_a_command_runs_outlives_it(there: Session, end: str) -> None:
    running = there.start(Command("n01", ("sh", "-c", f"sleep {3 * BEAT_S}; echo up; {end}")))
    running.first_line(10)
    pass_time(BEAT_S, "it may be the end of the command")
    assert running.stop().error == ""
    wait_until(lambda: not tagged("RAILGAUGE_RUN=r/n01/main/"), 10, "the end of all processes")


def tagged(tag: str) -> list[str]:
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if tag.encode() in environ.read_bytes():
                found.append(environ.parent.joinpath("cmdline").read_text())
    return found


@pytest.mark.parametrize(("missed", "named"), [(True, "jump port 22"), (False, "n01 port 22")])
def test_the_hop_that_is_silent_is_named_though_a_later_one_ended_first(
    missed: bool, named: str
) -> None:
    jump = hop("jump", SimpleNamespace(is_silent=False, has_missed_an_answer=missed))
    node = hop("n01", SimpleNamespace(is_silent=True, has_missed_an_answer=True))
    assert silent_hop((jump, node)) == named


def hop(host: str, sock: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(host=host, port=22, transport=SimpleNamespace(sock=sock))
