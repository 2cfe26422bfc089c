"""Rung 4: steps of the scaling ladder that miss their limit, and the runs that show why. Pure.

The runs are added at the end of a run: each is the same collective over other nodes, compared with
the same two nodes as the step. ``diagnosis.scaling`` chooses them, and says what they show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from railgauge.core.model import Judgement, Outcome
from railgauge.core.naming import folded, listed
from railgauge.core.question import RATIO, Question
from railgauge.diagnosis.model import (
    LIKELY,
    OPEN,
    Cause,
    CauseClaim,
    Context,
    RunResults,
    Where,
    worst_of,
)
from railgauge.diagnosis.scaling.places import Located, ScalingPlace, SlowPlace, located
from railgauge.judging.confirmation import Confirmed, Remeasurement
from railgauge.judging.record import ItemRecord
from railgauge.planning.pairing import leaves
from railgauge.planning.scaling import Nodes, most_runs
from railgauge.tools.metric import SCALING

_CAUSES = {
    ScalingPlace.NODE: ("slow-node", "{} slows every large collective that it is in"),
    ScalingPlace.PATH: (
        "slow-path",
        "{} slow large collectives together, and are fine with others",
    ),
    ScalingPlace.SWITCH: ("slow-leaf", "{} is slow by itself, and all its halves are fine"),
    ScalingPlace.UPLINKS: ("slow-leaf", "{} is slow with other leaves and fine by itself: uplinks"),
    ScalingPlace.LEAVES: ("slow-leaf", "{} are slow together, and each is fine with others"),
    ScalingPlace.ALL_UPLINKS: (
        "oversubscribed-uplinks",
        "each of {} is slow with a few nodes of the others, which are fine together",
    ),
    ScalingPlace.WHOLE: (
        "poor-scaling",
        "all nodes together are slow, and all their halves are fine",
    ),
    ScalingPlace.OPEN: ("poor-scaling", "the runs do not tell what slows {}"),
}
_OF_ALL = (ScalingPlace.WHOLE, ScalingPlace.ALL_UPLINKS)
_AT_ANOTHER_TIME = "measure the ladder again: its halves were not measured, or gave no clear answer"
_MORE_LEAVES = "measure with a third leaf: of two, each may be what slows the other"


def missed_steps(context: Context) -> Iterator[CauseClaim]:
    """What slows the largest step that missed its limit, as far as the runs show it."""
    missed = _missed(context.results, context.open)
    if not missed:
        return
    seen = _located(context.results, missed)
    # What lacks runs is still open, whatever else was found.
    for place in (*seen.places, *([_nothing_yet(missed)] if seen.asked else [])):
        shown = [item for item in missed if not {*item.nodes}.isdisjoint(place.nodes)]
        yield _claim(place, shown, context.results)


def asked(
    results: RunResults, causes: Iterable[Cause], made: Collection[str]
) -> Iterator[Remeasurement]:
    """The runs that tell more of steps that no decided cause explains, as the plan allows."""
    open_ids = {item for cause in causes if cause.confidence == OPEN for item in cause.evidence}
    missed = _missed(results, [item for item in results.records.values() if item.id in open_ids])
    if not missed:
        return
    question = missed[-1].questions[-1]
    number = sum(is_of_step(results, key) for key in made)
    left = most_runs(len(results.cluster.nodes), len(_leaves(results))) - number
    for nodes in _located(results, missed).asked[: max(0, left)]:
        assert question.case is not None
        case = replace(question.case, nodes=nodes)
        yield Remeasurement(nodes, replace(question, case=case))


def is_of_step(results: RunResults, key: str) -> bool:
    """Whether the key of a case is that of a step of the ladder, or of nodes in place of one."""
    found = results.platform.measurements.get(key.partition("[")[0])
    return found is not None and found.ladder


def _asks_of_step(results: RunResults, question: Question) -> bool:
    case = question.case
    return question.kind == RATIO and case is not None and is_of_step(results, case.key)


def _missed(results: RunResults, items: Iterable[ItemRecord]) -> list[ItemRecord]:
    """The steps that missed their limit, the largest last."""
    steps = (item for item in items if _is_step(results, item))
    slow = [item for item in steps if _is_slow(item.judgements)]
    return sorted(slow, key=lambda item: len(item.nodes))


def _is_step(results: RunResults, item: ItemRecord) -> bool:
    return bool(item.questions) and _asks_of_step(results, item.questions[-1])


def _located(results: RunResults, missed: Sequence[ItemRecord]) -> Located:
    """What the largest of them shows; a run in which the ladder's own step is made again counts."""
    largest, found = missed[-1].nodes, dict[Nodes, bool | None]()
    for item in results.records.values():
        if _is_step(results, item) and item.nodes != largest:
            found[item.nodes] = _is_slow(item.judgements)
    for one in _runs(results):
        if case := one.asked.question.case:
            found[case.nodes] = _is_slow(one.judgements)
    return located(largest, _leaves(results), found)


def _is_slow(judgements: Iterable[Judgement]) -> bool | None:
    """``None`` if it was not compared, or is so near to its limit that it might be either."""
    outcomes = [judged.outcome for judged in judgements if judged.metric == SCALING.name]
    if Outcome.FAILED in outcomes:
        return True
    return False if outcomes and {*outcomes} == {Outcome.PASSED} else None


def _leaves(results: RunResults) -> dict[str, Nodes]:
    nodes = [node.name for node in results.cluster.nodes]
    return dict(leaves(nodes, results.cluster.groups))


def _nothing_yet(missed: Sequence[ItemRecord]) -> SlowPlace:
    return SlowPlace(ScalingPlace.OPEN, missed[-1].nodes)


def _claim(place: SlowPlace, shown: Sequence[ItemRecord], results: RunResults) -> CauseClaim:
    cause, says = _CAUSES[place.place]
    is_open, names = place.place is ScalingPlace.OPEN, listed(place.names or place.nodes)
    return CauseClaim(
        cause,
        _where(place),
        f"{worst_of(shown)}; {says.format(names)}",
        tuple(shown),
        OPEN if is_open else LIKELY,
        _would_decide(results) if is_open else "",
        again=_of_the_largest(results),
    )


def _where(place: SlowPlace) -> Where:
    if place.place is ScalingPlace.PATH:
        return Where(place.nodes[0], peer=place.nodes[1])
    return Where("" if place.place in _OF_ALL else folded(place.nodes))


def _of_the_largest(results: RunResults) -> frozenset[str]:
    """The runs that show the miss once more; smaller ones are fine, or not, as they should be."""
    cases = (one.asked.question.case for one in _runs(results))
    keys = {case.key: len(case.nodes) for case in cases if case}
    return frozenset(key for key, count in keys.items() if count == max(keys.values()))


def _runs(results: RunResults) -> list[Confirmed]:
    return [one for one in results.confirmed if _asks_of_step(results, one.asked.question)]


def _would_decide(results: RunResults) -> str:
    return _MORE_LEAVES if len(_leaves(results)) == 2 else _AT_ANOTHER_TIME  # noqa: PLR2004
