"""An estimate of the memory and processor time that a run takes on the control host. Pure.

Most of it grows with the items: each is judged, recorded and shown in three reports, and collected
by itself or, beyond ``MOST_ITEMS``, as a row of another one. The figures were measured on runs of
the lab with 1,099 to 14,369 items, on two cores of a shared machine with Python 3.11
(docs/running.md); other machines differ by their speed.
"""

from __future__ import annotations

from dataclasses import dataclass

from railgauge.planning.sub_items import MOST_ITEMS


@dataclass(frozen=True, slots=True)
class _Rate:
    """The cost of an item in the process that judges and reports, and in a worker that collects."""

    item_kib: float
    collected_kib: float
    collected_s: float


_SINGLE = _Rate(item_kib=18, collected_kib=3.3, collected_s=1e-4)
_ROW = _Rate(item_kib=7, collected_kib=0.45, collected_s=1.1e-5)
# The process that collects, judges and reports, at its start.
_START_MIB, _START_S = 90, 1.0
_ITEM_S = 0.0037
# Each run of a tool: its commands over SSH, its counters, its output.
_RUN_S = 0.023
_WORKER_MIB = 55

MOST_JUDGED = 10_000_000
"""No run judges more items: their records are in memory until its end."""


@dataclass(frozen=True, slots=True)
class ResourceEstimate:
    """Memory in MiB and processor time in seconds; ``…_worker_…`` for each worker of ``-n``.

    ``basis`` describes the computation.
    """

    memory_mib: float
    cpu_s: float
    worker_memory_mib: float
    worker_cpu_s: float
    basis: str


def why_not(items: int) -> str:
    """Return why a run cannot judge so many items; empty if it can."""
    if items <= MOST_JUDGED:
        return ""
    most_gib = MOST_JUDGED * _rate(MOST_JUDGED).item_kib / 2**20
    return (
        f"judges {items:,} items, and a run at most {MOST_JUDGED:,}, with about {most_gib:.0f} GiB "
        "of memory"
    )


REMEDY = (
    "split it with --shard I/N, give each node fewer partners with --rounds K, or ask for another "
    "--level"
)


def _rate(items: int) -> _Rate:
    return _ROW if items > MOST_ITEMS else _SINGLE


def resource_estimate(items: int, runs: int) -> ResourceEstimate:
    """Return the cost of so many items, and so many runs of tools."""
    rate = _rate(items)
    return ResourceEstimate(
        memory_mib=_START_MIB + items * rate.item_kib / 1024,
        cpu_s=_START_S + items * _ITEM_S + runs * _RUN_S,
        worker_memory_mib=_WORKER_MIB + items * rate.collected_kib / 1024,
        worker_cpu_s=items * rate.collected_s,
        basis=f"{rate.item_kib:g} KiB and {1000 * _ITEM_S:g} ms an item, "
        f"{1000 * _RUN_S:g} ms a run of a tool, measured on the lab",
    )
