"""The settings of an ssh configuration that are used, with OpenSSH's own server."""

from __future__ import annotations

import getpass
import re
import socket
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import paramiko
import pytest
from testing import free_ports
from testing.standing_sshd import sshd
from testing.waiting import wait_until

from railgauge.core.errors import (
    AuthenticationFailed,
    BadInput,
    HostKeyRejected,
    NodeUnreachable,
    OnlyBySsh,
)
from railgauge.core.model import Command, Node, SshSettings
from railgauge.transport.ssh import connect
from railgauge.transport.ssh_config import beyond, parsed

SERVER = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/client_key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
PidFile none
StrictModes no
UsePAM no
"""


@dataclass
class OpenSshServer:
    folder: Path
    port: int

    def reach(self, text: str, *, name: str = "gpu7", **settings: object) -> str:
        """What ``true`` prints on the host ``name`` under this configuration."""
        config = self.folder / "config"
        config.write_text(text.format(folder=self.folder, port=self.port))
        login = SshSettings(config=str(config), agent=False, **settings)  # type: ignore[arg-type]
        session = connect(Node("n01", name, name, login))
        try:
            return session.run(Command("n01", ("echo", "reached"))).stdout
        finally:
            session.close()

    def know(self, name: str = "", key: str = "host_key") -> None:
        public = " ".join((self.folder / f"{key}.pub").read_text().split()[:2])
        known = name or f"[127.0.0.1]:{self.port}"
        (self.folder / "known").write_text(f"{known} {public}\n")

    @property
    def known(self) -> str:
        path = self.folder / "known"
        return path.read_text() if path.exists() else ""


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, cannot_run: Callable[[str], NoReturn]
) -> Iterator[OpenSshServer]:
    program = sshd()
    if program is None:
        cannot_run("sshd is not installed")
    folder = tmp_path_factory.mktemp("openssh")
    for name in ("host_key", "other_key", "client_key"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(keygen, check=True)
    port = free_ports.free_port()
    (folder / "sshd_config").write_text(SERVER.format(folder=folder, port=port))
    Path("/run/sshd").mkdir(exist_ok=True)
    process = subprocess.Popen([program, "-D", "-f", str(folder / "sshd_config")])
    wait_until(lambda: _listens(port), 20, "sshd")
    yield OpenSshServer(folder, port)
    process.terminate()
    process.wait(20)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def server(running: OpenSshServer) -> OpenSshServer:
    (running.folder / "known").unlink(missing_ok=True)
    return running


HOST = f"""\
Host gpu* jump
  HostName 127.0.0.1
  Port {{port}}
  User {getpass.getuser()}
  IdentityFile {{folder}}/client_key
  UserKnownHostsFile {{folder}}/known
