"""Many slow parts of one node that lost the same share: the node is slow at times. Pure.

Example: three NICs of ``h200-04`` are slow with all partners, and so are its paths to two nodes
over other NICs. All lost 17 %, and most of them were fine in other measurements. One node that
comes and goes is likelier than five faults. So is one of its NICs if its paths over this NIC to
two nodes are slow, and the one to a third node is fine.
"""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.diagnosis.alike import slower_than_others
from railgauge.diagnosis.course import SLOW
from railgauge.diagnosis.history import nic_of
from railgauge.diagnosis.model import (
    AGAIN,
    CERTAIN,
    GOOD,
    LIKELY,
    OPEN,
    CauseClaim,
    Course,
    RunResults,
    Where,
)
from railgauge.diagnosis.over_paths import has_rate, is_path
from railgauge.diagnosis.pattern import worst_of
from railgauge.diagnosis.two_parts import TwoParts, two_parts
from railgauge.judging.record import ItemRecord

_MANY = 3
_NOISE = 0.015  # of a value; healthy like parts differ by up to 1.04 % in document 002


def of_one_node(results: RunResults, claims: Sequence[CauseClaim]) -> list[CauseClaim]:
    """The claims, with one for each node in place of many that lost the same share."""
    for node in dict.fromkeys(claim.where.node for claim in claims if _is_part(claim)):
        mine = [claim for claim in claims if _is_part(claim) and _is_of(node, claim)]
        records = tuple(dict.fromkeys(record for claim in mine for record in claim.evidence))
        fine = _fine(results, node, records)
        if _are_one(node, mine, records, fine):
            pairs = [(record.nodes, nic_of(record.part_at(node))) for record in records]
            whole = _claim(Where(node), records, fine, two_parts(node, pairs))
            return of_one_node(results, [*(c for c in claims if c not in mine), whole])
    return of_one_nic(results, claims)


def of_one_nic(results: RunResults, claims: Sequence[CauseClaim]) -> list[CauseClaim]:
    """The claims, with an undecided one for each NIC in place of its paths that lost the same."""
    paths = [claim for claim in claims if _is_part(claim) and claim.where.peer]
    ends = ((n, c.where.device) for c in paths for n in (c.where.node, c.where.peer))
    for node, nic in dict.fromkeys(ends):
        mine = [c for c in paths if nic and c.where.device == nic and _is_of(node, c)]
        slow = tuple(dict.fromkeys(record for claim in mine for record in claim.evidence))
        if len(mine) > 1 and not slower_than_others(slow, 1 - _NOISE):
            fine = [r for r in _fine(results, node, slow) if nic_of(r.part_at(node)) == nic]
            claim = _claim(Where(node, nic), slow, fine)
            return of_one_nic(results, [*(c for c in claims if c not in mine), claim])
    return list(claims)


def _is_part(claim: CauseClaim) -> bool:
    """Whether it is about a slow NIC or path, by items over single paths."""
    of_part = claim.where.device or claim.where.peer
    paths = all(map(is_path, claim.evidence))
    return bool(of_part) and paths and claim.cause in SLOW and claim.confidence != CERTAIN


def _is_of(node: str, claim: CauseClaim) -> bool:
    return all(node in record.nodes for record in claim.evidence)


def _are_one(
    node: str,
    claims: Sequence[CauseClaim],
    slow: Sequence[ItemRecord],
    fine: Sequence[ItemRecord],
) -> bool:
    """Whether only this node is common to the claims, which lost the same, and at times only."""
    nics = {nic_of(record.part_at(node)) for record in slow}
    common = set.intersection(*(set(record.nodes) for record in slow)) if slow else set()
    if min(len(claims), len(nics)) < _MANY or common != {node}:
        return False
    at_times = nics & {nic_of(record.part_at(node)) for record in fine}
    return 2 * len(at_times) > len(nics) and not slower_than_others(slow, 1 - _NOISE)


def _fine(results: RunResults, node: str, slow: Sequence[ItemRecord]) -> list[ItemRecord]:
    """The items of the same measurements that reached their limits on the node."""
    subjects = {record.subject for record in slow}
    mine = (r for r in results.records.values() if node in r.nodes and has_rate(r))
    return [one for one in mine if one.outcome in GOOD and one.subject in subjects]


def _claim(
    where: Where,
    slow: Sequence[ItemRecord],
    fine: Sequence[ItemRecord],
    two: TwoParts | None = None,
) -> CauseClaim:
    course = Course(len(slow), len(slow) + len(fine))
    told = f"it comes and goes: {course.slow} of {course.of} measurements are slow"
    says = "; ".join(filter(None, (worst_of(slow), told, str(two or ""))))
    cause = "slow-nic" if where.device else "slow-node"
    confidence = OPEN if where.device or two else LIKELY
    decide = AGAIN.format(str(where))
    where = Where(two.suspects) if two else where
    return CauseClaim(cause, where, says, tuple(slow), confidence, decide, course)
