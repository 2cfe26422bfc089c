"""Specific to ssh: login, host keys, one connection for all commands, and its loss."""

from __future__ import annotations

import fcntl
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import asyncssh
import paramiko
import pytest
from testing.throwaway_sshd import SshServer, start_server
from testing.waiting import pass_time, stays

from railgauge.core.errors import (
    AuthenticationFailed,
    BadInput,
    ConnectionLost,
    HostKeyRejected,
    NodeUnreachable,
    RailgaugeError,
)
from railgauge.core.model import Command, Node
from railgauge.transport import carriers, host_keys, login
from railgauge.transport.host_keys import AcceptNew, Expected
from railgauge.transport.login import open_hops
from railgauge.transport.ssh import SshLink, connect

TRUE = Command("n01", ("true",))


def new_key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


def refusal(node: Node, kind: type[RailgaugeError]) -> RailgaugeError:
    """The error of connecting: one line with the node and a remedy."""
    with pytest.raises(kind) as caught:
        connect(node)
    error = caught.value
    assert error.where == node.name
    assert error.remedy
    assert "\n" not in str(error)
    return error


# --- logging in ---


def test_wrong_key_is_refused(ssh_server: SshServer, tmp_path: Path) -> None:
    new_key().write_private_key(str(tmp_path / "other"))
    error = refusal(ssh_server.node(key=str(tmp_path / "other")), AuthenticationFailed)
    assert f"ssh -i {tmp_path / 'other'} -p {ssh_server.port} tester@127.0.0.1" in error.remedy


