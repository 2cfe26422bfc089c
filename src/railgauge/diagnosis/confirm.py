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

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railgauge.diagnosis import (
    CERTAIN,
    OPEN,
    Cause,
    RunResults,
    nodes_of,
)
from railgauge.diagnosis.asking import (
    asked_again,
    comes_and_goes,
    is_one_way,
    over_another_nic,
    turned,
    with_each,
    worst_item,
)
from railgauge.diagnosis.confirmed import NOT_REPRODUCED
from railgauge.diagnosis.effects import EFFECTS, Harm
from railgauge.diagnosis.partners import good_nodes, partners, stand_ins
from railgauge.diagnosis.paths_again import was_fast
from railgauge.diagnosis.speed import DIRECTION
from railgauge.diagnosis.telling_apart import telling_apart, third_partner
from railgauge.judging.confirmation import Remeasurement
from railgauge.judging.record import ItemRecord
from railgauge.planning.forecast import FOLLOW_UPS

_PARTNERS = 2
_MOST_SUSPECTS = 16  # of one undecided cause; more would measure much of the cluster again
_PAIR = 2


def confirmations(results: RunResults, causes: Sequence[Cause]) -> tuple[Remeasurement, ...]:
    """Return the measurements to repeat, in the order of the causes, each question once."""
    asked: list[Remeasurement] = []
    good = good_nodes(results, causes)
    for cause in causes:
        if cause.confidence != CERTAIN and _is_of_a_part(cause):
            telling = tuple(telling_apart(results, causes, cause, good))
            decides = telling if cause.confidence == OPEN else ()
            asked.extend(decides or (*telling, *_of_cause(results, cause, good)))
    return _each_once(asked)


def follow_ups(
    results: RunResults, causes: Sequence[Cause], before: Sequence[Remeasurement] = ()
) -> tuple[Remeasurement, ...]:
    """Return the measurements that decide what the plan cannot.

    With those made ``before``, which are not made again, they are at most ``FOLLOW_UPS``.
    A suspect is measured with good nodes that it has not met, and the slow pair again: its partner
    was behind a gate, was lost, or is a suspect as well. Where each node sends once and receives
    once, sender, receiver and path of a slow pair look alike, so each is measured by itself. A GPU
    that was measured over one NIC only is measured over another one.
    """
    asked: list[Remeasurement] = []
    good = good_nodes(results, causes)
    for cause in causes:
        if cause.confirmation and cause.confirmation.state == NOT_REPRODUCED:
            continue  # one more measurement decides nothing
        if not _is_of_a_part(cause):
            continue
        telling = tuple(telling_apart(results, causes, cause, good))
        asked.extend(
            telling
            or tuple(_of_one_way(results, causes, cause, good))
            or third_partner(results, causes, cause, good)
        )
    return _each_once(asked, before)[: max(0, FOLLOW_UPS - len(before))]


def _is_of_a_part(cause: Cause) -> bool:
    """Whether a part may be at fault. What casts doubt on measurements may do so on the next."""
    return EFFECTS[cause.cause].harm is not Harm.DOUBTS


def _each_once(
    asked: Sequence[Remeasurement], before: Sequence[Remeasurement] = ()
) -> tuple[Remeasurement, ...]:
    """Return each question once, without those asked ``before``.

    A case has one set of transcripts, so all questions about it have the most repeats of any of
    them; or those of ``before``, because it is not measured again.
    """
    most: dict[str, int] = {}
    for one in asked:
        most[_key(one)] = max(_repeats(one), most.get(_key(one), 1))
    most |= {_key(one): _repeats(one) for one in before}
    known = {one.question for one in before}
    shared = [_repeated(one, most[_key(one)]) for one in asked]
    once = {one.question: one for one in reversed(shared) if one.question not in known}
    return tuple(reversed(once.values()))


def _key(one: Remeasurement) -> str:
    assert one.question.case is not None
    return one.question.case.key


def _repeats(one: Remeasurement) -> int:
    assert one.question.case is not None
    return one.question.case.repeats


def _repeated(one: Remeasurement, repeats: int) -> Remeasurement:
    assert one.question.case is not None
    case = replace(one.question.case, repeats=repeats)
    return replace(one, question=replace(one.question, case=case))


