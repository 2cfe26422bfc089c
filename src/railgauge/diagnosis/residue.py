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
from dataclasses import replace

from railgauge.core.model import Judgement
from railgauge.core.naming import among, listed
from railgauge.diagnosis.alike import rates, slower_than_others
from railgauge.diagnosis.course import SLOW
from railgauge.diagnosis.model import (
    AGAIN,
    CERTAIN,
    OPEN,
    Cause,
    CauseClaim,
    RunResults,
    Where,
    missed,
)
from railgauge.diagnosis.pattern import worst_of
from railgauge.diagnosis.reach import goes_through, nodes_of
from railgauge.diagnosis.shares import What
from railgauge.judging.record import ItemRecord
from railgauge.tools.metric import LOWER

_PAIR = 2
_MUCH = 0.05  # of a limit
_ALIKE = 0.985  # healthy like parts differ by up to 1.04 % in document 002


def left_over(results: RunResults, causes: Sequence[Cause]) -> Iterator[CauseClaim]:
    """One undecided claim for each two nodes between which something else is slow as well."""
    found: dict[frozenset[str], list[tuple[ItemRecord, Cause]]] = defaultdict(list)
    for cause in filter(_is_steady, causes):
        others = [other for other in causes if other.where != cause.where]
        for record in slower_than_others(_evidence(results, cause)):
            is_pair = len(set(record.nodes)) == _PAIR
            if is_pair and not any(_lies_on(other, record) for other in others):
                found[frozenset(record.nodes)].append((record, cause))
    for record, cause in _of_groups(results, causes):
        found[frozenset(record.nodes)].append((record, cause))
    for nodes, some in found.items():
        yield _claim(sorted(nodes), some)


def _of_groups(results: RunResults, causes: Sequence[Cause]) -> Iterator[tuple[ItemRecord, Cause]]:
    """Collectives of a group that missed their limit by far more than its slow parts cost pairs."""
    for record in results.records.values():
        lost = _margin([record]) if len(set(record.nodes)) > _PAIR else 0.0
        on = [one for one in causes if lost and record.id in (*one.evidence, *one.explains)]
        if not on or not all(map(_is_steady, on)):
            continue
        pairs = [r for one in on for r in _evidence(results, one) if len(set(r.nodes)) <= _PAIR]
        if pairs and lost < _margin(pairs) - _MUCH:
            yield record, on[0]


def _margin(records: Iterable[ItemRecord]) -> float:
    """The smallest margin of a limit that was missed; 0.0 for none."""
    margins = (judged.margin for record in records for judged in missed(record))
    return min((margin for margin in margins if margin is not None), default=0.0)


def doubted_nics(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes; a NIC is undecided if its node lost the same over another NIC, measured again.

    The node may be slow at times.
    """
    return [
        replace(cause, confidence=OPEN, would_decide=AGAIN.format(cause.where.node))
        if _is_slow_elsewhere(results, cause)
        else cause
        for cause in causes
    ]


def _is_slow_elsewhere(results: RunResults, cause: Cause) -> bool:
    node, device = cause.where.node, cause.where.device
    if not device or cause.where.peer or device.startswith("gpu") or not _is_steady(cause):
        return False
    lost = {
        (record.subject, judged.metric): judged.worst
        for record in _evidence(results, cause)
        for judged in missed(record)
        if judged.worst is not None and judged.better != LOWER
    }
    return any(
        case is not None
        and (path := case.path_at(node) if node in case.nodes else None) is not None
        and path.nic != device
        and _is_alike(judged, lost.get((case.measurement, judged.metric)))
        for one in results.confirmed
        for case in (one.asked.question.case,)
        for judged in one.judgements
    )


def _is_alike(judged: Judgement, lost: float | None) -> bool:
    """Whether some repeats of what was measured again, and not all, have this value."""
    if lost is None:
        return False
    alike = [_ALIKE <= value / lost <= 1 / _ALIKE for value in judged.values]
    return any(alike) and not all(alike)


def doubted_paths(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes; a path is undecided if one of its ends alone is as slow as the path."""
    return [_doubted(results, cause, causes) for cause in causes]


def _doubted(results: RunResults, path: Cause, causes: Iterable[Cause]) -> Cause:
    if not path.where.peer or path.confidence in (OPEN, CERTAIN):
        return path
    mine = _evidence(results, path)
    lost = _worst(mine)
    for end in filter(_is_steady, causes):
        apart = [] if end.where.peer else [r for r in _evidence(results, end) if r not in mine]
        worst, on_it = _worst(apart), all(_lies_on(end, record) for record in mine)
        if on_it and any(lost[a] >= _ALIKE * worst[a] for a in lost.keys() & worst.keys()):
            says = f"{path.says}; {end.cause} ({end.where}) costs as much"
            decide = AGAIN.format(listed(sorted((path.where.node, path.where.peer))))
            return replace(path, says=says, confidence=OPEN, would_decide=decide)
    return path


def whole_paths(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes; a path over one NIC is one over all NICs over which it lost the same.

    What was put down to another part only for such items is undecided.
    """
    found = list(causes)
    for number, path in enumerate(causes):
        over = _over_others(results, path)
        if over:
            ids = {record.id for record in over}
            found = [_without(cause, ids, path) for cause in found]
            evidence = tuple(dict.fromkeys((*path.evidence, *ids)))
            found[number] = replace(path, where=replace(path.where, device=""), evidence=evidence)
    return found


def _over_others(results: RunResults, path: Cause) -> list[ItemRecord]:
    """The slow items of a path's two nodes over other NICs that lost as much."""
    if not (path.where.peer and path.where.device) or not _is_steady(path):
        return []
    ends, own = {path.where.node, path.where.peer}, _worst(_evidence(results, path))
    others = (
        record
        for record in results.records.values()
        if set(record.nodes) == ends and not goes_through(path.where.device, record.pairing)
    )
    return [
        record
        for record in others
        if any(a in own and _ALIKE <= value / own[a] <= 1 / _ALIKE for a, value in rates(record))
    ]


def _without(cause: Cause, ids: set[str], path: Cause) -> Cause:
    """The cause; undecided if it rests on these items, which the path explains."""
    if cause is path or not _is_steady(cause) or ids.isdisjoint(cause.evidence):
        return cause
    says = f"{cause.says}; the path between {path.where.node} and {path.where.peer} costs as much"
    return replace(cause, says=says, confidence=OPEN, would_decide=AGAIN.format(str(cause.where)))


def _worst(records: Iterable[ItemRecord]) -> dict[What, float]:
    found: dict[What, float] = {}
    for about, value in (rate for record in records for rate in rates(record)):
        found[about] = min(value, found.get(about, value))
    return found


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
