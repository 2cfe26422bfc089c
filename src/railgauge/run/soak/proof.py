"""What a soak proves: hours, events, and the rate of events that they rule out. Pure.

An event is a round in which something failed or could not be judged. No event is allowed. Only the
hours of a node's own measurements count, because an idle node proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from railgauge.planning.poisson import CONFIDENCE, confidence_below, hours_an_event
from railgauge.planning.soak import SoakPlan

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
