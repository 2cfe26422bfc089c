"""The check of the key that a host presents, and attacks on it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import asyncssh
import paramiko
import pytest
from testing.host_keys import KEY, OTHER, THIRD, hashed, new_key, presented, public
from testing.throwaway_sshd import SshServer

from railgauge.core.errors import HostKeyBeyond, HostKeyRejected
from railgauge.transport import known_hosts
from railgauge.transport.host_keys import AcceptNew, Expected
from railgauge.transport.ssh import connect

# --- the check of a key ---


def has(text: str, key: asyncssh.SSHKey, tmp_path: Path) -> bool:
    path = tmp_path / "known"
    path.write_text(text)
    return Expected.of("n01", [path], "n01").has(presented(key))


def test_the_first_of_two_keys_of_a_type_counts(tmp_path: Path) -> None:
    text = f"n01 {public(KEY)}\nn01 {public(OTHER)}\n"
    assert has(text, KEY, tmp_path)
    with pytest.raises(HostKeyRejected, match="has changed"):
        has(text, OTHER, tmp_path)


def test_a_key_of_another_type_than_the_known_one_is_a_changed_one(tmp_path: Path) -> None:
    with pytest.raises(HostKeyRejected, match="has changed"):
        has(f"n01 {public(THIRD)}\n", KEY, tmp_path)


@pytest.mark.parametrize("order", [1, -1])
def test_a_key_that_is_known_and_revoked_is_revoked(tmp_path: Path, order: int) -> None:
    lines = [f"n01 {public(KEY)}\n", f"@revoked n* {public(KEY)}\n"]
    text = "".join(lines[::order])
    with pytest.raises(HostKeyRejected, match="is revoked"):
        has(text, KEY, tmp_path)
    with pytest.raises(HostKeyRejected, match="has changed"):
        has(text, OTHER, tmp_path)


def test_a_key_is_revoked_by_any_of_the_files(tmp_path: Path) -> None:
    user, site = tmp_path / "user", tmp_path / "site"
    user.write_text(f"n01 {public(KEY)}\n")
    site.write_text(f"n01 {public(OTHER)}\nn02 {public(OTHER)}\n")
    both = Expected.of("n01", [user, site], "n01")
    assert both.has(presented(KEY))
    with pytest.raises(HostKeyRejected, match="has changed"):
        both.has(presented(OTHER))
    assert Expected.of("n02", [user, site, tmp_path / "none"], "n02").has(presented(OTHER))
    with site.open("a") as file:
        file.write(f"@revoked * {public(KEY)}\n")
    with pytest.raises(HostKeyRejected, match="is revoked"):
        Expected.of("n01", [user, site], "n01").has(presented(KEY))


# --- with a server ---


def refused(server: SshServer, what: str, **settings: object) -> None:
    """The server's key is refused, and before anybody logs in."""
    before = server.known_hosts.read_bytes()
    with pytest.raises(HostKeyRejected, match=what) as caught:
        connect(server.node(**settings))
    assert caught.value.where == "n01"
    assert server.known_hosts.read_bytes() == before


def reached(server: SshServer, **settings: object) -> None:
    connect(server.node(**settings)).close()


BOTH = pytest.mark.parametrize("host_keys", ["strict", "accept-new"])


@BOTH
def test_a_revoked_key_is_refused_whether_it_is_known_or_new(
    ssh_server: SshServer, host_keys: str
) -> None:
    own = public(ssh_server.host_key)
    name = f"[127.0.0.1]:{ssh_server.port}"
    for known in (f"{name} {own}\n", ""):
        for meant in (name, "*", hashed(name)):
            ssh_server.known_hosts.write_text(f"{known}@revoked {meant} {own}\n")
            refused(ssh_server, "is revoked", host_keys=host_keys)


@BOTH
def test_the_key_of_another_host_is_refused(ssh_server: SshServer, host_keys: str) -> None:
    """Who has the key of one node cannot pass for another."""
    own, name = public(ssh_server.host_key), f"[127.0.0.1]:{ssh_server.port}"
    ssh_server.known_hosts.write_text(
        f"[127.0.0.1]:1 {own}\n{hashed('n02')} {own}\n{name} {public(KEY)}\n"
    )
    refused(ssh_server, "has changed", host_keys=host_keys)


