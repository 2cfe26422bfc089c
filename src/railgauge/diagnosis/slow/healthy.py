"""What healthy parts reach in one kind of measurement. Pure.

It is what the fastest readings reach that are alike. Where nothing can be compared, or all of these
are of nodes that miss a limit elsewhere, it is only known to be between the limit and the best
possible value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from railgauge.diagnosis.slow.constants import ALIKE, LIMIT_ROOM, SMALLEST_SHARE, UNKNOWN_HEALTHY

_FEW, _NORMAL = 6, 1.4826


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """A measured value with its limit and the best possible one, each 0 if there is none."""

    value: float
    floor: float
    best: float


@dataclass(frozen=True, slots=True)
class ShareBounds:
    """Bounds of a share, and the share with which the limit is just kept; logarithms."""

    low: float
    high: float
    least: float


@dataclass(frozen=True, slots=True)
class Healthy:
    """What healthy parts reach, at least and at most, and one standard deviation of it."""

    low: float
    high: float
    sigma: float

    @property
    def is_known(self) -> bool:
        return self.low == self.high

    def share(self, one: MeasuredValue, *, failed: bool) -> ShareBounds:
        low, high = _share(one.value, self.high), _share(one.value, self.low)
        if not self.is_known and not failed:
            high = 0.0
        least = math.log(one.floor / self.low) if one.floor else -math.inf
        return ShareBounds(low, high, min(0.0, least))


def _share(value: float, reach: float) -> float:
    return max(SMALLEST_SHARE, min(0.0, math.log(value / reach))) if value else SMALLEST_SHARE


def healthy(values: Sequence[MeasuredValue], doubted: Sequence[bool], sigma: float) -> Healthy:
    """What healthy parts reach; ``doubted`` are values of nodes that miss a limit elsewhere.

    ``sigma`` is the least standard deviation of healthy ones.
    """
    top = max(one.value for one in values)
    floor = max(one.floor for one in values)
    alike, sigma = _alike([one.value for one in values], sigma)
    is_sure = any(
        one.value >= alike[0] and not doubt for one, doubt in zip(values, doubted, strict=True)
    )
    if len(values) > 1 and is_sure and top >= floor:
        middle = median(alike[len(alike) // 2 :])
        return Healthy(middle, middle, sigma)
    best = max(one.best for one in values)
    low = max(top, floor * (1 + LIMIT_ROOM))
    high = max(low, best or low * UNKNOWN_HEALTHY)
    return Healthy(low, high, sigma)


def _alike(values: Sequence[float], sigma: float) -> tuple[list[float], float]:
    """The values about as fast as the fastest one, the slowest first, and how much they vary.

    The more they vary, the more of them are alike.
    """
    while True:
        least = max(values) * (1 - ALIKE * sigma)
        alike = sorted(value for value in values if value >= least)
        if (spread := _spread(alike)) <= sigma:
            return alike, sigma
        sigma = spread


def _spread(alike: Sequence[float]) -> float:
    """One standard deviation of the values that are alike; 0 of a few, which tell none."""
    if len(alike) < _FEW:
        return 0.0
    middle = median(alike)
    return _NORMAL * median(abs(one / middle - 1) for one in alike)
