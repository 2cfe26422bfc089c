"""How likely each part is slow: the best hypothesis, and what may take the place of its faults.

Exchanges that are independent of each other are not combined: three faults with three rivals each
are nine exchanges, not 27. An exchange counts only if it is *minimal*: no part of it alone is as
likely.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from railgauge.diagnosis.slow.constants import SUSPECT
from railgauge.diagnosis.slow.faults import Hypothesis, PartFault, ordered
from railgauge.diagnosis.slow.twins import Twins

_FAR = 20.0  # less likely by that logarithm: one in 500 million
_AS_LIKELY = 0.5
_MOST = 80

FaultSlot = tuple[int, int]
"""The part of a fault, and how many faults of the same part stand before it in its hypothesis."""


def slots(faults: Hypothesis) -> dict[FaultSlot, PartFault]:
    """The faults of a hypothesis by slot: a part may have two faults that differ in timing."""
    found: dict[FaultSlot, PartFault] = {}
    for fault in faults:
        found[fault.part, sum(part == fault.part for part, _ in found)] = fault
    return found


@dataclass(frozen=True, slots=True)
class Exchange:
    """Another hypothesis, and how likely it is relative to the best one."""

    faults: Hypothesis
    odds: float

    def has(self, slot: FaultSlot) -> bool:
        part, before = slot
        return sum(fault.part == part for fault in self.faults) > before


@dataclass(frozen=True, slots=True)
class Weighed:
    """The best hypothesis, and the exchanges in it, likeliest first."""

    best: Hypothesis
    exchanges: tuple[Exchange, ...]

    @property
    def of_all(self) -> list[tuple[Hypothesis, float]]:
        """All of them with their probabilities."""
        total = 1 + sum(one.odds for one in self.exchanges)
        return [
            (self.best, 1 / total),
            *((one.faults, one.odds / total) for one in self.exchanges),
        ]

    def beside(self, exchanges: Iterable[Exchange]) -> Weighed:
        """The same with other exchanges."""
        every = (*self.exchanges, *exchanges)
        return Weighed(self.best, tuple(sorted(every, key=lambda one: -one.odds)))

    def probability(self, slot: FaultSlot) -> float:
        """How likely a fault of the best hypothesis is there."""
        return 1 / (1 + sum(one.odds for one in self.exchanges if not one.has(slot)))

    def rivals(self, slot: FaultSlot, least: float = SUSPECT) -> dict[int, float]:
        """The parts that may be slow in its place, likeliest first."""
        mine = {fault.part for fault in self.best}
        probability = self.probability(slot)
        found: dict[int, float] = {}
        for one in self.exchanges:
            if not one.has(slot):
                for other in {fault.part for fault in one.faults} - mine:
                    found[other] = found.get(other, 0.0) + one.odds * probability
        order = sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))
        return {other: weight for other, weight in order if weight >= least}


def doubted(some: Weighed) -> Weighed:
    """The same, as if each fault of the best hypothesis were as likely as not."""
    without = (tuple(one for one in some.best if one is not fault) for fault in some.best)
    return Weighed(some.best, (*(Exchange(faults, 1.0) for faults in without), *some.exchanges))


def weighed(pool: Mapping[Hypothesis, float], twins: Twins) -> Weighed:
    """Of hypotheses with the same parts only the likeliest counts.

    ``twins`` are the parts that no reading tells apart from each part; a search tries one of them.
    """
    scored: dict[frozenset[FaultSlot], tuple[float, Hypothesis]] = {}
    for faults, score in _with_twins(pool, twins):
        key = frozenset(slots(faults))
        if key not in scored or score > scored[key][0]:
            scored[key] = score, faults
    top, best = max(scored.values())
    mine = frozenset(slots(best))
    changes = [
        (mine - others, others - mine, score, faults)
        for others, (score, faults) in scored.items()
        if mine - others and score > top - _FAR
    ]
    changes.sort(key=lambda one: (len(one[0]) + len(one[1]), -one[2]))
    kept: list[tuple[frozenset[FaultSlot], frozenset[FaultSlot], float, Hypothesis]] = []
    for out, into, score, faults in changes:
        within = (one for one in kept if one[0] <= out and one[1] <= into)
        if not any(score <= one[2] + _AS_LIKELY for one in within):
            kept.append((out, into, score, faults))
    kept.sort(key=lambda one: -one[2])
    some = (Exchange(faults, math.exp(score - top)) for _, _, score, faults in kept[:_MOST])
    return Weighed(best, tuple(some))


def _with_twins(
    pool: Mapping[Hypothesis, float], twins: Twins
) -> Iterator[tuple[Hypothesis, float]]:
    top = max(pool.values())
    yield from pool.items()
    for faults, score in pool.items():
        if score <= top - _FAR:
            continue
        mine = {fault.part for fault in faults}
        for place, fault in enumerate(faults):
            for twin in twins[fault.part]:
                if twin not in mine:
                    changed = (*faults[:place], fault._replace(part=twin), *faults[place + 1 :])
                    yield ordered(changed), score
