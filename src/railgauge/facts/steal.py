"""The CPU time that a hypervisor took from a virtual node during a repeat. Pure.

Two readings of ``/proc/stat``, before and after the repeat, of which these lines are kept::

    cpu  274049 127 43172 29811 441 0 472 223 0 0
    procs_running 3

See proc_stat(5). An idle CPU loses nothing, so the share is of the time in which the node's CPUs
had work. It shows a single thread on a node with many CPUs too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from railgauge.core.model import Command

# A loss of this share may explain a missed limit; the shorter of two measurements has 50 ms.
SHARE = 0.05
_FEWEST_TICKS = 5
_IDLE_FIELD, _IOWAIT_FIELD, _STEAL_FIELD = 3, 4, 7
_TICK_FIELDS = 8  # those after it, of guests, are in the first two as well
_TICKS = re.compile(r"^cpu +(\d{1,20}(?: \d{1,20})+)$", re.M)
_RUNNING = re.compile(r"^procs_running (\d{1,9})$", re.M)


@dataclass(frozen=True, slots=True)
class StolenTime:
    """The CPU time that a virtual node got and wanted, in clock ticks.

    ``running`` is the number of tasks that could run, before and after.
    """

    stolen: int
    wanted: int
    running: tuple[int, int]

    @property
    def share(self) -> float:
        """The share of the wanted time that went to others."""
        return self.stolen / self.wanted if self.wanted else 0.0

    @property
    def is_busy(self) -> bool:
        """Whether others used so much that it may have slowed a measurement on this node."""
        return self.share >= SHARE and self.stolen >= _FEWEST_TICKS


def readers(nodes: Iterable[str], rootfs: str) -> tuple[Command, ...]:
    """The commands that read the CPU time of nodes, the same before and after a repeat."""
    path = f"{rootfs.rstrip('/')}/proc/stat"
    argv = ("grep", "-E", "^(cpu|procs_running) ", path)
    return tuple(Command(node, argv, {"LC_ALL": "C"}, plain=True) for node in nodes)


def parse(before: str, after: str) -> StolenTime | None:
    """Return the stolen time between two readings; ``None`` for unusable readings.

    A counter that decreased makes them unusable: unusable readings excuse no slow measurement.
    """
    read = [_ticks(text) for text in (before, after)]
    running = [_RUNNING.search(text) for text in (before, after)]
    if not read[0] or not read[1] or not running[0] or not running[1]:
        return None
    grown = [late - early for early, late in zip(*read, strict=True)]
    # The counter of waiting for a disk may decrease by itself.
    if min(n for at, n in enumerate(grown) if at != _IOWAIT_FIELD) < 0:
        return None
    wanted = sum(n for at, n in enumerate(grown) if at not in (_IDLE_FIELD, _IOWAIT_FIELD))
    return StolenTime(grown[_STEAL_FIELD], wanted, (int(running[0][1]), int(running[1][1])))


def _ticks(text: str) -> tuple[int, ...]:
    found = _TICKS.search(text)
    counted = tuple(map(int, found[1].split()))[:_TICK_FIELDS] if found else ()
    return counted if len(counted) == _TICK_FIELDS else ()
