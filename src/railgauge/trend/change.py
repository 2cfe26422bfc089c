"""Find steps and drifts in one series of nights, by medians, MAD and significance. Pure.

Values are logarithms, so that differences are shares; the caller leaves out missing nights.

Example: the values of nights 0 to 9 are ln 390 with little noise, those of nights 10 to 14 are
ln 370. The result is one step at night 10, with an effect of ln(370/390) = -0.053.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from heapq import heappop, heappush, heappushpop
from itertools import pairwise

from railgauge.judging import dispersion
from railgauge.trend.values import NIGHTS_BEFORE, NIGHTS_BEFORE_BESIDE_KIN

# The standard deviation of normal noise over its median absolute deviation.
_SIGMA_OVER_MAD = 1.4826
# The same over the median move from one night to the next.
SIGMA_OF_MOVES = _SIGMA_OVER_MAD / math.sqrt(2)
# The standard error of a median over that of a mean (normal noise, many values).
_MEDIAN_OVER_MEAN = math.sqrt(math.pi / 2)
# Degrees of freedom, per value, of a MAD about two fitted medians. They were simulated with 200,000
# histories of 5 to 60 nights, at the level that the largest statistic exceeds in one of 10,000.
# The result is 0.46 (7 nights) to 0.8 (60): selftests/trend/test_false_alarms.py.
FREEDOM_PER_VALUE = 0.45
# Printed values have at least three digits; less noise than this comes from rounding.
NOISE_MIN = 0.001
_STRAYS_MAX = 0.2
# The noise of a few nights is known only to about a third, and they may be noisier than others.
_NOISE_SPARE = 1.5
# Cutting three times gives up to eight levels, more than a real history has.
_DEPTH = 3
# Sums of deviations that differ only by the rounding of floating point are equal.
_DIGITS = 9
# All pairs of so many points take a millisecond; a year's nights would take thirty.
_POINTS = 100


@dataclass(frozen=True, slots=True)
class Step:
    """A change of level between ``at - 1`` and ``at``. ``chance`` is corrected for all splits."""

    at: int
    effect: float
    chance: float


@dataclass(frozen=True, slots=True)
class Slope:
    """A slow change: ``effect`` from the first to the last night."""

    effect: float
    chance: float


def noise_of(values: Sequence[float]) -> float:
    """The standard deviation from differences of neighbouring nights.

    Steps and drifts hardly change it.
    """
    moves = [abs(late - early) for early, late in pairwise(values)]
    return SIGMA_OF_MOVES * statistics.median(moves) if moves else 0.0


@dataclass(frozen=True, slots=True)
class Noise:
    """The standard deviation of single values, and the degrees of freedom of its estimate."""

    deviation: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Beside:
    """A series compared with its kin: each night's distance from them, and its noise."""

    values: Sequence[float]
    noise: Noise


@dataclass(frozen=True, slots=True)
class Asked:
    """The conditions for a step: nights after it, least noise, allowed chance, least effect."""

    after: int
    noise_min: float
    allowed: float
    effect_min: float


def steps(values: Sequence[float], asked: Asked, kin: Beside | None = None) -> list[Step]:
    """Return the changes of level, first to last, whose chance is at most the allowed one.

    The nights are first cut into likely levels (binary segmentation). Then cuts are dropped, the
    likeliest to be chance first, until each cut that is left is significant against the levels on
    its two sides. Cutting before testing finds a level that lasted only for a while, which a single
    cut would miss in its noise. The noise is that about the two levels, that about all levels, or
    that of the kin, because a few nights alone show little of it.
    """
    before = NIGHTS_BEFORE_BESIDE_KIN if kin else NIGHTS_BEFORE
    cuts = _cuts(values, (before, asked.after), _DEPTH)
    between = cache(partial(_between, values, kin, asked))
    while cuts:
        edges = [0, *cuts, len(values)]
        noise = _noise_about(values, edges, asked.noise_min)
        threes = zip(edges, cuts, edges[2:], strict=False)
        found = [_in_noise(between(three), noise) for three in threes]
        worst = max(found, key=lambda step: _likely_chance(step, asked.effect_min))
        if worst.chance <= asked.allowed and abs(worst.effect) >= asked.effect_min:
            return found
        cuts.remove(worst.at)
    return []


