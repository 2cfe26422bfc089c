"""OpenSSH's server with the certificate of a host, and the example hostfile's way to reach it."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from railgauge.config.hostfile import load
from railgauge.core.model import Node
from testing import free_ports
from testing.places import ROOT
from testing.standing_sshd import sshd
from testing.waiting import wait_until

NAME = "gpu07.example"
_HOSTFILES = ROOT / "hostfiles"
_SERVER = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
HostCertificate {folder}/host-cert.pub
AuthorizedKeysFile {folder}/client.pub
KexAlgorithms curve25519-sha256
PermitRootLogin prohibit-password
PasswordAuthentication no
PidFile none
StrictModes no
UsePAM no
SetEnv SHLVL=2
"""
_CLIENT = """\
Host *
  HostName 127.0.0.1
  HostKeyAlias {name}
  Port {port}
  User {user}
  IdentityFile {folder}/client
  KexAlgorithms curve25519-sha256
  UserKnownHostsFile {folder}/known
  GlobalKnownHostsFile none
"""


@dataclass(frozen=True)
class CertifiedServer:
    """Files lie in ``folder``; its host key is signed by the authority ``ca``."""

    folder: Path
    process: subprocess.Popen[bytes]

    def node(self, *options: str) -> Node:
        """The node as the example hostfile says it; ``options`` of ssh come before its own."""
        example, schema = _HOSTFILES / "example-openssh.yaml", _HOSTFILES / "schema.json"
        program, *words = load(example, schema_file=schema).nodes[0].exec
        argv = (program, "-F", f"{self.folder}/config", *options, *words)
        return Node("gpu01", NAME, NAME, exec=argv)

    def trust(self, authority: str, names: str = "*.example") -> None:
        public = (self.folder / f"{authority}.pub").read_text()
        (self.folder / "known").write_text(f"@cert-authority {names} {public}")


@contextmanager
def certified_server(
    folder: Path, *settings: str, principal: str = NAME, valid: str = "-1h:+1h"
) -> Iterator[CertifiedServer]:
    for name in ("ca", "other-ca", "host", "client"):
        _keygen("-t", "ed25519", "-N", "", "-f", str(folder / name))
    sign = ("-s", str(folder / "ca"), "-h", "-I", "a host")
    _keygen(*sign, "-n", principal, "-V", valid, str(folder / "host.pub"))
    port = free_ports.free_port()
    values = {"folder": folder, "port": port, "name": NAME, "user": getpass.getuser()}
    (folder / "config").write_text(_CLIENT.format(**values))
    text = _SERVER.format(**values) + "".join(f"{line}\n" for line in settings)
    (folder / "sshd_config").write_text(text)
    Path("/run/sshd").mkdir(exist_ok=True)
    program = sshd()
    assert program
    with subprocess.Popen([program, "-D", "-f", str(folder / "sshd_config")]) as process:
        try:
            wait_until(lambda: _listens(port), 20, "sshd")
            server = CertifiedServer(folder, process)
            server.trust("ca")
            yield server
        finally:
            process.terminate()


def _keygen(*words: str) -> None:
    program = shutil.which("ssh-keygen")
    assert program
    subprocess.run([program, "-q", *words], check=True)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
