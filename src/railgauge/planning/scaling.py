"""The steps of a scaling ladder: groups of 2, 4, 8 … all nodes, within a leaf and across leaves.

A step across leaves has the nodes in an order in which neighbours are in different leaves. A ring
over them sends the whole rate of each node over the uplinks of its leaf, however many leaves there
are, so that a small step loads an uplink as much as a large one with as many nodes of its leaf.

Example: the leaves ``a`` with a1 to a4 and ``b`` with b1 to b4 have the steps ``within-4`` (a1, a2,
a3, a4), ``across-2`` (a1, b1), ``across-4`` (a1, b1, a2, b2) and ``across-8``. All are compared
with the smallest one, a1 and a2, which is no step itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from math import ceil, log2

from railgauge.config.thresholds.model import Measurement

Nodes = tuple[str, ...]

_SMALLEST = 2
WITHIN, ACROSS, OVER = "within", "across", "nodes"
NO_LEAF = "no leaf"
"""The name of the nodes that no group of the hostfile has, where others have leaves."""


def base(measurement: Measurement) -> str:
    """Return the ladder with whose smallest step those of a ladder are compared.

    It has another algorithm and the same steps, or it is this one itself.
    """
    return next((one.over for one in measurement.asserts if one.over), measurement.name)


def is_variant(measurement: Measurement) -> bool:
    return measurement.ladder and base(measurement) != measurement.name


def by_leaf(nodes: Sequence[str], leaves: Mapping[str, Nodes]) -> dict[str, Nodes]:
    """Return these nodes by the leaf that they are in; empty if they are in fewer than two."""
    own = {name: frozenset(members) for name, members in leaves.items()}
    found = {name: tuple(n for n in nodes if n in members) for name, members in own.items()}
    known = {node for members in found.values() for node in members}
    found[NO_LEAF] = tuple(node for node in nodes if node not in known)
    inside = {name: members for name, members in found.items() if members}
    return inside if len(inside) > 1 else {}


def interleaved(units: Sequence[Sequence[str]]) -> Nodes:
    """Return the nodes of several units, one of each unit in turn."""
    turns = zip_longest(*units)
    return tuple(node for turn in turns for node in turn if node is not None)


def smallest(nodes: Sequence[str], leaves: Mapping[str, Nodes]) -> Nodes:
    """Return the step that all others are compared with: two nodes, in one leaf if there is one."""
    inside = by_leaf(nodes, leaves)
    return tuple((_largest(inside) if inside else nodes)[:_SMALLEST])


def steps(nodes: Sequence[str], leaves: Mapping[str, Nodes]) -> dict[str, Nodes]:
    """Return the steps by name, without the smallest; empty for fewer than three nodes."""
    if len(nodes) <= _SMALLEST:
        return {}
    inside = by_leaf(nodes, leaves)
    if not inside:
        return dict(_counted(OVER, nodes, _SMALLEST))
    within = _counted(WITHIN, _largest(inside), _SMALLEST)
    return {**dict(within), **dict(_counted(ACROSS, interleaved(list(inside.values())), 1))}


def _largest(inside: Mapping[str, Nodes]) -> Nodes:
    return max(inside.values(), key=len)


def _counted(name: str, nodes: Sequence[str], above: int) -> Iterator[tuple[str, Nodes]]:
    count = _SMALLEST
    while count < len(nodes):
        if count > above:
            yield f"{name}-{count}", tuple(nodes[:count])
        count *= 2
    if len(nodes) > above:
        yield f"{name}-{len(nodes)}", tuple(nodes)


def most_runs(nodes: int, leaves: int) -> int:
    """Return the most runs that are added to find what slows a step.

    Halving needs two runs a level, for two bad parts twice as many. A part that is left needs two
    partners, a look inside, its two halves, and the rest without it. Inside a leaf nodes are halved
    likewise. Where all leaves are slow, some are measured one by one, twice if they differ.
    """
    if nodes <= _SMALLEST:
        return 0
    units = leaves or nodes
    levels = ceil(log2(units)) + (ceil(log2(max(2, nodes / leaves))) if leaves else 0)
    return 4 * levels + 2 * ENDS + (2 * min(leaves, SINGLES) + 2 if leaves else 0)


ENDS = 8
"""The most runs after the last halving: two partners for each of two, and what is above."""
SINGLES = 8
"""The most leaves that are measured one by one where every set of leaves is slow."""
