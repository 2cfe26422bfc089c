"""A node from which nothing comes is lost, whatever carries the connection; one that works is not."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncssh
import pytest
from testing.throwaway_sshd import SshServer, start_server
from testing.waiting import pass_time
from testing.wires import Wire

from railgauge.core.errors import ConnectionLost
from railgauge.core.model import Command, Node
from railgauge.transport import Session, silence, ssh, wires
from railgauge.transport.registry import connect
from railgauge.transport.silence import Silence

BEAT_S, LIMIT_S = 0.2, 1.0
LONG_S = 2 * LIMIT_S  # how long a tool prints nothing


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "BEAT_S", BEAT_S)
    monkeypatch.setattr(silence, "LIMIT_S", LIMIT_S)
    monkeypatch.setattr(wires, "LOOK_S", 0.1)


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


Reach = Callable[[], Session]


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


def test_a_node_is_lost_before_a_command_is_sent(session: Session, wire: Wire) -> None:
    wire.hold()
    began = time.monotonic()
    with pytest.raises(ConnectionLost, match=rf"nothing has come from 127.0.0.1 port {wire.port} "):
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
