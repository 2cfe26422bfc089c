"""The fabric of leaves and spines: what its uplinks leave to a collective over several leaves.

A node has ``tree`` if the hostfile has leaves: ``leaf`` is its own, ``size`` the number of nodes of
that leaf, ``all`` that of the cluster. The capacities are shares of what the nodes send at full
rate: ``uplinks`` of those of the leaf, ``spines`` of all nodes. A healthy fabric carries all of it,
whatever goes where, as adaptive routing spreads packets over all uplinks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Hops = list[tuple[str, str, float]]


def share(nodes: list[Node], op: str) -> float:
    """Return the share of the bandwidth that leaves and spines leave; 1 without leaves."""
    if not all(node["tree"] for node in nodes):
        return 1.0
    crossing = [hop for hop in _hops(nodes, op) if hop[0] != hop[1]]
    tree = nodes[0]["tree"]
    shares = [1.0, _left(tree["spines"] * tree["all"], crossing)]
    for tree in {node["tree"]["leaf"]: node["tree"] for node in nodes}.values():
        for end in (0, 1):
            mine = [hop for hop in crossing if hop[end] == tree["leaf"]]
            shares.append(_left(tree["uplinks"] * tree["size"], mine))
    return min(shares)


def _hops(nodes: list[Node], op: str) -> Hops:
    """Return the leaves between which nodes send: each to the next one, or to all others."""
    leaves = [str(node["tree"]["leaf"]) for node in nodes]
    if op == "alltoall":
        each = 1 / (len(leaves) - 1)
        return [(one, other, each) for one in leaves for other in leaves]
    return [(one, other, 1.0) for one, other in zip(leaves, [*leaves[1:], leaves[0]])]  # noqa: B905


def _left(carried: float, hops: Hops) -> float:
    sent = sum(rate for *_, rate in hops)
    return min(1.0, carried / sent) if sent else 1.0
