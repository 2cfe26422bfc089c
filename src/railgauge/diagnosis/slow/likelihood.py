"""How well a hypothesis explains the readings, and how likely it was before. Pure.

The score of a hypothesis is the logarithm of prior times likelihood, relative to a cluster without
a fault. Only the executions that use a faulty part differ, and each of them depends only on what is
slow during it: both are computed once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import product

from railgauge.diagnosis.slow.constants import (
    BEND,
    BEND_SOFT,
    LEAST_LOSS,
    MISFIT,
    NOT_PERMANENT,
    PRIOR,
    SIZES,
    SMALLEST_SHARE,
    STEEP,
    TAKES_PART,
    UNEXPLAINED,
    WORST_READING,
    When,
)
from railgauge.diagnosis.slow.faults import Hypothesis, PartFault, PartState, joined, ordered
from railgauge.diagnosis.slow.places import Losses
from railgauge.diagnosis.slow.readings import Execution, RunReadings, ShareReading
from railgauge.diagnosis.slow.twins import Twins
from railgauge.tools.form import KindOfPart

MaySlow = Sequence[tuple[float, Losses]]
"""What may be slow during an execution, each with the logarithm of its probability."""


class Model:
    """``adds``: losses add up; else the largest hides the others."""

    def __init__(self, evidence: RunReadings, *, adds: bool = True) -> None:
        self.evidence, self.adds = evidence, adds
        self.twins = Twins(evidence)
        kinds = Counter(part.kind for part in evidence.parts)
        self._prior = [_own_prior(part.kind, kinds[part.kind]) for part in evidence.parts]
        self._cost: list[list[float]] = []
        self._touched: list[dict[int, tuple[int, ...]]] = []
        self._losses: dict[tuple[int, Losses], float] = {}
        self._mixed: dict[tuple[int, Hypothesis], float] = {}
        self._likeliest: dict[tuple[int, Hypothesis], Losses] = {}
        self._asked: dict[tuple[int, int, Losses], Sequence[tuple[float, bool]]] = {}
        self._shown: dict[tuple[int, int, Losses], Sequence[float]] = {}
        self._slower: dict[tuple[int, Losses], tuple[ShareReading, ...]] = {}
        self._scores: dict[Hypothesis, float] = {}
        for execution in evidence.executions:
            self._cost.append([log_likelihood(one, 0.0, 0.0) for one in execution.readings])
            self._touched.append(_touched(execution))
        self.healthy = [_bent(sum(each)) for each in self._cost]
        self.unexplained = [
            number for number, value in enumerate(self.healthy) if value < -UNEXPLAINED
        ]

    def touched(self, execution: Execution, part: int) -> list[ShareReading]:
        """The readings of an execution that depend on the part."""
        numbers = self._touched[execution.number].get(part, ())
        return [execution.readings[number] for number in numbers]

    def of(self, execution: Execution, losses: Losses) -> float:
        """The log likelihood of an execution while these parts are slow."""
        key = (execution.number, losses)
        known = self._losses.get(key)
        if known is None:
            known = self._losses[key] = self._of(execution, losses)
        return known

    def _of(self, execution: Execution, losses: Losses) -> float:
        touched = self._touched[execution.number]
        if len(losses) == 1:
            numbers: Collection[int] = touched.get(losses[0][0], ())
        else:
            numbers = {one for part, _ in losses for one in touched.get(part, ())}
        parts = [part for part, _ in losses]
        readings = execution.readings
        is_sure = all(readings[one].places.maybe.isdisjoint(parts) for one in numbers)
        found = [
            self._with(execution, losses, numbers, takes)
            for takes in ((None,) if is_sure else TAKES_PART)
        ]
        return log_sum(found) - math.log(len(found))

    def _with(
        self, execution: Execution, losses: Losses, numbers: Collection[int], takes: bool | None
    ) -> float:
        """The same with these readings changed; ``takes``: whether what may take part does."""
        cost = self._cost[execution.number]
        total = sum(cost)
        for one in numbers:
            reading = execution.readings[one]
            low, high = reading.places.predicted(losses, adds=self.adds, takes=takes)
            total += log_likelihood(reading, low, high) - cost[one]
        return _bent(total)

    def mixed(self, execution: Execution, faults: Sequence[PartFault]) -> float:
        """The log likelihood of an execution, summed over what may be slow during it."""
        mine = _acting(execution, faults)
        if not mine:
            return self.healthy[execution.number]
        key = (execution.number, mine)
        known = self._mixed.get(key)
        if known is None:
            options = self._options(execution, mine)
            each = [weight + self.of(execution, losses) for weight, losses in options]
            known = self._mixed[key] = self.over_states(mine, each)
        return known

    def over_states(self, faults: Sequence[PartFault], logs: Sequence[float]) -> float:
        """The log likelihood over what the faults' parts may be, given that of each.

        What an erratic part loses is free, so that the likeliest counts: two that explain the same
        are no better than one.
        """
        is_free = any(self.is_erratic(fault.part) for fault in faults)
        return max(logs) if is_free else log_sum(logs)

    def likeliest(self, execution: Execution, faults: Sequence[PartFault]) -> Losses:
        """What most likely was slow during an execution."""
        mine = _acting(execution, faults)
        if not mine:
            return ()
        key = (execution.number, mine)
        known = self._likeliest.get(key)
        if known is None:
            options = self._options(execution, mine)
            known = max(
                (weight + self.of(execution, losses), losses) for weight, losses in options
            )[1]
            self._likeliest[key] = known
        return known

    def _options(self, execution: Execution, faults: Hypothesis) -> MaySlow:
        """What may be slow during an execution while these faults act."""
        if not any(fault.is_rare for fault in faults):
            return ((0.0, joined((fault.part, fault.share) for fault in faults)),)
        found = []
        for states in product(*(self.states(execution, fault) for fault in faults)):
            pairs = zip(faults, states, strict=True)
            losses = joined((fault.part, share) for fault, (_, share) in pairs)
            found.append((sum(weight for weight, _ in states), losses))
        return found

    def states(self, execution: Execution, fault: PartFault) -> Sequence[PartState]:
        """What the fault's part may be: a varying loss has the sizes that the readings ask for."""
        if fault.when is not When.VARYING:
            return fault.states
        asked = [share for share, _ in self.asked(execution, fault.part, ())]
        sizes = {0.0, *(max(share, fault.share) for share in (*asked[:1], *asked[-1:]))}
        weight = 0.0 if self.is_erratic(fault.part) else -math.log(SIZES)
        return [(weight, share) for share in sorted(sizes)]

    def is_erratic(self, part: int) -> bool:
        """Whether what the part loses differs from execution to execution for sure."""
        return self.evidence.parts[part].kind is KindOfPart.ERRATIC

    def asked(
        self, execution: Execution, part: int, losses: Losses
    ) -> Sequence[tuple[float, bool]]:
        """The shares of the part that the slower readings ask for, the smallest first.

        Each with whether the reading depends on the part for sure, and is itself known.
        """
        key = (execution.number, part, losses)
        known = self._asked.get(key)
        if known is None:
            known = self._asked[key] = sorted(self._ask(execution, part, losses))
        return known

    def _ask(self, execution: Execution, part: int, losses: Losses) -> Iterator[tuple[float, bool]]:
        for reading in self.slower(execution, losses):
            places = reading.places
            if part not in places.at:
                continue
            is_known = reading.high - reading.low < LEAST_LOSS
            is_sure = is_known and not places.upto and part not in places.maybe
            middle = (reading.low + reading.high) / 2
            # of a share between two bounds also the smallest loss that explains it
            for value in (middle,) if is_known else (middle, reading.high):
                share = places.implied(part, value, losses, adds=self.adds)
                if SMALLEST_SHARE <= share < -LEAST_LOSS:
                    yield share, is_sure

    def shown(self, execution: Execution, part: int, losses: Losses) -> Sequence[float]:
        """The shares of the part that all readings show which depend on it for sure."""
        key = (execution.number, part, losses)
        known = self._shown.get(key)
        if known is None:
            known = self._shown[key] = [
                one.places.implied(part, one.low, losses, adds=self.adds)
                for one in self.touched(execution, part)
                if one.low == one.high and not one.places.upto and part not in one.places.maybe
            ]
        return known

    def slower(self, execution: Execution, losses: Losses) -> tuple[ShareReading, ...]:
        """The readings that are clearly slower than these losses explain."""
        key = (execution.number, losses)
        known = self._slower.get(key)
        if known is None:
            known = self._slower[key] = tuple(
                one
                for one in execution.readings
                if is_slower(one, one.places.predicted(losses, adds=self.adds)[0])
            )
        return known

    def own_prior(self, part: int) -> float:
        """That of a fault of the part, whatever its timing."""
        return self._prior[part]

    def prior(self, fault: PartFault) -> float:
        is_usual = fault.when is When.ALWAYS or self.is_erratic(fault.part)
        return self.own_prior(fault.part) + (0.0 if is_usual else NOT_PERMANENT) - fault.unknown

    def score(self, faults: Hypothesis) -> float:
        """Log of prior times likelihood, relative to a cluster without a fault."""
        if faults not in self._scores:
            numbers = self.evidence.using(fault.part for fault in faults)
            total = sum(map(self.prior, faults))
            for number in sorted(numbers):
                execution = self.evidence.executions[number]
                total += self.mixed(execution, faults) - self.healthy[number]
            self._scores[faults] = total
        return self._scores[faults]

    def grown(self, faults: Hypothesis, fault: PartFault) -> tuple[Hypothesis, float]:
        """The hypothesis with one more fault, and its score."""
        both = ordered((*faults, fault))
        if both not in self._scores:
            total = self.score(faults) + self.prior(fault)
            for number in self.evidence.of_part[fault.part]:
                execution = self.evidence.executions[number]
                total += self.mixed(execution, both) - self.mixed(execution, faults)
            self._scores[both] = total
        return both, self._scores[both]

    def meet(self, faults: Hypothesis) -> bool:
        """Whether two of the faults meet in an execution that one of them slows."""
        parts = {fault.part for fault in faults}
        uses = Counter(n for part in parts for n in self.evidence.of_part[part])
        return any(uses[number] > 1 for number in self.unexplained)


