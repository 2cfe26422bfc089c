"""Printed numbers: a value, and how far the true one may lie from it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_NUMBER = re.compile(r"[0-9]{1,25}(?:\.([0-9]{1,12}))?(?:e([+-]?[0-9]{1,3}))?|nan|inf|-nan|-inf")

# Binary fractions of printed decimals: an interval may be wider by this, never narrower.
_SLACK = 1.02


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in ``unit``; ``half`` is half a unit of its last printed digit."""

    value: float
    half: float
    unit: str

    def times(self, factor: float, unit: str) -> Figure:
        return Figure(self.value * factor, self.half * factor, unit)

    @property
    def low(self) -> float:
        return self.value - self.half * _SLACK

    @property
    def high(self) -> float:
        return self.value + self.half * _SLACK


def is_number(token: str) -> bool:
    return len(token) < 64 and _NUMBER.fullmatch(token) is not None  # noqa: PLR2004


def read_figure(token: str, unit: str) -> Figure:
    """A token for which ``is_number`` holds; ``getFloatStr`` prints 2, 1, 0 decimals or %e."""
    match = _NUMBER.fullmatch(token)
    if match is None:
        raise ValueError(token)
    value = float(token)
    if not math.isfinite(value):
        return Figure(value, 0.0, unit)
    exponent = int(match[2] or 0) - len(match[1] or "")
    return Figure(value, 0.5 * 10.0**exponent, unit)
