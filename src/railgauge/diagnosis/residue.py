"""Measurements that are slower than the part that they were put down to. Pure.

A slow part costs each measurement over it about the same. One that lost clearly more than another
one of the same kind has a second fault on its way, which its limit does not show: a limit allows
for more noise than like measurements have.

Example: ``mlx5_5`` of ``h200-02`` is slow: it reaches 364 of 392 Gb/s with ``h200-03``, and 349
Gb/s with ``h200-01``. Something between ``h200-01`` and ``h200-02`` is slow as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from railgauge.core.naming import among, listed
from railgauge.diagnosis.course import SLOW
from railgauge.diagnosis.model import CERTAIN, OPEN, Cause, CauseClaim, RunResults, Where, missed
from railgauge.diagnosis.pattern import worst_of
from railgauge.diagnosis.reach import goes_through, nodes_of
from railgauge.diagnosis.shares import What, what
from railgauge.judging.record import ItemRecord
from railgauge.tools.metric import LOWER

_PAIR = 2
_CLEARLY = 0.97  # of the best of the same kind; healthy like parts differ by up to 1.04 %


def left_over(results: RunResults, causes: Sequence[Cause]) -> Iterator[CauseClaim]:
    """One undecided claim for each two nodes between which something else is slow as well."""
    found: dict[frozenset[str], list[tuple[ItemRecord, Cause]]] = defaultdict(list)
    for cause in filter(_is_steady, causes):
        others = [other for other in causes if other is not cause]
        for record in slower_than_others(_evidence(results, cause)):
            is_pair = len(set(record.nodes)) == _PAIR
            if is_pair and not any(_lies_on(other, record) for other in others):
                found[frozenset(record.nodes)].append((record, cause))
    for nodes, some in found.items():
        yield _claim(sorted(nodes), some)


def slower_than_others(records: Iterable[ItemRecord]) -> list[ItemRecord]:
    """The items that reach clearly less than the best one of the same kind."""
    rates = [(record, *rate) for record in records for rate in _rates(record)]
    best: dict[What, float] = {}
    for _, about, value in rates:
        best[about] = max(value, best.get(about, value))
    slower = (record for record, about, value in rates if value < _CLEARLY * best[about])
    return list(dict.fromkeys(slower))


def _rates(record: ItemRecord) -> Iterator[tuple[What, float]]:
    for judged in missed(record):
        about = what(record, judged)
        if about is not None and judged.worst is not None and judged.better != LOWER:
            yield about, judged.worst


def _evidence(results: RunResults, cause: Cause) -> list[ItemRecord]:
    return [results.records[item] for item in cause.evidence if item in results.records]


def _lies_on(cause: Cause, record: ItemRecord) -> bool:
    """Whether the item uses the cause's part, or is known to be undecided."""
    nodes, device = nodes_of(cause.where.node), cause.where.device
    used = (record.part_at(node) for node in record.nodes if node in nodes)
    return record.id in cause.evidence or any(goes_through(device, part) for part in used)


def _is_steady(cause: Cause) -> bool:
    """Whether it is a slow part that was slow all the time, by the pattern of slow items."""
    return cause.cause in SLOW and cause.confidence not in (OPEN, CERTAIN) and not cause.course


def _claim(nodes: Sequence[str], found: Sequence[tuple[ItemRecord, Cause]]) -> CauseClaim:
    records = tuple(record for record, _ in found)
    causes = listed(list(dict.fromkeys(f"{one.cause} ({one.where})" for _, one in found)))
    says = f"{worst_of(records)}; that is slower than {causes} explains"
    decide = f"measure {listed(nodes)} with nodes that are known to be good"
    return CauseClaim("slow-node", Where(among(nodes)), says, records, OPEN, decide)
