"""The likeliest hypotheses: they grow fault by fault, and faults are exchanged. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import prod
from typing import NamedTuple

from railgauge.diagnosis.slow.constants import (
    ALIKE_PARTS,
    BEAM,
    DEPTH,
    FOCUS,
    MOST_STATES,
    REFINED,
    ROUNDS,
    SPLIT,
    SURELY,
    UNEXPLAINED,
    WINDOW,
    When,
)
from railgauge.diagnosis.slow.faults import Hypothesis, PartFault, ordered
from railgauge.diagnosis.slow.fitting import Fitter
from railgauge.diagnosis.slow.likelihood import Model
from railgauge.diagnosis.slow.places import Losses
from railgauge.diagnosis.slow.readings import RunReadings, ShareReading

_WIDE, _VERY_WIDE, _BESIDE = 12, 40, 8
_EQUAL = 2
_CLEARER = 0.5
_OF_RARE = 2  # it acts or not
_NO_USE = 7.0  # a fault that makes a hypothesis less likely by that logarithm
Pool = dict[Hypothesis, float]
"""Hypotheses with their scores."""


@dataclass(frozen=True, slots=True)
class Searched:
    """All hypotheses of the search, and the model that scored them."""

    model: Model
    pool: Mapping[Hypothesis, float]


def searched(evidence: RunReadings) -> Searched:
    """Losses add up, unless the best hypothesis fits better if the larger ones hide the others."""
    found = _searched(Model(evidence))
    best = max(found.pool, key=found.pool.__getitem__)
    if not found.model.meet(best):
        return found
    hiding = Model(evidence, adds=False)
    if _fitted_again(hiding, best) < found.pool[best] + _CLEARER:
        return found
    other = _searched(hiding)
    return other if max(other.pool.values()) > found.pool[best] + SURELY else found


def _fitted_again(model: Model, faults: Hypothesis) -> float:
    """The score of faults of the same parts, the largest loss first, in another model."""
    fitter = Fitter(model)
    again: Hypothesis = ()
    for fault in sorted(faults, key=lambda one: one.share):
        fits = [one for _, one in fitter.fitted(fault.part, again)]
        again = ordered((*again, *fits[:1]))
    return model.score(again)


def _searched(model: Model) -> Searched:
    search = _Search(model)
    search.grow()
    search.exchange()
    return Searched(model, search.pool)


@dataclass(frozen=True, slots=True)
class _Narrow:
    """The parts of the readings that depend on the fewest; fewer parts have less ``width``."""

    parts: frozenset[int]
    width: int

    @classmethod
    def of(cls, slower: Iterable[ShareReading]) -> _Narrow:
        some = [one.places.at for one in slower]
        few = min(map(len, some))
        parts = frozenset(part for at in some if len(at) <= few + _BESIDE for part in at)
        return cls(parts, 1 + (few > _WIDE) + 2 * (few > _VERY_WIDE))


class _Unexplained(NamedTuple):
    """An execution that a hypothesis explains badly: what that costs, and what is slower in it."""

    number: int
    cost: float
    slower: Sequence[ShareReading]
    narrow: _Narrow


class _Search:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._fitter = Fitter(model)
        self.pool: Pool = {(): 0.0}
        self._split_before: set[Hypothesis] = set()
        self._narrow: dict[tuple[int, Losses], _Narrow] = {}

    def grow(self) -> None:
        beam: list[Hypothesis] = list(dict.fromkeys([(), self._known()]))
        best = 0.0
        for _ in range(DEPTH):
            fresh: Pool = {}
            for faults in beam:
                fresh |= self._grown(faults, self._candidates(faults))
            fresh = {one: score for one, score in fresh.items() if one not in self.pool}
            if not fresh:
                return
            self.pool |= fresh
            # one varying loss may stand for several faults until all of these are found
            steady = {one: score for one, score in fresh.items() if not _varies(one)}
            beam = list(dict.fromkeys((*_unlike(fresh), *_unlike(steady))))
            if fresh[beam[0]] < best - WINDOW:
                return
            best = max(best, fresh[beam[0]])

    def _known(self) -> Hypothesis:
        """What is known explains what it can: each measurement has a part of its own for it, so
        that one other part explains more than one of these."""
        faults: Hypothesis = ()
        for number, part in enumerate(self._model.evidence.parts):
            if part.is_known:
                for _, fault in self._fitter.fitted(number, faults)[:1]:
                    faults, score = self._model.grown(faults, fault)
                    self.pool[faults] = score
        return faults

    def exchange(self) -> None:
        """Leave faults out, and put others in their place; of the best also two at once.

        Whatever is the best then is treated likewise.
        """
        for _ in range(2):
            best = max(self.pool.values())
            for faults in _unlike(self.pool)[:REFINED]:
                if self.pool[faults] > best - WINDOW:
                    self._exchanged(faults, splits=False)
        treated: set[Hypothesis] = set()
        while len(treated) < ROUNDS:
            best_one = max(self.pool, key=self.pool.__getitem__)
            if best_one in treated:
                return
            treated.add(best_one)
            self._exchanged(best_one, splits=True)
            self._pairs_exchanged(best_one)

    def _exchanged(self, faults: Hypothesis, *, splits: bool) -> None:
        for fault in faults:
            others = tuple(one for one in faults if one is not fault)
            self.pool.setdefault(others, self._model.score(others))
            ones = self._grown(others, sorted({fault.part, *self._candidates(others, faults)}))
            self.pool |= ones
            if splits:
                self._split(ones)
            if splits and fault.when is When.VARYING:
                # It may stand for a steady fault of the part and others.
                steady = self._grown(others, [fault.part], shares=None)
                self.pool |= steady
                self._split(steady)

    def _pairs_exchanged(self, faults: Hypothesis) -> None:
        """Put one fault in the place of two, or two others if the parts are of one node."""
        parts = self._model.evidence.parts
        for place, one in enumerate(faults):
            for other in faults[place + 1 :]:
                left = tuple(fault for fault in faults if fault is not one and fault is not other)
                self.pool.setdefault(left, self._model.score(left))
                candidates = self._candidates(left, faults)
                self.pool |= self._grown(left, candidates)
                shared = set(parts[one.part].nodes).intersection(parts[other.part].nodes)
                there = [part for part in candidates if shared.intersection(parts[part].nodes)]
                ones = self._grown(left, there, shares=None)
                self.pool |= ones
                self._split(ones)

    def _split(self, ones: Pool) -> None:
        """Add one more fault to the best of these, if it makes them likelier."""
        for faults in sorted(ones, key=ones.__getitem__, reverse=True)[:SPLIT]:
            if faults not in self._split_before:
                self._split_before.add(faults)
                self.pool |= self._grown(faults, self._candidates(faults), least=0.0)

    def _grown(
        self,
        faults: Hypothesis,
        parts: Iterable[int],
        *,
        shares: int | None = 2,
        least: float = -_NO_USE,
    ) -> Pool:
        """The hypothesis with one more fault of each part: a second one has another timing.

        ``shares`` is how many shares of a part are tried; ``None`` for all that may be. ``least``
        is what the fault must add to the score.
        """
        found: Pool = {}
        for part in self._apart(faults, parts):
            same = [fault for fault in faults if fault.part == part]
            if len(same) > 1:
                continue
            for worth, fault in self._fitter.fitted(part, faults)[:shares]:
                is_new = all(fault.when is not one.when for one in same)
                if worth > least and is_new and _states(faults, fault) <= MOST_STATES:
                    grown, score = self._model.grown(faults, fault)
                    found[grown] = score
        return found

    def _apart(self, faults: Hypothesis, parts: Iterable[int]) -> Iterable[int]:
        """Of parts that no reading tells apart those of the hypothesis, and one more."""
        mine = {fault.part for fault in faults}
        seen: set[int] = set()
        for part in parts:
            if part in mine:
                yield part
                continue
            twins = self._model.twins[part]
            if twins[0] not in seen:
                seen.add(twins[0])
                yield next((one for one in twins if one not in mine), part)

    def _candidates(self, faults: Hypothesis, whole: Hypothesis = ()) -> list[int]:
        """The parts of the executions of which single parts would explain the most.

        These are not the worst explained ones: those may be noise that no part explains. With
        ``whole``, of which faults were left out, only what these explained is to be explained.
        """
        unexplained = list(self._unexplained(faults, whole))
        explains: dict[int, float] = defaultdict(float)
        for one in unexplained:
            for part in one.narrow.parts:
                explains[part] += one.cost
        worst = (
            (-max(map(explains.__getitem__, one.narrow.parts)) / one.narrow.width, number)
            for number, one in enumerate(unexplained)
        )
        best = [unexplained[number] for _, number in nsmallest(FOCUS, worst)]
        return self._least_measured({p for one in best for p in one.narrow.parts}, unexplained)

    def _unexplained(self, faults: Hypothesis, whole: Hypothesis) -> Iterator[_Unexplained]:
        """What the hypothesis explains badly."""
        model, evidence = self._model, self._model.evidence
        touched = self._touched(faults)
        numbers = touched.union(model.unexplained)
        if whole:  # any other execution costs the same without it
            numbers &= self._touched(whole)
        for number in sorted(numbers):
            execution = evidence.executions[number]
            is_touched = number in touched
            value = model.mixed(execution, faults) if is_touched else model.healthy[number]
            if value >= -UNEXPLAINED:
                continue
            cost = (model.mixed(execution, whole) if whole else 0.0) - value
            losses = model.likeliest(execution, faults) if is_touched else ()
            if cost > 0 and (slower := model.slower(execution, losses)):
                yield _Unexplained(number, cost, slower, self._narrowed((number, losses), slower))

    def _touched(self, faults: Hypothesis) -> set[int]:
        return self._model.evidence.using(fault.part for fault in faults)

    def _narrowed(self, at: tuple[int, Losses], slower: Iterable[ShareReading]) -> _Narrow:
        if at not in self._narrow:
            self._narrow[at] = _Narrow.of(slower)
        return self._narrow[at]

    def _least_measured(
        self, parts: Collection[int], unexplained: Iterable[_Unexplained]
    ) -> list[int]:
        """Of parts of one kind that the same unexplained readings depend on, the least measured.

        Nothing tells them apart but what was fine with them: a collective of all nodes that is slow
        alone has thousands, and as many as ``ALIKE_PARTS`` leave each other undecided.
        """
        evidence = self._model.evidence
        used: dict[int, list[int]] = {part: [] for part in parts}
        measured = evidence.using(parts)
        readings = (r for one in unexplained if one.number in measured for r in one.slower)
        for number, reading in enumerate(readings):
            for part in used.keys() & reading.places.at.keys():
                used[part].append(number)
        alike: dict[object, list[int]] = {}
        for part, mine in used.items():
            alike.setdefault((evidence.parts[part].kind, tuple(mine)), []).append(part)
        found: list[int] = []
        for some in alike.values():
            some.sort(key=lambda part: (len(evidence.of_part[part]), part))
            found += some[:ALIKE_PARTS]
        return sorted(found)


def _varies(faults: Hypothesis) -> bool:
    return any(fault.when is When.VARYING for fault in faults)


def _states(faults: Hypothesis, fault: PartFault) -> int:
    """How many sets of the faults may act on an execution, at most."""
    return prod(_OF_RARE if one.is_rare else 1 for one in (*faults, fault))


def _unlike(scored: Mapping[Hypothesis, float]) -> list[Hypothesis]:
    """The best hypotheses: of those with the same parts the best one, and of those that fit equally
    well, which nothing tells apart, two."""
    equal: Counter[float] = Counter()
    seen: set[frozenset[int]] = set()
    found: list[Hypothesis] = []
    for faults in sorted(scored, key=scored.__getitem__, reverse=True):
        place, parts = round(scored[faults], 1), frozenset(fault.part for fault in faults)
        if parts in seen or equal[place] == _EQUAL:
            continue
        seen.add(parts)
        equal[place] += 1
        found.append(faults)
        if len(found) == BEAM:
            break
    return found
