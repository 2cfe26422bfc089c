"""The CPU time that a hypervisor took from a virtual node during a repeat. Pure.

``/proc/stat`` is read before and after the repeat. An idle CPU loses nothing, so the share is of
the time in which the node's CPUs had work. It shows a single thread on a node with many CPUs too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from railgauge.core.model import Command
from railgauge.facts import proc_stat

# A loss of this share may explain a missed limit; the shorter of two measurements has 50 ms.
SHARE = 0.05
_FEWEST_TICKS = 5


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

    Unusable readings excuse no slow measurement.
    """
    time = proc_stat.between(before, after)
    return StolenTime(time.stolen, time.wanted, time.running) if time else None
