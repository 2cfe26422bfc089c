"""A part of a level: a shard, or the part about some nodes. Pure.

A part is a level with fewer places. It is computed from the level of the whole cluster, so that its
items, pairs and directions are those of an undivided run.

Shards: the leaves are put into B bins, and a block is the part within a bin or between two bins. B
is the largest number whose B * (B + 1) / 2 blocks are no more than the shards. The shards within
bins share no node and can run at the same time; so can those of disjoint pairs of bins. If there
are more shards than blocks, a block is split by rounds. A node's own measurements belong to the
block of its bin.

Example: leaves ``l1`` and ``l2``, three shards: 1/3 is ``l1``, 2/3 is ``l2``, and 3/3 are the pairs
between them and the collectives over both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster, Node, Pair
from railgauge.core.naming import folded, shortened
from railgauge.core.nodeset import expanded
from railgauge.planning.direction import Rounds, turned
from railgauge.planning.pairing import BOTH_WAYS, tournament
from railgauge.planning.plan import Level

ONLY = "only"
"""The key under which ``RunVerdict.part`` has the nodes that a run qualifies."""

# No control host shares a level with ten thousand others.
_SHARD = re.compile(r"(\d{1,4})/(\d{1,4})", re.ASCII)


@dataclass(frozen=True, slots=True)
class LevelPart:
    """The part of a level that a run measures.

    ``nodes`` and ``groups`` are those of the whole cluster; a run keeps in ``cluster.json`` only
    the nodes in ``uses``, which it surveys, leases and measures. ``shard`` of ``of`` is the number
    of a shard, from 1; 0 of 0 for a part that is no shard. ``only`` are the nodes that the run
    qualifies, and ``partners`` those with which it measures them. With ``each`` every node meets
    every partner; else as many as in the level, first those of the level.
    """

    nodes: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    uses: tuple[str, ...] = ()
    shard: int = 0
    of: int = 0
    only: tuple[str, ...] = ()
    partners: tuple[str, ...] = ()
    each: bool = False

    @property
    def about(self) -> dict[str, str]:
        """The part as ``verdict.json`` holds it."""
        if not self.only:
            return {"shard": f"{self.shard}/{self.of}"}
        return {ONLY: folded(self.only), "partners": folded(self.partners)}

    @property
    def what(self) -> str:
        """The part in words: ``shard 2/4``, ``only mx07, with mx[01-06]``."""
        if not self.only:
            return f"shard {self.shard}/{self.of}"
        return f"only {shortened(folded(self.only))}, with {shortened(folded(self.partners))}"


def whole_cluster(part: LevelPart, cluster: Cluster) -> Cluster:
    """Return the cluster with all nodes; those that the part does not use have only a name."""
    known = {node.name: node for node in cluster.nodes}
    nodes = tuple(known.get(name) or Node(name, "", "") for name in part.nodes)
    return replace(cluster, nodes=nodes, groups=part.groups)


def within(cluster: Cluster, names: Iterable[str]) -> Cluster:
    """Return the cluster with these nodes alone, and the groups that have only such nodes."""
    kept = set(names)
    groups = {name: group for name, group in cluster.groups.items() if kept.issuperset(group)}
    nodes = tuple(node for node in cluster.nodes if node.name in kept)
    return replace(cluster, nodes=nodes, groups=groups)


def of_level(part: LevelPart, whole: Level) -> Level:
    """Return the part of a level."""
    return _nodes_of(part, whole) if part.only else _shard_of(part, whole)


def notes(part: LevelPart | None) -> tuple[str, ...]:
    """The note that a run measured a part alone; empty for any other run."""
    if part is None:
        return ()
    if part.only:
        return (f"NODES, {part.what}: the rest of the cluster was not measured",)
    return (f"{part.what.upper()}: railgauge merge makes one run of all {part.of} shards",)


def used(level: Level) -> tuple[str, ...]:
    """Return the nodes that a level needs, in the order of its cluster."""
    every = (*level.pairs, *level.turned)
    pairs = (node for pair in every for node in (pair.source, pair.target))
    groups = (node for _, group in level.collectives for node in group)
    return tuple(dict.fromkeys((*level.nodes, *level.measured, *pairs, *groups, *level.scan.nodes)))


# --- some nodes ---


def named(text: str, cluster: Cluster, option: str) -> tuple[str, ...]:
    """Return the nodes of a NodeSet, in the order of the hostfile. Raises ``BadInput``."""
    names = [node.name for node in cluster.nodes]
    try:
        found = set(expanded(text, len(names)))
    except BadInput as error:
        raise BadInput(error.what, where=option) from None
    if odd := sorted(found - set(names)):
        raise BadInput(f"{odd[0]} is no node of {cluster.source}", where=option)
    return tuple(name for name in names if name in found)


def _nodes_of(part: LevelPart, whole: Level) -> Level:
    """The part about the nodes of ``only``, each with partners only."""
    only, used = set(part.only), {*part.only, *part.partners}
    groups = {g: m for g, m in whole.groups.items() if used.issuperset(m) and only.intersection(m)}
    rounds = _rounds_of(part, whole)
    return replace(
        whole,
        nodes=tuple(node for node in whole.nodes if node in only),
        alone=tuple(node for node in whole.nodes if node in only),
        rounds=rounds,
        turned=_turned(part, whole, rounds),
        groups=groups,
        ladder=replace(whole.ladder, steps={}, victims={}),
        scan=replace(whole.scan, nodes=(), is_missing=False),
        part=part.what,
        whole=whole,
    )


def _rounds_of(part: LevelPart, whole: Level) -> Rounds:
    """The pairs of the level among these nodes, and the missing ones in further rounds."""
    only, used = set(part.only), {*part.only, *part.partners}
    own = [
        tuple(p for p in turn if {*_ends(p)} <= used and only.intersection(_ends(p)))
        for turn in whole.rounds
    ]
    met = {frozenset(_ends(pair)) for turn in own for pair in turn}
    more: list[tuple[Pair, ...]] = []
    for node in part.only:
        due = len(part.partners) if part.each else _partners_of(node, whole)
        has = sum(node in two and not two <= only for two in met)
        lacking = [p for p in part.partners if frozenset((node, p)) not in met]
        for partner in lacking[: max(0, due - has)]:
            is_sender = _sent_more(node, (pair for turn in (*own, *more) for pair in turn))
            more.append((Pair(partner, node) if is_sender else Pair(node, partner),))
    return (*(turn for turn in own if turn), *more)


def _sent_more(node: str, pairs: Iterable[Pair]) -> bool:
    """Whether the node sends in more of the pairs than it receives in."""
    return sum((pair.source == node) - (pair.target == node) for pair in pairs) > 0


def _turned(part: LevelPart, whole: Level, rounds: Rounds) -> tuple[Pair, ...]:
    """The pairs of nodes that would only send or only receive, but do both in the level."""
    if whole.directions != BOTH_WAYS:
        return ()
    both = [n for n in part.only if whole.turned or _partners_of(n, whole) > 1]
    return turned((pair for turn in rounds for pair in turn), both)


def _ends(pair: Pair) -> tuple[str, str]:
    return pair.source, pair.target


def _partners_of(node: str, whole: Level) -> int:
    """The number of partners of a node in the level; at least one."""
    return max(1, sum(node in _ends(pair) for pair in whole.pairs))


# --- shards ---


def shard(text: str, cluster: Cluster) -> LevelPart:
    """Return the part that ``--shard I/N`` names. Raises ``BadInput``."""
    found = _SHARD.fullmatch(text)
    if found is None:
        raise BadInput(f"{text[:40]!r} is not a shard", where="--shard", remedy="say I/N: 2/4")
    part = LevelPart(
        tuple(n.name for n in cluster.nodes), cluster.groups, (), int(found[1]), int(found[2])
    )
    if not 1 <= part.shard <= part.of:
        raise BadInput(f"there is no shard {text[:40]}", where="--shard", remedy="say 1/N to N/N")
    return part


def _shard_of(part: LevelPart, whole: Level) -> Level:
    shares = _Shares(whole, part.of)
    own, every = part.shard - 1, list(enumerate(whole.rounds))
    nodes = dict.fromkeys(node for node in whole.nodes if shares.of_node(node) == own)
    rounds = (tuple(p for p in turn if shares.of_pair(p, number) == own) for number, turn in every)
    return replace(
        whole,
        nodes=tuple(nodes),
        alone=tuple(node for node in whole.measured if node in nodes),
        rounds=tuple(turn for turn in rounds if turn),
        turned=tuple(p for p in whole.turned if shares.of_pair(p, len(whole.rounds)) == own),
        groups={g: m for g, m in whole.groups.items() if shares.of_group(m) == own},
        # The steps are compared with one another, so that one shard makes all of them; so are the
        # victims of all leaves.
        ladder=whole.ladder
        if shares.of_group(whole.nodes) == own
        else replace(whole.ladder, steps={}, victims={}),
        scan=replace(
            whole.scan,
            nodes=tuple(node for node in whole.scan.nodes if shares.of_node(node) == own),
            is_missing=whole.scan.is_missing and not own,
        ),
        part=part.what,
        whole=whole,
    )


class _Shares:
    """Which shard, from 0, each place of a level belongs to."""

    def __init__(self, level: Level, count: int) -> None:
        bins = _bins(level, count)
        self._bin = {node: number for number, nodes in enumerate(bins) for node in nodes}
        blocks = {block: number for number, block in enumerate(_blocks(len(bins)))}
        self._shards = {
            block: range(number, count, len(blocks)) for block, number in blocks.items()
        }
        self._last = count - 1

    def of_node(self, node: str) -> int:
        return self._shards[self._bin[node], self._bin[node]][0]

    def of_pair(self, pair: Pair, turn: int) -> int:
        one, other = sorted((self._bin[pair.source], self._bin[pair.target]))
        shards = self._shards[one, other]
        return shards[turn % len(shards)]

    def of_group(self, nodes: Sequence[str]) -> int:
        """A group in one bin belongs to it; any other keeps most nodes busy, and comes last."""
        bins = {self._bin[node] for node in nodes}
        return self.of_node(nodes[0]) if len(bins) == 1 else self._last


def _blocks(bins: int) -> list[tuple[int, int]]:
    """Return the blocks: each bin, then all pairs of bins, those that share none together."""
    turns = tournament([str(number) for number in range(bins)])
    across = [(int(pair.source), int(pair.target)) for turn in turns for pair in turn]
    return [*((number, number) for number in range(bins)), *(_sorted(two) for two in across)]


def _sorted(two: tuple[int, int]) -> tuple[int, int]:
    return (min(two), max(two))


def _bins(level: Level, shards: int) -> list[list[str]]:
    units = _units(level)
    most = max(count for count in range(1, shards + 1) if count * (count + 1) // 2 <= shards)
    count = max(1, min(most, len(units) if level.leaves else len(units) // 2))
    total, bins, begun = len(level.nodes), [list[str]() for _ in range(count)], 0
    for left, unit in zip(range(len(units), 0, -1), units, strict=True):
        # As many units remain as empty bins: each of them gets one.
        number = max(begun * count // total, count - left)
        bins[min(number, count - 1)].extend(unit)
        begun += len(unit)
    return bins


def _units(level: Level) -> list[tuple[str, ...]]:
    """The units that a bin takes whole: the leaves, and each node outside of them."""
    inside = {node for leaf in level.leaves.values() for node in leaf}
    return [*level.leaves.values(), *((node,) for node in level.nodes if node not in inside)]


def together_with(part: LevelPart, whole: Level) -> list[int]:
    """Return the shards, from 1, that share no node with this one and can run at the same time."""
    shares = _Shares(whole, part.of)
    using: list[set[str]] = [set() for _ in range(part.of)]
    for node in (*whole.nodes, *whole.scan.nodes):
        using[shares.of_node(node)].add(node)
    for number, turn in enumerate((*whole.rounds, whole.turned)):
        for pair in turn:
            using[shares.of_pair(pair, number)].update(_ends(pair))
    of_all = [whole.nodes] if whole.ladder.steps or whole.ladder.victims else []
    for nodes in (*whole.groups.values(), *of_all):
        using[shares.of_group(nodes)].update(nodes)
    own = using[part.shard - 1]
    return [i for i, nodes in enumerate(using, 1) if i != part.shard and own.isdisjoint(nodes)]