def _of_one_way(
    results: RunResults, causes: Sequence[Cause], cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """For a pair that is slow in the one direction it was measured in, each measurement once."""
    if cause.cause != DIRECTION or cause.confidence != OPEN:
        return
    cause, suspects = replace(cause, course=None), nodes_of(cause.where.node)
    shown = [results.records[i] for i in cause.evidence if i in results.records]
    worst = worst_item(r for r in _telling(results, cause, shown) if suspects <= set(r.nodes))
    if worst is None or len(suspects) > _PAIR:
        return
    good = [node for node in good if node not in worst.nodes]
    good = good or stand_ins(results, causes, worst)[:_PARTNERS]
    if sum(one.cause == DIRECTION and one.confidence == OPEN for one in causes) > 1:
        good = good[:1]  # so that the measurements suffice for two causes
    if len(suspects) == _PAIR:
        yield from _of_cause(results, cause, good)
        return
    # The other suspect is the path. If the path was fast as well, each end is one too.
    for suspect in worst.nodes if was_fast(results, worst) else suspects:
        fit = partners(results.records, suspect, worst.subject, good)
        yield from with_each(cause, suspect, worst, fit)
        # It may be slow in the other direction too, and within other limits there.
        if is_one_way(results, worst):
            (other,) = set(worst.nodes) - {suspect}
            for partner in fit[:1]:
                yield from turned(cause, worst, {other: partner})
    yield asked_again(cause, worst.nodes, worst, {})


def _of_cause(results: RunResults, cause: Cause, good: Sequence[str]) -> Iterator[Remeasurement]:
    suspects = nodes_of(cause.where.node)
    if not suspects or (cause.confidence == OPEN and len(suspects) > _MOST_SUSPECTS):
        return
    shown = [results.records[i] for i in cause.evidence if i in results.records]
    if cause.where.peer:
        ends = (cause.where.node, cause.where.peer)
        worst = worst_item(r for r in shown if set(r.nodes) == set(ends))
        if worst is not None:
            yield asked_again(cause, ends, worst, {})
            for end in ends if comes_and_goes(cause) else ():
                yield from _over_its_nics(results, cause, end, worst, good)
        return
    for suspect in (node.name for node in results.cluster.nodes if node.name in suspects):
        worst = worst_item(r for r in _telling(results, cause, shown) if suspect in r.nodes)
        if worst is not None and comes_and_goes(cause):
            yield from _over_its_nics(results, cause, suspect, worst, good)
        elif worst is not None:
            yield from _with_partners(results, cause, suspect, worst, good)
    if cause.cause == DIRECTION:
        yield from _of_the_pair(results, cause, shown)


def _telling(results: RunResults, cause: Cause, shown: Sequence[ItemRecord]) -> list[ItemRecord]:
    """The items to repeat; for a slow direction those that move their payload one way."""
    if cause.cause != DIRECTION:
        return list(shown)
    return [record for record in shown if is_one_way(results, record)] or list(shown)


def _of_the_pair(
    results: RunResults, cause: Cause, shown: Sequence[ItemRecord]
) -> Iterator[Remeasurement]:
    """The slow pair in both directions, if its two nodes, or its path, are the suspects."""
    suspects = nodes_of(cause.where.node)
    fit = (r for r in _telling(results, cause, shown) if set(r.nodes) == suspects)
    worst = worst_item(fit)
    if worst is not None:
        yield asked_again(cause, tuple(worst.nodes), worst, {})
        yield from turned(cause, worst, {})


def _over_its_nics(
    results: RunResults, cause: Cause, suspect: str, worst: ItemRecord, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """Over the path of the worst item, and over another NIC that the suspect was measured on."""
    yield from _with_partners(results, cause, suspect, worst, good)
    if (other := over_another_nic(results, suspect, worst)) is not None:
        yield from _with_partners(results, cause, suspect, other, good)


def _with_partners(
    results: RunResults, cause: Cause, suspect: str, worst: ItemRecord, good: Sequence[str]
) -> Iterator[Remeasurement]:
    if len(worst.nodes) == 1:
        yield asked_again(cause, (suspect,), worst, {})
        return
    fit = partners(results.records, suspect, worst.subject, good)
    yield from with_each(cause, suspect, worst, fit)
    if cause.cause == DIRECTION and cause.confidence != OPEN:
        (other,) = set(worst.nodes) - {suspect}
        for partner in fit[:1]:
            yield from turned(cause, worst, {other: partner})
