"""The kin of a series: the same measurement at other places, in the same nights. Pure.

Two good nights show nothing of the noise of a NIC, but the other NICs of the cluster do: a change
of all of them in one night is no change of a single one, and the noise is how much each moves
against the others.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise

from railgauge.trend.change import FREEDOM_PER_VALUE, SIGMA_OF_MOVES, Beside, Noise

# With two places it is unknown which one changed.
_FEWEST = 3
# More values do not improve the estimate: the noise of a place may differ from that of its kin.
_FREEDOM_MOST = 30.0


def beside(family: Sequence[Mapping[int, float]]) -> list[Beside | None]:
    """Each member (night -> logarithm) compared with the others, night by night. ``None`` for a
    member without two others in each of its nights.
    """
    ordered = {night: sorted(found) for night, found in _by_night(family).items()}
    apart = [_apart(one, ordered) for one in family]
    noise = _noise([one for one in apart if one])
    return [Beside(one, noise) if one else None for one in apart]


def _by_night(family: Sequence[Mapping[int, float]]) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for one in family:
        for night, value in one.items():
            found.setdefault(night, []).append(value)
    return found


def _apart(one: Mapping[int, float], ordered: Mapping[int, Sequence[float]]) -> list[float]:
    """The distances from the median of the others; none if a night has too few of them."""
    if any(len(ordered[night]) < _FEWEST for night in one):
        return []
    return [value - _median_of_others(ordered[night], value) for night, value in one.items()]


def _median_of_others(ordered: Sequence[float], value: float) -> float:
    at, others = bisect_left(ordered, value), len(ordered) - 1
    low, high = (others - 1) // 2, others // 2
    return (ordered[low + (low >= at)] + ordered[high + (high >= at)]) / 2


def _noise(apart: Sequence[Sequence[float]]) -> Noise:
    """The noise of a night, from the moves of all members; a step of one hardly changes it."""
    moves = [abs(b - a) for one in apart for a, b in pairwise(one)]
    deviation = SIGMA_OF_MOVES * statistics.median(moves) if moves else 0.0
    return Noise(deviation, min(FREEDOM_PER_VALUE * len(moves), _FREEDOM_MOST))
