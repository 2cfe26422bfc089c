"""Causes that look decided, and that other causes of the same run make doubtful. Pure.

Each rule reads all causes of a run and leaves a cause undecided, or puts one cause in the place of
several. None decides what was undecided.

Example: a path between ``mi01`` and ``mi03`` was slow over ``mlx5_0``, and lost the same over
``mlx5_1``, of which ``mi03`` seemed to have a slow one. The path alone explains both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from railgauge.core.model import Judgement
from railgauge.core.naming import listed
from railgauge.core.terms import Flow
from railgauge.diagnosis.alike import evidence_of, is_steady, lies_on, rates
from railgauge.diagnosis.few_ways import doubt_of_ways
from railgauge.diagnosis.history import History
from railgauge.diagnosis.model import AGAIN, CERTAIN, GOOD, OPEN, Cause, RunResults, missed
from railgauge.diagnosis.over_paths import flow_of, is_path
from railgauge.diagnosis.reach import goes_through
from railgauge.diagnosis.remeasured import at_times
from railgauge.diagnosis.shares import Shares, What
from railgauge.diagnosis.their_partners import named_too
from railgauge.judging.confirmation import Confirmed
from railgauge.judging.record import ItemRecord
from railgauge.tools.metric import LOWER

_ENOUGH = 2  # partners that a part was slow with
_ALIKE = 0.985  # healthy like parts differ by up to 1.04 % in document 002


def doubted(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes, after all rules of this module."""
    found = list(causes)
    for rule in _RULES:
        found = rule(results, found)
    return found


