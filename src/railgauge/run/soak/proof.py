"""What a soak proves: hours, events, and the rate of events that they rule out. Pure.

An event is a round in which something failed or could not be judged. No event is allowed. Only the
hours of a node's own measurements count, because an idle node proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from railgauge.planning.soak import SoakPlan

CONFIDENCE = 0.95
_STEPS = 200  # of the bisection; more than a float can distinguish
_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Soaked:
    """How long a cluster of so many nodes was under load, and all of its nodes together."""

    seconds: float
    nodes: int
    node_seconds: float


def proof(plan: SoakPlan, soaked: Soaked, events: int = 0) -> dict[str, Any]:
    """The figures, as ``verdict.json`` and ``plan --json`` hold them."""
    hours, node_hours = soaked.seconds / _HOUR_S, soaked.node_seconds / _HOUR_S
    found = {
        "hours": round(hours, 4),
        "node_hours": round(node_hours, 4),
        "events": events,
        "allowed_events": 0,
        "confidence": CONFIDENCE,
        "hours_an_event": round(hours_an_event(events, hours), 4),
        "node_hours_an_event": round(hours_an_event(events, node_hours), 4),
    }
    if plan.below_per_h is not None:
        sure = confidence_below(plan.below_per_h, events, node_hours)
        found |= {"stated_per_node_hour": plan.below_per_h, "stated_confidence": round(sure, 6)}
    return found


def in_words(plan: SoakPlan, soaked: Soaked, events: int = 0) -> Iterator[str]:
    """The same as sentences."""
    found = proof(plan, soaked, events)
    each = _hours(found["node_hours"] / soaked.nodes)
    seen = "no event" if events == 0 else f"{events} event{'' if events == 1 else 's'}"
    yield (
        f"{seen} in {_hours(found['hours'])}, in which each of {soaked.nodes} nodes was measured"
        f" for {each} on average: with {CONFIDENCE:.0%} confidence fewer than one in"
        f" {_hours(found['hours_an_event'])} of the cluster, or in"
        f" {_hours(found['node_hours_an_event'])} of a node under load (exact Poisson)"
    )
    if plan.below_per_h is not None:
        yield (
            f"fewer than one event in {_hours(1 / plan.below_per_h)} of a node under load:"
            f" {found['stated_confidence']:.2%} confidence"
        )


def _hours(hours: float) -> str:
    if hours < 1:
        return f"{60 * hours:.3g} min"
    return f"{hours:.3g} h" if hours < 1000 else f"{hours:,.0f} h"  # noqa: PLR2004


# --- exact Poisson bounds ---

# Independent events at a constant rate are Poisson distributed. After k events a rate is ruled out
# with confidence c if it would give k or fewer with a probability of at most 1 - c (Garwood 1936).
# Example: no event in 24 h rules out, with 95 % confidence, more than one event per 8.0 h.


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
