"""Fabrics with drawn faults that answer runs, and a search over them until it has an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random

from railgauge.diagnosis.scaling.places import Located, ScalingPlace, located
from railgauge.planning.scaling import Nodes, interleaved


@dataclass(frozen=True)
class Fabric:
    """Leaves of nodes. A run is a ring in the order of its nodes; a hop is slow over a bad part.

    ``uplinks`` are how many hops the uplinks of a leaf carry, ``between`` those of a path of two
    leaves, ``switches`` how many nodes of a leaf run at full rate, ``whole`` how many of all.
    ``rails``: a hash gives each flow a spine in each of so many rails; two of one link are slow.
    """

    leaves: Mapping[str, Nodes]
    uplinks: Mapping[str, int] = field(default_factory=dict)
    between: Mapping[frozenset[str], int] = field(default_factory=dict)
    switches: Mapping[str, int] = field(default_factory=dict)
    nodes: frozenset[str] = frozenset()
    whole: int = 1 << 30
    rails: int = 0
    seed: int = 0

    def is_slow(self, run: Nodes) -> bool:
        of = {node: leaf for leaf, nodes in self.leaves.items() for node in nodes}
        hops = [(of[a], of[b]) for a, b in zip(run, (*run[1:], run[0]), strict=True) if a != b]
        out = {leaf: sum(a == leaf != b for a, b in hops) for leaf in self.leaves}
        there = {leaf: sum(of[node] == leaf for node in run) for leaf in self.leaves}
        return (
            len(run) > self.whole
            or not self.nodes.isdisjoint(run)
            or any(out[leaf] > most for leaf, most in self.uplinks.items())
            or any(there[leaf] > most for leaf, most in self.switches.items())
            or any(sum({*hop} == pair for hop in hops) > n for pair, n in self.between.items())
            or self.collides(run, of)
        )

    def collides(self, run: Nodes, of: Mapping[str, str]) -> bool:
        links: Counter[tuple[object, ...]] = Counter()
        for a, b in zip(run, (*run[1:], run[0]), strict=True):
            for rail in range(self.rails if of[a] != of[b] else 0):
                size = min(len(self.leaves[of[a]]), len(self.leaves[of[b]]))
                drawn = blake2b(f"{self.seed} {a} {b} {rail}".encode(), digest_size=8).digest()
                spine = int.from_bytes(drawn, "big") % size
                links.update([(0, of[a], rail, spine), (1, of[b], rail, spine)])
        return any(count > 1 for count in links.values())


def leaves_of(count: int, size: int) -> dict[str, Nodes]:
    return {
        f"leaf{one:02d}": tuple(f"n{one * size + node:04d}" for node in range(size))
        for one in range(count)
    }


def every_node(leaves: Mapping[str, Nodes]) -> Nodes:
    return interleaved(list(leaves.values()))


@dataclass(frozen=True)
class Searched:
    """What a search found, in how many runs and rounds."""

    located: Located
    runs: int
    rounds: int

    @property
    def places(self) -> set[tuple[ScalingPlace, frozenset[str]]]:
        return {(one.place, frozenset(one.nodes)) for one in self.located.places}

    @property
    def is_decided(self) -> bool:
        return all(one.place is not ScalingPlace.OPEN for one in self.located.places)


def searched(fabric: Fabric, broken: Random | None = None, chance: float = 0.0) -> Searched:
    """Search all nodes of a fabric; some runs give no result if ``broken`` draws it."""
    whole = every_node(fabric.leaves)
    results: dict[Nodes, bool | None] = {}
    for rounds in range(200):
        now = located(whole, fabric.leaves, results)
        if not now.asked:
            return Searched(now, len(results), rounds)
        for run in now.asked:
            assert len({*run}) == len(run) > 1
            assert run not in results
            fails = broken is not None and broken.random() < chance
            results[run] = None if fails else fabric.is_slow(run)
    raise AssertionError("the search does not end")
