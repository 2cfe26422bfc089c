"""The lab's fabric of leaves and spines: pairs are fine, and what crosses uplinks shares them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from testing.fault_bench import OF_FABRIC

from railgauge.core.errors import BadInput
from railgauge_lab import fabric_faults, faults, platforms
from railgauge_lab.sim import algorithms, fault_timing, tree

LEAVES = {f"leaf{one}": tuple(f"n{one}{node}" for node in range(4)) for one in range(3)}
NAMES = tuple(node for nodes in LEAVES.values() for node in nodes)
ACROSS = [node for nodes in zip(*LEAVES.values(), strict=True) for node in nodes]


def fabric(*texts: str) -> dict[str, dict[str, Any]]:
    """The nodes with these faults, as a lab has them."""
    places = fabric_faults.trees({**LEAVES, "all": NAMES}, NAMES)
    rails = {"fabric": [f"mlx5_{number}" for number in range(8)]}
    nodes = {
        name: {"name": name, "tree": places[name], "seed": 7, "collectives": rails}
        for name in NAMES
    }
    leaves = {name: place["leaf"] for name, place in places.items()}
    for fault in (faults.parse(text, NAMES) for text in texts):
        for name in fabric_faults.struck(fault, leaves):
            faults.apply(fault, nodes[name], {"faults": {}})
    return nodes


def share(
    nodes: dict[str, dict[str, Any]],
    names: list[str],
    op: str = "all_reduce",
    algorithm: str = "Ring",
) -> float:
    return round(tree.share([nodes[name] for name in names], op, algorithm), 4)


@pytest.mark.parametrize("op", ["all_reduce", "alltoall", "broadcast"])
@pytest.mark.parametrize("algorithm", ["Ring", "Tree"])
def test_a_healthy_fabric_carries_everything(op: str, algorithm: str) -> None:
    nodes = fabric()
    for names in (ACROSS, list(NAMES)):
        assert share(nodes, names, op, algorithm) == 1.0


@pytest.mark.parametrize("name", sorted(OF_FABRIC))
def test_pairs_do_not_show_it(name: str) -> None:
    nodes = fabric(f"{name}@n10")
    assert {share(nodes, [a, b]) for a in NAMES for b in NAMES if a != b} == {1.0}
    assert share(nodes, ACROSS) <= 0.6


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


def test_a_fault_of_the_fabric_is_drawn_once_for_all_nodes(tmp_path: Path) -> None:
    def acting(*, is_of_fabric: bool) -> list[set[int]]:
        found = []
        for _ in range(32):
            fault_timing._of_fabric.clear()  # a process is one measurement
            found.append({fault_timing._acting(node(name, is_of_fabric)) for name in NAMES[:4]})
        return found

    def node(name: str, is_of_fabric: bool) -> dict[str, Any]:
        timing = ["slow-leaf@n10,p=0.5", 0.5, 0.0, is_of_fabric]
        return {"seed": 3, "name": name, "root": f"{tmp_path}/{name}/root", "timings": [timing]}

    drawn = acting(is_of_fabric=True)
    assert {len(every) for every in drawn} == {1}
    assert {number for every in drawn for number in every} == {0, 1}
    assert max(len(every) for every in acting(is_of_fabric=False)) == 2


def test_flows_that_a_hash_puts_onto_one_uplink_share_it() -> None:
    nodes = fabric("no-adaptive-routing")
    one_of_each = [leaf[0] for leaf in LEAVES.values()]
    assert share(nodes, one_of_each) == 1.0, "a leaf sends one flow in each rail, and gets one"
    assert share(nodes, list(LEAVES["leaf1"])) == 1.0, "nothing leaves the leaf"
    assert share(nodes, ACROSS) in (0.5, 0.3333, 0.25)
    others = [share(nodes, [*ACROSS[turn:], *ACROSS[:turn]]) for turn in (3, 6)]
    assert others == [share(nodes, ACROSS)] * 2, "a hash is the same for the same flows"
    assert 0.25 <= share(nodes, ACROSS, "alltoall") < 1.0


def test_trees_share_uplinks_as_a_ring_does() -> None:
    nodes = fabric("oversubscribed-uplinks")
    assert 0.6 <= share(nodes, ACROSS, algorithm="Tree") < 1.0
    assert share(nodes, ACROSS[:2], algorithm="Tree") == 1.0


@pytest.mark.parametrize("count", [2, 3, 5, 8, 31])
def test_two_trees_reach_every_node_and_share_the_work(count: int) -> None:
    edges = algorithms.edges(count)
    assert {node for edge in edges for node in edge} == set(range(count))
    assert sorted(edges) == sorted((b, a) for a, b in edges)
    assert len(edges) == 4 * (count - 1)
    sent = [sum(a == node for a, _ in edges) for node in range(count)]
    assert max(sent) == {2: 2, 3: 3}.get(count, 4)


def test_what_a_node_sends_for_an_all_reduce() -> None:
    assert algorithms.sent("Ring", 2, 16) == pytest.approx(1.875)
    assert algorithms.sent("Tree", 2, 16) == 1.0
    assert algorithms.sent("NVLSTree", 8, 64) == 2.0


def test_without_leaves_it_is_refused() -> None:
    node = platforms.describe(platforms.load("h200"), "n10", 1, 0)
    for name in OF_FABRIC:
        with pytest.raises(BadInput, match="the hostfile has no leaves"):
            faults.apply(faults.parse(name, NAMES), node, {"faults": {}})
    assert not fabric_faults.trees({"some": NAMES[:4]}, NAMES)
    assert not fabric_faults.trees({"some": NAMES[:4], "others": NAMES[4:8]}, NAMES)
