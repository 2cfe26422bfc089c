"""Holds the nodes for one run at a time, from before its survey to its end.

No process of the run is left on a node afterwards.
"""

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

from railgauge.containers import DETACHED
from railgauge.core.model import Cluster
from railgauge.leases.holder import Holder
from railgauge.leases.nodes import NodeLeases, NodeTaken, Terms
from railgauge.transport.sessions import Sessions
from railgauge.transport.tag import Tag

_LOOK_S = 5.0  # between two checks for a lost lease
_PR_SET_PDEATHSIG = 1


def write_tag(folder: Path) -> None:
    """Write a name for the run in ``folder`` that is unique across machines."""
    readable = re.sub(r"[^A-Za-z0-9_-]", "-", folder.name)
    _tag_file(folder).write_text(f"{readable}-{secrets.token_hex(6)}", encoding="utf-8")


def read_tag(folder: Path, part: str) -> Tag:
    """Return the tag of one process of the run; every command that it starts carries the tag."""
    return Tag(_tag_file(folder).read_text(encoding="utf-8"), part)


def _tag_file(folder: Path) -> Path:
    return folder / "leases" / ".run"  # not a valid node name; deleted with the folder


def die_with(controller: int) -> None:
    """Have the kernel kill this process when its controller dies, for whatever reason.

    A worker without its controller would start commands on nodes that are free for other runs.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != controller:
        os._exit(1)


def allow_many_files() -> None:
    """Raise the limit on open files: a held node takes three, and the usual limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def holder_here(run: str, tag: str) -> Holder:
    """Describe this run for the message that another run prints when it finds a node taken."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        user = str(os.getuid())
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Holder(user, socket.gethostname(), run, now, tag)


class Holding:
    """The leases of one run on its nodes: takes, renews and releases them."""

    def __init__(
        self, sessions: Sessions, run: str, tag: str, cluster: Cluster, tell: Callable[[str], None]
    ) -> None:
        """``run`` is the readable name of the run, ``tag`` the unique one used on the nodes."""
        engines = {box.engine for box in cluster.runtime.values()}.intersection(DETACHED)
        terms = Terms(holder_here(run, tag), cluster.rootfs, tuple(sorted(engines)))
        self._leases = NodeLeases(sessions, terms, tell)
        self._looked_at = 0.0
        self._renewing: Thread | None = None
        self._lost: NodeTaken | None = None

    def take(self, nodes: list[str], wait_s: float) -> None:
        """Lease every node that can be reached. Raises ``NodeTaken`` if another run holds one.

        ``wait_s`` is how many seconds to wait for such a node.
        """
        allow_many_files()
        self._leases.take(nodes, wait_s)

    def refuse_lost(self) -> None:
        """Raise ``NodeTaken`` if a lease was lost and another run holds it now."""
        if self._lost:
            raise self._lost

    def renew(self) -> None:
        """Renew leases that a reboot or a long outage has ended; checks at most every 5 s.

        This runs in the background, because judging must not wait for a node.
        """
        if time.monotonic() - self._looked_at < _LOOK_S:
            return
        self._looked_at = time.monotonic()
        if self._renewing is None or not self._renewing.is_alive():
            self._renewing = Thread(target=self._renew, daemon=True)
            self._renewing.start()

    def _renew(self) -> None:
        try:
            self._leases.renew()
        except NodeTaken as error:
            self._lost = error

    def release(self, tell: Callable[[str], None]) -> None:
        """Release every node; ``tell`` receives a line for each one that could not be released."""
        self._leases.tell = tell
        self._leases.release()
