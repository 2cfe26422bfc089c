"""The nodes belong to one run at a time, from before its survey to its end; and none of its
processes outlives it there."""

from __future__ import annotations

import contextlib
import ctypes
import getpass
import os
import re
import resource
import secrets
import signal
import socket
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from threading import Thread

from railgauge.leases.holder import Holder
from railgauge.leases.nodes import NodeLeases, NodeTaken, Terms
from railgauge.transport.sessions import Sessions
from railgauge.transport.tag import Tag

_LOOK_S = 5.0  # between two looks whether a lease was lost
_PR_SET_PDEATHSIG = 1


def write_tag(folder: Path) -> None:
    """Give the run in ``folder`` a name that no other run has, on whatever machine."""
    readable = re.sub(r"[^A-Za-z0-9_-]", "-", folder.name)
    _tag_file(folder).write_text(f"{readable}-{secrets.token_hex(6)}", encoding="utf-8")


def read_tag(folder: Path, part: str) -> Tag:
    """The name of one process's part of the run, which all that it starts on a node carries."""
    return Tag(_tag_file(folder).read_text(encoding="utf-8"), part)


def _tag_file(folder: Path) -> Path:
    return folder / "leases" / ".run"  # no name of a node, and gone when the run is over


def die_with(controller: int) -> None:
    """Have the kernel end this process when its controller dies, however it dies.

    A worker that goes on alone would start further commands on nodes that are free for others.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != controller:
        os._exit(1)


def allow_many_files() -> None:
    """Three open files for each node that is held: 1,250 nodes need more than the usual 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _holder(run: str, tag: str) -> Holder:
    """This run, in words for whoever finds a node taken."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        user = str(os.getuid())
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Holder(user, socket.gethostname(), run, now, tag)


class Holding:
    """The leases of one run on its nodes, looked after while it goes on."""

    def __init__(
        self, sessions: Sessions, run: str, tag: str, rootfs: str, tell: Callable[[str], None]
    ) -> None:
        """``run`` names the run for people, ``tag`` for the nodes."""
        self._leases = NodeLeases(sessions, Terms(_holder(run, tag), rootfs), tell)
        self._looked_at = 0.0
        self._renewing: Thread | None = None
        self._lost: NodeTaken | None = None

    def take(self, nodes: list[str], wait_s: float) -> None:
        """Hold every node that can be reached. Raises ``NodeTaken`` if somebody else has one."""
        allow_many_files()
        self._leases.take(nodes, wait_s)

    def sweep(self, part: str) -> None:
        """End what a part of the run that died has left on the nodes."""
        self._leases.sweep(part)

    def refuse_lost(self) -> None:
        """Raise the ``NodeTaken`` of a lease that was lost, and that somebody else has now."""
        if self._lost:
            raise self._lost

    def renew(self, *, in_background: bool) -> None:
        """Now and then: a node that booted, or was cut off for long, has forgotten its holder."""
        if time.monotonic() - self._looked_at < _LOOK_S:
            return
        self._looked_at = time.monotonic()
        if not in_background:
            self._renew()
        elif self._renewing is None or not self._renewing.is_alive():
            self._renewing = Thread(target=self._renew, daemon=True)
            self._renewing.start()

    def _renew(self) -> None:
        try:
            self._leases.renew()
        except NodeTaken as error:
            self._lost = error

    def release(self, tell: Callable[[str], None]) -> None:
        """Let go of every node; ``tell`` is given what could not be done."""
        self._leases.tell = tell
        self._leases.release()
