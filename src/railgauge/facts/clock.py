"""How far a node's clock is off, from the time that the probe printed on it.

The probe ran between two readings of the controller's clock. What the node printed is compared with
both, so the time that the connection and the probe took is not counted as an offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from railgauge.core.model import Transcript

OFFSET = "clock_offset_s"
"""The fact of a node; 0 is the controller's own clock."""

_PRINTED_TO_S = 1.0  # ``date +%s`` leaves the fraction out


@dataclass(frozen=True, slots=True)
class Span:
    """When the controller started the probe and had its output, in seconds since 1970."""

    start_s: float
    end_s: float


def span_of(said: Transcript) -> Span | None:
    """Return when a command ran; ``None`` if its transcript does not say it."""
    try:
        start = datetime.fromisoformat(said.started_at)
    except ValueError:
        return None
    return Span(start.timestamp(), (start + timedelta(seconds=said.duration_s)).timestamp())


def ahead_s(printed_s: int, span: Span) -> float:
    """Return by how much the clock is ahead at least; negative if it is behind.

    A time between start and end gives 0.
    """
    latest = printed_s + _PRINTED_TO_S
    early, late = latest - span.start_s, printed_s - span.end_s
    return round(min(early, 0.0) or max(late, 0.0), 1)
