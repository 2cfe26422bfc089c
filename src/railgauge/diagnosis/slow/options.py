"""Which measurements could be made to decide between suspects, and what each would give. Pure.

They are those of the plan: with other nodes, turned round, or over another NIC or GPU of the same
distance. Where it is not known what healthy parts reach, the same is measured on good nodes beside.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from railgauge.core.model import Case, Pairing
from railgauge.core.terms import Scope
from railgauge.diagnosis.slow.constants import When
from railgauge.diagnosis.slow.faults import Hypothesis, joined
from railgauge.diagnosis.slow.forms import Measurable
from railgauge.diagnosis.slow.places import Places
from railgauge.diagnosis.slow.readings import RunReadings
from railgauge.judging.confirmation import MOST_REPEATS
from railgauge.tools.form import GPU, ClusterPart, KindOfPart

_SMALL, _OTHERS, _MOST = 8, 4, 1500
_STEP = 0.015  # results that close are one: 2.6 standard deviations of the difference of two
_PAIR = 2
_SIZES = (0.25, 0.5, 0.75, 1.0)
_SETUP_S = 10.0  # of a measurement, whatever it measures
FEW, SOME, MANY = 1, 3, MOST_REPEATS

Barred = Callable[[str, Case], bool]
"""Whether something keeps a node from taking part in a measurement like this case."""

Result = Mapping[int, float]
"""The results that a hypothesis predicts, in steps of a logarithm, with their probabilities."""


@dataclass(frozen=True, slots=True)
class Option:
    """A measurement, with those beside it that show what healthy parts reach, if that is needed."""

    what: tuple[Measurable, ...]
    width: int
    results: tuple[Result, ...]
    seconds: float
    uses: tuple[str, ...]


def options(
    evidence: RunReadings,
    suspects: Collection[int],
    hypotheses: Sequence[Hypothesis],
    *,
    adds: bool,
    made: Collection[str],
    bars: Barred,
) -> Iterator[Option]:
    """``made`` are the keys of the cases that were added before, which are not made again."""
    asked = {evidence.parts[number] for number in suspects}
    faulty = {fault.part for faults in hypotheses for fault in faults}
    matters = {evidence.parts[number]: number for number in faulty}
    slow = {node for fault in hypotheses[0] for node in evidence.parts[fault.part].nodes}
    good = [n for n in evidence.nodes if n not in slow.union(*(part.nodes for part in asked))]
    gpus = {part.gpu for part in asked}
    for one in _measurable(evidence, asked, bars):
        form = evidence.forms.of(one)
        if form is None or form.upto:
            continue
        places = Places.of(form, matters)
        named = {
            n for number in suspects if number in places.at for n in evidence.parts[number].nodes
        }
        fit = [node for node in good if not bars(node, one.case)]
        what = _with_references(evidence, one, fit, gpus)
        if not (named and what) or any(each.case.key in made for each in what):
            continue
        uses = tuple(node for node in one.case.nodes if node in named)
        typical_s = evidence.platform.measurements[one.case.measurement].typical_s
        for times in dict.fromkeys(_repeats(places, hypotheses, one.case.repeats)):
            yield Option(
                tuple(replace(w, case=replace(w.case, repeats=times)) for w in what),
                len(places.at),
                tuple(_result(places, faults, times, adds=adds) for faults in hypotheses),
                len(what) * (_SETUP_S + times * typical_s),
                uses,
            )


def _with_references(
    evidence: RunReadings, one: Measurable, good: Sequence[str], suspected: Collection[int]
) -> Sequence[Measurable]:
    """The measurement, and others beside it if it is not known what healthy parts reach.

    They are the same on good nodes, and over another GPU that is as far from the NIC: one of the
    two may be slow itself. Where there is neither, it is made alone if others like it were made:
    it may be the first fast one.
    """
    if evidence.is_known(one):
        return (one,)
    beside = (*_on_others(one, good), *_over_another_gpu(evidence, one, suspected))
    return (one, *beside) if beside or evidence.has_like(one) else ()


def _on_others(one: Measurable, good: Sequence[str]) -> Iterator[Measurable]:
    nodes = one.case.nodes
    others = tuple(node for node in good if node not in nodes)[: len(nodes)]
    if len(others) == len(nodes):
        yield replace(one, case=replace(one.case, nodes=others))


def _over_another_gpu(
    evidence: RunReadings, one: Measurable, suspected: Collection[int]
) -> Iterator[Measurable]:
    own = one.case.pairing
    if own is None or own.gpu is None:
        return
    like = (
        replace(one, case=replace(one.case, pairing=pairing))
        for pairing in evidence.platform.pairings(GPU)
        if (pairing.nic, pairing.distance) == (own.nic, own.distance)
        and pairing.gpu not in suspected
    )
    yield from islice(like, 1)


def _repeats(places: Places, hypotheses: Sequence[Hypothesis], least: int) -> Iterator[int]:
    """How often a measurement may be repeated; at least as often as the plan does."""
    is_rare = any(f.is_rare and f.part in places.at for faults in hypotheses for f in faults)
    yield from (max(least, times) for times in ((FEW, SOME, MANY) if is_rare else (FEW,)))


def _result(places: Places, faults: Hypothesis, repeats: int, *, adds: bool) -> Result:
    """The slowest of so many repeats."""
    mine = [fault for fault in faults if fault.part in places.at]
    states: list[tuple[float, tuple[tuple[int, float], ...]]] = [(1.0, ())]
    for fault in mine:
        if fault.when is When.AT_TIMES:
            seen = 1 - (1 - fault.chance) ** repeats
            some = [(seen, fault.share), (1 - seen, 0.0)]
        elif fault.when is When.VARYING:
            some = [(1 / len(_SIZES), size * fault.share) for size in _SIZES]
        else:
            some = [(1.0, fault.share)]
        states = [(p * q, (*s, (fault.part, x))) for p, s in states for q, x in some]
    found: dict[int, float] = {}
    for chance, losses in states:
        low, high = places.predicted(joined(losses), adds=adds)
        step = round((low + high) / 2 / _STEP)
        found[step] = found.get(step, 0.0) + chance
    return found


def _measurable(
    evidence: RunReadings, suspects: Collection[ClusterPart], bars: Barred
) -> Iterator[Measurable]:
    """Each measurement of the plan on the suspects' nodes, alone and with some others."""
    mine = sorted({node for part in suspects for node in part.nodes})
    most = len(evidence.nodes) if len(evidence.nodes) <= _SMALL else _OTHERS
    found: dict[tuple[str, int | None, str], Measurable] = {}
    for one in _templates(evidence, suspects):
        measurement = evidence.platform.measurements[one.case.measurement]
        able = [node for node in evidence.nodes if not bars(node, one.case)]
        own = [node for node in able if node in mine]
        some = [*own, *[node for node in able if node not in mine][:most]]
        pairs = [(a, b) for a in some for b in some if a != b and (a in own or b in own)]
        if measurement.scope == Scope.NODE:
            nodes: Sequence[tuple[str, ...]] = [(node,) for node in own]
        elif len(one.case.nodes) == _PAIR:
            is_on = one.case.pairing is None or _is_on(one.case.pairing, suspects)
            nodes = pairs if is_on else ()
        else:
            continue
        for place in nodes:
            case = replace(one.case, nodes=place)
            key = (case.key, one.size_bytes, one.placement)
            if key not in found and len(found) < _MOST:
                found[key] = replace(one, case=case)
    yield from found.values()


