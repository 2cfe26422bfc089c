"""A part that is slow as a whole, and slower in one direction. Pure.

Example: ``node05`` receives at 2.2 GB/s and sends at 3.4 of 3.8 GB/s, but only to ``columbia``,
which receives no more from others. So ``node05`` may send at its limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from railgauge.diagnosis.model import OPEN, CauseClaim

_DIRECTION = "slow-direction"


def as_one_way(claim: CauseClaim, claims: Sequence[CauseClaim]) -> CauseClaim:
    """The claim; undecided if one direction of its part is slower, and others explain the rest."""
    slower = [one for one in claims if one.cause == _DIRECTION and one.where == claim.where]
    if claim.cause == _DIRECTION or not slower:
        return claim
    told = {record.id for one in slower for record in one.evidence}
    others = [one for one in claims if one.where.node != claim.where.node]
    nodes = {name for one in others for name in (one.where.node, one.where.peer)}
    rest = [record for record in claim.evidence if record.id not in told]
    if not all(nodes.intersection(record.nodes) for record in rest):
        return claim
    decide = f"measure {claim.where.node} in both directions with other nodes"
    return replace(claim, confidence=OPEN, would_decide=decide)
