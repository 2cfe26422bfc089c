"""Choose the measurements that tell the suspects of a cause apart. Pure.

They are what the plan lacks: another partner for a node, another NIC for a GPU, each of several
parts by itself, the direction that nothing was measured of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from railgauge.core.terms import Rung
from railgauge.diagnosis import (
    CERTAIN,
    OPEN,
    UNDIAGNOSED,
    Cause,
    RunResults,
    by_exclusion,
    elimination,
    gpu_alone,
    nodes_of,
)
from railgauge.diagnosis.again import records_of
from railgauge.diagnosis.asking import (
    asked_again,
    asks,
    by_margin,
    comes_and_goes,
    is_one_way,
    over_another_nic,
    turned,
    with_each,
    worst_item,
)
from railgauge.diagnosis.gpu_or_path import elsewhere, suspected_path
from railgauge.diagnosis.history import nic_of
from railgauge.diagnosis.late_paths import is_late
from railgauge.diagnosis.model import GOOD, LIKELY, TOOL
from railgauge.diagnosis.over_paths import has_rate, is_path
from railgauge.diagnosis.partners import good_nodes, partners, spare_nodes, stand_ins
from railgauge.diagnosis.paths_again import is_fine_back, one_way
from railgauge.diagnosis.reach import goes_through
from railgauge.diagnosis.speed import DIRECTION
from railgauge.judging.confirmation import Remeasurement
from railgauge.judging.record import ItemRecord

_PAIR = 2
_TIMES = 3
_MOST_NODES, _MOST_NODES_OF_A_TOOL = 4, 6
_BOTH_WAYS = ("slow-node", "slow-nic")
_NO_SUSPECTS = (DIRECTION, UNDIAGNOSED)  # directions have tests of their own


def telling_apart(
    results: RunResults, causes: Sequence[Cause], cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """The measurements that the plan lacks for this cause."""
    of_parts = [*_gpu_or_path(results, causes, cause, good), *_by_elimination(results, cause, good)]
    yield from of_parts or by_exclusion.requests(results, cause, good)
    if not of_parts:
        yield from _unseen_way(results, causes, cause, good)
        yield from _fine_way(results, cause, good)
        yield from _over_others_since(results, cause, good)
        yield from _ends_of_path(results, causes, cause, good)
        yield from _missing_partners(results, causes, cause)
        yield from gpu_alone.requests(results, cause)


def _by_elimination(
    results: RunResults, cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """Pairs of suspects that have not met, or each suspected GPU or path of a node."""
    shown = [results.records[i] for i in cause.evidence if i in results.records]
    worst = worst_item(r for r in shown if len(set(r.nodes)) == _PAIR)
    if worst is not None:
        again = records_of(results, results.confirmed)
        met = _met((*results.records.values(), *again), worst.subject)
        for pair in elimination.unmet(cause, met):
            yield asked_again(cause, pair, worst, dict(zip(worst.nodes, pair, strict=True)))
    for partner in good[:1]:
        yield from elimination.on_parts(cause, results.records, results.platform, partner)
        for nic in elimination.nics_of_paths(cause):  # one may have become slow since
            yield from _host_memory(results, cause, nic, partner)


def _gpu_or_path(
    results: RunResults, causes: Sequence[Cause], cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """The slow pairing, its GPU over another NIC, and the latter between two good nodes.

    Host memory over the NIC was measured before; it is measured again in both directions, because
    the NIC may have become slow since then.
    """
    path, node = suspected_path(cause), cause.where.node
    shown = [results.records[i] for i in cause.evidence if i in results.records]
    shown += records_of(results, results.confirmed)  # or it was found when measured again
    worst = worst_item(r for r in shown if r.nodes.count(node) == 1 and r.part_at(node) == path)
    if not path or worst is None:
        return
    proven = partners(results.records, node, worst.subject, good)
    fit = [one for one in dict.fromkeys((*proven, *good)) if one != node]
    if len(fit) == 1:  # the other end of a pair with it may have a faulty path to a third node
        fit += [one for one in spare_nodes(results, causes, worst) if one not in (node, *fit)][:1]
    if len(fit) < _PAIR:
        return
    for again in with_each(cause, node, worst, fit[:1]):
        other = elsewhere(results.platform, again.question)
        if other is not None and other.case is not None:
            yield again
            times = max(_TIMES, other.case.repeats)  # a GPU that is slow at times is fine in one
            yield replace(again, question=replace(other, case=replace(other.case, repeats=times)))
            nodes = tuple(fit[1] if name == node else name for name in other.case.nodes)
            between = replace(other, case=replace(other.case, nodes=nodes))
            yield replace(again, question=between, suspects=())
            yield from _host_memory(results, cause, path.rpartition("-")[2], fit[0])


def _host_memory(
    results: RunResults, cause: Cause, nic: str, partner: str
) -> Iterator[Remeasurement]:
    """Host memory of the cause's node over the NIC, in both directions, if it was measured."""
    node = cause.where.node
    mine = (r for r in results.records.values() if r.rung == Rung.NETWORK and is_path(r))
    over = (r for r in mine if r.nodes.count(node) == 1 and r.part_at(node) == nic)
    fit = (r for r in over if r.outcome in GOOD and has_rate(r) and is_one_way(results, r))
    if (record := next(fit, None)) is not None:
        (other,) = set(record.nodes) - {node}
        again = asked_again(cause, (node,), record, {other: partner})
        yield _several_times(again)  # a NIC that is slow at times is fine in one
        for back in turned(cause, record, {other: partner}):
            yield replace(back, suspects=(node,))