def _templates(evidence: RunReadings, suspects: Collection[ClusterPart]) -> Iterator[Measurable]:
    seen = set()
    for one in evidence.planned:
        for pairing in _pairings(evidence, one.case, suspects):
            case = replace(one.case, pairing=pairing)
            key = (case.measurement, pairing, one.size_bytes, one.placement, len(case.nodes))
            if key not in seen:
                seen.add(key)
                yield replace(one, case=case)


def _pairings(
    evidence: RunReadings, case: Case, suspects: Collection[ClusterPart]
) -> Sequence[Pairing | None]:
    """Paths in a node like the case's; for the path of a suspected GPU to a NIC also its others."""
    if case.pairing is None or case.pairing.peer is not None:
        return (case.pairing,)
    gpus = {part.gpu for part in suspects if part.kind is KindOfPart.PCIE}
    known = evidence.platform.pairings(evidence.platform.measurements[case.measurement].memory)
    alike = [one for one in known if one.distance == case.pairing.distance or one.gpu in gpus]
    return alike or (case.pairing,)


def _is_on(pairing: Pairing, suspects: Collection[ClusterPart]) -> bool:
    for part in suspects:
        if part.kind in (KindOfPart.NODE, KindOfPart.PATH):
            return True
        if part.nic and part.nic == pairing.nic:
            return True
        if part.gpu >= 0 and part.gpu == pairing.gpu:
            return True
    return False
