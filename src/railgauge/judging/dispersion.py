"""How the samples of one metric lie: spread, drift over the run, and whether they are two groups.

Samples are bandwidths, times or rates: above 0, in one unit, in the order in which they were
measured. What is not finite or not above 0 raises ``Implausible``: it was never measured.

Two false alarms must be rare, because a healthy cluster makes these tests thousands of times: each
of ``drift`` and ``two_groups`` is wrong about unchanging, independent samples of one group in at
most one of ten thousand runs.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

from railgauge.core.errors import Implausible, MetricMissing


@dataclass(frozen=True, slots=True)
class Spread:
    """What one group of samples looks like; all but ``n``, ``cv`` and the ratio in their unit.

    ``cv`` is standard deviation (of a sample) over mean. ``worst_over_median`` is at most 1: the
    smallest over the median, or for times the median over the largest.
    """

    n: int
    mean: float
    median: float
    cv: float
    worst_over_median: float


def spread(values: Sequence[float], lower: bool = False) -> Spread:
    """The spread of one sample or more; ``lower`` says that lower is better, as for times.

    Raises ``MetricMissing`` for no sample, ``Implausible`` for what cannot have been measured.
    """
    ordered = sorted(_measured(values))
    if not ordered:
        raise MetricMissing("no sample, so nothing that could be spread")
    mean, median = statistics.fmean(ordered), statistics.median(ordered)
    deviation = statistics.stdev(ordered) if len(ordered) > 1 else 0.0
    return Spread(
        n=len(ordered),
        mean=mean,
        median=median,
        cv=deviation / mean,
        worst_over_median=median / ordered[-1] if lower else ordered[0] / median,
    )


def _measured(values: Sequence[float]) -> Sequence[float]:
    """The same values, all of which can be measurements."""
    if wrong := [value for value in values if not (math.isfinite(value) and value > 0)]:
        raise Implausible(f"{wrong[0]:g} among the samples: it cannot have been measured")
    return values


# --- drift ---

# All pairs of samples are compared: beyond this many, medians of stretches of the run stand in.
_DRIFT_POINTS = 400


@dataclass(frozen=True, slots=True)
class Drift:
    """A trend over the run. ``change`` is from its start to its end, as a share of the median.

    ``z`` is the normal score of the Mann-Kendall test: positive when the samples rise.
    """

    change: float
    z: float


def drift(values: Sequence[float]) -> Drift:
    """The trend of samples in the order of the run.

    The slope is the median of the slopes of all pairs (Theil 1950, Sen 1968), which a quarter of
    outliers does not move. Whether there is a trend at all is the Mann-Kendall test (Mann 1945,
    Kendall 1975, corrected for ties), which makes no assumption about the noise but that samples
    are independent. Its normal score errs on the careful side in the tails: a score that stands for
    one false alarm in ten thousand runs raises fewer, and fewer than ten samples never reach it.
    """
    points = _stretches(_measured(values))
    if len(points) < 2:  # noqa: PLR2004
        return Drift(0.0, 0.0)
    slopes = [
        (late - early) / (last - first)
        for (first, early), (last, late) in combinations(enumerate(points), 2)
    ]
    change = statistics.median(slopes) * (len(points) - 1) / statistics.median(points)
    return Drift(change, _kendall_z(points))


def _stretches(values: Sequence[float]) -> list[float]:
    """The values, or medians of equally long stretches of them where they are many."""
    length = math.ceil(len(values) / _DRIFT_POINTS) or 1
    whole = len(values) - len(values) % length
    return [statistics.median(values[i : i + length]) for i in range(0, whole, length)]


def _kendall_z(points: Sequence[float]) -> float:
    """Rises less falls over all pairs, in standard deviations; one is left off for continuity."""
    n = len(points)
    rises = sum((late > early) - (late < early) for early, late in combinations(points, 2))
    ties = [points.count(value) for value in set(points)]
    variance = sum(
        sign * m * (m - 1) * (2 * m + 5) / 18
        for sign, m in ((1, n), *((-1, t) for t in ties if t > 1))
    )
    if not variance or not rises:
        return 0.0
    return math.copysign(abs(rises) - 1, rises) / math.sqrt(variance)


# --- two groups ---

_FEWEST = 4
_FEWEST_EACH = 2
# By number of samples (the next smaller one counts): the most that the best split may leave of the
# variance. From selftests/testing/dispersion_nulls.py, which says how.
_UNEXPLAINED_MAX = {
    4: 2.5e-5, 5: 3e-4, 6: 0.0011, 7: 0.0018, 8: 0.0028, 10: 0.0056, 14: 0.012, 16: 0.017,
    20: 0.023, 25: 0.031, 30: 0.034, 40: 0.055, 100: 0.12,
}  # fmt: skip
_TABULATED = tuple(_UNEXPLAINED_MAX)
# Groups that lie so far apart that the noise of one group cannot be what parts them.
_WIDE_APART = 2 / 3
_WIDE_UNEXPLAINED_MAX = 0.25
_WIDE_FEWEST_EACH = 4
_WIDE_SHARE_EACH = 1 / 6

# Where no limit says how far apart two groups may lie.
APART_MIN = 0.05


@dataclass(frozen=True, slots=True)
class Groups:
    """Two groups of samples. ``low`` and ``high`` are their medians.

    ``apart`` is the distance of the medians as a share of the larger one.
    """

    low: float
    high: float
    low_count: int
    high_count: int

    @property
    def apart(self) -> float:
        return (self.high - self.low) / self.high


def two_groups(values: Sequence[float], apart_min: float = APART_MIN) -> Groups | None:
    """The two groups that the samples fall into, or ``None`` if one group explains them.

    The statistic is the largest ratio of the variance between to the variance within two groups
    over all splits of the ordered samples (Engelman and Hartigan 1969; the split is also Otsu's).
    It has power at four samples already, where tests of the number of modes (Hartigan's dip,
    Silverman) have none, and it names the two groups. A split must leave two samples on each side,
    so one outlier is no group, and its medians must lie ``apart_min`` of the larger apart.

    Two rules, either of which is enough:

    - The split leaves less of the variance than samples of one group do in
      one of ten thousand runs, whatever the scale of their noise. The one group may be
      normal, uniform, exponential or log-normal, to either side, with or without an outlier.
    - The medians lie two thirds of the larger apart, the split explains three quarters of the
      variance, and both groups have four samples and a sixth of all. One group does that less
      often than in one of ten thousand runs while the standard deviation of its noise is at most
      10 % of its mean (healthy collectives of documents 001 and 002 have 0.2 %). The first rule
      alone would take the disturbed rows of document 001 for one very wide group.
    """
    ordered = sorted(_measured(values))
    if len(ordered) < _FEWEST or ordered[0] == ordered[-1]:
        return None
    size, unexplained = best_split(ordered)
    groups = _groups(ordered, size)
    if groups.apart < apart_min:
        return None
    certain = unexplained <= unexplained_max(len(ordered)) or _lie_wide(groups, unexplained)
    return groups if certain else None


def best_split(ordered: Sequence[float]) -> tuple[int, float]:
    """Of at least four ordered, not all equal values: how many of the smallest make one group.

    And the share of the variance that is left within the groups of that split, from 0 to 1.
    """
    n, middle = len(ordered), ordered[len(ordered) // 2]
    # Sums of distances from a middle value: of large numbers alike the small difference is wanted.
    off = [value - middle for value in ordered]
    mean = math.fsum(off) / n
    total = math.fsum((value - mean) ** 2 for value in off)
    sums = list(accumulate(value - mean for value in off))
    between, size = max(
        (sums[k - 1] ** 2 * n / (k * (n - k)), k) for k in range(_FEWEST_EACH, n - 1)
    )
    return size, max(0.0, 1.0 - between / total)


def unexplained_max(n: int) -> float:
    """The most of the variance that the best split of ``n`` samples may leave to tell two groups.

    It grows with ``n``: between the sizes that were simulated, the next smaller one's counts.
    """
    return _UNEXPLAINED_MAX[_TABULATED[bisect_right(_TABULATED, n) - 1]]


def _groups(ordered: Sequence[float], size: int) -> Groups:
    low, high = ordered[:size], ordered[size:]
    return Groups(statistics.median(low), statistics.median(high), len(low), len(high))


def _lie_wide(groups: Groups, unexplained: float) -> bool:
    smaller = min(groups.low_count, groups.high_count)
    fewest = max(_WIDE_FEWEST_EACH, _WIDE_SHARE_EACH * (groups.low_count + groups.high_count))
    return (
        groups.apart >= _WIDE_APART and unexplained <= _WIDE_UNEXPLAINED_MAX and smaller >= fewest
    )