def _missing_partners(
    results: RunResults, causes: Sequence[Cause], cause: Cause
) -> Iterator[Remeasurement]:
    """Each suspected node with good nodes that it was not measured with, and the slow pair again.

    A tool that fails in a pair is run between each suspect and a good node.
    """
    suspects = nodes_of(cause.where.node)
    shown = [results.records[i] for i in cause.evidence if i in results.records]
    if not shown:  # only a repeat shows it
        shown = [r for r in records_of(results, results.confirmed) if suspects == {*r.nodes}]
    pairs = [r for r in shown if len(r.nodes) == _PAIR and suspects.intersection(r.nodes)]
    is_open = cause.confidence == OPEN and not cause.where.peer
    most = _MOST_NODES_OF_A_TOOL if cause.cause == TOOL else _MOST_NODES
    if not pairs or len(suspects) > most or not is_open or cause.cause in _NO_SUSPECTS:
        return
    if suspects >= {node.name for node in results.cluster.nodes}:
        return  # all nodes are slow, and none is left to compare them with
    ordered = by_margin(pairs, broken=cause.cause == TOOL)
    asked = [
        one
        for suspect in sorted(suspects)
        for one in _next_partners(results, causes, cause, suspect, ordered)
    ]
    yield from asked
    for worst in ordered[:1] if asked else ():
        yield asked_again(cause, worst.nodes, worst, {})


def _next_partners(
    results: RunResults,
    causes: Sequence[Cause],
    cause: Cause,
    suspect: str,
    ordered: Sequence[ItemRecord],
) -> Iterator[Remeasurement]:
    """The first of the suspect's items for which a good node is left, with such nodes."""
    for record in (record for record in ordered if suspect in record.nodes):
        met = _met(results.records.values(), record.subject)[suspect]
        good = [node for node in good_nodes(results, causes) if node not in met]
        fit = partners(results.records, suspect, record.subject, good)
        fit = fit or stand_ins(results, causes, record, met)[:1]
        if fit:
            with_fit = with_each(cause, suspect, record, fit)
            # What is slow at times only is fine in one.
            yield from map(_several_times, with_fit) if len(fit) == 1 else with_fit
            if comes_and_goes(cause) and not cause.where.device:
                other = over_another_nic(results, suspect, record)
                yield from with_each(cause, suspect, other, fit) if other else ()
            if len(met) <= 1 or cause.where.node == suspect:
                yield from _back(results, cause, suspect, record, fit)
            return


def _back(
    results: RunResults, cause: Cause, suspect: str, own: ItemRecord, partners_: Sequence[str]
) -> Iterator[Remeasurement]:
    """The other direction of a suspect that nothing else was measured of.

    If it was measured again with one of the partners, which may cost more, another one comes first.
    """
    cases = [one.asked.question.case for one in results.confirmed if not one.asked.suspects]
    known = {name for case in cases if case and suspect in case.nodes for name in case.nodes}
    if is_one_way(results, own) and own.rung == Rung.NETWORK:
        (other,) = set(own.nodes) - {suspect}
        for name in sorted(partners_, key=known.__contains__)[:1]:
            yield from turned(cause, own, {other: name})


