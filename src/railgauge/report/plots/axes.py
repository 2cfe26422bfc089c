"""Scales that map values to pixels, and their tick marks. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

_LOG_FROM = 8.0
_PAD = 0.07
_MOST_MARKS = 8


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts ``gpu10`` after ``gpu9``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from ``low`` to ``high`` to pixels ``start`` to ``end``; if log, above 0."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the pixel of a value; a value outside the scale is drawn at the edge."""
        inside = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(inside / self.low) / math.log(self.high / self.low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share

    @property
    def marks(self) -> list[float]:
        return _decades(self.low, self.high) if self.log else _round_steps(self.low, self.high)


def around(values: Sequence[float], start: float, end: float) -> Scale:
    """Return a scale that shows all values, logarithmic if they span a large range."""
    low, high = min(values), max(values)
    if low > 0 and high / low >= _LOG_FROM:
        return Scale(low / 1.25, high * 1.25, start, end, log=True)
    pad = max((high - low) * _PAD, abs(high) * 0.01) or 1.0
    return Scale(max(low - pad, 0.0) if low >= 0 else low - pad, high + pad, start, end)


def _decades(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 of each decade, or only the decades if there are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    inside = [mark for mark in fine if low <= mark <= high]
    return (
        inside
        if len(inside) <= _MOST_MARKS
        else [10.0**p for p in powers if low <= 10.0**p <= high]
    )


def _round_steps(low: float, high: float) -> list[float]:
    """Return about five round numbers."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= rough)
    first = math.ceil(low / step)
    return [number * step for number in range(first, math.floor(high / step) + 1)]
