"""Faults of the fabric of leaves and spines: pairs of nodes do not show them, large groups do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from railgauge_lab.fault_places import Fault, NodeFile, PlatformFile, inapplicable

SLOW = 0.6


def trees(groups: Mapping[str, Sequence[str]], nodes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the place of each node in the fabric; empty if no two groups are leaves.

    A leaf is a group that contains no other one.
    """
    members = {name: set(group) for name, group in groups.items()}
    inner = {n: m for n, m in members.items() if not any(o < m for o in members.values())}
    if len(inner) < 2 or sum(map(len, inner.values())) != len(set(nodes)):  # noqa: PLR2004
        return {}
    return {
        node: {**_HEALTHY, "leaf": leaf, "size": len(m), "all": len(nodes)}
        for leaf, m in inner.items()
        for node in m
    }


def struck(fault: Fault, leaves: Mapping[str, str]) -> set[str]:
    """Return the nodes whose descriptions a fault changes; ``leaves`` has the leaf of each.

    Without leaves all nodes are at one switch.
    """
    if fault.name not in NAMES:
        return {fault.node}
    own = leaves.get(fault.node)
    return {n for n, leaf in leaves.items() if fault.name not in _OF_A_LEAF or leaf == own}


def slow_uplinks(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    _tree(node, fault)["uplinks"] *= fault.left(SLOW)


def slow_spines(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    _tree(node, fault)["spines"] *= fault.left(SLOW)


def hash_flows(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    _tree(node, fault)["adaptive"] = False


def no_congestion_control(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    node["controls_congestion"] = False


def _tree(node: NodeFile, fault: Fault) -> dict[str, Any]:
    if not node["tree"]:
        raise inapplicable(fault, "the hostfile has no leaves: two groups or more with all nodes")
    found: dict[str, Any] = node["tree"]
    return found


_HEALTHY = {"uplinks": 1.0, "spines": 1.0, "adaptive": True}
SLOW_LEAF = "slow-leaf"
GRADED = frozenset({SLOW_LEAF, "oversubscribed-uplinks", "poor-scaling"})
NO_CONTROL = "no-congestion-control"
NAMES = GRADED | {"no-adaptive-routing", NO_CONTROL}
_OF_A_LEAF = (SLOW_LEAF, NO_CONTROL)
