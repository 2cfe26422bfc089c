"""The lab's fabric of leaves and spines: pairs are fine, and what crosses uplinks shares them."""

from __future__ import annotations

from typing import Any

import pytest
from testing.fault_bench import OF_FABRIC

from railgauge.core.errors import BadInput
from railgauge_lab import fabric_faults, faults, platforms
from railgauge_lab.sim import tree

LEAVES = {f"leaf{one}": tuple(f"n{one}{node}" for node in range(4)) for one in range(3)}
NAMES = tuple(node for nodes in LEAVES.values() for node in nodes)
ACROSS = [node for nodes in zip(*LEAVES.values(), strict=True) for node in nodes]


def fabric(*texts: str) -> dict[str, dict[str, Any]]:
    """The nodes with these faults, as a lab has them."""
    places = fabric_faults.trees({**LEAVES, "all": NAMES}, NAMES)
    nodes = {name: {"name": name, "tree": places[name]} for name in NAMES}
    leaves = {name: place["leaf"] for name, place in places.items()}
    for fault in (faults.parse(text, NAMES) for text in texts):
        for name in fabric_faults.struck(fault, leaves):
            faults.apply(fault, nodes[name], {"faults": {}})
    return nodes


def share(nodes: dict[str, dict[str, Any]], names: list[str], op: str = "all_reduce") -> float:
    return round(tree.share([nodes[name] for name in names], op), 4)


@pytest.mark.parametrize("op", ["all_reduce", "alltoall", "broadcast"])
def test_a_healthy_fabric_carries_everything(op: str) -> None:
    nodes = fabric()
    assert share(nodes, ACROSS, op) == share(nodes, list(NAMES), op) == 1.0


@pytest.mark.parametrize("name", sorted(OF_FABRIC))
def test_pairs_do_not_show_it(name: str) -> None:
    nodes = fabric(f"{name}@n10")
    assert {share(nodes, [a, b]) for a in NAMES for b in NAMES if a != b} == {1.0}
    assert share(nodes, ACROSS) == 0.6


def test_a_slow_leaf_slows_what_crosses_its_uplinks_alone() -> None:
    nodes = fabric("slow-leaf@n10=50%")
    assert share(nodes, ACROSS) == 0.5
    assert share(nodes, list(NAMES)) == 1.0, "in the order of the leaves a ring leaves each once"
    assert share(nodes, list(LEAVES["leaf1"])) == 1.0
    assert share(nodes, [n for n in ACROSS if n not in LEAVES["leaf1"]]) == 1.0
    sent = 4 * 8 / 11  # four nodes send to eight of eleven others
    assert share(nodes, list(NAMES), "alltoall") == round(2 / sent, 4)


def test_oversubscribed_uplinks_are_those_of_every_leaf() -> None:
    nodes = fabric("oversubscribed-uplinks")
    for own in LEAVES.values():
        assert share(nodes, [n for n in ACROSS if n not in own]) == 0.6


def test_poor_scaling_is_that_of_the_whole() -> None:
    nodes = fabric("poor-scaling=25%")
    assert share(nodes, ACROSS) == 0.75
    assert share(nodes, ACROSS[:9]) == 1.0


def test_without_leaves_it_is_refused() -> None:
    node = platforms.describe(platforms.load("h200"), "n10", 1, 0)
    for name in OF_FABRIC:
        with pytest.raises(BadInput, match="the hostfile has no leaves"):
            faults.apply(faults.parse(name, NAMES), node, {"faults": {}})
    assert not fabric_faults.trees({"some": NAMES[:4]}, NAMES)
    assert not fabric_faults.trees({"some": NAMES[:4], "others": NAMES[4:8]}, NAMES)
