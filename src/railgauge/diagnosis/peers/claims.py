"""Stragglers as causes: in words, with their evidence, and only if no other cause explains them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from railgauge.core.model import Outcome
from railgauge.core.naming import among, listed
from railgauge.core.units import format_size, format_value
from railgauge.diagnosis.folding import folded
from railgauge.diagnosis.localise import ways
from railgauge.diagnosis.localise.directions import RECEIVING, SENDING
from railgauge.diagnosis.model import LIKELY, OPEN, Cause, CauseClaim, RunResults, Where
from railgauge.diagnosis.over_paths import flow_of, is_path
from railgauge.diagnosis.peers.alone import every_standing
from railgauge.diagnosis.peers.rule import Straggler, devices, found
from railgauge.diagnosis.peers.standing import Standing, is_rate
from railgauge.diagnosis.reach import can_slow, devices_of, nodes_of
from railgauge.judging.record import ItemRecord

STRAGGLER, BEHIND_PEERS = "straggler", "behind_peers"


def with_stragglers(results: RunResults, claims: Sequence[CauseClaim]) -> list[CauseClaim]:
    """The claims, and one for each straggler that none of them explains.

    Where some measurements of a straggler are so close to their limits that they fail, the
    straggler is what is slow: its claim replaces those that blame another part for them.
    """
    seen = every_standing(results, _blamed(claims))
    every = list(claims)
    for one in found(seen):
        consequences = [claim for claim in every if _is_of(one, claim, seen)]
        if consequences:
            every = [claim for claim in every if claim not in consequences]
            every.append(_slow(one, consequences, results))
            continue
        mine = _claim(one)
        if not _is_explained(mine, every, results):
            every.append(mine)
    return every


def without_slow_partners(causes: Sequence[Cause], results: RunResults) -> tuple[Cause, ...]:
    """The causes, but for stragglers of whom slow parts of partners explain all items.

    These are decided slow parts, or a straggler of which there are more items.
    """
    slow = [cause for cause in causes if _is_slow(cause)]
    return tuple(
        cause
        for cause in causes
        if cause.cause != STRAGGLER
        or not (_is_of_partners(cause, slow, results) or _is_of_straggler(cause, causes))
    )


def _is_of_straggler(cause: Cause, causes: Iterable[Cause]) -> bool:
    mine, node = set(cause.evidence), nodes_of(cause.where.node)
    others = (one for one in causes if one.cause == STRAGGLER and one.confidence != OPEN)
    return any(
        mine < set(one.evidence) and node.isdisjoint(nodes_of(one.where.node)) for one in others
    )


def _is_of_partners(straggler: Cause, slow: Iterable[Cause], results: RunResults) -> bool:
    mine = nodes_of(straggler.where.node)
    elsewhere = [
        CauseClaim(one.cause, one.where, one.says, ())
        for one in slow
        if not mine & nodes_of(one.where.node)
    ]
    return all(
        any(can_slow(one, results.records[item], results.platform) for one in elsewhere)
        for item in straggler.evidence
    )


def _is_slow(claim: CauseClaim | Cause) -> bool:
    return claim.cause in _SLOW and claim.confidence != OPEN


def _blamed(claims: Sequence[CauseClaim]) -> dict[str, set[str]]:
    """The nodes of decided slow parts, by the id of each item that shows them."""
    found: dict[str, set[str]] = {}
    for claim in claims:
        if _is_slow(claim):
            named = nodes_of(claim.where.node) | ({claim.where.peer} - {""})
            for record in claim.evidence:
                found.setdefault(record.id, set()).update(named)
    return found


def with_items(claims: Sequence[CauseClaim], left: Sequence[ItemRecord]) -> list[CauseClaim]:
    """The claims, each with the items of its nodes that a limit on stragglers failed.

    A straggler has precedence over other causes on the node.
    """
    every = list(claims)
    for item in (item for item in left if item.subject == BEHIND_PEERS):
        on = [c for c in every if c.where.node and set(item.nodes) & nodes_of(c.where.node)]
        for claim in sorted(on, key=lambda c: c.cause != STRAGGLER)[:1]:
            shown = replace(claim, evidence=(*claim.evidence, item))
            every[every.index(claim)] = shown
    return every


_SLOW_PARTS = frozenset({"slow-node", "slow-gpu-link", "slow-gpu", "slow-nic", "slow-pcie-path"})


_SLOW = _SLOW_PARTS | {"slow-path", "slow-direction"}


def _is_of(one: Straggler, claim: CauseClaim, seen: Sequence[Standing]) -> bool:
    """Whether a claim blames another part for what this one explains: no slower, and over it."""
    if _KIND.get(one.kind) is None or len(one.suspects) > 1 or one.confidence == OPEN or one.way:
        return False
    node = one.suspects[0]
    where = (claim.where.node, claim.where.device)
    if claim.cause not in _SLOW_PARTS or where == (node, one.device):
        return False
    if claim.confidence == OPEN and all(is_path(record) for record in claim.evidence):
        return False  # the localisation has compared these values, each direction by itself
    if claim.where.device and not _tells_parts(one):
        return False
    # A part of a node explains what blames the whole node, or leaves it open; no other part.
    narrower = not one.device or claim.cause == "slow-node" or claim.confidence == OPEN
    if not narrower or not all(node in record.nodes for record in claim.evidence):
        return False
    shown = {(record.subject, record.pairing) for record in claim.evidence}
    mine = [s for s in seen if s.node == node and (s.subject, s.part) in shown and not s.way]
    return bool(mine) and all(_is_slow_over(one, standing) for standing in mine)


def _tells_parts(one: Straggler) -> bool:
    """Whether the straggler's measurements tell its node from one part of it.

    Collectives alone do not, nor does a node that was compared over a single part.
    """
    return not one.domain and (bool(one.device) or len({s.part for s in one.standings}) > 1)


def _is_slow_over(one: Straggler, standing: Standing) -> bool:
    """Whether the part explains where its node stands in one measurement."""
    over = not one.device or one.device in devices(standing) or not standing.part
    return over and one.behind / 2 < standing.behind < _OWN_FAULT * one.behind


_OWN_FAULT = 2  # times as far behind as its node: the part has a fault of its own


_KIND = {"node": "slow-node", "nic": "slow-nic", "gpu": "slow-gpu"}


def _slow(one: Straggler, consequences: Sequence[CauseClaim], results: RunResults) -> CauseClaim:
    """The part; it is undecided if it may be one of its directions, as the other has no rate."""
    failed = dict.fromkeys(record for claim in consequences for record in claim.evidence)
    where = Where(one.suspects[0], one.device)
    claim = CauseClaim(_KIND[one.kind], where, says(one), tuple(failed), LIKELY)
    if len(seen := _ways(one, results)) != 1:
        return claim
    decide = f"measure {where} {_OTHER[next(iter(seen))]}"
    return replace(claim, confidence=OPEN, would_decide=decide)


_OTHER = {SENDING: RECEIVING, RECEIVING: SENDING}


def _ways(one: Straggler, results: RunResults) -> set[str]:
    """The directions of its path that the straggler was compared in; none for a whole node."""
    flows, node = results.platform.measurements, one.suspects[0]
    records = (record for each in one.standings for record in each.records if one.device)
    return {
        way
        for record in records
        if is_path(record) and node in record.nodes
        for way in ways((record.nodes[0], record.nodes[1]), node, flow_of(record, flows))
    }


def _claim(one: Straggler) -> CauseClaim:
    records = dict.fromkeys(record for each in one.standings for record in each.records)
    where = Where(among(one.suspects), one.device)
    # What misses limits in one direction, and no rule has a place for, is more than a straggler.
    is_slow = one.way and any(record.outcome is Outcome.FAILED for record in records)
    cause = "slow-direction" if is_slow else STRAGGLER
    return CauseClaim(cause, where, says(one), tuple(records), one.confidence, one.would_decide)


def _is_explained(claim: CauseClaim, others: Sequence[CauseClaim], results: RunResults) -> bool:
    """Whether other causes, on few of the nodes, explain half of the evidence or more."""
    nodes, platform = len(results.cluster.nodes), results.platform
    near = [other for other in folded(results, others) if _is_near(other, claim.where, nodes)]
    shown = {record.id for other in near for record in other.evidence}
    explained = sum(
        record.id in shown or any(can_slow(other, record, platform) for other in near)
        for record in claim.evidence
    )
    return 2 * explained >= len(claim.evidence)


def _is_near(other: CauseClaim, where: Where, nodes: int) -> bool:
    """Whether a cause is on one of these nodes and on the whole of it, or on the same device.

    A cause on most nodes slows the peers as well, so that it explains no difference.
    """
    if not other.where.node:
        return False
    named = nodes_of(other.where.node) | ({other.where.peer} - {""})
    device = other.where.device
    same = not (device and where.device) or bool(devices_of(device) & devices_of(where.device))
    return same and bool(named & nodes_of(where.node)) and 2 * len(named) <= max(nodes, 4)


def says(one: Straggler) -> str:
    """In words: who, how far, in how many measurements, and the clearest of them."""
    who = listed(one.suspects) if len(one.suspects) == 1 else f"one of {listed(one.suspects)}"
    device = f" {one.device}" if one.device else ""
    domain = f" {one.domain}" if one.domain else ""
    if one.way and len(one.suspects) > 1:
        domain += f", and {listed(one.suspects[1:])} of what it {_DOES[_OTHER[one.way]]}"
    return (
        f"{who}{device} is {one.behind:.1%} behind its peers in {one.seen} of {one.runs} "
        f"measurements{domain}; {_example(one.standings)}"
    )


_DOES = {SENDING: "sends", RECEIVING: "receives"}


def _example(some: Sequence[Standing]) -> str:
    """The measurement closest to the median of all, at its largest size."""
    middle = median(one.behind for one in some)
    one = min(some, key=lambda each: abs(each.behind - middle))
    rates = [judged for record in one.records for judged in record.judgements if is_rate(judged)]
    judged = max(rates, key=lambda rate: (rate.size_bytes or 0, median(rate.values)))
    value = median(judged.values)
    size = f" at {format_size(judged.size_bytes)}" if judged.size_bytes else ""
    part = f" {one.part}" if one.part else ""
    theirs = format_value(value / (1 - one.behind), judged.unit)
    return (
        f"{one.subject}{part} {judged.metric}{size} {format_value(value, judged.unit)}, "
        f"its peers about {theirs}"
    )