def _met(records: Iterable[ItemRecord], subject: str) -> dict[str, set[str]]:
    """The partners that each node was measured with."""
    met: dict[str, set[str]] = defaultdict(set)
    for record in records:
        if record.subject == subject and len(record.nodes) == _PAIR and record.asserted:
            for node, other in (record.nodes, record.nodes[::-1]):
                met[node].add(other)
    return met


def _unseen_way(
    results: RunResults, causes: Sequence[Cause], cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """The other direction of a slow node or NIC, of which only one was measured.

    What another slow part explains as well tells nothing of a direction.
    """
    place, flows = cause.where, results.platform.measurements
    if cause.confidence != LIKELY or place.peer or cause.cause not in _BOTH_WAYS:
        return
    others = (one for one in causes if one != cause)
    known = (one for one in others if one.confidence != OPEN or one.where.peer)
    shared = {item for one in known for item in one.evidence}
    own = (r for r in results.records.values() if r.id not in shared)
    mine = [r for r in own if place.node in r.nodes and is_path(r)]
    rates = (r for r in mine if r.asserted and has_rate(r))  # traffic alone is not fast or slow
    over = [r for r in rates if goes_through(place.device, r.part_at(place.node))]
    seen = {w for r in over for w in one_way(r, place.node, flows)}  # a sum shows no direction
    shown = [r for r in mine if r.id in cause.evidence]
    worst = worst_item(r for r in shown if is_path(r) and is_one_way(results, r))
    if worst is not None and len(seen) == 1:
        (other,) = set(worst.nodes) - {place.node}
        fit = partners(results.records, place.node, worst.subject, good)
        for partner in (fit or stand_ins(results, causes, worst))[:1]:
            yield from turned(cause, worst, {other: partner})
            if _met(over, worst.subject)[place.node] == {other} and not place.device:
                yield from with_each(cause, place.node, worst, (partner,))
                yield asked_again(cause, worst.nodes, worst, {})


def _fine_way(results: RunResults, cause: Cause, good: Sequence[str]) -> Iterator[Remeasurement]:
    """What clears the other direction of a slow one, several times: it may be slow at times.

    With a good node, if there is one: what is slow with another one may be that one's.
    """
    place, flows = cause.where, results.platform.measurements
    if cause.cause != DIRECTION or cause.confidence != LIKELY or cause.confirmation:
        return
    shown = [results.records[item] for item in cause.evidence if item in results.records]
    slow = {w for r in shown for w in one_way(r, place.node, flows)}
    fine = (
        record
        for record in results.records.values()
        if record.outcome in GOOD and place.node in record.nodes and is_path(record)
        if has_rate(record) and is_one_way(results, record) and asks(record) is not None
        if goes_through(place.device, record.part_at(place.node))
        if slow.isdisjoint(one_way(record, place.node, flows))
    )
    ordered = sorted(fine, key=lambda record: not set(good).intersection(record.nodes))
    for record in ordered[:1]:
        (other,) = set(record.nodes) - {place.node}
        proven = partners(results.records, place.node, record.subject, good)
        partner = next(iter(proven), other) if other not in good else other
        again = asked_again(cause, (), record, {other: partner})
        case = again.question.case
        if case is not None and not (case.pairing and case.pairing.peer):
            yield _several_times(again)


def _over_others_since(
    results: RunResults, cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """One measurement over another NIC, where all may be slow since a moment, or at times.

    It is about that NIC: a fine one says nothing of the cause's own.
    """
    node, peer = cause.where.node, cause.where.peer
    shown = [results.records[i] for i in cause.evidence if i in results.records]
    worst = worst_item(r for r in shown if node in r.nodes and is_path(r))
    other = over_another_nic(results, node, worst) if is_late(cause) and worst else None
    if worst is None or other is None or not has_rate(other):
        return
    partner = peer or next(iter(partners(results.records, node, worst.subject, good)), "")
    (met,) = set(other.nodes) - {node}
    if partner:
        # What is slow at times only is fine in one.
        again = _several_times(asked_again(cause, (node,), other, {met: partner}))
        yield replace(again, device=nic_of(other.part_at(node)))


def third_partner(
    results: RunResults, causes: Sequence[Cause], cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """A slow node or NIC with one more good node, if it was measured with two others at most.

    Its paths to both of them may be slow. It is repeated, because what is slow at times only is
    fine in one.
    """
    place, others = cause.where, {item for one in causes if one != cause for item in one.evidence}
    is_whole = cause.cause in _BOTH_WAYS and cause.confidence == LIKELY and not place.peer
    if not is_whole or cause.confirmation or (cause.course and cause.course.since):
        return
    shown = [results.records[i] for i in cause.evidence if i in results.records and i not in others]
    worst = worst_item(r for r in shown if place.node in r.nodes and is_path(r) and has_rate(r))
    if worst is None:
        return
    over = (r for r in results.records.values() if goes_through(place.device, r.pairing))
    met = _met(over, worst.subject)[place.node]
    fit = tuple(name for name in good if name not in met and name != place.node)
    if len(met) == _PAIR:
        third = (fit or stand_ins(results, causes, worst, met))[:1]
        for again in with_each(cause, place.node, worst, third):
            yield _several_times(again)
        if is_one_way(results, worst) and _has_one_partner_in_a_way(results, cause, shown):
            (other,) = set(worst.nodes) - {place.node}
            for partner in third:
                yield from turned(cause, worst, {other: partner})


def _has_one_partner_in_a_way(
    results: RunResults, cause: Cause, shown: Sequence[ItemRecord]
) -> bool:
    """Whether a node that was slow in both directions was slow with one partner only in one.

    They may be two slow directions, of the node and of this partner.
    """
    node, flows = cause.where.node, results.platform.measurements
    met: dict[str, set[str]] = defaultdict(set)
    for record in (r for r in shown if node in r.nodes and is_path(r) and has_rate(r)):
        for way in one_way(record, node, flows):
            met[way].update({*record.nodes} - {node})
    return len(met) == _PAIR and any(len(partners_) == 1 for partners_ in met.values())


def _several_times(asked: Remeasurement) -> Remeasurement:
    case = asked.question.case
    if case is None:
        return asked
    case = replace(case, repeats=max(_TIMES, case.repeats))
    return replace(asked, question=replace(asked.question, case=case))


def _ends_of_path(
    results: RunResults, causes: Sequence[Cause], cause: Cause, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """A slow path, and each of its ends with a good node several times: it may be slow at times.

    An end that was measured again once is measured with another node. Where another slow part is on
    the way as well, this tells nothing.
    """
    if not cause.where.peer or cause.confidence == CERTAIN:
        return
    ends = {cause.where.node, cause.where.peer}
    others = {item for one in causes if one != cause for item in one.evidence}
    shown = [results.records[i] for i in cause.evidence if i in results.records and i not in others]
    worst = worst_item(r for r in shown if set(r.nodes) == ends and is_path(r))
    if worst is None or (cause.confidence == OPEN and is_fine_back(results, cause, worst)):
        return
    fit = [name for name in good if name not in ends]
    asked = [one for end in worst.nodes for one in _end_again(results, cause, end, worst, fit)]
    yield from asked
    if asked and not cause.confirmation:
        yield asked_again(cause, worst.nodes, worst, {})


def _end_again(
    results: RunResults, cause: Cause, end: str, worst: ItemRecord, good: Sequence[str]
) -> Iterator[Remeasurement]:
    """An end of a slow path with a good node; with another one if it was measured again once."""
    met = _met_again(results, end, {cause.where.node, cause.where.peer})
    if not cause.confirmation or len(met) == 1:
        fit = [name for name in good if name not in met]
        partner = partners(results.records, end, worst.subject, fit)[:1]
        yield from map(_several_times, with_each(cause, end, worst, partner))


def _met_again(results: RunResults, end: str, ends: set[str]) -> set[str]:
    """The nodes off the path that an end was measured again with, as a suspect, once each."""
    alone = [one for one in results.confirmed if one.asked.suspects == (end,)]
    cases = [one.asked.question.case for one in alone]
    return {name for case in cases if case for name in case.nodes if case.repeats == 1} - ends
