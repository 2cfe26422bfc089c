"""OpenSSH's own server in each node; it needs root, because it calls ``setgroups``."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from railgauge.core.errors import BadInput
from railgauge_lab.netlab.files import Keys, public, write_private
from railgauge_lab.netlab.node import RunningNode

_START_LIMIT_S = 20.0
_LISTENS = (":0016 ", " 0A ")  # port 22, state LISTEN, in the kernel's table of sockets

_CONFIG = """\
ListenAddress 0.0.0.0
HostKey {key}
AuthorizedKeysFile {authorized}
PidFile none
UsePAM no
StrictModes no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AllowUsers root
KexAlgorithms curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256
MaxStartups 256:30:512
MaxSessions 256
PrintMotd no
SetEnv {environment}
"""


def program() -> str:
    """Return sshd's full path, by which it must be called. Raises ``BadInput`` if there is none."""
    found = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/sbin:/usr/local/sbin")
    if found is None:
        raise BadInput("OpenSSH's sshd is not installed", remedy="install openssh-server")
    return found


def start(node: RunningNode, keys: Keys) -> subprocess.Popen[bytes]:
    """Start the node's server; use ``wait_ready`` to wait until it listens."""
    config = _write(node, keys)
    log = str(node.home.path / "sshd.log")
    return subprocess.Popen(
        node.argv([program(), "-D", "-f", str(config), "-E", log]),
        env=node.home.environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def _write(node: RunningNode, keys: Keys) -> Path:
    key, authorized = node.home.path / "host_key", node.home.path / ".ssh" / "authorized_keys"
    write_private(key, keys.hosts[node.name])
    authorized.write_text(f"{public(keys.client)}\n", encoding="utf-8")
    config = node.home.path / "sshd_config"
    wanted = ("PATH", "TMPDIR", "LANG")
    environment = " ".join(f'"{name}={node.home.environment[name]}"' for name in wanted)
    config.write_text(
        _CONFIG.format(key=key, authorized=authorized, environment=environment), encoding="utf-8"
    )
    return config


def wait_ready(node: RunningNode, server: subprocess.Popen[bytes]) -> None:
    """Wait until the node's port 22 is open. Raises ``BadInput`` with the end of sshd's log."""
    until = time.monotonic() + _START_LIMIT_S
    table = Path(f"/proc/{node.pid}/net/tcp")
    while time.monotonic() < until and server.poll() is None:
        lines = table.read_text(encoding="ascii").splitlines()
        if any(all(sign in line for sign in _LISTENS) for line in lines):
            return
        time.sleep(0.02)
    log = node.home.path / "sshd.log"
    logged = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    raise BadInput(f"sshd of {node.name} does not start: {' '.join(logged.split())[-300:]}")