@pytest.mark.parametrize(
    "line",
    [
        "127.0.0.1 {key}",
        "* {key}",
        "{other} {key}",
        "@cert-authority {name} {key}",
        "#{name} {key}",
    ],
)
def test_a_line_of_another_host_makes_it_not_known(ssh_server: SshServer, line: str) -> None:
    name, own = f"[127.0.0.1]:{ssh_server.port}", public(ssh_server.host_key)
    text = line.format(name=name, key=own, other=hashed("127.0.0.1"))
    ssh_server.known_hosts.write_text(f"{text}\n")
    refused(ssh_server, "is not known")


def test_a_hashed_line_makes_it_known(ssh_server: SshServer) -> None:
    name, own = f"[127.0.0.1]:{ssh_server.port}", public(ssh_server.host_key)
    ssh_server.known_hosts.write_text(f"{hashed(name)} {own}\n")
    reached(ssh_server)
    ssh_server.known_hosts.write_text(f"{hashed(name)} {public(KEY)}\n")
    refused(ssh_server, "has changed", host_keys="accept-new")


@pytest.mark.parametrize("kind", ["ecdsa-sha2-nistp256", "ssh-rsa"])
def test_the_host_is_asked_for_the_type_of_key_that_is_known(
    ssh_server: SshServer, kind: str
) -> None:
    """A host has keys of several types; another than the known one would pass for a changed one."""
    more = new_key(kind)
    assert ssh_server.acceptor
    ssh_server.on_loop(
        lambda: ssh_server.acceptor.update(server_host_keys=[ssh_server.host_key, more])
    )
    ssh_server.know(more)
    reached(ssh_server)


Change = Callable[[SshServer], object]
CHANGES: dict[str, tuple[Change, str]] = {
    "revoked": (
        lambda s: s.known_hosts.open("a").write(f"@revoked * {public(s.host_key)}\n"),
        "is revoked",
    ),
    "changed": (lambda s: s.know(OTHER), "has changed"),
    "emptied": (lambda s: s.known_hosts.write_text(""), "is not known"),
    "damaged": (lambda s: s.known_hosts.open("a").write("n02 ssh-ed25519 AAA\n"), "cannot be read"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_during_a_run_counts_from_the_next_connection(
    ssh_server: SshServer, change: str
) -> None:
    act, what = CHANGES[change]
    reached(ssh_server)
    act(ssh_server)
    refused(ssh_server, what)
    ssh_server.know(ssh_server.host_key)
    reached(ssh_server)


def test_a_new_key_after_a_line_without_an_end_gets_a_line_of_its_own(
    ssh_server: SshServer,
) -> None:
    ssh_server.known_hosts.write_text(f"n02 {public(OTHER)}")
    reached(ssh_server, host_keys="accept-new")
    assert len(ssh_server.known_hosts.read_text().splitlines()) == 2
    reached(ssh_server)


def test_a_key_that_another_worker_adds_meanwhile_is_the_one_that_counts(tmp_path: Path) -> None:
    path = tmp_path / "known"
    path.write_text("")

    policy = AcceptNew(path, Expected.of("n01", [path], "n01"))
    path.write_text(f"n01 {public(OTHER)}\n")
    with pytest.raises(HostKeyRejected, match="has changed"):
        policy.missing_host_key(paramiko.SSHClient(), "n01", presented(KEY))
    assert path.read_text() == f"n01 {public(OTHER)}\n"


def test_threads_that_add_keys_lose_none(tmp_path: Path) -> None:

    path, keys = tmp_path / "known", [new_key() for _ in range(24)]
    threads = [
        threading.Thread(
            target=AcceptNew(path, Expected.of(f"h{n}", [path], "n01")).missing_host_key,
            args=(paramiko.SSHClient(), f"h{n}", presented(key)),
        )
        for n, key in enumerate(keys)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, key in enumerate(keys):
        assert known_hosts.read(path, "n01").keys(f"h{n}") == [presented(key)]


def test_a_host_with_a_certificate_is_for_the_systems_own_ssh(ssh_server: SshServer) -> None:
    ssh_server.known_hosts.write_text(f"@cert-authority * {public(KEY)}\n")
    with pytest.raises(HostKeyBeyond) as refused_by:
        connect(ssh_server.node())
    assert "transport: exec" in refused_by.value.remedy