def _own_prior(kind: KindOfPart, count: int) -> float:
    return PRIOR[kind] - math.log(count) if kind in PRIOR else 0.0


def _acting(execution: Execution, faults: Sequence[PartFault]) -> Hypothesis:
    """The faults that may act on an execution."""
    parts = execution.parts
    return tuple([one for one in faults if one.part in parts and one.acts(execution.began)])


def _touched(execution: Execution) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for number, reading in enumerate(execution.readings):
        for part in reading.places.at:
            found.setdefault(part, []).append(number)
    return {part: tuple(numbers) for part, numbers in found.items()}


def log_likelihood(reading: ShareReading, low: float, high: float) -> float:
    """The log likelihood of a reading whose share is predicted to be between two."""
    sigma = math.hypot(reading.sigma, MISFIT * min(1.0, -low))
    away = max(low - reading.high, reading.low - high, 0.0) / sigma
    loss = away * away / 2 if away < STEEP else STEEP * away - STEEP**2 / 2
    spread = math.log1p((high - low) / (3 * sigma)) if high > low else 0.0
    return -min(loss, WORST_READING) - spread


def is_slower(reading: ShareReading, predicted: float) -> bool:
    """Whether a reading is clearly slower than predicted."""
    sigma = math.hypot(reading.sigma, MISFIT * min(1.0, -predicted))
    return reading.high < predicted - STEEP * sigma


def _bent(total: float) -> float:
    """Readings of one execution are not independent: what they tell together grows slowly."""
    if total > -BEND:
        return total
    return -BEND - BEND_SOFT * math.log1p((-total - BEND) / BEND_SOFT)


def log_sum(logs: Sequence[float]) -> float:
    """The logarithm of the sum of numbers given by their logarithms."""
    top = max(logs)
    if len(logs) == 1:
        return top
    return top + math.log(sum(math.exp(one - top) for one in logs))
