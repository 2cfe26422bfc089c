"""Tell what a node sends from what it receives, where its results disagree by direction. Pure.

A test that moves its payload one way is as fast as the smallest of three: what its sender can send,
what its receiver can receive, and what the path between them can carry. Usually a fault slows down
both directions of a node, so a node is one suspect. Where every payload that a node sends is fast
and every one that it receives is slow (or the other way round), its two directions are two suspects
instead, ``mx02 sending`` and ``mx02 receiving``, and the fast one is cleared on its own. Otherwise
the node's fast results would clear it, and the path would get the blame.

A node that is slow with several partners and never fast explains its slow tests alone, so they do
not split its partners.

Example: ``mx01`` and ``mx02`` are each fast with others, but the one test from ``mx01`` to ``mx02``
is slow. If both were fast in that direction with others, the path would be at fault. If ``mx01``
sends to nobody else and ``mx02`` receives from nobody else, each of the three may be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.core.terms import Flow
from railgauge.diagnosis.localise.nodes import PairResult, Undecided, listed, unordered
from railgauge.diagnosis.localise.pairwise import PROOF, OpenGroup

SENDING, RECEIVING = "sending", "receiving"
WAYS = (SENDING, RECEIVING)
_OTHER = {SENDING: RECEIVING, RECEIVING: SENDING}
_Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FlowResult(PairResult):
    """One tested pair, and the direction of its payload."""

    flow: Flow = Flow.UNTOLD


def ways(nodes: _Edge, name: str, flow: Flow) -> tuple[str, ...]:
    """What the node ``name`` did in a test of these nodes: sending, receiving, or both."""
    if flow not in (Flow.FORWARD, Flow.BACKWARD):
        return WAYS
    return (SENDING,) if (name == nodes[0]) is (flow is Flow.FORWARD) else (RECEIVING,)


def named(name: str, way: str) -> str:
    return f"{name} {way}"


def parted(member: str) -> tuple[str, str]:
    """The name of a member, and its direction: empty for both."""
    name, _, way = member.rpartition(" ")
    return (name, way) if way in WAYS else (member, "")


def plain(member: str) -> str:
    return parted(member)[0]


def gathered(results: Iterable[FlowResult]) -> dict[_Edge, set[bool]]:
    """The values of each pair of members: nodes, or directions of those whose results disagree."""
    taken = tuple(results)
    slow_ways = _disagreeing(taken)
    seen: dict[_Edge, set[bool]] = defaultdict(set)
    for result in taken:
        one, other = (_member(result, name, slow_ways) for name in result.nodes)
        seen[one, other].add(result.slow)
    return seen


def _member(result: FlowResult, name: str, slow_ways: Mapping[str, str]) -> str:
    """The node, or its direction that the result is about.

    A slow result of both directions is about the slow one. A fast one of an untold direction can
    only be about the fast one.
    """
    if name not in slow_ways:
        return name
    took = ways(result.nodes, name, result.flow)
    if len(took) == 1:
        return named(name, took[0])
    slow = slow_ways[name]
    return named(name, slow if result.slow else _OTHER[slow])


def _disagreeing(results: Sequence[FlowResult]) -> dict[str, str]:
    """The nodes whose results disagree by direction, each with its slow direction."""
    arrows = _any_slow((*_arrow(r), r.slow) for r in results if _is_one_way(r))
    both = _any_slow((*r.nodes, r.slow) for r in results if r.flow is Flow.BOTH)
    cleared = {name for nodes, slow in both.items() if not slow for name in nodes}
    slow_nodes = _never_fast(arrows) - cleared
    ends = _ends({edge: slow for edge, slow in arrows.items() if slow_nodes.isdisjoint(edge)})
    return {
        name: way
        for (name, way), said in ends.items()
        if said == {True} and ends.get((name, _OTHER[way])) == {False} and name not in cleared
    }


def _is_one_way(result: FlowResult) -> bool:
    return result.flow in (Flow.FORWARD, Flow.BACKWARD)


def _arrow(result: FlowResult) -> _Edge:
    one, other = result.nodes
    return (one, other) if result.flow is Flow.FORWARD else (other, one)


def _any_slow(said: Iterable[tuple[str, str, bool]]) -> dict[_Edge, bool]:
    found: dict[_Edge, bool] = {}
    for one, other, slow in said:
        found[one, other] = slow or found.get((one, other), False)
    return found


def _ends(arrows: Mapping[_Edge, bool]) -> dict[tuple[str, str], set[bool]]:
    found: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for (sender, receiver), slow in arrows.items():
        found[sender, SENDING].add(slow)
        found[receiver, RECEIVING].add(slow)
    return found


def _never_fast(arrows: Mapping[_Edge, bool]) -> set[str]:
    """The nodes that are slow with at least two partners, and fast with none."""
    partners: dict[str, set[str]] = defaultdict(set)
    for edge in arrows:
        for name, other in (edge, edge[::-1]):
            partners[name].add(other)
    fast = {name for edge, slow in arrows.items() if not slow for name in edge}
    return {name for name, met in partners.items() if len(met) >= PROOF} - fast


# --- what stays open ---


def is_one_way(group: OpenGroup[str]) -> bool:
    """Whether a direction of a node is among the members."""
    return any(parted(member)[1] for member in group.members)


def undecided(group: OpenGroup[str], cleared: Collection[str]) -> Undecided:
    """An open group with directions in words; ``cleared`` are the members that are known good."""
    paths = unordered((plain(one), plain(other)) for one, other in group.between)
    wanted = tuple(_wanted(group, cleared))
    among = (*group.members, *(f"{one}:{other}" for one, other in paths))
    return Undecided(among, _would_decide(group, wanted), tuple(m for m, _ in wanted), one_way=True)


def _wanted(
    group: OpenGroup[str], cleared: Collection[str]
) -> Iterator[tuple[tuple[str, str], str]]:
    """For each member a test with a node found good, sender first, and that node."""
    here = {plain(name) for name in group.members}
    here |= {plain(name) for pair in group.between for name in pair}
    fit = (name for name in sorted(cleared) if name == plain(name) and name not in here)
    good = next(fit, "")
    for name, way in map(parted, group.members):
        if good:
            yield ((good, name) if way == RECEIVING else (name, good)), good


def _would_decide(group: OpenGroup[str], wanted: Sequence[tuple[tuple[str, str], str]]) -> str:
    if not wanted:
        names = listed(dict.fromkeys(map(plain, group.members)))
        return f"measure {names} with nodes that are known to be good, in both directions"
    tests = listed([f"{sender} -> {receiver}" for (sender, receiver), _ in wanted])
    return f"measure {tests} ({wanted[0][1]} found good)"