def _cuts(values: Sequence[float], nights: tuple[int, int], depth: int) -> list[int]:
    """The best cut of the nights, and the best cuts of its two parts, to ``depth`` levels."""
    at = _best_split(values, nights) if depth else None
    if at is None:
        return []
    later = [at + cut for cut in _cuts(values[at:], nights, depth - 1)]
    return [*_cuts(values[:at], nights, depth - 1), at, *later]


def _best_split(values: Sequence[float], nights: tuple[int, int]) -> int | None:
    """The first split into two levels that leaves the smallest sum of absolute deviations.

    ``nights`` are the fewest before and after it.
    """
    before, after = nights
    splits = range(before, len(values) - after + 1)
    early, late = _deviations(values), _deviations(values[::-1])[::-1]
    left = [round(early[split - 1] + late[split], _DIGITS) for split in splits]
    return splits[left.index(min(left))] if left else None


def _deviations(values: Sequence[float]) -> list[float]:
    """For the first value, the first two and so on: the sum of deviations from their median.

    The lower half is a heap with its largest value on top (negated), the upper half one with its
    smallest: n values take n log n steps.
    """
    low: list[float] = []
    high: list[float] = []
    low_sum = high_sum = 0.0
    found = []
    for value in values:
        moved = -heappushpop(low, -value)
        low_sum += value - moved
        heappush(high, moved)
        high_sum += moved
        if len(high) > len(low):
            moved = heappop(high)
            high_sum -= moved
            heappush(low, -moved)
            low_sum += moved
        found.append(high_sum - low_sum - low[0] * (len(low) - len(high)))
    return found


@dataclass(frozen=True, slots=True)
class _Cut:
    """A cut between two levels of ``before`` and ``after`` nights, and the noise about these two.

    ``tried`` corrects a chance for every split that was tried. ``apart`` is the effect as far as
    the kin did not move as well, and ``kin`` their noise; ``None`` without kin.
    """

    at: int
    effect: float
    noise: Noise
    before: int
    after: int
    tried: float
    are_levels: bool
    apart: float
    kin: Noise | None

    def chance_in(self, noise: Noise) -> float:
        """The chance of the cut; 1 if its two sides are not levels."""
        return self._of(self.effect, noise) if self.before >= NIGHTS_BEFORE else 1.0

    @property
    def chance_by_kin(self) -> float:
        """The chance by the noise of the kin; two nights before a cut show a loss, but no gain."""
        if self.kin is None or (self.before < NIGHTS_BEFORE and self.effect > 0):
            return 1.0
        deviation = max(self.kin.deviation, _NOISE_SPARE * self.noise.deviation)
        return self._of(self.apart, Noise(deviation, self.kin.freedom))

    def _of(self, effect: float, noise: Noise) -> float:
        by_noise = self.tried * chance(effect, noise, self.before, self.after)
        return min(1.0, by_noise) if self.are_levels else 1.0


def _between(
    values: Sequence[float], kin: Beside | None, asked: Asked, edges: tuple[int, int, int]
) -> _Cut:
    """The cut at the middle edge, on the nights between the outer two.

    Its chance is corrected for every split that was tried, and for the choice of the stretch if
    that is not all nights.
    """
    left, at, right = edges
    stretch, before = values[left:right], at - left
    effect = _effect(stretch, before)
    deviation = max(noise_about_medians(_residuals(stretch, before), 2), asked.noise_min)
    splits = len(values) - NIGHTS_BEFORE - asked.after + 2
    return _Cut(
        at,
        effect,
        Noise(deviation, FREEDOM_PER_VALUE * len(stretch)),
        before,
        right - at,
        splits if right - left == len(values) else splits * len(values) / 2,
        are_levels(stretch, before, effect),
        _apart(effect, _effect(kin.values[left:right], before)) if kin else effect,
        kin.noise if kin else None,
    )


def _effect(values: Sequence[float], before: int) -> float:
    return statistics.median(values[before:]) - statistics.median(values[:before])


def _apart(effect: float, from_kin: float) -> float:
    """The smaller of both effects; 0 if it is the kin that moved."""
    return min(effect, from_kin, key=abs) if effect * from_kin > 0 else 0.0


