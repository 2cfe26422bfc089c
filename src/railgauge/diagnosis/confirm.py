"""Choose the measurements that would confirm a run's suspects, with good partners. Pure.

A node, or a part of it, is measured with up to two nodes that are not suspects. A path between two
nodes, and a measurement of a single node, are repeated unchanged. Causes that a fact or a counter
proves need no measurement. A fault that comes and goes is measured several times, over the NIC that
it was seen on and over another one; if it looked like a path, so is each of its two nodes. Where
one direction is slow, suspects keep their place in the pair, so that the payload moves the same
way; one more measurement, without suspects, moves it back.

Example: ``mx03`` was slow with ``mx04``, and both are suspects. Each is measured again with
``mx01`` and ``mx02``, which reached their limits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, log

from railgauge.core.model import Outcome
from railgauge.core.question import LIMITS, TRANSPORT, Question
from railgauge.core.terms import Flow, Rung
from railgauge.diagnosis import CERTAIN, OPEN, Cause, RunResults, elimination, nodes_of
from railgauge.diagnosis.gpu_or_path import elsewhere, suspected_path
from railgauge.diagnosis.history import nic_of
from railgauge.diagnosis.partners import good_nodes, partners, spare_nodes
from railgauge.diagnosis.speed import DIRECTION
from railgauge.judging.confirmation import MOST_REPEATS, Remeasurement
from railgauge.judging.record import ItemRecord
from railgauge.planning.forecast import FOLLOW_UPS
from railgauge.tools import flow

_PARTNERS = 2
_MOST_SUSPECTS = 16  # of one undecided cause; more would measure much of the cluster again
_PAIR = 2
_UNSEEN = 0.05


def confirmations(results: RunResults, causes: Sequence[Cause]) -> tuple[Remeasurement, ...]:
    """Return the measurements to repeat, in the order of the causes, each question once."""
    asked: dict[Question, Remeasurement] = {}
    good = good_nodes(results, causes)
    for cause in causes:
        if cause.confidence != CERTAIN:
            telling = tuple(_telling_apart(results, causes, cause, good))
            for one in telling or _of_cause(results, cause, good):
                asked.setdefault(one.question, one)
    return tuple(asked.values())


def follow_ups(results: RunResults, causes: Sequence[Cause]) -> tuple[Remeasurement, ...]:
    """Return the measurements that decide what the plan cannot, at most ``FOLLOW_UPS``.

    A suspect lacks a partner if fewer were measured with it than the plan has for other nodes: the
    partner was behind a gate, was lost, or the number of nodes is odd. It is measured with good
    nodes that it has not met, and the slow pair again. Where each node sends once and receives
    once, sender, receiver and path of a slow pair look alike, so each is measured by itself. A GPU
    that was measured over one NIC only is measured over another one.
    """
    asked: dict[Question, Remeasurement] = {}
    good = good_nodes(results, causes)
    for cause in causes:
        telling = tuple(_telling_apart(results, causes, cause, good))
        for one in telling or _of_one_way(results, causes, cause, good):
            asked.setdefault(one.question, one)
    return tuple(asked.values())[:FOLLOW_UPS]


def _of_one_way(
    results: RunResults, causes: Sequence[Cause], cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """For a pair that is slow in the one direction it was measured in, each measurement once."""
    if cause.cause != DIRECTION or cause.confidence != OPEN:
        return
    cause, suspects = replace(cause, course=None), nodes_of(cause.where.node)
    shown = [results.records[i] for i in cause.evidence if i in results.records]
    worst = _worst(r for r in _telling(results, cause, shown) if suspects <= set(r.nodes))
    if worst is None or len(suspects) > _PAIR:
        return
    good = good or [n for n in spare_nodes(results, causes, worst) if n not in worst.nodes]
    if sum(one.cause == DIRECTION and one.confidence == OPEN for one in causes) > 1:
        good = good[:1]  # so that the measurements suffice for two causes
    if len(suspects) == _PAIR:
        yield from _of_cause(results, cause, good)
        return
    (suspect,) = suspects  # the other suspect is the path
    others = [node for node in good if node not in worst.nodes]
    yield from _with(
        cause, suspect, worst, partners(results.records, suspect, worst.subject, others)
    )
    yield _asked(cause, worst.nodes, worst, {})


def _telling_apart(
    results: RunResults, causes: Sequence[Cause], cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """The measurements that the plan lacks for this cause."""
    yield from _missing_partners(results, causes, cause, good)
    yield from _gpu_or_path(results, cause, good)
    yield from _by_elimination(results, cause, good)


def _by_elimination(
    results: RunResults, cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """Pairs of suspects that have not met, or each suspected path of a node."""
    shown = [results.records[i] for i in cause.evidence if i in results.records]
    worst = _worst(r for r in shown if len(set(r.nodes)) == _PAIR)
    if worst is None:
        return
    met, _ = _met(results.records.values(), worst.subject)
    for pair in elimination.unmet(cause, met):
        yield _asked(cause, pair, worst, dict(zip(worst.nodes, pair, strict=True)))
    for partner in good[:1]:
        yield from elimination.on_paths(cause, results.records, results.platform, partner)


def _gpu_or_path(results: RunResults, cause: Cause, good: Sequence[str]) -> Iterator[Remeasurement]:
    """The slow pairing, its GPU over another NIC, and the latter between two good nodes."""
    path, node = suspected_path(cause), cause.where.node
    shown = [results.records[i] for i in cause.evidence if i in results.records]
    worst = _worst(r for r in shown if r.nodes.count(node) == 1 and r.part_at(node) == path)
    fit = partners(results.records, node, worst.subject, good) if path and worst else ()
    if worst is None or len(fit) < _PAIR:
        return
    for again in _with(cause, node, worst, fit[:1]):
        other = elsewhere(results.platform, again.question)
        if other is not None and other.case is not None:
            yield again
            yield replace(again, question=other)
            nodes = tuple(fit[1] if name == node else name for name in other.case.nodes)
            between = replace(other, case=replace(other.case, nodes=nodes))
            yield replace(again, question=between, suspects=())


def _missing_partners(
    results: RunResults, causes: Sequence[Cause], cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    suspects = nodes_of(cause.where.node)
    shown = [results.records[i] for i in cause.evidence if i in results.records]
    worst = _worst(r for r in shown if len(r.nodes) == _PAIR and suspects.intersection(r.nodes))
    is_open = cause.confidence == OPEN and not cause.where.peer and cause.cause != DIRECTION
    if worst is None or len(suspects) > _PAIR or not is_open:
        return
    met, most = _met(results.records.values(), worst.subject)
    if all(len(met[node]) >= most for node in suspects):
        return
    for suspect in sorted(suspects):
        own = _worst(r for r in shown if suspect in r.nodes and r.subject == worst.subject)
        if own is not None:
            new = [node for node in good if node not in met[suspect]]
            fit = partners(results.records, suspect, own.subject, new)
            spare = (n for n in spare_nodes(results, causes, own) if n not in met[suspect])
            fit = fit or tuple(spare)[:1]
            yield from _with(cause, suspect, own, fit)
            if len(met[suspect]) <= 1:
                yield from _back(results, cause, suspect, own, fit[:1])
    yield _asked(cause, worst.nodes, worst, {})


def _back(
    results: RunResults, cause: Cause, suspect: str, own: ItemRecord, partner: Sequence[str]
) -> Iterator[Remeasurement]:
    """The other direction of a suspect that nothing else was measured of."""
    if _is_one_way(results, own) and own.rung == Rung.NETWORK:
        (other,) = set(own.nodes) - {suspect}
        for name in partner:
            yield from _turned(cause, own, {other: name})


def _met(records: Iterable[ItemRecord], subject: str) -> tuple[dict[str, set[str]], int]:
    """The partners that each node was measured with, and the most that the plan has for a node."""
    met: dict[str, set[str]] = defaultdict(set)
    planned: dict[str, set[str]] = defaultdict(set)
    for record in records:
        if record.subject == subject and len(record.nodes) == _PAIR:
            for node, other in (record.nodes, record.nodes[::-1]):
                planned[node].add(other)
                if record.asserted:
                    met[node].add(other)
    return met, max(map(len, planned.values()), default=0)


def _of_cause(results: RunResults, cause: Cause, good: Sequence[str]) -> Iterator[Remeasurement]:
    suspects = nodes_of(cause.where.node)
    if not suspects or (cause.confidence == OPEN and len(suspects) > _MOST_SUSPECTS):
        return
    shown = [results.records[i] for i in cause.evidence if i in results.records]
    if cause.where.peer:
        ends = (cause.where.node, cause.where.peer)
        worst = _worst(r for r in shown if set(r.nodes) == set(ends))
        if worst is not None:
            yield _asked(cause, ends, worst, {})
            for end in ends if _comes_and_goes(cause) else ():
                yield from _over_its_nics(results, cause, end, worst, good)
        return
    for suspect in (node.name for node in results.cluster.nodes if node.name in suspects):
        worst = _worst(r for r in _telling(results, cause, shown) if suspect in r.nodes)
        if worst is not None and _comes_and_goes(cause):
            yield from _over_its_nics(results, cause, suspect, worst, good)
        elif worst is not None:
            yield from _with_partners(results, cause, suspect, worst, good)
    if cause.cause == DIRECTION:
        yield from _of_the_pair(results, cause, shown)


def _telling(results: RunResults, cause: Cause, shown: Sequence[ItemRecord]) -> list[ItemRecord]:
    """The items to repeat; for a slow direction those that move their payload one way."""
    if cause.cause != DIRECTION:
        return list(shown)
    return [record for record in shown if _is_one_way(results, record)] or list(shown)


def _is_one_way(results: RunResults, record: ItemRecord) -> bool:
    measurement = results.platform.measurements.get(record.subject)
    return measurement is not None and flow(measurement) in (Flow.FORWARD, Flow.BACKWARD)


def _of_the_pair(
    results: RunResults, cause: Cause, shown: Sequence[ItemRecord]
) -> Iterator[Remeasurement]:
    """The slow pair in both directions, if its two nodes, or its path, are the suspects."""
    suspects = nodes_of(cause.where.node)
    fit = (r for r in _telling(results, cause, shown) if set(r.nodes) == suspects)
    worst = _worst(fit)
    if worst is not None:
        yield _asked(cause, tuple(worst.nodes), worst, {})
        yield from _turned(cause, worst, {})


def _turned(
    cause: Cause, record: ItemRecord, instead: Mapping[str, str]
) -> Iterator[Remeasurement]:
    """The same measurement in the other direction; none between rails, where the ends differ."""
    asked = _asked(cause, (), record, instead)
    case = asked.question.case
    if case is not None and not (case.pairing and case.pairing.peer):
        back = replace(case, nodes=case.nodes[::-1])
        yield replace(asked, question=replace(asked.question, case=back))


def _comes_and_goes(cause: Cause) -> bool:
    return cause.course is not None and not cause.course.since


def _over_its_nics(
    results: RunResults, cause: Cause, suspect: str, worst: ItemRecord, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """Over the path of the worst item, and over another NIC that the suspect was measured on."""
    yield from _with_partners(results, cause, suspect, worst, good)
    others = (
        record
        for record in results.records.values()
        if record.subject == worst.subject
        and record.size_bytes == worst.size_bytes
        and suspect in record.nodes
        and len(set(record.nodes)) == _PAIR
        and nic_of(record.part_at(suspect)) != nic_of(worst.part_at(suspect))
        and _asks(record) is not None
    )
    if (other := next(others, None)) is not None:
        yield from _with_partners(results, cause, suspect, other, good)


def _with_partners(
    results: RunResults, cause: Cause, suspect: str, worst: ItemRecord, good: Sequence[str]
) -> Iterator[Remeasurement]:
    if len(worst.nodes) == 1:
        yield _asked(cause, (suspect,), worst, {})
        return
    fit = partners(results.records, suspect, worst.subject, good)
    yield from _with(cause, suspect, worst, fit)
    if cause.cause == DIRECTION and cause.confidence != OPEN:
        (other,) = set(worst.nodes) - {suspect}
        for partner in fit[:1]:
            yield from _turned(cause, worst, {other: partner})


def _with(
    cause: Cause, suspect: str, worst: ItemRecord, others: Iterable[str]
) -> Iterator[Remeasurement]:
    """The item's measurement, each time with another partner."""
    (other,) = set(worst.nodes) - {suspect}
    for partner in others:
        yield _asked(cause, (suspect,), worst, {other: partner})


