"""What healthy parts reach in one kind of measurement. Pure.

It is what the fastest readings reach that are alike. Where nothing can be compared, or all of these
are of nodes that miss a limit elsewhere, it is only known to be between the limit and the best
possible value.

A suspected node is measured more often than the others, so that most of what is alike may be slow.
Each place counts once therefore, and what is faster without one node is what healthy parts reach.
What was measured with one node only, though others are there, tells nothing of it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import median

from railgauge.diagnosis.slow.constants import ALIKE, LIMIT_ROOM, SMALLEST_SHARE, UNKNOWN_HEALTHY

_FEW, _NORMAL = 6, 1.4826
_OFTEN = 0.25  # a node of fewer places changes little

MeasuredAt = tuple[frozenset[str], str]
"""The nodes of a measurement, and its NIC or pairing."""


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """A measured value with its limit and the best possible one, each 0 if there is none."""

    place: MeasuredAt
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
        if not self.is_known and not failed and high > -LIMIT_ROOM:
            high = 0.0  # healthy parts may reach no more than a value that keeps its limit
        least = math.log(one.floor / self.low) if one.floor else -math.inf
        return ShareBounds(low, high, min(0.0, least))


def _share(value: float, reach: float) -> float:
    return max(SMALLEST_SHARE, min(0.0, math.log(value / reach))) if value else SMALLEST_SHARE


def healthy(
    values: Sequence[MeasuredValue], doubted: Set[MeasuredAt], nodes: Collection[str], sigma: float
) -> Healthy:
    """What healthy parts reach. ``doubted`` are places that miss a limit elsewhere, ``nodes`` all
    nodes that there are, and ``sigma`` is the least standard deviation."""
    top = max(one.value for one in values)
    floor = max(one.floor for one in values)
    least, sigma = _alike([one.value for one in values], sigma)
    alike: dict[MeasuredAt, list[float]] = defaultdict(list)
    for one in values:
        if one.value >= least:
            alike[one.place].append(one.value)
    is_sure = not (alike.keys() <= doubted or _needs_others({one.place for one in values}, nodes))
    if len(values) > 1 and top >= floor and is_sure:
        level = max(_levels({place: median(some) for place, some in alike.items()}))
        return Healthy(level, level, sigma)
    best = max(one.best for one in values)
    low = max(top, floor * (1 + LIMIT_ROOM))
    high = max(low, best or low * UNKNOWN_HEALTHY)
    return Healthy(low, high, sigma)


def _alike(values: Sequence[float], sigma: float) -> tuple[float, float]:
    """The least of the values about as fast as the fastest one, and how much these vary.

    The more they vary, the more of them are alike.
    """
    while True:
        least = max(values) * (1 - ALIKE * sigma)
        spread = _spread([value for value in values if value >= least])
        if spread <= sigma:
            return least, sigma
        sigma = spread


def _needs_others(places: Set[MeasuredAt], nodes: Collection[str]) -> bool:
    """Whether all was measured with some node, and could be measured without it."""
    each = [there for there, _ in places]
    common = frozenset.intersection(*each)
    return bool(common) and len(nodes) - len(common) >= len(each[0])


def _levels(alike: Mapping[MeasuredAt, float]) -> Iterator[float]:
    """What the faster half of the places reaches, of all and without each node of many of them."""
    yield _faster_half(alike.values())
    often = Counter(node for nodes, _ in alike for node in nodes)
    for node in (node for node, count in often.items() if count >= _OFTEN * len(alike)):
        if others := [value for (nodes, _), value in alike.items() if node not in nodes]:
            yield _faster_half(others)


def _faster_half(values: Iterable[float]) -> float:
    in_order = sorted(values)
    return median(in_order[len(in_order) // 2 :])


def _spread(alike: Sequence[float]) -> float:
    """One standard deviation of the values that are alike; 0 of a few, which tell none."""
    if len(alike) < _FEW:
        return 0.0
    middle = median(alike)
    return _NORMAL * median(abs(one / middle - 1) for one in alike)
