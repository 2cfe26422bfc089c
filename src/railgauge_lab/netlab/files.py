"""The files of the nodes and of the user's command: homes, keys, host names, and the hostfile.

They lie in a folder that exists only in the cluster's own mount namespace.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from railgauge_lab.netlab.network import addresses
from railgauge_lab.netlab.settings import Settings

HOSTFILE = "tcp-lab.yaml"

# The usual system folders; the PATH of some logins lacks a few of them.
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_SSH_CONFIG = """\
Host *
  User root
  IdentityFile {home}/.ssh/id_ed25519
  IdentitiesOnly yes
  UserKnownHostsFile {home}/.ssh/known_hosts
  StrictHostKeyChecking yes
  KexAlgorithms curve25519-sha256
"""


@dataclass(frozen=True, slots=True)
class Keys:
    """The client key, which every node accepts, and the host key of each node."""

    client: asyncssh.SSHKey
    hosts: Mapping[str, asyncssh.SSHKey]


@dataclass(frozen=True, slots=True)
class Home:
    """The home folder of one node."""

    node: str
    path: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of a login on the node."""
        return {
            "PATH": f"{self.path.parent / 'bin'}:{_PATH}",
            "HOME": str(self.path),
            "TMPDIR": str(self.path / "tmp"),
            "USER": "root",
            "LOGNAME": "root",
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
        }


def new_keys(settings: Settings) -> Keys:
    """Make new keys for this cluster only; they are deleted with it."""
    return Keys(
        asyncssh.generate_private_key("ssh-ed25519"),
        {node: asyncssh.generate_private_key("ssh-ed25519") for node in settings.nodes},
    )


def write(settings: Settings, keys: Keys, folder: Path) -> dict[str, Home]:
    """Write all files but those of the SSH servers; return node -> its home."""
    at = addresses(settings)
    _write_login(folder, keys, at)
    _write_program(folder)
    (folder / "hosts").write_text(_hosts(at), encoding="utf-8")
    (folder / HOSTFILE).write_text(_hostfile(settings, at, folder), encoding="utf-8")
    homes = {node: Home(node, folder / node) for node in settings.nodes}
    for home in homes.values():
        _write_home(home, folder)
    return homes


def public(key: asyncssh.SSHKey) -> str:
    return key.export_public_key("openssh").decode().strip()


def write_private(path: Path, key: asyncssh.SSHKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(key.export_private_key("openssh"))


def _write_login(folder: Path, keys: Keys, at: Mapping[str, str]) -> None:
    write_private(folder / "id_ed25519", keys.client)
    known = (f"{node},{address} {public(keys.hosts[node])}\n" for node, address in at.items())
    (folder / "known_hosts").write_text("".join(known), encoding="utf-8")


def mpi4py_folder() -> Path | None:
    """Return the folder from which this Python imports mpi4py; ``None`` if it has none.

    A login on a node has neither this user's environment nor home, so the path must be given.
    """
    found = importlib.util.find_spec("mpi4py")
    return Path(found.origin).parents[1] if found and found.origin else None


def _write_program(folder: Path) -> None:
    """Write ``mpi-bench``, which runs the collective benchmark with this Python."""
    program = Path(__file__).parents[2] / "railgauge" / "tools" / "mpi_bench" / "program.py"
    (folder / "bin").mkdir()
    script = folder / "bin" / "mpi-bench"
    run = ["env", f"PYTHONPATH={mpi4py_folder() or ''}", sys.executable, str(program)]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(run)} "$@"\n', encoding="utf-8")
    script.chmod(0o755)


def _hosts(at: Mapping[str, str]) -> str:
    lines = (f"{address} {node}\n" for node, address in at.items())
    return f"127.0.0.1 localhost\n::1 localhost\n{''.join(lines)}"


def _hostfile(settings: Settings, at: Mapping[str, str], folder: Path) -> str:
    """Return the hostfile as JSON, which is valid YAML and needs no further quoting."""
    ssh = {
        "user": "root",
        "key": str(folder / "id_ed25519"),
        "known_hosts": str(folder / "known_hosts"),
        "host_keys": "strict",
        "config": os.devnull,
        "agent": False,
    }
    document = {
        "cluster": "tcp-lab",
        "platform": "tcp-lab",
        "transport": "ssh",
        "nodes": [{"name": node, "address": at[node]} for node in settings.nodes],
        "ssh": ssh,
        "launcher": "openmpi",
        "tools": {"mpi_bench": str(folder / "bin")},
    }
    return json.dumps(document, indent=1) + "\n"


def _write_home(home: Home, folder: Path) -> None:
    ssh = home.path / ".ssh"
    ssh.mkdir(parents=True, mode=0o700)
    home.path.chmod(0o700)
    (home.path / "tmp").mkdir()
    for name in ("id_ed25519", "known_hosts"):
        shutil.copy(folder / name, ssh / name)
    (ssh / "config").write_text(_SSH_CONFIG.format(home=home.path), encoding="utf-8")
    (home.path / "hostname").write_text(f"{home.node}\n", encoding="utf-8")
    (home.path / "passwd").write_text(_passwd(home.path), encoding="utf-8")


def _passwd(home: Path) -> str:
    """Return the users of this machine, with the node's folder as root's home."""
    lines = Path("/etc/passwd").read_text(encoding="utf-8", errors="replace").splitlines()
    others = [line for line in lines if not line.startswith("root:")]
    return "\n".join([f"root:x:0:0:root:{home}:/bin/sh", *others, ""])
