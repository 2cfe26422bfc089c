"""What a run costs the machine that carries it out: its memory and processor time. Pure.

Most of it grows with the items: each is collected, judged, recorded and shown in three reports. The
figures were measured on runs of the lab with 1,099 to 6,579 items, on two cores of a shared machine
with Python 3.11 (docs/running.md); other machines differ by their speed.
"""

from __future__ import annotations

from dataclasses import dataclass

# The process that collects, judges and reports: at its start, and for each item.
_START_MIB, _ITEM_KIB = 90, 18
_START_S, _ITEM_S = 1.0, 0.0037
# Each run of a tool: its commands over SSH, its counters, its output.
_RUN_S = 0.023
# A worker collects all items, and no report (docs/benchmarks.md, Collection).
_WORKER_MIB, _COLLECTED_KIB, _COLLECTED_S = 55, 3.3, 0.0001
BASIS = "18 KiB and 3.7 ms an item, 23 ms a run of a tool, measured on the lab"


@dataclass(frozen=True, slots=True)
class OwnCost:
    """Memory in MiB and processor time in seconds; ``…_worker_…`` for each worker of ``-n``."""

    memory_mib: float
    cpu_s: float
    worker_memory_mib: float
    worker_cpu_s: float


def own_cost(items: int, runs: int) -> OwnCost:
    """Return the cost of so many items, and so many runs of tools."""
    return OwnCost(
        memory_mib=_START_MIB + items * _ITEM_KIB / 1024,
        cpu_s=_START_S + items * _ITEM_S + runs * _RUN_S,
        worker_memory_mib=_WORKER_MIB + items * _COLLECTED_KIB / 1024,
        worker_cpu_s=items * _COLLECTED_S,
    )
