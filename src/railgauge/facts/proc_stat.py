"""The CPU time between two readings of ``/proc/stat``, see proc_stat(5). Pure.

Of each reading these lines are needed, other lines do not matter::

    cpu  274049 127 43172 29811 441 0 472 223 0 0
    procs_running 3
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_IDLE_FIELD, _IOWAIT_FIELD, _STEAL_FIELD = 3, 4, 7
_TICK_FIELDS = 8  # those after it, of guests, are in the first two as well
_TICKS = re.compile(r"^cpu +([0-9]{1,20}(?: [0-9]{1,20})+)$", re.M)
_RUNNING = re.compile(r"^procs_running ([0-9]{1,9})$", re.M)


@dataclass(frozen=True, slots=True)
class CpuTime:
    """Clock ticks of all CPUs by field of ``/proc/stat``, and the tasks that could run.

    ``running`` has their numbers at the first and at the second reading.
    """

    ticks: tuple[int, ...]
    running: tuple[int, int]

    @property
    def total(self) -> int:
        return sum(self.ticks)

    @property
    def stolen(self) -> int:
        """What the hypervisor gave to other guests."""
        return self.ticks[_STEAL_FIELD]

    @property
    def wanted(self) -> int:
        """All time in which the CPUs had work, got or stolen."""
        return self.total - self.ticks[_IDLE_FIELD] - self.ticks[_IOWAIT_FIELD]


def between(before: str, after: str) -> CpuTime | None:
    """Return the time between two readings; ``None`` if one lacks a line or a counter decreased.

    The counter of waiting for a disk may decrease by itself.
    """
    first, last = _reading(before), _reading(after)
    if first is None or last is None:
        return None
    ticks = tuple(late - early for early, late in zip(first[0], last[0], strict=True))
    if min(n for at, n in enumerate(ticks) if at != _IOWAIT_FIELD) < 0:
        return None
    return CpuTime(ticks, (first[1], last[1]))


def _reading(text: str) -> tuple[tuple[int, ...], int] | None:
    ticks, running = _TICKS.search(text), _RUNNING.search(text)
    counted = tuple(map(int, ticks[1].split()))[:_TICK_FIELDS] if ticks else ()
    return (counted, int(running[1])) if running and len(counted) == _TICK_FIELDS else None
