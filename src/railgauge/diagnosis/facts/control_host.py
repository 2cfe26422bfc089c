"""Misses that the load of the control host explains: those of nodes that run on it. Pure.

Nodes that are namespaces or guests of the machine that runs the suite share its CPUs. A miss is
named only where its own evidence shows the load:

- the node's kernel is that of the control host (its boot id), and
- each repeat that missed has a reading that spans it and shows a busy host, and
- no part of its nodes missed a limit while the host was quiet without reaching one then.

- its nodes are not behind others under the same load: a node that missed everything where the
  others reached their limits is, and so is one that is slow by the same amount each time.

A slow node therefore stays one while the host is busy with something else, or at another time.
Where that is not known, the cause is undecided and says what to measure again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from railgauge.core.model import GOOD, Transcript
from railgauge.core.naming import among, listed
from railgauge.core.terms import Role
from railgauge.diagnosis.facts.under_load import (
    LoadedContext,
    LoadedItem,
    case_of,
    measured_in,
)
from railgauge.diagnosis.model import LIKELY, OPEN, CauseRule, Context, Finding, Where, missed
from railgauge.facts import NodeFacts
from railgauge.facts.control_host import HostLoad, parse
from railgauge.judging.record import ItemRecord

CAUSE = "control-host-busy"
_MOST = 3
_CHANCE = 0.01
_PAIR = 2
_CLEARLY, _ALIKE = 0.2, 1.05
_Loaded = LoadedItem[HostLoad]
_LoadContext = LoadedContext[HostLoad]


def busy(context: Context) -> Iterator[Finding]:
    """At most one finding: about the control host, and about no node."""
    loads = LoadedContext(context, _load)
    slow = loads.slow()
    if not any(_is_on_it(loads, record) for record in slow[:_MOST]):
        return
    found = loads.explained([loads.loaded(record) for record in slow])
    found = [one for one in found if _is_on_it(loads, one.record)]
    behind = _behind(loads, found)
    if found := [one for one in found if behind.isdisjoint(one.record.nodes)]:
        yield _finding(loads, found)


def _behind(loads: _LoadContext, found: Sequence[_Loaded]) -> set[str]:
    """The nodes whose misses are not those of a load under which others reached their limits."""
    subjects = {one.record.subject for one in found}
    under_load = [
        record
        for record in loads.context.results.records.values()
        if record.subject in subjects and case_of(record) and _was_busy(loads, record)
    ]
    nodes = {node for one in found for node in one.record.nodes}
    return {n for n in nodes if _chance(n, under_load) < _CHANCE or _is_steady(n, under_load)}


def _chance(node: str, under_load: Sequence[ItemRecord]) -> float:
    """How likely the load makes all items of a node miss, at the rate of those of other nodes."""
    mine = [record for record in under_load if node in record.nodes]
    others = [record for record in under_load if node not in record.nodes]
    if any(record.outcome in GOOD for record in mine):
        return 1.0
    missed_it = sum(record.outcome not in GOOD for record in others)
    rate: float = (missed_it + 1) / (len(others) + 2)  # Laplace's rule of succession
    return rate ** len(mine)


def _is_steady(node: str, under_load: Sequence[ItemRecord]) -> bool:
    """Whether all of a node, or all that it sends or receives, is equally and clearly too slow.

    What a load leaves varies from one measurement to the next; what a slow part leaves does not.
    """
    pairs = [r for r in under_load if len(r.nodes) == _PAIR and node in r.nodes]
    ends = ([record for record in pairs if record.nodes[end] == node] for end in range(_PAIR))
    return any(_are_alike(mine) for mine in (pairs, *ends))


def _are_alike(records: Sequence[ItemRecord]) -> bool:
    lost = [_clearly_lost(record) for record in records]
    if len(lost) < _PAIR:
        return False
    common = set.intersection(*map(set, lost))
    values = ([one[what] for one in lost] for what in common)
    return any(max(some) <= _ALIKE * min(some) for some in values)


def _clearly_lost(record: ItemRecord) -> Mapping[tuple[str, int | None], float]:
    """The values that miss a limit by far, by metric and size."""
    return {
        (judged.metric, judged.size_bytes): judged.worst
        for judged in missed(record)
        if judged.worst and judged.margin is not None and judged.margin <= -_CLEARLY
    }


def _was_busy(loads: _LoadContext, record: ItemRecord) -> bool:
    each = loads.loads(record)
    return bool(each) and all(load and load.is_busy for load in each)


def _finding(loads: _LoadContext, found: Sequence[_Loaded]) -> Finding:
    """Likely if each node reached its limits while the host was quiet; else undecided."""
    nodes = dict.fromkeys(node for one in found for node in one.record.nodes)
    fine = loads.fine_when_quiet({one.record.subject for one in found})
    unsure = [node for node in nodes if (node, "") not in fine]
    busy_as = dict.fromkeys(str(load) for one in found for load in one.missed if load)
    says = (
        f"the control host, on which these nodes run, was busy while {len(found)} items missed"
        f" their limits: {listed(list(busy_as), _MOST, '; ')}"
    )
    measure = f"measure {among(unsure)} again while the control host is quiet"
    return Finding(
        CAUSE,
        Where(""),
        says,
        tuple(one.record for one in found),
        OPEN if unsure else LIKELY,
        measure if unsure else "",
    )


def _is_on_it(loads: _LoadContext, record: ItemRecord) -> bool:
    """Whether all nodes of the item have the kernel of the control host."""
    boots = {load.boot_id for load in loads.loads(record) if load}
    facts = [loads.context.facts(node) for node in record.nodes]
    own = {one.boot_id if isinstance(one, NodeFacts) else None for one in facts}
    return bool(boots) and own == boots


def _load(run: tuple[Transcript, ...]) -> HostLoad | None:
    """The load beside one repeat; ``None`` without a reading that spans its commands."""
    read = [one for one in run if one.role is Role.CONTROL_HOST]
    if len(read) != 1 or not measured_in(run, read[0].span):
        return None
    return parse(read[0].stdout, read[0].duration_s)


RULES: tuple[CauseRule, ...] = (busy,)
