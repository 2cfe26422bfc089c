"""A node of real namespaces, and the argv that runs a command in it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from testing.waiting import wait_until

_LOOPBACK = "PATH=$PATH:/usr/sbin:/sbin; hostname n01; ip link set lo up 2>/dev/null; "
_BEGIN = f"{_LOOPBACK}echo up; exec sleep 600"


@contextmanager
def namespaces(cannot_run: Callable[[str], NoReturn], *kinds: str) -> Iterator[tuple[str, ...]]:
    """Make namespaces of these kinds (``--net``), and give the ``nsenter`` into them."""
    own_pids = ("--fork", "--kill-child", "--mount-proc") if "--pid" in kinds else ()
    argv = ["unshare", "--user", "--map-root-user", *kinds, *own_pids, "sh", "-c", _BEGIN]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        assert first.stdout
        try:
            if first.stdout.readline() != b"up\n":
                cannot_run("user namespaces are restricted")
            target = _child(first.pid) if own_pids else first.pid
            credentials = ("--user", "--preserve-credentials")
            yield ("nsenter", f"--target={target}", *credentials, *kinds, "--")
        finally:
            first.kill()


def _child(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    wait_until(lambda: bool(children.read_text().split()), 5, "the first process of the node")
    return int(children.read_text().split()[0])
