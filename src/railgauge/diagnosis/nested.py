"""A part that is slow as a whole, and slower in one direction. Pure.

What the direction does not explain must still show that the whole is slow, and not only with nodes
that are slow themselves.

Example: ``node05`` receives at 2.2 GB/s and sends at 3.4 of 3.8 GB/s, but only to ``columbia``,
which receives no more from others. So ``node05`` may send at its limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from railgauge.diagnosis.model import OPEN, CauseClaim

_DIRECTION = "slow-direction"


def doubted_whole(claim: CauseClaim, claims: Sequence[CauseClaim]) -> CauseClaim:
    """The claim; undecided if one of its directions, and other nodes, explain all of its items."""
    place = claim.where
    inner = [one for one in claims if one.cause == _DIRECTION and one.where == place]
    if claim.cause == _DIRECTION or not inner:
        return claim
    told = {record.id for one in inner for record in one.evidence}
    others = [one for one in claims if place.node not in (one.where.node, one.where.peer)]
    slow = {name for one in others for name in (one.where.node, one.where.peer)}
    rest = [record for record in claim.evidence if record.id not in told]
    if not all(slow.intersection(record.nodes) for record in rest):
        return claim
    decide = f"measure {place.node} in both directions with other nodes"
    return replace(claim, confidence=OPEN, would_decide=decide)
