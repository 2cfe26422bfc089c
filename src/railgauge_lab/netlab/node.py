"""One node: its namespaces, and how to run a command in them."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railgauge.core.errors import BadInput
from railgauge_lab.netlab.files import Home, mpi4py_folder

_CLONE_NEWNET = 0x40000000
_ENTER = ("--net", "--mount", "--uts", "--ipc", "--pid")

_OWN_FOLDERS = ("/tmp", "/var/tmp", "/run", "/dev/shm")  # noqa: S108 - their names, no file

# This script makes a node. The node gets empty folders of its own. Paths below them that its
# programs need (the arguments) are moved aside first and bound back afterwards. /etc/hostname and
# /etc/passwd are replaced by bind mounts.
_PREPARE = """\
set -e
home=$1; shift
hostname "$(cat "$home/hostname")"
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 tmpfs /run
n=0
for path; do n=$((n + 1)); mkdir -p "/run/kept/$n"; mount --rbind "$path" "/run/kept/$n"; done
for folder in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o mode=1777 tmpfs "$folder"; done
n=0
for path; do
  n=$((n + 1)); mkdir -p "$path"; mount --rbind "/run/kept/$n" "$path"; umount -l "/run/kept/$n"
done
rm -r /run/kept
mkdir -m 1777 /run/lock
mkdir /run/sshd
for name in hostname passwd; do mount --bind "$home/$name" "/etc/$name"; done
# Process 1 adopts orphans; because it ignores SIGCHLD, the kernel reaps them.
trap '' CHLD
echo ready
exec sleep infinity
"""


@dataclass(frozen=True, slots=True)
class RunningNode:
    """A running node; ``pid`` is its process 1, as seen from outside."""

    name: str
    home: Home
    pid: int

    def argv(self, command: Sequence[str]) -> list[str]:
        """Return the command line that runs ``command`` on the node, in its home folder."""
        enter = ["nsenter", "-t", str(self.pid), *_ENTER, "--"]
        return [*enter, "/bin/sh", "-c", 'cd; exec "$@"', "sh", *command]

    def listen(self, port: int) -> socket.socket:
        """Return a socket that listens on all of the node's addresses. Raises ``OSError``."""
        opened: list[socket.socket | OSError] = []
        # setns moves only the thread that calls it, so a short-lived thread calls it.
        thread = threading.Thread(target=_listen, args=(self.pid, port, opened))
        thread.start()
        thread.join()
        if isinstance(opened[0], OSError):
            raise opened[0]
        return opened[0]


def _listen(pid: int, port: int, opened: list[socket.socket | OSError]) -> None:
    try:
        with Path(f"/proc/{pid}/ns/net").open("rb") as namespace:
            _set_namespace(namespace.fileno())
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", port))
        listener.listen(128)
        opened.append(listener)
    except OSError as error:
        opened.append(error)


def _set_namespace(descriptor: int) -> None:
    # Python has os.setns only from 3.12 on.
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def start(homes: Mapping[str, Home], keep: Sequence[Path]) -> dict[str, RunningNode]:
    """Make the namespaces of all nodes at the same time; return name -> node.

    ``keep`` are the paths that programs on the nodes need. Raises ``BadInput`` with the reason if a
    node cannot be made.
    """
    begun = {name: _begin(home, keep) for name, home in homes.items()}
    return {name: _ready(homes[name], process) for name, process in begun.items()}


def _begin(home: Home, keep: Sequence[Path]) -> subprocess.Popen[str]:
    apart = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
    return subprocess.Popen(
        ["unshare", *apart, "--mount-proc", "--", "/bin/sh", "-c", _PREPARE, "sh", str(home.path)]
        + [str(path) for path in _hidden(keep)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _hidden(keep: Iterable[Path]) -> list[Path]:
    """Return the paths of ``keep`` below a folder of the node's own; of nested ones the outer."""
    own = [Path(folder) for folder in _OWN_FOLDERS]
    inside = {path for path in keep if any(folder in path.parents for folder in own)}
    return sorted(path for path in inside if not inside.intersection(path.parents))


def _ready(home: Home, process: subprocess.Popen[str]) -> RunningNode:
    assert process.stdout is not None
    printed: list[str] = []
    for line in process.stdout:
        if line.strip() == "ready":
            return RunningNode(home.node, home, _child_of(process.pid))
        printed.append(line.strip())
    raise BadInput(
        f"cannot make node {home.node}: {' '.join(printed)[:300]}",
        remedy="check that the kernel, or the container around this, allows these mounts",
    )


def _child_of(pid: int) -> int:
    """Return the process ID of the node's process 1, the only child of ``unshare``."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return int(children[0])


def kept_paths(folder: Path) -> list[Path]:
    """Return the paths that programs on nodes need: this project, its Python, and ``folder``."""
    prefixes = [Path(prefix) for prefix in (sys.prefix, sys.base_prefix)]
    packages = mpi4py_folder()
    return [folder, Path(__file__).parents[2], *prefixes, *([packages] if packages else ())]
