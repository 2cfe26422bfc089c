"""Misses that stolen CPU time explains: those of nodes that are virtual machines. Pure.

The hypervisor of a virtual node may give the CPU time that the node wants to other guests. A miss
is named only where ``under_load`` finds the steal in each repeat that missed, of a node of the
item. A node that also misses without steal stays what the other rules say, and so does each item
with it. Where a node was never measured without steal, it may be slow as well: the cause is
undecided, and says what to measure again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.core.model import TimeSpan, Transcript
from railgauge.core.terms import LOAD_ROLES, Role
from railgauge.diagnosis.facts.under_load import (
    LoadedContext,
    LoadedItem,
    measured_in,
)
from railgauge.diagnosis.model import LIKELY, OPEN, CauseRule, Context, Finding, Where
from railgauge.facts.steal import StolenTime, parse

CAUSE = "cpu-steal"


@dataclass(frozen=True, slots=True)
class _NodeLoads:
    """What was stolen from each virtual node during a repeat."""

    of: Mapping[str, StolenTime]

    @property
    def is_busy(self) -> bool:
        return any(one.is_busy for one in self.of.values())


_Loaded = LoadedItem[_NodeLoads]
_LoadContext = LoadedContext[_NodeLoads]


def stolen(context: Context) -> Iterator[Finding]:
    """A finding for each node whose CPU time was stolen while its measurements missed limits."""
    virtual = {node for node in context.results.found if _is_virtual(context, node)}
    loads = LoadedContext(context, lambda run: _load(run, virtual))
    slow = loads.slow() if virtual else []
    by_node: dict[str, list[_Loaded]] = {}
    for one in loads.explained([loads.loaded(record) for record in slow]):
        by_node.setdefault(_most_stolen(one), []).append(one)
    for node, found in by_node.items():
        yield _finding(loads, node, found)


def _is_virtual(context: Context, node: str) -> bool:
    facts = context.facts(node)
    return bool(facts and facts.virtual)


def _most_stolen(one: _Loaded) -> str:
    """The node that lost the largest share in a repeat that missed."""
    shares = {n: max(load.share for load in found) for n, found in _stolen_of(one).items()}
    return max(shares, key=lambda node: shares[node])


def _stolen_of(one: _Loaded) -> Mapping[str, Sequence[StolenTime]]:
    found: dict[str, list[StolenTime]] = {}
    for loads in one.missed:
        for node, load in loads.of.items() if loads else ():
            if load.is_busy:
                found.setdefault(node, []).append(load)
    return found


def _finding(loads: _LoadContext, node: str, found: Sequence[_Loaded]) -> Finding:
    """Likely if the node reached its limits without steal; else undecided."""
    is_sure = (node, "") in loads.fine_when_quiet({one.record.subject for one in found})
    shares = [load.share for one in found for load in _stolen_of(one)[node]]
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    says = (
        f"{low if low == high else f'{low} to {high}'} of the CPU time that this virtual machine"
        f" wanted went to others on its host while {len(found)} of its items missed their limits"
    )
    return Finding(
        CAUSE,
        Where(node),
        says,
        tuple(one.record for one in found),
        LIKELY if is_sure else OPEN,
        "" if is_sure else f"measure {node} again while no CPU time is stolen from it",
    )


def _load(run: tuple[Transcript, ...], virtual: set[str]) -> _NodeLoads | None:
    """The steal of virtual nodes in one repeat; ``None`` without a reading that spans it."""
    read: dict[str, dict[Role, list[Transcript]]] = {}
    for one in run:
        if one.role in LOAD_ROLES and one.node in virtual:
            read.setdefault(one.node, {}).setdefault(Role(one.role), []).append(one)
    loads = {node: load for node, of in read.items() if (load := _of_node(run, of))}
    return _NodeLoads(loads) if loads else None


def _of_node(
    run: tuple[Transcript, ...], read: Mapping[Role, Sequence[Transcript]]
) -> StolenTime | None:
    befores, afters = (read.get(role, ()) for role in LOAD_ROLES)
    if len(befores) != 1 or len(afters) != 1:
        return None
    before, after = befores[0], afters[0]
    if before.exit_code or after.exit_code or not measured_in(run, _between(before, after)):
        return None
    return parse(before.stdout, after.stdout)


def _between(before: Transcript, after: Transcript) -> TimeSpan | None:
    """The time in which the counters surely grew: from the end of one command to the next."""
    first, last = before.span, after.span
    return (first[1], last[0]) if first and last else None


RULES: tuple[CauseRule, ...] = (stolen,)
