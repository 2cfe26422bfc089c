"""The clock offset of a node, from the time that the probe printed on it.

The probe ran between two readings of the controller's clock. The printed time is compared with
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
    """Start and end of the probe by the controller's clock, in seconds since 1970."""

    start_s: float
    end_s: float


def span_of(transcript: Transcript) -> Span | None:
    """Return when a command ran; ``None`` if its transcript has no valid time."""
    try:
        start = datetime.fromisoformat(transcript.started_at)
    except ValueError:
        return None
    return Span(start.timestamp(), (start + timedelta(seconds=transcript.duration_s)).timestamp())


def ahead_s(printed_s: int, span: Span) -> float:
    """Return the least time by which the clock is ahead; negative if it is behind.

    A time between start and end gives 0.
    """
    latest = printed_s + _PRINTED_TO_S
    early, late = latest - span.start_s, printed_s - span.end_s
    return round(min(early, 0.0) or max(late, 0.0), 1)