def doubted_ends(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes; a part of a node is undecided if every item of it uses another slow part too."""
    return [_doubted_end(results, cause, causes) for cause in causes]


def _doubted_end(results: RunResults, cause: Cause, causes: Iterable[Cause]) -> Cause:
    if cause.where.peer or cause.cause == "slow-direction" or not is_steady(cause):
        return cause
    others = [one for one in causes if one.where.node != cause.where.node or one.where.peer]
    slow = [one for one in others if one.confidence != OPEN and one.cause.startswith("slow-")]
    mine = evidence_of(results, cause)
    if not mine or not all(any(_costs(results, one, r, mine) for one in slow) for r in mine):
        return cause
    says = f"{cause.says}; each of these also uses another slow part"
    return replace(cause, says=says, confidence=OPEN, would_decide=AGAIN.format(str(cause.where)))


def _costs(
    results: RunResults, part: Cause, record: ItemRecord, mine: Sequence[ItemRecord]
) -> bool:
    """Whether the part alone explains how slow the item is, by its items that are not ``mine``."""
    worst = _worst(one for one in evidence_of(results, part) if one not in mine)
    cost = (value >= _ALIKE * worst[about] for about, value in rates(record) if about in worst)
    return lies_on(part, record) and any(cost)


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
    if not device or cause.where.peer or device.startswith("gpu") or not is_steady(cause):
        return False
    lost = {
        (record.subject, judged.metric): judged.worst
        for record in evidence_of(results, cause)
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


def many_nics(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes; slow NICs of one node that lost the same are undecided.

    The node may be slow at times, as by far most nodes have no two faults of the same size.
    """
    alike = [cause for cause in causes if _has_like(results, cause, causes)]
    return [
        replace(cause, confidence=OPEN, would_decide=AGAIN.format(cause.where.node))
        if cause in alike
        else cause
        for cause in causes
    ]


def _has_like(results: RunResults, cause: Cause, causes: Iterable[Cause]) -> bool:
    if not _is_decided_nic(cause):
        return False
    others = filter(_is_decided_nic, causes)
    lost = _worst(evidence_of(results, cause))
    same = (
        _worst(evidence_of(results, one))
        for one in others
        if one.where.node == cause.where.node and one.where != cause.where
    )
    pairs = ([(lost[a], worst[a]) for a in lost.keys() & worst.keys()] for worst in same)
    return any(
        bool(some) and all(_ALIKE <= one / other <= 1 / _ALIKE for one, other in some)
        for some in pairs
    )


def _is_decided_nic(cause: Cause) -> bool:
    return cause.cause == "slow-nic" and cause.confidence not in (OPEN, CERTAIN)


def doubted_wholes(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes; a node is undecided if it was slow again over NICs only that are slow ones.

    So is a part that was slow only in both directions together.
    """
    return [
        replace(cause, confidence=OPEN, would_decide=AGAIN.format(cause.where.node))
        if _rests_on_slow_nics(results, cause, causes) or _rests_on_sums(results, cause)
        else cause
        for cause in causes
    ]


def _rests_on_sums(results: RunResults, cause: Cause) -> bool:
    """Whether all items moved their payload in both directions, so that one may be a fine one."""
    shown, flows = evidence_of(results, cause), results.platform.measurements
    is_whole = cause.cause in ("slow-nic", "slow-node") and is_steady(cause)
    return is_whole and all(is_path(r) and flow_of(r, flows) is Flow.BOTH for r in shown)


def _rests_on_slow_nics(results: RunResults, cause: Cause, causes: Sequence[Cause]) -> bool:
    node = cause.where.node
    is_whole = cause.cause in ("slow-node", "slow-direction") and not cause.where.device
    if not is_whole or not is_steady(cause):
        return False
    again = (one.asked.question.case for one in results.confirmed if one.asked.suspects == (node,))
    paths = [case.path_at(node) for case in again if case is not None and case.pairing]
    here = [one for one in causes if one.where.node == node and not one.where.peer]
    slow = {one.where.device for one in here if one.where.device and one.confidence != OPEN}
    return bool(paths) and all(path is not None and path.nic in slow for path in paths)


def doubted_paths(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes; a path is undecided if one of its ends alone, or another path, is as slow."""
    return [_doubted(results, cause, causes) for cause in causes]


def _doubted(results: RunResults, path: Cause, causes: Iterable[Cause]) -> Cause:
    if not path.where.peer or path.confidence in (OPEN, CERTAIN):
        return path
    mine, ends = evidence_of(results, path), {path.where.node, path.where.peer}
    lost = _worst(mine)
    for name in sorted(ends):
        if _is_unsteady(results, name, ends, lost):
            says = f"{path.says}; {name} was slow with others, measured again"
            return replace(path, says=says, confidence=OPEN, would_decide=AGAIN.format(name))
    if (doubt := doubt_of_ways(results, path, mine)) is not None:
        says = f"{path.says}; {doubt}"
        return replace(path, says=says, confidence=OPEN, would_decide=AGAIN.format(str(path.where)))
    if (whole := _unknown_end(results, path, causes)) is not None:
        said = path.says.partition("; measured again")[0]
        says = f"{said}; {whole} is slow as a whole, and may be slower over this NIC"
        return replace(path, says=says, confidence=OPEN, would_decide=AGAIN.format(whole))
    for end in (one for one in causes if one is not path):
        meets = len({end.where.node, end.where.peer} & ends) == 1 and end.course is not None
        if end.where.peer and not meets:
            continue
        if not end.where.peer and not is_steady(end):
            continue
        apart = [record for record in evidence_of(results, end) if record not in mine]
        worst = _worst(apart)
        on_it = bool(end.where.peer) or all(lies_on(end, record) for record in mine)
        is_as_slow = any(lost[a] >= _ALIKE * worst[a] for a in lost.keys() & worst.keys())
        if on_it and (is_as_slow or _is_a_slow_direction(results, end, path)):
            says = f"{path.says}; {end.cause} ({end.where}) costs as much"
            decide = AGAIN.format(listed(sorted((path.where.node, path.where.peer))))
            return replace(path, says=says, confidence=OPEN, would_decide=decide)
    return path


def _is_a_slow_direction(results: RunResults, end: Cause, path: Cause) -> bool:
    """Whether an end is behind its peers in one direction, by as much as the path is slow.

    Most of its measurements are within their limits, and of other kinds than those of the path.
    """
    shares, name = Shares(results.records.values()), [end.where.node]
    own = shares.levels([r for r in evidence_of(results, end) if r.outcome in GOOD], name)
    slow = shares.levels(evidence_of(results, path), name)
    return end.cause == "slow-direction" and bool(own and slow) and min(slow) >= _ALIKE * min(own)


def paths_that_meet(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes; a path is undecided if an undecided one from an end of it loses as much."""
    return [_meeting(results, cause, causes) for cause in causes]


def _meeting(results: RunResults, path: Cause, causes: Iterable[Cause]) -> Cause:
    if not path.where.peer or path.confidence in (OPEN, CERTAIN):
        return path
    other = _path_of_same_share(results, path, causes)
    if other is None:
        return path
    (shared,) = {path.where.node, path.where.peer} & {other.where.node, other.where.peer}
    pair = f"{other.where.node}:{other.where.peer}"
    says = f"{path.says}; the path {pair} loses as much: {shared} may be slow at times"
    return replace(path, says=says, confidence=OPEN, would_decide=AGAIN.format(shared))


def _path_of_same_share(results: RunResults, path: Cause, causes: Iterable[Cause]) -> Cause | None:
    """An undecided path from an end of this one that loses the same share, in any measurement."""
    ends, own = {path.where.node, path.where.peer}, _shares(results, path)
    for other in causes:
        common = ends & {other.where.node, other.where.peer}
        if other.confidence == OPEN and other.cause == path.cause and len(common) == 1:
            theirs = _shares(results, other)
            if own and theirs and _ALIKE <= min(own) / min(theirs) <= 1 / _ALIKE:
                return other
    return None


def _shares(results: RunResults, path: Cause) -> list[float]:
    """What its slow measurements reached, as shares of what like ones reached."""
    ends, shown = {path.where.node, path.where.peer}, {r.id for r in evidence_of(results, path)}
    subjects = {results.records[item].subject for item in shown}
    return [
        event.share
        for event in History(results).of(path.where.node)
        if event.slow and event.share and set(event.nodes) == ends and event.subject in subjects
    ]


def _unknown_end(results: RunResults, path: Cause, causes: Iterable[Cause]) -> str | None:
    """A slow node at an end of a path over one NIC, if nothing tells the path from this NIC.

    Over it, and in the direction in which the path is slow, no other partner was measured.
    """
    ends, history = {path.where.node, path.where.peer}, History(results)
    whole = (c for c in causes if c.cause == "slow-node" and c.confidence != OPEN)
    for name in (c.where.node for c in whole if path.where.device and c.where.node in ends):
        over = [e for e in history.of(name) if goes_through(path.where.device, e.part)]
        slow = {history.sends(e, name) for e in over if e.slow and set(e.nodes) == ends}
        apart = {history.sends(e, name) for e in over if set(e.nodes) != ends}
        if slow and slow.isdisjoint(apart):
            return name
    return None


def _is_unsteady(results: RunResults, end: str, ends: set[str], lost: Mapping[What, float]) -> bool:
    """Whether an end of a path was slow with a node off the path: at times, or as slow as it."""
    worst = {(subject, metric): value for (subject, metric, _, _), value in lost.items()}
    return any(
        at_times(one) or (one.asked.suspects == (end,) and _is_as_slow(one, worst))
        for one in results.confirmed
        for case in (one.asked.question.case,)
        if case is not None and end in case.nodes and not ends.issuperset(case.nodes)
    )


def _is_as_slow(result: Confirmed, worst: Mapping[tuple[str, str], float]) -> bool:
    case = result.asked.question.case
    about = case.measurement if case else ""
    pairs = [(one.worst, worst.get((about, one.metric))) for one in result.judgements]
    return result.missed and any(
        value and lost and _ALIKE <= value / lost <= 1 / _ALIKE for value, lost in pairs
    )


def whole_paths(results: RunResults, causes: Sequence[Cause]) -> list[Cause]:
    """The causes; a path over one NIC is one over all NICs over which it lost the same.

    What was put down to another part only for such items is undecided.
    """
    found = list(causes)
    for path in causes:
        over = _over_others(results, path) if path in found else []
        if over:
            ids = {record.id for record in over}
            evidence = tuple(dict.fromkeys((*path.evidence, *ids)))
            whole = replace(path, where=replace(path.where, device=""), evidence=evidence)
            rest = [cause for cause in found if not _is_of(whole, cause, path)]
            kept = [_without(results, cause, ids, path) for cause in rest]
            found = [whole if cause is path else cause for cause in kept]
    return found


def _is_of(whole: Cause, cause: Cause, path: Cause) -> bool:
    """Whether the cause is the same path over other NICs, of which all items are among these."""
    ends = {cause.where.node, cause.where.peer} == {whole.where.node, whole.where.peer}
    return ends and cause is not path and set(cause.evidence) <= set(whole.evidence)


def _over_others(results: RunResults, path: Cause) -> list[ItemRecord]:
    """The slow items of a path's two nodes over other NICs that lost as much."""
    if not (path.where.peer and path.where.device) or not is_steady(path):
        return []
    ends, own = {path.where.node, path.where.peer}, _worst(evidence_of(results, path))
    over: dict[str, list[ItemRecord]] = defaultdict(list)
    for record in results.records.values():
        if set(record.nodes) == ends and not goes_through(path.where.device, record.pairing):
            over[record.pairing].append(record)
    alike = (records for records in over.values() if _lost_alike(records, own))
    return [record for records in alike for record in records if missed(record)]


def _lost_alike(records: Sequence[ItemRecord], own: Mapping[What, float]) -> bool:
    """Whether the items that missed a limit lost as much as the path in each kind of value."""
    pairs = [(value, own[a]) for record in records for a, value in rates(record) if a in own]
    return bool(pairs) and all(_ALIKE <= one / other <= 1 / _ALIKE for one, other in pairs)


def _without(results: RunResults, cause: Cause, ids: set[str], path: Cause) -> Cause:
    """The cause; undecided if it rests on these items, which the path explains.

    It does not if it was slow with two other nodes as well.
    """
    if cause is path or not is_steady(cause) or ids.isdisjoint(cause.evidence):
        return cause
    kept = tuple(item for item in cause.evidence if item not in ids)
    shown = evidence_of(results, replace(cause, evidence=kept))
    if len({frozenset(record.nodes) for record in shown if missed(record)}) >= _ENOUGH:
        return replace(cause, evidence=kept)
    says = f"{cause.says}; the path between {path.where.node} and {path.where.peer} costs as much"
    return replace(cause, says=says, confidence=OPEN, would_decide=AGAIN.format(str(cause.where)))


def _worst(records: Iterable[ItemRecord]) -> dict[What, float]:
    found: dict[What, float] = {}
    for about, value in (rate for record in records for rate in rates(record)):
        found[about] = min(value, found.get(about, value))
    return found


_RULES = (
    whole_paths,
    doubted_nics,
    many_nics,
    doubted_wholes,
    doubted_paths,
    paths_that_meet,
    doubted_ends,
    named_too,
)