"""


def test_address_port_user_key_and_known_hosts_count(server: OpenSshServer) -> None:
    server.know()
    assert server.reach(HOST) == "reached\n"


@pytest.mark.parametrize("value", ["accept-new", "no", "off"])
def test_unknown_keys_are_accepted_if_the_configuration_says_so(
    server: OpenSshServer, value: str
) -> None:
    assert server.reach(f"{HOST}  StrictHostKeyChecking {value}\n") == "reached\n"
    assert server.known.startswith(f"[127.0.0.1]:{server.port} ssh-ed25519 ")
    assert server.reach(HOST) == "reached\n"


@pytest.mark.parametrize("value", ["accept-new", "no"])
def test_a_changed_key_is_refused_whatever_it_says(server: OpenSshServer, value: str) -> None:
    server.know(key="other_key")
    with pytest.raises(HostKeyRejected, match="has changed"):
        server.reach(f"{HOST}  StrictHostKeyChecking {value}\n")


@pytest.mark.parametrize("value", ["yes", "ask"])
def test_unknown_keys_are_refused_otherwise(server: OpenSshServer, value: str) -> None:
    with pytest.raises(HostKeyRejected, match="not known"):
        server.reach(f"{HOST}  StrictHostKeyChecking {value}\n")


def test_the_hostfile_overrides_the_configuration(server: OpenSshServer) -> None:
    with pytest.raises(HostKeyRejected, match="not known"):
        server.reach(f"{HOST}  StrictHostKeyChecking no\n", host_keys="strict")
    lax = server.reach(f"{HOST}  StrictHostKeyChecking yes\n", host_keys="accept-new")
    assert lax == "reached\n"


def test_a_host_is_known_by_its_alias_alone(server: OpenSshServer) -> None:
    aliased = f"{HOST}  HostKeyAlias rack-7\n"
    server.know()
    with pytest.raises(HostKeyRejected, match="of rack-7 is not known"):
        server.reach(aliased)
    server.know("rack-7")
    assert server.reach(aliased) == "reached\n"
    server.know("rack-7", "other_key")
    with pytest.raises(HostKeyRejected, match="ssh-keygen -R 'rack-7'"):
        server.reach(aliased)


def test_a_new_key_is_kept_under_the_alias(server: OpenSshServer) -> None:
    aliased = f"{HOST}  HostKeyAlias rack-7\n  StrictHostKeyChecking accept-new\n"
    assert server.reach(aliased) == "reached\n"
    assert server.known.startswith("rack-7 ssh-ed25519 ")
    assert server.reach(aliased) == "reached\n"


def test_jump_hosts_behind_jump_hosts_are_taken(server: OpenSshServer) -> None:
    server.know()
    jumps = "Host gpu7\n  ProxyJump gpu8,jump\nHost gpu8\n  ProxyJump gpu9\n"
    assert server.reach(f"{jumps}{HOST}") == "reached\n"


def test_what_to_do_about_an_unknown_key_works_behind_jump_hosts(server: OpenSshServer) -> None:
    """ssh-keyscan cannot reach the node from here, so that the jump host has to run it."""
    server.know()
    text = f"Host gpu7\n  HostName localhost\n  ProxyJump gpu8,jump\n{HOST}"
    with pytest.raises(HostKeyRejected, match="is not known") as caught:
        server.reach(text)
    (command,) = re.findall(r"then run (.*), or set host_keys", caught.value.remedy)
    user, port = getpass.getuser(), server.port
    assert f" -J {user}@gpu8:{port} -p {port} {user}@jump ssh-keyscan -p {port} local" in command
    subprocess.run(command, shell=True, check=True, stderr=subprocess.DEVNULL)
    assert server.reach(text) == "reached\n"


def test_a_host_behind_a_proxy_command_cannot_be_scanned(server: OpenSshServer) -> None:
    proxy = "  ProxyCommand ssh -F {folder}/config -W %h:%p jump\n"
    server.know()
    with pytest.raises(HostKeyRejected, match="is not known") as caught:
        server.reach(f"Host gpu7\n  HostName localhost\n{proxy}{HOST}")
    assert "then log in once by ssh, or" in caught.value.remedy


def test_a_jump_host_of_itself_is_bad_input(server: OpenSshServer) -> None:
    with pytest.raises(BadInput, match="jump host of itself"):
        server.reach(
            f"Host gpu8\n  ProxyJump gpu9\nHost gpu9\n  ProxyJump gpu8\n{HOST}", name="gpu8"
        )


def test_a_proxy_command_is_run(server: OpenSshServer) -> None:
    server.know()
    proxy = "  ProxyCommand ssh -F {folder}/config -W %h:%p jump\n"
    assert server.reach(f"Host gpu7\n{proxy}{HOST}") == "reached\n"


def test_the_output_of_a_failed_proxy_command_is_reported(server: OpenSshServer) -> None:
    server.know()
    proxy = "  ProxyCommand echo 'bastion: closed today' >&2; exit 1\n"
    with pytest.raises(NodeUnreachable, match="gives no connection: bastion: closed today"):
        server.reach(f"Host gpu7\n{proxy}{HOST}")


def test_included_files_and_matches_count(server: OpenSshServer) -> None:
    server.know()
    (server.folder / "more").write_text(HOST.format(folder=server.folder, port=server.port))
    text = "Include {folder}/more\nMatch originalhost rack7 user ana\n  HostName 127.0.0.1\n"
    assert server.reach(text) == "reached\n"
    own = {"user": getpass.getuser(), "key": str(server.folder / "client_key")}
    matched = f"{text}Match user {own['user']}\n  HostName 127.0.0.1\n  Port {{port}}\n"
    matched += "  UserKnownHostsFile {folder}/known\n"
    assert server.reach(matched, name="rack8", **own) == "reached\n"


def test_a_configuration_that_openssh_refuses_is_bad_input(server: OpenSshServer) -> None:
    with pytest.raises(BadInput, match=r"ssh configuration.*[Bb]ad configuration") as caught:
        server.reach("NoSuchKeyword yes\n")
    assert "\n" not in str(caught.value)


def test_tokens_are_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SITE", "east")
    text = (
        "user ana\nhostname 10.0.0.7\nport 2222\nproxycommand nc %h %p %% %n ${SITE} %Z\n"
        "identityfile ~/.ssh/id_%r\nidentityfile %d/other\nsendenv LANG\n"
    )
    found = parsed(text, "gpu7")
    assert found["proxycommand"] == "nc 10.0.0.7 2222 % gpu7 east %Z"
    assert found["identityfile"] == [f"{tmp_path}/.ssh/id_ana", f"{tmp_path}/other"]
    assert "sendenv" not in found


def test_what_only_the_ssh_command_can_do_is_named_when_a_login_fails(
    server: OpenSshServer,
) -> None:
    server.know()
    others = HOST.replace("client_key", "other_key")
    for setting in ("IdentityAgent /run/agent", "CertificateFile /a/b-cert.pub"):
        with pytest.raises(AuthenticationFailed) as caught:
            server.reach(f"{others}  {setting}\n")
        assert f"only the ssh command has {setting.split()[0]}" in caught.value.what
        assert isinstance(caught.value, OnlyBySsh)
        assert "hostfiles/example-openssh.yaml" in caught.value.remedy
    with pytest.raises(AuthenticationFailed) as caught:
        server.reach(f"{others}  IdentityAgent none\n  GSSAPIAuthentication no\n")
    assert "authorized_keys" in caught.value.remedy


@pytest.mark.parametrize(("has_ticket", "names"), [(True, ("GSSAPIAuthentication",)), (False, ())])
def test_kerberos_counts_with_a_ticket(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, has_ticket: bool, names: tuple[str, ...]
) -> None:
    """Distributions set it for everybody."""
    (tmp_path / "klist").write_text(f"#!/bin/sh\nexit {int(not has_ticket)}\n")
    (tmp_path / "klist").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert beyond(parsed("gssapiauthentication yes\n", "gpu7")) == names


@pytest.mark.parametrize(
    ("kind", "names"), [(b"sk-ssh-ed25519@openssh.com", ("a security key",)), (b"disk-ssh", ())]
)
def test_a_key_on_a_security_key_is_seen(tmp_path: Path, kind: bytes, names: object) -> None:
    text = b64encode(b"openssh-key-v1\0" + kind).decode()
    marks = [f"-----{word} OPENSSH PRIVATE KEY-----" for word in ("BEGIN", "END")]
    (tmp_path / "id").write_text(f"{marks[0]}\n{text}\n{marks[1]}\n")
    assert beyond(parsed(f"identityfile {tmp_path}/id\n", "gpu7")) == names


def test_a_server_with_other_algorithms_is_named(
    server: OpenSshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.know()
    none_of_them = ("diffie-hellman-group1-sha1",)
    monkeypatch.setattr(paramiko.Transport, "_preferred_kex", none_of_them)
    monkeypatch.setitem(
        paramiko.Transport._kex_info, *none_of_them, paramiko.kex_group14.KexGroup14SHA256
    )
    with pytest.raises(NodeUnreachable) as caught:
        server.reach(HOST)
    assert "no algorithm in common" in caught.value.what
    assert isinstance(caught.value, OnlyBySsh)


@pytest.mark.parametrize("error", [KeyError("uid not found"), OSError("no username")])
def test_a_user_without_a_name_is_bad_input(
    server: OpenSshServer, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The errors of Python before and since 3.13 in a container whose user id has no name."""

    def nameless() -> str:
        raise error

    server.know()
    monkeypatch.setattr(getpass, "getuser", nameless)
    with pytest.raises(BadInput, match=r"has no name, which SSH needs; .*LOGNAME"):
        server.reach(HOST)
