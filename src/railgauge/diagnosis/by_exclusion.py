"""Collectives of a node that are slow although each NIC was fine: measure the NICs again. Pure.

A NIC that slowed down after its own test, or is slow at times only, shows in the collectives, which
use all of them. Each NIC is measured once more in both directions, with a good node. If one is slow
now, it is the cause; if all are, the node is. If none is, the cause is undecided. The same tells
which direction of a NIC is slow that is behind its peers in the one direction it was compared in,
or that only tests of both directions at once show to be slow.

Example: all collectives of ``tcpx02`` are slow, and ``eth1`` was fine an hour ago. Now it sends 138
of 157 Gb/s, and receives 157: ``slow-direction`` at ``tcpx02, eth1``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from types import MappingProxyType

from railgauge.core.naming import among, listed
from railgauge.core.question import LIMITS
from railgauge.core.terms import Flow, Rung
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.confirmed import DIRECTION
from railgauge.diagnosis.localise import ways
from railgauge.diagnosis.localise.directions import WAYS
from railgauge.diagnosis.model import (
    AGAIN,
    CERTAIN,
    GOOD,
    LIKELY,
    OPEN,
    Cause,
    Confirmation,
    RunResults,
    Where,
)
from railgauge.diagnosis.over_paths import flow_of, has_rate, is_path
from railgauge.diagnosis.reach import nodes_of
from railgauge.diagnosis.remeasured import line
from railgauge.diagnosis.shares import Shares
from railgauge.judging.confirmation import Confirmed, Remeasurement
from railgauge.judging.record import ItemRecord
from railgauge.tools import flow

_NODE, _NIC = "slow-node", "slow-nic"
_HALF = 0.5
_TIMES = 3  # what is slow at times only is fine in one measurement
_BEHIND = 0.985  # of what the other NICs reach; healthy like parts differ by up to 1.04 %


def requests(results: RunResults, cause: Cause, good: Sequence[str]) -> Iterator[Remeasurement]:
    """Each NIC of the node in both directions, if only sums of them show that the node is slow."""
    is_decided = cause.where.device and cause.confidence != OPEN
    if is_decided or not _is_of_sums(results, cause):
        return
    node = cause.where.node
    for partner in [name for name in good if name != node][:1]:
        for record in _over_each_nic(results, node):
            question = record.questions[-1]
            for ends in ((node, partner), (partner, node)):
                if (case := question.case) is not None:
                    again = replace(case, nodes=ends, repeats=max(_TIMES, case.repeats))
                    asked = replace(question, case=again)
                    yield Remeasurement(_NIC, node, "", "", (node,), asked)


def _is_of_sums(results: RunResults, cause: Cause) -> bool:
    """Whether the cause is one slow node, or one of its NICs, that only sums show.

    They are the collectives, and tests over a NIC that move their payload in both directions.
    """
    place = cause.where
    is_one = len(nodes_of(place.node)) == 1 and not place.peer and "," not in place.device
    kind = _NIC if place.device else _NODE
    is_kind = cause.cause == kind or (cause.cause == DIRECTION and cause.confidence == OPEN)
    if not is_one or not is_kind or cause.confidence == CERTAIN:
        return False
    shown = [results.records[one] for one in cause.evidence if one in results.records]
    return bool(shown) and all(_is_sum(results, record) for record in shown)


def _is_sum(results: RunResults, record: ItemRecord) -> bool:
    if record.rung >= Rung.COLLECTIVE:
        return not record.pairing
    flows = results.platform.measurements
    return record.rung == Rung.NETWORK and flow_of(record, flows) is Flow.BOTH


def _over_each_nic(results: RunResults, node: str) -> Iterator[ItemRecord]:
    """For each NIC of the node the first item that measured it in one direction."""
    seen: set[str] = set()
    for record in results.records.values():
        if node in record.nodes and record.pairing not in seen and _is_fit(results, record):
            seen.add(record.pairing)
            yield record


def _is_fit(results: RunResults, record: ItemRecord) -> bool:
    """Whether the item measured a rate over a NIC in one direction, and can be measured again."""
    is_rate = record.rung == Rung.NETWORK and is_path(record) and has_rate(record)
    one_way = flow_of(record, results.platform.measurements) in (Flow.FORWARD, Flow.BACKWARD)
    return (
        is_rate and one_way and record.questions[-1:] != () and record.questions[-1].kind == LIMITS
    )


# --- the result ---


def decided(results: RunResults, cause: Cause) -> Cause:
    """The cause at the one NIC that is slow now.

    If none was measured again, a NIC that is behind those of other nodes is a suspect.
    """
    mine = [one for one in results.confirmed if _is_of(one, cause) and _value(one)]
    if not _is_of_sums(results, cause):
        return cause
    return _by_its_nics(results, cause, mine) if mine else _suspected(results, cause)


def _by_its_nics(results: RunResults, cause: Cause, mine: Sequence[Confirmed]) -> Cause:
    """The cause by what was measured again of each NIC."""
    usual = median(map(_value, mine))
    slow = [one for one in mine if one.missed or _value(one) < _BEHIND * usual]
    told = replace(cause, confirmation=Confirmation("confirmed", tuple(map(line, mine))))
    if cause.where.device:
        slow = [one for one in slow if _nic(one) == cause.where.device]
    nics = sorted({_nic(one) for one in slow})
    if 2 * len(nics) > len({_nic(one) for one in mine}):
        return told
    if not nics:
        return _of_no_nic(results, told, usual)
    seen = {(_nic(one), way) for one in mine for way in _ways(results, one, cause.where.node)}
    lame: dict[str, set[str]] = {nic: set() for nic in nics}
    for one in slow:
        lame[_nic(one)].update(_ways(results, one, cause.where.node))
    is_one_way = all(len(ways_) == 1 for ways_ in lame.values())
    found = _at(told, nics, lame if is_one_way else {})
    unseen = [f"{nic} {way}" for nic in nics for way in WAYS if (nic, way) not in seen]
    if unseen and is_one_way:
        decide = f"measure {listed(unseen)} of {cause.where.node}"
        return replace(_at(told, nics), confidence=OPEN, would_decide=decide)
    if not is_one_way and not _lost_alike(results, slow, cause.where.node, usual):
        decide = f"measure {listed(nics)} of {cause.where.node} with another node"
        return replace(found, confidence=OPEN, would_decide=decide)
    if _was_fine_again(results, cause):  # one fast measurement clears no direction
        decide = AGAIN.format(found.where)
        return replace(_at(told, nics), confidence=OPEN, would_decide=decide)
    return found


def _lost_alike(results: RunResults, slow: Sequence[Confirmed], node: str, usual: float) -> bool:
    """Whether both directions lost about as much; else the partner may be slow in one of them."""
    lost = [
        max(
            (1 - _value(one) / usual for one in slow if way in _ways(results, one, node)), default=0
        )
        for way in WAYS
    ]
    return min(lost) >= _HALF * max(lost)


def _suspected(results: RunResults, cause: Cause) -> Cause:
    """A node of which collectives are slow: undecided if one of its NICs lags, within its limit."""
    shares, node = Shares(results.records.values()), cause.where.node
    mine = (r for r in results.records.values() if node in r.nodes and r.outcome in GOOD)
    over = [r for r in mine if not cause.where.device and _is_fit(results, r)]
    lame = sorted({r.pairing for r in over if shares.is_behind(r, {node})})
    if over and not lame and _is_confirmed(results, cause):
        says = f"{cause.says}; none of its NICs was behind its peers"
        decide = f"measure the NICs of {node} again, in both directions, and its GPUs one by one"
        return replace(cause, says=says, confidence=OPEN, would_decide=decide)
    if cause.confidence == OPEN or len(lame) != 1 or len({r.pairing for r in over}) == 1:
        return cause
    decide = f"measure {lame[0]} of {node} in both directions"
    kind = CATALOGUE[_NIC]
    return replace(
        cause,
        cause=_NIC,
        where=Where(node, lame[0]),
        says=f"{cause.says}; {lame[0]} is within its limit and behind its peers",
        confidence=OPEN,
        would_decide=decide,
        remedy=kind.remedy,
        basis=kind.basis,
    )


def _is_confirmed(results: RunResults, cause: Cause) -> bool:
    """Whether it is a decided node of which nothing but collectives was slow again."""
    mine = (one for one in results.confirmed if one.asked.suspects == (cause.where.node,))
    slow = [one.asked.question.case for one in mine if one.missed]
    is_node = cause.cause == _NODE and cause.confidence != OPEN
    return is_node and bool(slow) and not any(case and case.pairing for case in slow)


def _at(
    cause: Cause, nics: Sequence[str], ways: Mapping[str, Collection[str]] = MappingProxyType({})
) -> Cause:
    """The cause at these NICs, or at one direction of each if ``ways`` has it."""
    name = DIRECTION if ways else _NIC
    words = sorted({way for some in ways.values() for way in some})
    slow = f"{listed(nics)} {'is' if len(nics) == 1 else 'are'} slow"
    if len(words) > 1:
        each = (f"{nic} is slow, {way}" for nic in nics for way in ways[nic])
        slow = listed(list(each), between="; ")
    elif words:
        slow += f", {words[0]}"
    return replace(
        cause,
        cause=name,
        where=Where(cause.where.node, ",".join(nics)),
        says=f"{cause.says}; measured again, {slow}",
        confidence=LIKELY,
        would_decide="",
        remedy=CATALOGUE[name].remedy,
        basis=CATALOGUE[name].basis,
    )


def _was_fine_again(results: RunResults, cause: Cause) -> bool:
    """Whether the slow pair of an item was fine when it was measured again."""
    shown = [results.records[one] for one in cause.evidence if one in results.records]
    pairs = [set(record.nodes) for record in shown]
    return any(
        set(one.asked.suspects) in pairs and not one.missed and not one.error
        for one in results.confirmed
    )


def _of_no_nic(results: RunResults, cause: Cause, usual: float) -> Cause:
    """The node, if its NICs lag behind those of other nodes as its collectives do; else undecided.

    What only collectives use, such as a GPU, may have slowed down later, or be slow at times.
    """
    shares, node = Shares(results.records.values()), cause.where.node
    shown = [results.records[one] for one in cause.evidence if one in results.records]
    reached = shares.levels(shown, {node})
    of_others = [
        judged.worst
        for record in results.records.values()
        if _is_fit(results, record) and node not in record.nodes and record.outcome in GOOD
        for judged in record.judgements
        if judged.worst is not None
    ]
    if reached and of_others and usual <= (1 - _HALF * (1 - min(reached))) * median(of_others):
        says = f"{cause.says}; measured again, all of its NICs are as far behind"
        return replace(cause, says=says)
    says = f"{cause.says}; measured again, each of its NICs is fine"
    pair = sorted(set.intersection(*(set(record.nodes) for record in shown)))
    if len(pair) > 1 and _was_fine_again(results, cause):
        says += f", and so are {listed(pair)} together: one of them may be slow at times"
        decide = AGAIN.format(listed(pair))
        return replace(
            cause, where=Where(among(pair)), says=says, confidence=OPEN, would_decide=decide
        )
    return replace(
        cause,
        says=says,
        confidence=OPEN,
        would_decide=f"measure the GPUs of {node} one by one; {AGAIN.format(node)}",
    )


def _is_of(one: Confirmed, cause: Cause) -> bool:
    asked = one.asked
    is_nic = (asked.cause, asked.device, asked.peer) == (_NIC, "", "")
    return is_nic and asked.node == cause.where.node


def _value(one: Confirmed) -> float:
    return min((j.worst for j in one.judgements if j.worst is not None), default=0.0)


def _nic(one: Confirmed) -> str:
    case = one.asked.question.case
    return case.pairing.nic if case and case.pairing else ""


def _ways(results: RunResults, one: Confirmed, node: str) -> tuple[str, ...]:
    case = one.asked.question.case
    assert case is not None
    measurement = results.platform.measurements.get(case.measurement)
    sent = flow(measurement) if measurement else Flow.UNTOLD
    return ways((case.nodes[0], case.nodes[1]), node, sent)