def test_no_key_is_refused(
    ssh_server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    refusal(ssh_server.node(key=None), AuthenticationFailed)


def test_missing_key_file_is_named(ssh_server: SshServer, tmp_path: Path) -> None:
    error = refusal(ssh_server.node(key=str(tmp_path / "none")), AuthenticationFailed)
    assert str(tmp_path / "none") in error.what


def test_file_that_is_no_key_is_named(ssh_server: SshServer) -> None:
    public = ssh_server.folder / "authorized_keys"
    assert str(public) in refusal(ssh_server.node(key=str(public)), AuthenticationFailed).what


@pytest.mark.parametrize("agent", [False, True])
def test_encrypted_key_asks_for_the_agent(
    ssh_server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: bool
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    new_key().write_private_key(str(tmp_path / "locked"), passphrase="secret")
    node = ssh_server.node(key=str(tmp_path / "locked"), agent=agent)
    error = refusal(node, AuthenticationFailed)
    assert "encrypted" in str(error)
    assert f"ssh-add {tmp_path / 'locked'}" in error.remedy


def test_ssh_configuration_fills_in_what_the_hostfile_leaves_out(ssh_server: SshServer) -> None:
    (ssh_server.folder / "config").write_text(
        f"Host gpu*\n  HostName 127.0.0.1\n  Port {ssh_server.port}\n  User tester\n"
        f"  IdentityFile {ssh_server.folder / 'client'}\n"
        f"  UserKnownHostsFile {ssh_server.known_hosts}\n"
    )
    settings = ssh_server.settings(user=None, port=None, key=None, known_hosts=None)
    session = connect(Node("n01", "gpu7", "gpu7", settings))
    assert session.run(TRUE).exit_code == 0
    session.close()


def test_missing_ssh_configuration_is_bad_input(ssh_server: SshServer, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="ssh configuration"):
        connect(ssh_server.node(config=str(tmp_path / "no-config")))


def test_a_key_is_loaded_once_and_again_when_it_changes(
    ssh_server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[Path] = []
    true = paramiko.PKey.from_path
    monkeypatch.setattr(
        paramiko.PKey, "from_path", lambda path: (loads.append(path), true(path))[1]
    )
    own, key = (ssh_server.folder / "client").read_bytes(), tmp_path / "key"
    key.write_bytes(own)
    for _ in range(3):
        connect(ssh_server.node(key=str(key))).close()
    assert loads == [key]
    new_key().write_private_key(str(key))
    refusal(ssh_server.node(key=str(key)), AuthenticationFailed)
    key.write_bytes(own)
    connect(ssh_server.node(key=str(key))).close()


# --- host keys ---


def test_unknown_host_key_is_refused(ssh_server: SshServer) -> None:
    ssh_server.known_hosts.write_text("")
    error = refusal(ssh_server.node(), HostKeyRejected)
    assert f"ssh-keyscan -p {ssh_server.port} 127.0.0.1" in error.remedy
    assert str(ssh_server.known_hosts) in error.remedy
    assert "accept-new" in error.remedy
    assert ssh_server.known_hosts.read_text() == ""


def test_missing_known_hosts_file_knows_nobody(ssh_server: SshServer) -> None:
    ssh_server.known_hosts.unlink()
    refusal(ssh_server.node(), HostKeyRejected)


@pytest.mark.parametrize("host_keys", ["strict", "accept-new"])
@pytest.mark.parametrize("kind", ["ssh-ed25519", "ecdsa-sha2-nistp256"])
def test_changed_host_key_is_refused(ssh_server: SshServer, host_keys: str, kind: str) -> None:
    other = asyncssh.generate_private_key(kind)
    ssh_server.know(other)
    error = refusal(ssh_server.node(host_keys=host_keys), HostKeyRejected)
    assert f"expected {kind} {other.get_fingerprint()}" in error.what
    assert f"got ssh-ed25519 {ssh_server.host_key.get_fingerprint()}" in error.what


def test_new_host_key_is_accepted_once(ssh_server: SshServer) -> None:
    ssh_server.known_hosts.unlink()
    connect(ssh_server.node(host_keys="accept-new")).close()
    line = ssh_server.known_hosts.read_text()
    assert line.startswith(f"[127.0.0.1]:{ssh_server.port} ssh-ed25519 ")
    connect(ssh_server.node(host_keys="accept-new")).close()
    connect(ssh_server.node()).close()
    assert ssh_server.known_hosts.read_text() == line


def test_workers_accept_a_new_key_at_once(ssh_server: SshServer) -> None:
    ssh_server.known_hosts.write_text("")
    node = ssh_server.node(host_keys="accept-new")
    threads = [threading.Thread(target=lambda: connect(node).close()) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ssh_server.connections == 6
    assert len(ssh_server.known_hosts.read_text().splitlines()) == 1


def test_two_workers_do_not_write_at_once(tmp_path: Path) -> None:
    path, key = tmp_path / "known_hosts", paramiko.ECDSAKey.generate()
    policy = AcceptNew(path, Expected.of("n01", [path], "n01"))
    worker = threading.Thread(
        target=policy.missing_host_key, args=(paramiko.SSHClient(), "n01", key)
    )
    with path.open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        worker.start()
        stays(worker.is_alive, 0.3, "it waits for who writes")
        other.write(f"n01 {key.get_name()} {key.get_base64()}\n")
    worker.join(5)
    assert len(path.read_text().splitlines()) == 1


def test_there_is_no_third_way(ssh_server: SshServer) -> None:
    refusal(ssh_server.node(host_keys="off"), BadInput)


# --- reaching the node ---


def test_closed_port_is_unreachable(ssh_server: SshServer, free_port: int) -> None:
    assert f"port {free_port}" in refusal(ssh_server.node(port=free_port), NodeUnreachable).what


def test_silent_port_is_unreachable(ssh_server: SshServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        node = ssh_server.node(port=silent.getsockname()[1], connect_timeout_s=0.5)
        started = time.monotonic()
        refusal(node, NodeUnreachable)
    assert time.monotonic() - started < 60


def test_unknown_name_is_unreachable(ssh_server: SshServer) -> None:
    node = Node("n01", "no-such-host.invalid", "x", ssh_server.settings())
    assert "no-such-host.invalid" in refusal(node, NodeUnreachable).what


def test_one_connection_serves_many_commands(ssh_server: SshServer) -> None:
    session = connect(ssh_server.node())
    for _ in range(60):
        assert session.run(TRUE).exit_code == 0
    session.close()
    assert ssh_server.connections == 1


def test_small_packets_are_sent_at_once(ssh_server: SshServer) -> None:
    hops = open_hops(ssh_server.node())
    sent_at_once = hops[-1].transport.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    SshLink("n01", hops).close()
    assert sent_at_once


def test_an_idle_connection_rarely_wakes_and_ends_at_once(
    ssh_server: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,250 connections are held during a run and closed at its end."""
    assert carriers.LOOK_S >= 2.0
    monkeypatch.setattr(carriers, "LOOK_S", 60.0)
    hops = open_hops(ssh_server.node())
    transport = hops[-1].transport
    assert transport.sock.gettimeout() == 60.0
    pass_time(0.5, "until nothing more is under way")
    started = time.monotonic()
    SshLink("n01", hops).close()
    transport.join(20.0)
    assert time.monotonic() - started < 5
    assert not transport.is_alive()


# --- losing it ---


def test_server_that_vanishes_gives_what_was_printed(ssh_server: SshServer) -> None:
    session = connect(ssh_server.node())
    threading.Timer(1.0, ssh_server.vanish).start()
    transcript = session.run(Command("n01", ("sh", "-c", "echo begun; sleep 30")))
    assert (transcript.exit_code, transcript.error) == (None, "connection-lost")
    assert transcript.stdout == "begun\n"
    assert transcript.duration_s < 10
    with pytest.raises(ConnectionLost):
        session.run(TRUE)
    session.close()


def test_server_that_vanishes_before_it_listens_is_an_error(
    ssh_server: SshServer, free_port: int
) -> None:
    session = connect(ssh_server.node())
    running = session.start(Command("n01", ("sleep", "30"), listens_on=free_port))
    threading.Timer(0.5, ssh_server.vanish).start()
    with pytest.raises(ConnectionLost):
        running.wait_ready(10)
    assert running.stop().error == "connection-lost"
    session.close()


# --- jump hosts ---


@pytest.fixture
def jump_server(tmp_path: Path) -> Iterator[SshServer]:
    folder = tmp_path / "jump"
    folder.mkdir()
    server = start_server(folder)
    yield server
    server.vanish()
    server.stop()


def behind(jump: SshServer, target: SshServer, **changes: object) -> Node:
    """``target`` reached through ``jump``: both know the key, both host keys are known."""
    key = (target.folder / "authorized_keys").read_text()
    with (jump.folder / "authorized_keys").open("a") as file:
        file.write(key)
    with target.known_hosts.open("a") as file:
        file.write(jump.known_hosts.read_text())
    return target.node(jump=f"tester@127.0.0.1:{jump.port}", **changes)


def allow(jump: SshServer) -> None:
    """Makes ``jump`` read its authorized keys again."""
    keys = asyncssh.read_authorized_keys(str(jump.folder / "authorized_keys"))
    jump.on_loop(lambda: jump.acceptor.update(authorized_client_keys=keys))


def test_jump_host_leads_to_the_node(jump_server: SshServer, ssh_server: SshServer) -> None:
    node = behind(jump_server, ssh_server)
    allow(jump_server)
    session = connect(node)
    assert session.run(Command("n01", ("echo", "through"))).stdout == "through\n"
    assert (jump_server.connections, ssh_server.connections) == (1, 1)
    assert session.entry.way.endswith(", through 127.0.0.1")
    session.close()


def test_host_key_of_the_jump_host_is_checked(
    jump_server: SshServer, ssh_server: SshServer
) -> None:
    node = behind(jump_server, ssh_server)
    allow(jump_server)
    ssh_server.know(ssh_server.host_key)  # and no longer the jump host's
    assert str(jump_server.port) in refusal(node, HostKeyRejected).what
    assert ssh_server.connections == 0


def test_jump_host_that_does_not_get_through(
    jump_server: SshServer, ssh_server: SshServer, free_port: int
) -> None:
    node = behind(jump_server, ssh_server, port=free_port)
    allow(jump_server)
    assert "jump host" in refusal(node, NodeUnreachable).what


def test_a_name_that_does_not_resolve_is_reported() -> None:
    """DNS is gone: the node is out of reach, which is no verdict about it."""
    with pytest.raises(NodeUnreachable, match="does not resolve"):
        connect(Node("n1", "no-such-host.invalid", "no-such-host.invalid"))


# --- how a node was entered ---


def test_the_key_and_the_output_of_the_login_are_reported(ssh_server: SshServer) -> None:
    greeting = "for n in $(seq 99); do echo Welcome $n; done; echo news >&2"
    ssh_server.login_shell = ("sh", "-c", f'{greeting}; shift; exec sh -c "$1"', "sh")
    session = connect(ssh_server.node())
    assert session.entry.way == f"tester by the key {ssh_server.folder / 'client'}"
    assert session.entry.printed == ""  # nothing was run yet
    done = session.run(Command("n01", ("echo", "out")))
    assert (done.stdout, done.stderr) == ("out\n", "")
    assert session.entry.printed.startswith("Welcome 1\n")
    assert len(session.entry.printed) <= 400  # nobody reads more of the output at a login's start
    session.close()


class OfAgent(paramiko.AgentKey):
    def __init__(self, key: paramiko.PKey) -> None:
        self.key = key

    def get_name(self) -> str:
        return self.key.get_name()

    def asbytes(self) -> bytes:
        return self.key.asbytes()


def test_a_key_is_named_by_its_file_or_as_the_agents(tmp_path: Path) -> None:
    new_key().write_private_key(str(tmp_path / "mine"))
    key = paramiko.PKey.from_path(tmp_path / "mine")
    print_of = host_keys.fingerprint(key)
    assert way(key, tmp_path / "mine") == f"root by the key {print_of}"
    (tmp_path / "mine.pub").write_text(f"ssh-ed25519 {key.get_base64()} ana@login1\n")
    assert way(key, tmp_path / "mine") == f"root by the key {tmp_path / 'mine'}"
    assert way(OfAgent(key), tmp_path / "mine") == f"root by the agent's key {print_of}"
    assert way(None, tmp_path / "mine") == "root by no key"


def way(key: paramiko.PKey | None, *files: Path) -> str:
    hop = SimpleNamespace(
        user="root",
        proxy="",
        connect_kwargs={"key_filename": [str(file) for file in files]},
        transport=SimpleNamespace(login_key=key),
    )
    return login.way_through(Node("n01", "n01", "n01"), (hop,))
