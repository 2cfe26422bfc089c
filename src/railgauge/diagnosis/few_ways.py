"""Slow paths between two nodes that were measured in too few ways to be decided. Pure.

Example: ``mi01`` and ``mi03`` are slow together over ``mlx5_0``, and nothing else was measured
between them. Either of them may have a slow NIC.
"""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.diagnosis.model import GOOD, Cause, RunResults
from railgauge.diagnosis.over_paths import has_rate, is_path
from railgauge.diagnosis.reach import goes_through
from railgauge.judging.record import ItemRecord


def doubt_of_ways(results: RunResults, path: Cause, mine: Sequence[ItemRecord]) -> str | None:
    """What makes a path doubtful that was measured in too few ways; ``None`` without a doubt."""
    ends = {path.where.node, path.where.peer}
    if not any(map(has_rate, mine)) and _has_fine_rates(results, ends):
        return "the rates between the two are fine, so it may be slow at times"
    if path.where.device and not _is_fine_elsewhere(results, path):
        return "nothing is known of the path over other NICs"
    return None


def _has_fine_rates(results: RunResults, ends: set[str]) -> bool:
    """Whether rates over the path of two nodes, of which latencies are slow, are within limits."""
    rates_ = (r for r in results.records.values() if set(r.nodes) == ends and is_path(r))
    return any(has_rate(record) and record.outcome in GOOD for record in rates_)


def _is_fine_elsewhere(results: RunResults, path: Cause) -> bool:
    """Whether the two nodes of a path reached their limits over another NIC."""
    ends = {path.where.node, path.where.peer}
    return any(
        set(record.nodes) == ends
        and record.outcome in GOOD
        and is_path(record)
        and has_rate(record)
        and not goes_through(path.where.device, record.pairing)
        for record in results.records.values()
    )
