"""Forms over numbered parts, and what they predict. Pure.

Shares are logarithms here, so that losses that add up are sums. Physics does not say whether two
losses add up or the larger one hides the smaller: that is one unknown of the whole run (``adds``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from railgauge.tools.form import ClusterPart, FigureForm

Losses = tuple[tuple[int, float], ...]
"""What is slow during an execution: parts with the logarithm of their share, in order."""


@dataclass(frozen=True, slots=True)
class Places:
    """A form: in which chains each part is, the parts of each chain, and in which stage it is."""

    at: Mapping[int, tuple[int, ...]]
    chains: tuple[tuple[int, ...], ...]
    stage: tuple[int, ...]
    mean: int
    upto: bool
    maybe: frozenset[int]
    apart: float

    @classmethod
    def of(cls, form: FigureForm, number: Mapping[ClusterPart, int]) -> Places:
        """``number`` has the parts that matter; the form's other parts are left out."""
        at: dict[int, list[int]] = {}
        chains: list[tuple[int, ...]] = []
        stages: list[int] = []
        for stage, some in enumerate(form.stages):
            for chain in some:
                parts = tuple(n for part in chain if (n := number.get(part)) is not None)
                for part in parts:
                    at.setdefault(part, []).append(len(stages))
                chains.append(parts)
                stages.append(stage)
        return cls(
            {part: tuple(mine) for part, mine in at.items()},
            tuple(chains),
            tuple(stages),
            form.mean,
            form.upto,
            frozenset(number[part] for part in form.maybe if part in number),
            form.apart,
        )

    def role(self, part: int) -> object:
        """What a part does. Parts with the same role may take each other's place."""
        return (part in self.maybe, *(self._beside(part, chain) for chain in self.at[part]))

    def _beside(self, part: int, chain: int) -> object:
        stage = self.stage[chain] if self.stage[chain] >= self.mean else -1
        return stage, tuple(one for one in self.chains[chain] if one != part)

    def predicted(
        self, losses: Losses, *, adds: bool, takes: bool | None = None
    ) -> tuple[float, float]:
        """The share of the figure, at least and at most, as logarithms.

        ``takes``: whether the parts in ``maybe`` take part, if that is known.
        """
        at = self.at
        hit = [one for one in losses if one[0] in at and (takes is not False or self._is_sure(one))]
        if not hit:
            return 0.0, 0.0
        if len(hit) == 1 and not self.mean:
            part, low = hit[0]
            if self.upto or (takes is None and part in self.maybe):
                return low, 0.0
            return low, low + self._room(part, low)
        low = self._share(hit, adds)
        if self.upto:
            return low, 0.0
        sure = hit if takes else list(filter(self._is_sure, hit))
        high = low if len(sure) == len(hit) else self._share(sure, adds)
        return low, high + self._room(hit[0][0], high)

    def _is_sure(self, loss: tuple[int, float]) -> bool:
        return loss[0] not in self.maybe

    def _room(self, part: int, high: float) -> float:
        """By how much a figure may be better because another healthy chain is the slowest."""
        if not self.apart or len(self.at[part]) == len(self.stage):
            return 0.0
        return min(self.apart, -high)

    def _share(self, hit: Iterable[tuple[int, float]], adds: bool) -> float:
        stages = self._stages(hit, adds)
        if self.mean:
            each = [math.exp(stages.pop(stage, 0.0)) for stage in range(self.mean)]
            mean = math.log(sum(each) / self.mean)
            return min(mean, *stages.values()) if stages else mean
        if not stages:
            return 0.0
        return sum(stages.values()) if adds else min(stages.values())

    def _stages(self, hit: Iterable[tuple[int, float]], adds: bool) -> dict[int, float]:
        """What is left of each stage that loses something: its slowest chain."""
        chains: dict[int, float] = {}
        for part, loss in hit:
            for chain in self.at[part]:
                known = chains.get(chain, 0.0)
                chains[chain] = known + loss if adds else min(known, loss)
        stages: dict[int, float] = {}
        for chain, share in chains.items():
            stage = self.stage[chain]
            if share < stages.get(stage, 0.0):
                stages[stage] = share
        return stages

    def implied(
        self, part: int, value: float, losses: Sequence[tuple[int, float]], *, adds: bool
    ) -> float:
        """What the part must lose more to give the figure this value, beside these losses."""
        mine = set(self.at[part])
        others = [(p, s) for p, s in losses if p != part and p in self.at]
        if self.mean:
            value = self._of_some(mine, value, others, adds)
        if not adds:
            return value
        value -= sum(loss for other, loss in losses if other == part)
        beside = dict.fromkeys(mine, 0.0)
        elsewhere: dict[int, dict[int, float]] = {}
        for other, loss in others:
            for chain in self.at[other]:
                if chain in mine:
                    beside[chain] += loss
                else:
                    stage = elsewhere.setdefault(self.stage[chain], {})
                    stage[chain] = stage.get(chain, 0.0) + loss
        if not self.mean:
            own = {self.stage[chain] for chain in mine}
            value -= sum(min(s.values()) for stage, s in elsewhere.items() if stage not in own)
        return value - min(beside.values())

    def _of_some(
        self, mine: set[int], value: float, others: Sequence[tuple[int, float]], adds: bool
    ) -> float:
        """What the part's stages reach if the mean of all has this value, and the rest is known."""
        own = {self.stage[chain] for chain in mine}
        if len(own) >= self.mean or max(own) >= self.mean:
            return value
        rest = self._stages(others, adds)
        known = sum(
            math.exp(rest.get(stage, 0.0)) for stage in range(self.mean) if stage not in own
        )
        there = (self.mean * math.exp(value) - known) / len(own)
        return math.log(there) if there > 0 else -math.inf