def _noise_about(values: Sequence[float], edges: Sequence[int], noise_min: float) -> Noise:
    """The noise about all levels together."""
    parts = [values[a:b] for a, b in pairwise(edges)]
    residuals = [abs(v - middle) for p in parts for middle in [statistics.median(p)] for v in p]
    deviation = max(noise_about_medians(residuals, len(parts)), noise_min)
    return Noise(deviation, FREEDOM_PER_VALUE * len(values))


def _in_noise(cut: _Cut, about_all: Noise) -> Step:
    """The step at a cut, with the smallest of its chances by any noise.

    The noise about all levels and that of the kin are known far better than the noise of a few
    nights. But those nights may be noisier, so neither counts as smaller than theirs, with a
    margin.
    """
    deviation = max(about_all.deviation, _NOISE_SPARE * cut.noise.deviation)
    by_all = cut.chance_in(Noise(deviation, about_all.freedom))
    chance = min(cut.chance_in(cut.noise), by_all, cut.chance_by_kin)
    return Step(cut.at, cut.effect, chance)


def chance(effect: float, noise: Noise, before: int, after: int) -> float:
    """The chance that noise alone moves the median of ``after`` values from that of ``before``."""
    deviation = max(noise.deviation, NOISE_MIN)
    error = deviation * _MEDIAN_OVER_MEAN * math.sqrt(1 / before + 1 / after)
    return two_sided(effect / error, noise.freedom)


def _likely_chance(step: Step, effect_min: float) -> tuple[bool, float, float]:
    """A key that is largest for the step to drop first: too small, else most likely chance."""
    return abs(step.effect) < effect_min, step.chance, -abs(step.effect)


def are_levels(values: Sequence[float], at: int, effect: float) -> bool:
    """Whether four nights of five are on their side of the middle between the two medians.

    A few bad nights among good ones can move a median of three nights, but are not a level.
    """
    before, after = values[:at], values[at:]
    middle = statistics.median(before) + effect / 2
    strays = [sum((v - middle) * effect >= 0 for v in before)]
    strays.append(sum((v - middle) * effect <= 0 for v in after))
    return strays[0] <= _STRAYS_MAX * len(before) and strays[1] <= _STRAYS_MAX * len(after)


def _residuals(values: Sequence[float], split: int) -> list[float]:
    left, right = values[:split], values[split:]
    low, high = statistics.median(left), statistics.median(right)
    return [abs(v - low) for v in left] + [abs(v - high) for v in right]


def noise_about_medians(residuals: Sequence[float], fitted: int) -> float:
    """The noise without the smallest residuals, which are those of the ``fitted`` medians."""
    return _SIGMA_OVER_MAD * statistics.median(sorted(residuals)[fitted:])


def two_sided(t: float, freedom: float) -> float:
    """The chance of a ``t`` this far from 0, by Wallace's (1959) normal approximation."""
    scale = (8 * freedom + 1) / (8 * freedom + 3)
    z = scale * math.sqrt(freedom * math.log1p(t * t / freedom))
    return math.erfc(z / math.sqrt(2))


def slope(values: Sequence[float], allowed: float = 1.0) -> Slope:
    """The drift over all nights (Theil, Sen), and its chance by the test of Mann and Kendall.

    The drift costs far more than its chance; it is 0 if the chance is above ``allowed``.
    """
    chance = math.erfc(abs(dispersion.kendall_z(values)) / math.sqrt(2))
    return Slope(rise(values), chance) if chance <= allowed else Slope(0.0, chance)


def rise(values: Sequence[float]) -> float:
    """The drift from the first to the last night; of medians of stretches if there are many."""
    drift = dispersion.drift([math.exp(value) for value in values], _POINTS)
    return math.log1p(max(drift.change, -0.99))  # it is a share of the median


def left_by_steps(values: Sequence[float], found: Sequence[Step]) -> float:
    """The sum of absolute deviations from the levels."""
    edges = [0, *(step.at for step in found), len(values)]
    parts = [values[a:b] for a, b in pairwise(edges)]
    return sum(abs(v - statistics.median(part)) for part in parts for v in part)


def left_by_slope(values: Sequence[float], found: Slope) -> float:
    """The sum of absolute deviations from the line."""
    rise = found.effect / max(len(values) - 1, 1)
    flat = [value - rise * night for night, value in enumerate(values)]
    middle = statistics.median(flat)
    return sum(abs(value - middle) for value in flat)
