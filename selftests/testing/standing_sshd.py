"""OpenSSH's server in front of the nodes of a standing lab.

Unlike the lab's own server it leaves running what a connection that ends has started, as every real
node does.
"""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from testing import free_ports
from testing.acceptance import Project
from testing.standing_lab import StandingLab
from testing.waiting import wait_until

# SHLVL keeps bash from reading ~/.bashrc of whoever tests, which may take 0.1 s for each command.
_CONFIGURATION = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/client_key.pub
ForceCommand {folder}/{node}.enter
KexAlgorithms curve25519-sha256@libssh.org
PermitRootLogin prohibit-password
PasswordAuthentication no
PidFile none
StrictModes no
UsePAM no
MaxSessions 100
SetEnv SHLVL=2
"""
_ENTER = """\
#!/bin/sh
cd '{home}' && exec env -i PATH='{home}/bin' HOME='{home}' USER=lab LANG=C.UTF-8 \
/bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""
_UP_LIMIT_S = 20.0


def sshd() -> str | None:
    """The server's full path, by which it must be called; ``None`` if it is not installed."""
    return shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")


@dataclass
class StandingServers:
    """A server for each node; files lie in ``folder``."""

    lab: StandingLab
    folder: Path
    ports: dict[str, int] = field(default_factory=dict)
    pids: dict[str, int] = field(default_factory=dict)

    def hostfile(self, project: Project, *settings: str) -> tuple[str, str]:
        """Write a hostfile with these settings in each node's ``ssh``; returns the option."""
        nodes = "".join(self._node(name, port, *settings) for name, port in self.ports.items())
        text = f"cluster: standing\nplatform: {self.lab.platform}\ntransport: ssh\nrootfs: root\n"
        path = project.write("servers.yaml", f"{text}nodes:\n{nodes}")
        return ("--hostfile", path.name)

    def _node(self, name: str, port: int, *settings: str) -> str:
        more = "".join(f", {setting}" for setting in settings)
        return (
            f"  - name: {name}\n    address: 127.0.0.1\n    data_address: {self._data(name)}\n"
            f"    ssh: {{port: {port}, user: {getpass.getuser()}, key: {self.folder}/client_key, "
            f"known_hosts: {self.folder}/known_hosts, host_keys: accept-new, agent: false{more}}}\n"
        )

    def _data(self, name: str) -> str:
        return self.lab.logins[name].strip().rpartition("@")[2]


@contextmanager
def standing_servers(lab: StandingLab, folder: Path) -> Iterator[StandingServers]:
    """Servers of all nodes of a lab; processes that they leave behind are not ended with them."""
    folder.mkdir()
    for name in ("host_key", "client_key"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(keygen, check=True)
    Path("/run/sshd").mkdir(exist_ok=True)  # where root's server confines itself
    servers = StandingServers(lab, folder)
    with ExitStack() as running:
        for node in lab.logins:
            servers.ports[node] = running.enter_context(_server(servers, node))
        yield servers


@contextmanager
def _server(servers: StandingServers, node: str) -> Iterator[int]:
    folder, port = servers.folder, free_ports.free_port()
    values = {"folder": folder, "node": node, "port": port, "home": servers.lab.home(node)}
    (folder / f"{node}.conf").write_text(_CONFIGURATION.format(**values))
    (folder / f"{node}.enter").write_text(_ENTER.format(**values))
    (folder / f"{node}.enter").chmod(0o755)
    program = sshd()
    assert program
    with (folder / f"{node}.log").open("wb") as log:
        process = subprocess.Popen(
            [program, "-D", "-e", "-f", str(folder / f"{node}.conf")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _until_up(port, folder / f"{node}.log", process)
        servers.pids[node] = process.pid
        yield port
    finally:
        process.terminate()
        process.wait(_UP_LIMIT_S)


def _until_up(port: int, log: Path, process: subprocess.Popen[bytes]) -> None:
    def is_up() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, log.read_text()
            return False
        return True

    wait_until(is_up, _UP_LIMIT_S, f"an sshd that logs to {log}")
