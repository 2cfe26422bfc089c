"""A path between two nodes that is slow over one NIC, and over which nothing was measured since.

Where all that was fine between the two over other NICs was measured earlier, the path may have
become slow over all of them. That is undecided: time is not place.

Example: ``mx02`` and ``mx03`` reach 392 Gb/s over ``mlx5_0``, and 321 over ``mlx5_1`` a minute
later, and again. The path over ``mlx5_1`` is slow, or every path between them since that minute.
"""

from __future__ import annotations

from dataclasses import replace

from railgauge.diagnosis.history import History
from railgauge.diagnosis.model import OPEN, Cause, RunResults
from railgauge.diagnosis.reach import goes_through

_PATH = "slow-path"


def doubted_nic(results: RunResults, cause: Cause) -> Cause:
    """The cause; undecided if the path may be slow over all NICs since its first slow item."""
    place = cause.where
    if cause.cause != _PATH or cause.confidence == OPEN or not place.device:
        return cause
    pair = [one for one in History(results).of(place.node) if place.peer in one.nodes]
    slow = [one.start for one in pair if one.slow and goes_through(place.device, one.part)]
    fine = [one.start for one in pair if not one.slow and not goes_through(place.device, one.part)]
    known = [start for start in slow if start], [start for start in fine if start]
    if not all(known) or max(known[1]) > min(known[0]):
        return cause
    ends = f"{place.node} and {place.peer}"
    return replace(
        cause,
        says=f"{cause.says}; over other NICs {ends} were measured before that alone",
        confidence=OPEN,
        would_decide=f"measure {ends} over other NICs again",
    )
