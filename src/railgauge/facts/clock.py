"""The clock offset of a node, from the time that the probe printed on it.

The probe ran between two readings of the controller's clock. The printed time is compared with
both, so the time that the connection and the probe took is not counted as an offset.
"""

from __future__ import annotations

from railgauge.core.model import TimeSpan

OFFSET = "clock_offset_s"
"""The fact of a node; 0 is the controller's own clock."""

_PRINTED_TO_S = 1.0  # ``date +%s`` leaves the fraction out


def ahead_s(printed_s: int, span: TimeSpan) -> float:
    """Return the least time by which the clock is ahead; negative if it is behind.

    ``span`` is when the probe ran, by the controller's clock. A time within it gives 0.
    """
    latest = printed_s + _PRINTED_TO_S
    began, ended = span
    early, late = latest - began.timestamp(), printed_s - ended.timestamp()
    return round(min(early, 0.0) or max(late, 0.0), 1)
