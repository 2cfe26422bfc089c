"""Whether probabilities are what they say: of causes with one, the share that is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import fmean

BANDS = (0.97, 0.99, 0.999, 1.0)
_OUTSIDE = 0.05
"""The interval misses the true share with that probability."""
_HALVINGS = 60

Sure = tuple[float, bool]
"""The probability of a decided cause, and whether it is right."""


def calibration(found: Sequence[Sure]) -> Iterator[str]:
    """A line for each band of probabilities."""
    for low, high in pairwise(BANDS):
        some = [one for one in found if low <= one[0] < high or one[0] == high == BANDS[-1]]
        if some:
            yield f"{len(some):5} causes with a probability of {low} to {high}: {_line(some)}"


def _line(some: Sequence[Sure]) -> str:
    right, printed = sum(is_right for _, is_right in some), fmean(p for p, _ in some)
    low, high = interval(right, len(some))
    verdict = "within it" if low <= printed <= high else "outside of it"
    return (
        f"{right} right, {right / len(some):.2%}, 95 % interval {low:.2%} to {high:.2%}; "
        f"predicted {printed:.3%}, {verdict}"
    )


def interval(right: int, of: int) -> tuple[float, float]:
    """The interval of Clopper and Pearson for a share."""
    low = _solved(lambda p: _at_least(right, of, p) - _OUTSIDE / 2) if right else 0.0
    high = _solved(lambda p: _at_least(right + 1, of, p) - 1 + _OUTSIDE / 2) if right < of else 1.0
    return low, high


def _solved(grows: Callable[[float], float]) -> float:
    """Where a function that grows from 0 to 1 is 0."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if grows(middle) > 0 else (middle, high)
    return (low + high) / 2


def _at_least(right: int, of: int, p: float) -> float:
    """The probability that so many of them are right, if each is with probability ``p``."""
    return math.fsum(math.comb(of, n) * p**n * (1 - p) ** (of - n) for n in range(right, of + 1))
