"""Rung 4: steps of scaling ladders that miss their limit, and the runs that show why. Pure.

The runs are added at the end of a run: each is the same collective over other nodes, compared with
the same two nodes as the step. ``diagnosis.scaling`` chooses them, and says what they show.

Nodes that another cause names are left out of the search: what is slow without them has its own.
A ladder that is compared with another one, a variant, is not searched: where the other one is fine
over the same nodes, no part of the fabric is slow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from railgauge.core.model import Judgement, Outcome
from railgauge.core.naming import folded, listed
from railgauge.core.question import RATIO, Question
from railgauge.diagnosis.model import (
    LIKELY,
    OPEN,
    WENT_WRONG,
    Context,
    Finding,
    RunResults,
    Where,
    worst_of,
)
from railgauge.diagnosis.reach import explains, nodes_of
from railgauge.diagnosis.scaling.places import ScalingPlace, SlowPlace, located
from railgauge.judging.confirmation import Confirmed, Remeasurement
from railgauge.judging.record import ItemRecord
from railgauge.planning.pairing import leaves
from railgauge.planning.scaling import Nodes, is_variant, most_runs
from railgauge.planning.scaling import base as base_of
from railgauge.tools.metric import SCALING

_POOR = "poor-scaling"
_CAUSES = {
    ScalingPlace.NODE: ("slow-node", "{} slows every large collective that it is in"),
    ScalingPlace.PATH: (
        "slow-path",
        "{} slow large collectives together, and are fine with others",
    ),
    ScalingPlace.SWITCH: ("slow-leaf", "{} is slow by itself, and all its halves are fine"),
    ScalingPlace.UPLINKS: ("slow-leaf", "{} is slow with other leaves and fine by itself: uplinks"),
    ScalingPlace.LEAVES: ("slow-leaf", "{} are slow together, and each is fine with others"),
    ScalingPlace.ONLY_LEAVES: (
        "oversubscribed-uplinks",
        "{} are slow together, and each is fine by itself: the uplinks of one of them, or of both",
    ),
    ScalingPlace.ALL_UPLINKS: (
        "oversubscribed-uplinks",
        "each of {} is slow with a few nodes of the others, which are fine together",
    ),
    ScalingPlace.WHOLE: (_POOR, "all nodes together are slow, and all their halves are fine"),
    ScalingPlace.OPEN: (_POOR, "the runs do not tell what slows {}"),
}
_OF_ALL = (ScalingPlace.WHOLE, ScalingPlace.ALL_UPLINKS, ScalingPlace.ONLY_LEAVES)
_AT_ANOTHER_TIME = "measure the ladder again: its halves were not measured, or gave no clear answer"


@dataclass(frozen=True, slots=True)
class StepSearch:
    """What slows the steps that missed their limits, as far as the runs show it.

    ``asked`` are the runs that would show more.
    """

    findings: tuple[Finding, ...] = ()
    asked: tuple[Remeasurement, ...] = ()


def searched(context: Context) -> StepSearch:
    """Search what slows the largest step of each ladder that missed its limit."""
    every = context.results.records.values()
    missed = _missed(context.results, (item for item in every if item.outcome in WENT_WRONG))
    found = [
        part
        for base, items in _by_base(context.results, missed).items()
        for part in _of_base(context, base, items)
    ]
    return StepSearch(
        tuple(finding for part in found for finding in part.findings),
        tuple(one for part in found for one in part.asked),
    )


def within_plan(
    results: RunResults, search: StepSearch, made: Collection[str]
) -> Iterator[Remeasurement]:
    """The runs that a search asks for, as many as the plan allows beside those ``made``."""
    number = sum(is_of_step(results, key) for key in made)
    most = most_runs(len(results.cluster.nodes), len(_leaves(results)))
    most += sum(map(is_variant, results.platform.measurements.values()))
    yield from search.asked[: max(0, most - number)]


def is_of_step(results: RunResults, key: str) -> bool:
    """Whether the key of a case is that of a step of a ladder, or of nodes in place of one."""
    found = results.platform.measurements.get(key.partition("[")[0])
    return found is not None and found.ladder


def _by_base(
    results: RunResults, missed: Iterable[ItemRecord]
) -> Mapping[str, Mapping[str, list[ItemRecord]]]:
    """Missed steps by the measurement that they are of, below the one that they compare with."""
    found: dict[str, dict[str, list[ItemRecord]]] = {}
    for item in missed:
        base = base_of(results.platform.measurements[item.subject])
        found.setdefault(base, {}).setdefault(item.subject, []).append(item)
    return found


def _of_base(
    context: Context, base: str, missed: Mapping[str, list[ItemRecord]]
) -> Iterator[StepSearch]:
    own = missed.get(base, [])
    over = {item.nodes for item in own}
    variants = [items for name, items in missed.items() if name != base]
    beside = [item for items in variants if items[-1].nodes in over for item in items]
    yield _halved(context, own, beside)
    for items in variants:
        if items[-1].nodes not in over:
            yield _of_variant(context, base, items)


def _halved(
    context: Context, missed: Sequence[ItemRecord], beside: Sequence[ItemRecord]
) -> StepSearch:
    """Search the nodes of the largest step by halves; steps ``beside`` are of its variants."""
    known = {item.id: _known(context, item) for item in missed}
    left = [item for item in missed if known[item.id] or item in context.open]
    if not left:
        return StepSearch()
    results, largest = context.results, left[-1]
    nodes = tuple(node for node in largest.nodes if node not in known[largest.id])
    if len(nodes) <= _PAIR:
        return StepSearch()
    seen = located(nodes, _leaves(results), _results_of(results, largest))
    asked = tuple(_again(largest, run) for run in seen.asked)
    if known[largest.id] and not seen.is_slow:
        return StepSearch((), asked)
    # What lacks runs is still open, whatever else was found.
    places = (*seen.places, *([SlowPlace(ScalingPlace.OPEN, nodes)] if asked else []))
    again, items = _keys_over(results, largest), (*missed, *beside)
    findings = tuple(replace(_finding(place, items), again=again) for place in places)
    return StepSearch(findings, asked)


def _known(context: Context, item: ItemRecord) -> frozenset[str]:
    """The nodes of causes, or suspects, that explain a step."""
    platform = context.results.platform
    nodes = {
        node
        for finding in context.findings
        if finding.where.node and explains(finding, item, platform)
        for node in (*nodes_of(finding.where.node), *filter(None, [finding.where.peer]))
    }
    return frozenset(nodes)


def _of_variant(context: Context, base: str, missed: Sequence[ItemRecord]) -> StepSearch:
    """A step of a variant, where no step of the ladder that it is compared with missed."""
    largest = missed[-1]
    if largest not in context.open:
        return StepSearch()
    results = context.results
    over = [r for r in results.records.values() if (r.subject, r.nodes) == (base, largest.nodes)]
    is_fine = any(_is_slow(record.judgements) is False for record in over)
    again = _runs(results, largest.subject).get(largest.nodes)
    asked = () if largest.nodes in _runs(results, largest.subject) else (_again(largest),)
    says = (
        f"over the same nodes {base} is fine: the algorithm is slow, and no part of the fabric"
        if is_fine and again
        else f"the runs do not tell what slows {largest.subject}"
    )
    is_open = not (is_fine and again)
    finding = Finding(
        _POOR,
        Where(folded(largest.nodes) if is_open else ""),
        f"{worst_of(missed)}; {says}",
        tuple(missed),
        OPEN if is_open else LIKELY,
        _AT_ANOTHER_TIME if is_open else "",
        again=_keys_over(results, largest),
    )
    return StepSearch((finding,), asked if is_fine else ())


_PAIR = 2


def _again(item: ItemRecord, nodes: Nodes = ()) -> Remeasurement:
    """The measurement of a step once more, over its own nodes or over others."""
    question = item.questions[-1]
    assert question.case is not None
    nodes = nodes or item.nodes
    return Remeasurement(nodes, replace(question, case=replace(question.case, nodes=nodes)))


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


def _results_of(results: RunResults, largest: ItemRecord) -> dict[Nodes, bool | None]:
    """What runs of this ladder show; one in which the step itself is made again counts."""
    found = {
        item.nodes: _is_slow(item.judgements)
        for item in results.records.values()
        if item.subject == largest.subject and _is_step(results, item)
    }
    found.pop(largest.nodes, None)
    return {**found, **_runs(results, largest.subject)}


def _is_slow(judgements: Iterable[Judgement]) -> bool | None:
    """``None`` if it was not compared, or is so near to its limit that it might be either."""
    outcomes = [judged.outcome for judged in judgements if judged.metric == SCALING.name]
    if Outcome.FAILED in outcomes:
        return True
    return False if outcomes and {*outcomes} == {Outcome.PASSED} else None


def _leaves(results: RunResults) -> dict[str, Nodes]:
    nodes = [node.name for node in results.cluster.nodes]
    return dict(leaves(nodes, results.cluster.groups))


def _finding(place: SlowPlace, missed: Sequence[ItemRecord]) -> Finding:
    cause, says = _CAUSES[place.place]
    is_open, names = place.place is ScalingPlace.OPEN, listed(place.names or place.nodes)
    shown = tuple(item for item in missed if not {*item.nodes}.isdisjoint(place.nodes))
    return Finding(
        cause,
        _where(place),
        f"{worst_of(shown)}; {says.format(names)}",
        shown,
        OPEN if is_open else LIKELY,
        _AT_ANOTHER_TIME if is_open else "",
    )


def _where(place: SlowPlace) -> Where:
    if place.place is ScalingPlace.PATH:
        return Where(place.nodes[0], peer=place.nodes[1])
    return Where("" if place.place in _OF_ALL else folded(place.nodes))


def _keys_over(results: RunResults, item: ItemRecord) -> frozenset[str]:
    """The largest runs, which show the miss once more; smaller ones are fine, or not, as due."""
    runs = _confirmed(results, item.subject)
    keys = {case.key: len(case.nodes) for one in runs if (case := one.asked.question.case)}
    return frozenset(key for key, count in keys.items() if count == max(keys.values()))


def _runs(results: RunResults, measurement: str) -> dict[Nodes, bool | None]:
    return {
        case.nodes: _is_slow(one.judgements)
        for one in _confirmed(results, measurement)
        if (case := one.asked.question.case)
    }


def _confirmed(results: RunResults, measurement: str) -> list[Confirmed]:
    return [
        one
        for one in results.confirmed
        if _asks_of_step(results, one.asked.question)
        and (case := one.asked.question.case)
        and case.measurement == measurement
    ]
