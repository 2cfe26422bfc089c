"""Slow items of one kind that lost different shares, and so have different causes. Pure.

Example: all writes of ``mx02`` over ``mlx5_0`` are slow. Two reach 364 Gb/s and one 349 Gb/s: what
``mx02`` costs does not explain the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from railgauge.diagnosis.course import SLOW
from railgauge.diagnosis.model import CERTAIN, OPEN, Cause, RunResults, missed
from railgauge.diagnosis.reach import goes_through, nodes_of
from railgauge.diagnosis.shares import What, what
from railgauge.judging.record import ItemRecord
from railgauge.tools.metric import LOWER

CLEARLY = 0.97  # of the best of the same kind; healthy like parts differ by up to 1.04 %
_SOMEWHAT, _MANY = 0.985, 4


def slower_than_others(records: Iterable[ItemRecord], share: float = CLEARLY) -> list[ItemRecord]:
    """The items that reach less than this share of the best one of the same kind."""
    reached = [(record, *rate) for record in records for rate in rates(record)]
    best: dict[What, float] = {}
    for _, about, value in reached:
        best[about] = max(value, best.get(about, value))
    slower = (record for record, about, value in reached if value < share * best[about])
    return list(dict.fromkeys(slower))


def pairs_behind(records: Iterable[ItemRecord]) -> list[ItemRecord]:
    """The items of two nodes that are all somewhat slower than the best one of the same kind.

    Noise alone does not put so many of them behind, so less is enough than for a single item.
    """
    taken = list(records)
    behind = slower_than_others(taken, _SOMEWHAT)
    pairs: dict[frozenset[str], list[ItemRecord]] = {}
    for record in taken:
        if any(True for _ in rates(record)):
            pairs.setdefault(frozenset(record.nodes), []).append(record)
    found = (some for some in pairs.values() if len(some) >= _MANY and set(some) <= set(behind))
    return [record for some in found for record in some]


def rates(record: ItemRecord) -> Iterator[tuple[What, float]]:
    for judged in missed(record):
        about = what(record, judged)
        if about is not None and judged.worst is not None and judged.better != LOWER:
            yield about, judged.worst


# --- the items of a cause ---


def evidence_of(results: RunResults, cause: Cause) -> list[ItemRecord]:
    return [results.records[item] for item in cause.evidence if item in results.records]


def lies_on(cause: Cause, record: ItemRecord) -> bool:
    """Whether the item uses the cause's part, of a path both ends; or is one of its items."""
    nodes, device = nodes_of(cause.where.node), cause.where.device
    if cause.where.peer and record.id not in cause.evidence:
        ends = {cause.where.node, cause.where.peer}
        return ends == set(record.nodes) and goes_through(device, record.pairing)
    used = (record.part_at(node) for node in record.nodes if node in nodes)
    return record.id in cause.evidence or any(goes_through(device, part) for part in used)


def is_steady(cause: Cause) -> bool:
    """Whether it is a slow part that was slow all the time, by the pattern of slow items."""
    return cause.cause in SLOW and cause.confidence not in (OPEN, CERTAIN) and not cause.course