def _worst(records: Iterable[ItemRecord]) -> ItemRecord | None:
    """The item of one or two nodes that missed its limit by most and can be measured again."""
    fit = [r for r in records if len(r.nodes) <= _PAIR and _question(r) is not None]
    return min(fit, key=_margin, default=None)


def _margin(record: ItemRecord) -> float:
    missed = [j for j in record.judgements if j.outcome is Outcome.FAILED]
    return min((j.margin for j in missed if j.margin is not None), default=0.0)


def _question(record: ItemRecord) -> Question | None:
    """The question whose answer made the item fail, which is its last one.

    ``None`` if the item did not fail, or if the question cannot be measured again.
    """
    return _asks(record) if record.outcome is Outcome.FAILED else None


def _asks(record: ItemRecord) -> Question | None:
    """The last question of the item, if it can be measured again."""
    last = record.questions[-1] if record.questions else None
    return last if last and last.case and last.kind in (LIMITS, TRANSPORT) else None


def _repeats(cause: Cause, least: int) -> int:
    """How often to measure: often enough that a fault that comes and goes shows in 19 of 20 cases.

    It shows in a share of the measurements, and two partners share the repeats.
    """
    if cause.course is None or not _comes_and_goes(cause):
        return least
    fine = 1 - cause.course.slow / cause.course.of
    needed = log(_UNSEEN) / log(fine) / _PARTNERS if fine else least
    return max(least, min(MOST_REPEATS, ceil(needed)))


def _asked(
    cause: Cause, suspects: tuple[str, ...], record: ItemRecord, instead: Mapping[str, str]
) -> Remeasurement:
    question = _asks(record)
    assert question is not None
    assert question.case is not None
    nodes = tuple(instead.get(node, node) for node in question.case.nodes)
    where = cause.where
    repeats = _repeats(cause, question.case.repeats)
    again = replace(question, case=replace(question.case, nodes=nodes, repeats=repeats))
    return Remeasurement(cause.cause, where.node, where.device, where.peer, suspects, again)
