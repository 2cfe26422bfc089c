"""``transport: exec`` over the ``ssh`` of the system, as in the example hostfile.

The host shows a certificate, which the transport ``ssh`` cannot check.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
import yaml
from testing.certified_sshd import CertifiedServer, certified_server
from testing.places import ROOT
from testing.standing_sshd import sshd
from testing.waiting import wait_until

from railgauge.config.reaching import BY_SSH
from railgauge.core.errors import ConnectionLost, NodeUnreachable
from railgauge.core.model import Command, Node
from railgauge.transport.registry import connect

# Options of ssh that come first count; these notice a silent node within two seconds.
IMPATIENT = ("-oServerAliveInterval=1", "-oServerAliveCountMax=1")


@pytest.fixture(autouse=True)
def openssh(cannot_run: Callable[[str], NoReturn]) -> None:
    if sshd() is None:
        cannot_run("sshd is not installed")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CertifiedServer]:
    with certified_server(tmp_path, "MaxSessions 2") as running:
        yield running


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which the folders of sockets are made; its path is as short as they need."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def echo(text: str) -> Command:
    return Command("gpu01", ("echo", text))


def test_a_certificate_of_a_known_authority_is_accepted(server: CertifiedServer) -> None:
    session = connect("exec", server.node())
    assert session.run(echo("it's here; $HOME")).stdout == "it's here; $HOME\n"
    session.close()


def test_what_only_root_may_runs_as_root(server: CertifiedServer) -> None:
    session = connect("exec", replace(server.node(), become=("env", "WHO=a'b")))
    done = session.run(Command("gpu01", ("sh", "-c", 'echo "$WHO"'), as_root=True))
    assert (done.stdout, done.exit_code) == ("a'b\n", 0)
    session.close()


@pytest.mark.parametrize(
    ("certificate", "authority", "says"),
    [
        ({}, "other-ca", "No ED25519 host key is known for gpu07.example"),
        ({"valid": "-2h:-1h"}, "ca", "Certificate invalid: expired"),
        ({"principal": "gpu08.example"}, "ca", "name is not a listed principal"),
    ],
)
def test_any_other_certificate_is_refused_in_one_line(
    tmp_path: Path, certificate: dict[str, str], authority: str, says: str
) -> None:
    with certified_server(tmp_path, **certificate) as server:
        server.trust(authority)
        with pytest.raises(NodeUnreachable, match=says) as caught:
            connect("exec", server.node())
    assert "Host key verification failed" in caught.value.what
    assert "\n" not in str(caught.value)
    assert "-oControlPath=none" in caught.value.remedy, "there is no folder for it any more"


def test_all_commands_go_over_one_login(server: CertifiedServer) -> None:
    session = connect("exec", server.node())
    ask = Command("gpu01", ("sh", "-c", "echo $SSH_CONNECTION"))
    assert len({session.run(ask).stdout for _ in range(3)}) == 1
    session.close()


def test_a_command_beyond_the_sessions_of_a_login_logs_in(server: CertifiedServer) -> None:
    """sshd refuses what MaxSessions (2 here) does not allow; the first call is one of them."""
    session = connect("exec", server.node())
    wait = Command("gpu01", ("sh", "-c", "echo $SSH_CONNECTION; exec sleep 30"))
    running = [session.start(wait) for _ in range(3)]
    logins = [one.first_line(20) for one in running]
    done = session.run(Command("gpu01", ("sh", "-c", "echo out; echo err >&2; exit 3")))
    assert (done.exit_code, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert len(set(logins)) == 3, "one shares the login of the first call, two log in themselves"
    session.close()


def masters(folder: Path) -> list[str]:
    """Processes of ssh that name a socket below ``folder``."""
    looked = subprocess.run(
        ["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True
    )
    return [line for line in looked.stdout.splitlines() if f"ControlPath={folder}/" in line]


def test_a_closed_connection_leaves_nothing(server: CertifiedServer, sockets: Path) -> None:
    session = connect("exec", server.node())
    session.start(Command("gpu01", ("sleep", "30")))
    assert masters(sockets)
    assert list(sockets.glob("railgauge-*/s"))
    session.close()
    wait_until(lambda: not masters(sockets), 10, "the end of every ssh")
    assert list(sockets.iterdir()) == []


def test_a_refused_connection_leaves_nothing(server: CertifiedServer, sockets: Path) -> None:
    server.trust("other-ca")
    with pytest.raises(NodeUnreachable):
        connect("exec", server.node())
    assert list(sockets.iterdir()) == []


@pytest.mark.parametrize("name", ["d" * 90, "a b", "100%h"])
def test_the_path_of_the_socket_fits(
    server: CertifiedServer, sockets: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    deep = sockets / name
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    session = connect("exec", server.node())
    assert session.run(echo("reached")).stdout == "reached\n"
    session.close()
    assert list(deep.iterdir()) == []


def test_a_missing_place_for_the_socket_is_reported(
    server: CertifiedServer, sockets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(sockets / "none"))
    with pytest.raises(NodeUnreachable, match=r"no folder for the socket of ssh: .*TMPDIR"):
        connect("exec", server.node())


MAIN = """
import json, sys, time
from railgauge.core.model import Command, Node
from railgauge.leases.holder import Holder, hold_command
from railgauge.transport.registry import connect
from railgauge.transport.tag import Tag
node = Node("n01", "x", "x", exec=tuple(json.loads(sys.argv[1])))
session = connect("exec", node, Tag("r1", "main"))
try:
    holder = Holder("ana", "login", "r1", "now", "r1")
    lease = session.start(hold_command("n01", sys.argv[2], holder, "r1", 0.5))
    assert lease.first_line(20).startswith("held ")
    session.start(Command("n01", ("sh", "-c", "echo there; exec sleep 600"))).first_line(20)
    print("up", flush=True)
    time.sleep(60)
