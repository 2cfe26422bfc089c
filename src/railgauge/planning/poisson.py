"""Bounds on the rate of events from their number in a time: exact Poisson bounds. Pure.

Independent events at a constant rate are Poisson distributed. After ``k`` events a rate is ruled
out with confidence ``c`` if it would give ``k`` or fewer with a probability of at most ``1 - c``
(Garwood 1936).

Example: no event in 24 h rules out, with 95 % confidence, more than one event per 8.0 h.
"""

from __future__ import annotations

import math

CONFIDENCE = 0.95
_STEPS = 200  # of the bisection; more than a float can distinguish


def at_most(events: int, mean: float) -> float:
    """The probability of ``events`` or fewer where ``mean`` are expected."""
    if mean <= 0:
        return 1.0
    terms = (
        math.exp(number * math.log(mean) - mean - math.lgamma(number + 1))
        for number in range(events + 1)
    )
    return min(1.0, math.fsum(terms))


def most_expected(events: int, confidence: float = CONFIDENCE) -> float:
    """The largest expected number that ``events`` events do not rule out."""
    low, high = 0.0, 1.0
    while at_most(events, high) > 1 - confidence:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(events, middle) > 1 - confidence else (low, middle)
    return high


def hours_an_event(events: int, hours: float, confidence: float = CONFIDENCE) -> float:
    """The hours in which less than one event is expected, with this confidence."""
    return hours / most_expected(events, confidence)


def confidence_below(rate_per_h: float, events: int, hours: float) -> float:
    """The confidence with which the rate of events is below ``rate_per_h``."""
    return 1 - at_most(events, rate_per_h * hours)
