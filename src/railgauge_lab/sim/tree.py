"""The fabric of leaves and spines: what its uplinks leave to a collective over several leaves.

A node has ``tree`` if the hostfile has leaves: ``leaf`` is its own, ``size`` the number of nodes of
that leaf, ``all`` that of the cluster. The capacities are shares of what the nodes send at full
rate: ``uplinks`` of those of the leaf, ``spines`` of all nodes. A healthy fabric carries all of it,
whatever goes where, as adaptive routing spreads packets over all uplinks.

Without ``adaptive`` a hash gives each flow, from a node to another over one NIC, a spine of that
NIC's rail, of which there are as many as a leaf has nodes. Flows with one uplink, or one link down
to a leaf, share it, and all ranks wait for the slowest.
"""

from __future__ import annotations

from . import algorithms
from .chance import chance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Hops = list[tuple[Node, Node, float]]


def share(nodes: list[Node], op: str, algorithm: str = algorithms.RING) -> float:
    """Return the share of the bandwidth that leaves and spines leave; 1 without leaves."""
    if not all(node["tree"] for node in nodes):
        return 1.0
    hops = _hops(nodes, op, algorithm)
    crossing = [hop for hop in hops if _leaf(hop[0]) != _leaf(hop[1])]
    tree = nodes[0]["tree"]
    shares = [1.0, _left(tree["spines"] * tree["all"], crossing)]
    for tree in {_leaf(node): node["tree"] for node in nodes}.values():
        out = [hop for hop in crossing if _leaf(hop[0]) == tree["leaf"]]
        into = [hop for hop in crossing if _leaf(hop[1]) == tree["leaf"]]
        shares += [_left(tree["uplinks"] * tree["size"], way) for way in (out, into)]
    if not tree["adaptive"]:
        shares.append(1 / max(1.0, _fullest(crossing)))
    return min(shares)


def _leaf(node: Node) -> str:
    return str(node["tree"]["leaf"])


def _hops(nodes: list[Node], op: str, algorithm: str) -> Hops:
    """Return who sends to whom, and which share of its rate: to the next one, or to all others.

    In trees a node sends to its parent and its children.
    """
    if op == "alltoall":
        each = 1 / (len(nodes) - 1)
        return [(one, other, each) for one in nodes for other in nodes if one is not other]
    if op == "all_reduce" and algorithm != algorithms.RING:
        edges = algorithms.edges(len(nodes))
        each = 1 / max(sum(a == node for a, _ in edges) for node in range(len(nodes)))
        return [(nodes[a], nodes[b], each) for a, b in edges]
    return [(one, other, 1.0) for one, other in zip(nodes, [*nodes[1:], nodes[0]])]  # noqa: B905


def _left(carried: float, hops: Hops) -> float:
    sent = sum(rate for *_, rate in hops)
    return min(1.0, carried / sent) if sent else 1.0


def _fullest(crossing: Hops) -> float:
    """Return what the fullest link of a leaf has to carry, in rates of a link."""
    loads: dict[tuple[str, str, int, int], float] = {}
    for one, other, rate in crossing:
        spines = min(one["tree"]["size"], other["tree"]["size"])
        for rail in range(len(one["collectives"]["fabric"])):
            spine = int(chance(f"{one['seed']} {one['name']} {other['name']} {rail}") * spines)
            for link in (("up", _leaf(one), rail, spine), ("down", _leaf(other), rail, spine)):
                loads[link] = loads.get(link, 0.0) + rate
    return max(loads.values(), default=0.0)