finally:
    session.close()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_or_killed_process_leaves_no_ssh(
    server: CertifiedServer, sockets: Path, number: signal.Signals
) -> None:
    (sockets / "tmp").mkdir(mode=0o1777)
    (sockets / "tmp").chmod(0o1777)
    argv = [sys.executable, "-c", MAIN, json.dumps(server.node().exec), str(sockets)]
    environment = {**os.environ, "TMPDIR": str(sockets)}
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == b"up\n"
            assert masters(sockets)
            process.send_signal(number)
            process.wait(20)
        finally:
            process.kill()
    wait_until(lambda: not list(sockets.glob("*/s")), 20, "the end of the socket")
    wait_until(lambda: not masters(sockets), 20, "the end of every ssh")


def test_a_program_that_makes_no_socket_is_reported(server: CertifiedServer) -> None:
    with pytest.raises(NodeUnreachable, match="made no socket"):
        connect("exec", server.node("-oControlMaster=no"))


@pytest.mark.parametrize(
    ("number", "says"), [(signal.SIGSTOP, "not responding"), (signal.SIGKILL, "by remote host")]
)
def test_a_lost_node_is_named(server: CertifiedServer, number: signal.Signals, says: str) -> None:
    session = connect("exec", server.node(*IMPATIENT))
    running = session.start(Command("gpu01", ("sh", "-c", "echo there; exec sleep 60")))
    running.first_line(20)
    lost = _below(server.process.pid)
    _send(number, lost)
    try:
        assert running.wait(15).error == "connection-lost"
        with pytest.raises(ConnectionLost, match=says):
            session.run(echo("again"))
    finally:
        _send(signal.SIGKILL, lost)
    session.close()


def _send(number: signal.Signals, pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _below(pid: int) -> list[int]:
    """The process that sshd has made for a connection, and those that it has made."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for child in children for one in (int(child), *_below(int(child)))]


def test_the_example_notices_a_silent_node_within_a_minute(server: CertifiedServer) -> None:
    words = dict(word[2:].split("=") for word in server.node().exec if word.startswith("-oS"))
    assert int(words["ServerAliveInterval"]) * int(words["ServerAliveCountMax"]) <= 45
    assert "-oConnectTimeout=10" in server.node().exec


def test_the_example_is_the_one_of_its_page_and_of_the_check() -> None:
    example = (ROOT / "hostfiles" / "example-openssh.yaml").read_text()
    found = yaml.safe_load(example)["exec"]
    assert found == [*BY_SSH, "{address}", "{line}"]
    words = example[example.index("transport:") : example.index("nodes:")]
    assert f"```yaml\n{words}```" in (ROOT / "docs" / "hostfile.md").read_text()


def test_a_program_that_hands_its_words_to_a_shell_needs_the_line(server: CertifiedServer) -> None:
    words = tuple(word for word in server.node().exec if word != "{line}")
    with pytest.raises(NodeUnreachable, match=r"\{line\} where the line belongs"):
        connect("exec", Node("gpu01", "x", "x", exec=words))
