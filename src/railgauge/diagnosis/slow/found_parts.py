"""What the model finds: each slow part with its probability, its rivals and its evidence. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from railgauge.diagnosis.slow.constants import (
    DECIDED,
    LEAST_LOSS,
    STEEP,
    STRAGGLERS_SEEN,
    STRAGGLES,
    When,
)
from railgauge.diagnosis.slow.decision import Weighed, slots
from railgauge.diagnosis.slow.faults import PartFault
from railgauge.diagnosis.slow.likelihood import Model
from railgauge.diagnosis.slow.places import Losses
from railgauge.diagnosis.slow.readings import Execution, ShareReading, Shown
from railgauge.diagnosis.slow.side_effects import SideEffect
from railgauge.tools.form import ClusterPart

_HALF_A_PERCENT, _NEXT = 0.005, 1e-4
_AT_LIMIT = 0.003


@dataclass(frozen=True, slots=True)
class FoundPart:
    """A part that is slow with ``probability``; ``share`` is what is left of its speed.

    ``slow`` of ``of`` executions that tell of it show it. ``rivals`` are the parts that may be slow
    in its place, with their probabilities; ``next`` is the likeliest of them, however unlikely.
    ``fails`` are the items that miss a limit because of it, ``slower`` those that only lose speed.
    ``again`` are the keys of the cases measured again that tell of it or, if it is not decided, of
    a rival. ``effect_of`` is the NIC that may slow it.
    """

    part: ClusterPart
    share: float
    when: When
    since: float
    slow: int
    of: int
    probability: float
    rivals: Mapping[ClusterPart, float]
    next: tuple[ClusterPart, float] | None
    fails: tuple[str, ...]
    slower: tuple[str, ...]
    again: frozenset[str]
    effect_of: ClusterPart | None

    @property
    def is_decided(self) -> bool:
        return self.probability >= DECIDED


def found_parts(
    model: Model, weighed: Weighed, side_effects: Collection[SideEffect] = ()
) -> Iterator[FoundPart]:
    """One for each fault of the likeliest hypothesis that costs more than healthy parts differ."""
    parts = model.evidence.parts
    weighed = weighed.beside(one.instead for one in side_effects)
    for slot, fault in slots(weighed.best).items():
        if parts[fault.part].is_known:
            continue
        effects = _Effects(model, weighed, fault)
        fails, slower = effects.items()
        slow, of = effects.counted()
        is_seen = fails or (slower and slow >= STRAGGLERS_SEEN)
        if not is_seen or effects.costs() < STRAGGLES:
            continue
        rivals = weighed.rivals(slot)
        next_ = next(iter(weighed.rivals(slot, _NEXT).items()), None)
        yield FoundPart(
            parts[fault.part],
            math.exp(fault.share),
            fault.when,
            fault.since,
            slow,
            of,
            weighed.probability(slot),
            {parts[other]: weight for other, weight in rivals.items()},
            (parts[next_[0]], next_[1]) if next_ else None,
            fails,
            slower,
            frozenset(_again(model, [fault.part, *rivals])),
            next((parts[o.of] for o in side_effects if not o.instead.has(slot)), None),
        )


def _again(model: Model, parts: Iterable[int]) -> Iterator[str]:
    """The keys of the cases that were measured again with one of the parts."""
    evidence = model.evidence
    for run in (evidence.executions[n] for part in parts for n in evidence.of_part[part]):
        if run.added:
            yield run.case.key


class _Effects:
    """What a fault does to the executions of its part."""

    def __init__(self, model: Model, weighed: Weighed, fault: PartFault) -> None:
        self._model, self._fault, self._best = model, fault, weighed.best
        executions = model.evidence.executions
        self._runs = [executions[number] for number in model.evidence.of_part[fault.part]]
        self._losses = {run.number: model.likeliest(run, weighed.best) for run in self._runs}
        self._slowed = tuple(self._predicted())

    def _acts(self, run: Execution) -> bool:
        """Whether it likely acts on the execution, beside what its part always loses then."""
        fault = self._fault
        loss = dict(self._losses[run.number]).get(fault.part, 0.0)
        always = sum(
            one.share
            for one in self._best
            if one.part == fault.part and one is not fault and one.acts(run.began)
            if fault.is_rare and not one.is_rare
        )
        return fault.acts(run.began) and loss < always - LEAST_LOSS / 2

    def counted(self) -> tuple[int, int]:
        """In how many of the executions that tell of the part it is slow."""
        alone: Losses = ((self._fault.part, self._fault.share),)
        telling = [
            run
            for run in self._runs
            if any(
                one.places.predicted(alone, adds=self._model.adds, takes=True)[1] < 0
                for one in self._model.touched(run, self._fault.part)
            )
        ]
        return sum(map(self._acts, telling)), len(telling)

    def costs(self) -> float:
        """The share of a figure that it takes at most beside what the others take."""
        return 1 - math.exp(-max((one.rest - one.all for one in self._slowed), default=0.0))

    def items(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The items that miss their limit because of the fault, and those that are slower."""
        rank: dict[str, bool] = {}
        for figure in self._slowed:
            for one in figure.reading.shown:
                effect = _effect(figure, one)
                if effect is not None and one.item:
                    rank[one.item] = rank.get(one.item, False) or effect
        fails = tuple(item for item, has_failed in rank.items() if has_failed)
        return fails, tuple(item for item, has_failed in rank.items() if not has_failed)

    def _predicted(self) -> Iterator[_Slowed]:
        """Each figure of the executions that the fault acts on."""
        part, adds = self._fault.part, self._model.adds
        for run in filter(self._acts, self._runs):
            losses = self._losses[run.number]
            mine = tuple(one for one in losses if one[0] == part)
            others = tuple(one for one in losses if one[0] != part)
            for reading in self._model.touched(run, part):
                shares = (
                    reading.places.predicted(some, adds=adds)[0] for some in (losses, others, mine)
                )
                yield _Slowed(reading, *shares)


class _Slowed(NamedTuple):
    """A figure with its shares as predicted: with all losses, without the part, with it alone."""

    reading: ShareReading
    all: float
    rest: float
    alone: float


def _effect(figure: _Slowed, one: Shown) -> bool | None:
    """Whether the item misses its limit for the fault; ``None`` if it is no slower for it."""
    reading = figure.reading
    is_slower = reading.high < figure.rest - STEEP * reading.sigma
    slower = is_slower and figure.all < figure.rest - _HALF_A_PERCENT
    least = min(one.least + _AT_LIMIT, -_HALF_A_PERCENT)
    fails = one.failed and (figure.alone < least or (slower and figure.rest >= least))
    return fails if fails or slower else None
