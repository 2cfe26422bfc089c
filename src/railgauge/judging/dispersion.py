"""The distribution of one metric's samples: spread, drift over the run, and two groups.

Samples are bandwidths, times or rates: above 0, in one unit, in the order in which they were
measured. A value that is not finite or not above 0 raises ``Implausible``.

A healthy cluster is tested thousands of times, so false alarms must be rare: for independent
samples of one unchanging group, ``drift`` and ``two_groups`` are each wrong in at most one of ten
thousand runs.

Example: the busbw samples 390, 391, 33, 392, 34 and 389 GB/s are two groups, two samples around
33.5 GB/s and four around 390.5 GB/s.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

from railgauge.core.errors import Implausible, MetricMissing


@dataclass(frozen=True, slots=True)
class Spread:
    """The spread of one group of samples; ``mean`` and ``median`` are in the samples' unit.

    ``cv`` is the sample standard deviation over the mean. ``worst_over_median`` is at most 1: the
    smallest sample over the median, or for times the median over the largest.
    """

    n: int
    mean: float
    median: float
    cv: float
    worst_over_median: float


def spread(values: Sequence[float], lower: bool = False) -> Spread:
    """Return the spread of one or more samples; ``lower`` means that lower is better, as for times.

    Raises ``MetricMissing`` without a sample, ``Implausible`` for a value that is not finite or not
    above 0.
    """
    ordered = sorted(_measured(values))
    if not ordered:
        raise MetricMissing("there is no sample to compute a spread from")
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
    """The same values. Raises ``Implausible`` if one is not finite or not above 0."""
    if wrong := [value for value in values if not (math.isfinite(value) and value > 0)]:
        raise Implausible(f"a sample is {wrong[0]:g}; samples must be finite and above 0")
    return values


# --- drift ---

# All pairs of samples are compared. Above this number of samples, medians of stretches of the run
# are compared instead.
_DRIFT_POINTS = 400


@dataclass(frozen=True, slots=True)
class Drift:
    """A trend over the run.

    ``change`` is the change from its start to its end, as a share of the median. ``z`` is the
    normal score of the Mann-Kendall test: positive when the samples rise.
    """

    change: float
    z: float


def drift(values: Sequence[float], most: int = _DRIFT_POINTS) -> Drift:
    """Return the trend of samples in the order of the run; above ``most``, that of stretches.

    The slope is the median of the slopes of all pairs (Theil 1950, Sen 1968); a quarter of the
    samples may be outliers without moving it. The Mann-Kendall test (Mann 1945, Kendall 1975,
    corrected for ties) decides whether there is a trend. It assumes only that samples are
    independent. Its normal score is conservative in the tails: a score that nominally means one
    false alarm in ten thousand runs raises fewer, and fewer than ten samples never reach it.
    """
    points = _stretches(_measured(values), most)
    if len(points) < 2:  # noqa: PLR2004
        return Drift(0.0, 0.0)
    slopes = [
        (late - early) / (last - first)
        for (first, early), (last, late) in combinations(enumerate(points), 2)
    ]
    change = statistics.median(slopes) * (len(points) - 1) / statistics.median(points)
    return Drift(change, kendall_z(points))


def _stretches(values: Sequence[float], most: int) -> list[float]:
    """The values; above ``most`` of them, the medians of stretches of equal length."""
    length = math.ceil(len(values) / most) or 1
    whole = len(values) - len(values) % length
    return [statistics.median(values[i : i + length]) for i in range(0, whole, length)]


def kendall_z(points: Sequence[float]) -> float:
    """Rises minus falls over all pairs, in standard deviations, with continuity correction."""
    n, rises = len(points), _rises(points)
    ties = Counter(points).values()
    variance = sum(
        sign * m * (m - 1) * (2 * m + 5) / 18
        for sign, m in ((1, n), *((-1, t) for t in ties if t > 1))
    )
    if not variance or not rises:
        return 0.0
    return math.copysign(abs(rises) - 1, rises) / math.sqrt(variance)


def _rises(points: Sequence[float]) -> int:
    """The number of pairs that rise minus that of pairs that fall."""
    seen: list[float] = []
    rises = 0
    for point in points:
        rises += bisect_left(seen, point) + bisect_right(seen, point) - len(seen)
        insort(seen, point)
    return rises


# --- two groups ---

# The words for them in the reason of a judgement.
TWO_GROUPS = "falls into two groups"

_FEWEST = 4
_FEWEST_EACH = 2
# By number of samples (the next smaller entry applies): the largest share of the variance that the
# best split may leave unexplained. selftests/testing/dispersion_nulls.py computes these values.
_UNEXPLAINED_MAX = {
    4: 2.5e-5, 5: 3e-4, 6: 0.0011, 7: 0.0018, 8: 0.0028, 10: 0.0056, 14: 0.012, 16: 0.017,
    20: 0.023, 25: 0.031, 30: 0.034, 40: 0.055, 100: 0.12,
}  # fmt: skip
_TABULATED = tuple(_UNEXPLAINED_MAX)
# Groups this far apart cannot come from the noise of one group.
_WIDE_APART = 2 / 3
_WIDE_UNEXPLAINED_MAX = 0.25
_WIDE_FEWEST_EACH = 4
_WIDE_SHARE_EACH = 1 / 6

# The smallest distance of two groups that counts, where the limit does not set one.
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
    """Return the two groups that the samples form, or ``None`` if one group explains them.

    The statistic is the largest ratio of the variance between two groups to the variance within
    them, over all splits of the ordered samples (Engelman and Hartigan 1969; Otsu's split is the
    same). It has power with only four samples, where tests of the number of modes (Hartigan's dip,
    Silverman) have none, and it identifies the two groups. A split must leave at least two samples
    on each side, so that one outlier is not a group, and the distance of the two medians must be at
    least ``apart_min`` times the larger one.

    Either of two rules is enough:

    - The split leaves less of the variance unexplained than samples of one group do in one of ten
      thousand runs, at any scale of their noise. The one group may be normal, uniform, exponential
      or log-normal, skewed to either side, with or without an outlier.
    - The medians lie two thirds of the larger apart, the split explains three quarters of the
      variance, and each group has at least four samples and a sixth of all. One group does that
      in fewer than one of ten thousand runs while the standard deviation of its noise is at most
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
    """Return the best split of at least four ordered, not all equal values into two groups.

    The first result is the number of values in the lower group, the second the share of the
    variance that is left within the two groups, from 0 to 1.
    """
    n, middle = len(ordered), ordered[len(ordered) // 2]
    # Subtract a middle value first: the difference of large, nearly equal sums would lose digits.
    off = [value - middle for value in ordered]
    mean = math.fsum(off) / n
    total = math.fsum((value - mean) ** 2 for value in off)
    sums = list(accumulate(value - mean for value in off))
    between, size = max(
        (sums[k - 1] ** 2 * n / (k * (n - k)), k) for k in range(_FEWEST_EACH, n - 1)
    )
    return size, max(0.0, 1.0 - between / total)


def unexplained_max(n: int) -> float:
    """The largest share of the variance that the best split may leave and still show two groups.

    It grows with the number of samples ``n``; between the simulated sizes, the value of the next
    smaller one applies.
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
