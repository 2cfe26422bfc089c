"""Rung 0: what only one node or port may have and several have, and CPUs that are switched off.

Example: ``mx03`` and ``mx04`` are two containers of one machine. Both items of their boot id fail,
and those of their machine id as well. The result is one cause, ``one-machine`` at ``mx[03-04]``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from railgauge.core.naming import folded
from railgauge.diagnosis.model import CauseRule, Context, Finding, Where, missed
from railgauge.judging.record import ItemRecord

_MACHINE, _IMAGE, _PORT, _GUID = "boot_id", "machine_id", "port_address", "node_guid"
_CAUSES = {
    **{_MACHINE: "one-machine", _IMAGE: "cloned-image"},
    **{_PORT: "duplicate-address", _GUID: "duplicate-address"},
}
_Places = tuple[tuple[str, str], ...]


def shared(context: Context) -> Iterator[Finding]:
    """One finding for each set of nodes or ports that share an id or an address.

    Names of one machine also share its machine id, which their finding includes.
    """
    images, machines = _groups(context, _IMAGE), _groups(context, _MACHINE)
    for places, records in machines.items():
        same = [group for group in images if set(group) <= set(places)]
        yield _finding(_MACHINE, places, [*records, *(r for one in same for r in images.pop(one))])
    for places, records in images.items():
        yield _finding(_IMAGE, _once(context, places, machines), records)
    # An adapter that has the GUID of another one makes the GIDs of its ports of it.
    for places, records in _groups(context, _PORT, _GUID).items():
        yield _finding(_PORT, places, records)


def _once(context: Context, places: _Places, machines: Iterable[_Places]) -> _Places:
    """The places with each machine under the first of its names, in the order of the cluster."""
    order = [node.name for node in context.results.cluster.nodes]
    again = {
        name
        for machine in machines
        for name in sorted((node for node, _ in machine), key=order.index)[1:]
    }
    return tuple(place for place in places if place[0] not in again)


def _groups(context: Context, *subjects: str) -> dict[_Places, list[ItemRecord]]:
    """The open items of some subjects by the places that share something."""
    found: dict[_Places, list[ItemRecord]] = {}
    for record in context.about(*subjects):
        for judged in missed(record):
            if judged.points_at or record.subject != _GUID:
                found.setdefault(judged.points_at, []).append(record)
    return _apart(found)


def unset(context: Context) -> Iterator[Finding]:
    """An adapter without a GUID: of zeros, which is no other's."""
    for record in context.about(_GUID):
        for judged in missed(record):
            if not judged.points_at:
                where = Where(record.nodes[0], record.pairing)
                yield Finding("guid-unset", where, judged.reason, (record,))


def _apart(found: dict[_Places, list[ItemRecord]]) -> dict[_Places, list[ItemRecord]]:
    """The groups, without those that only join others: a port may have the LID of one port and the
    GID of another, which are two faults."""
    for places in sorted(found, key=len, reverse=True):
        within = [group for group in found if set(group) < set(places)]
        if within and set().union(*within) == set(places):
            records = found.pop(places)
            for group in within:
                found[group] += [one for one in records if one.nodes[0] in dict(group)]
    return found


def _finding(subject: str, places: _Places, records: list[ItemRecord]) -> Finding:
    devices = dict.fromkeys(device for _, device in places if device)
    says = next(judged.reason for record in records for judged in missed(record))
    nodes = dict.fromkeys(node for node, _ in places) or {records[0].nodes[0]: None}
    where = Where(folded(nodes) if len(nodes) > 1 else next(iter(nodes)), ",".join(devices))
    return Finding(_CAUSES[subject], where, says, tuple(records))


# Facts that count or list the CPUs that are online.
_OF_CPUS = ("cpus_online", "cpus", "numa_cpus")


def cpus_offline(context: Context) -> Iterator[Finding]:
    """CPUs that are switched off: the node then also differs in the CPUs of its NUMA nodes.

    Of two nodes the other one differs from it too. Where all others are alike, this explains them.
    """
    off = [record for record in context.about("cpus_online") if missed(record)]
    nodes = {record.nodes[0] for record in off}
    others = [r for s in _OF_CPUS if _alike_without(context, s, nodes) for r in context.about(s)]
    for record in off:
        mine = [r for r in context.about(*_OF_CPUS) if record.nodes[0] in r.nodes]
        theirs = [r for r in others if nodes.isdisjoint(r.nodes)]
        shown = tuple(r for r in (*mine, *theirs) if missed(r))
        yield Finding("cpus-offline", Where(record.nodes[0]), missed(record)[0].reason, shown)


def _alike_without(context: Context, subject: str, nodes: Collection[str]) -> bool:
    """Whether this fact has one value on all nodes but these."""
    records = (r for r in context.results.records.values() if r.subject == subject and r.judgements)
    return len({r.judgements[0].measured for r in records if r.nodes[0] not in nodes}) == 1


RULES: tuple[CauseRule, ...] = (shared, unset, cpus_offline)
