"""Rounds of disjoint node pairs, and GPU/NIC pairings."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.core_values import ROOT, document, put, with_gpus

from railgauge.config import thresholds
from railgauge.config.thresholds.model import PairLevel
from railgauge.core.model import Pair
from railgauge.diagnosis.facts.pairwise import diagnose_pairs
from railgauge.planning.direction import directed
from railgauge.planning.pairing import (
    ALTERNATING,
    DIRECTED,
    choose,
    leaves,
    pair_count,
    ring,
    rounds,
    tournament,
)

counts = st.integers(1, 65)


def named(count):
    return [f"n{number:02}" for number in range(count)]


def partners(turns):
    met = {}
    for pairs in turns:
        for pair in pairs:
            met.setdefault(pair.source, []).append(pair.target)
            met.setdefault(pair.target, []).append(pair.source)
    return met


def disjoint(pairs):
    nodes = [node for pair in pairs for node in (pair.source, pair.target)]
    return len(nodes) == len(set(nodes))


@given(counts)
def test_a_whole_tournament_has_each_pair_exactly_once(count):
    nodes = named(count)
    turns = tournament(nodes)
    met = Counter(frozenset((pair.source, pair.target)) for pairs in turns for pair in pairs)
    assert set(met.values()) <= {1}
    assert len(met) == count * (count - 1) // 2
    assert all(len(pair) == 2 for pair in met)
    assert len(turns) == (0 if count == 1 else count - 1 + count % 2)


@given(counts, st.one_of(st.none(), st.integers(1, 70)))
def test_no_node_is_used_twice_in_a_round(count, length):
    assert all(disjoint(pairs) for pairs in tournament(named(count), length))


@given(st.integers(2, 65), st.integers(1, 70))
def test_each_node_has_as_many_different_partners_as_rounds(count, length):
    """With an odd number of nodes some have one more, because of the extra round for byes."""
    nodes = named(count)
    met = partners(tournament(nodes, length))
    wanted = min(length, count - 1)
    for node in nodes:
        assert len(met[node]) == len(set(met[node]))
        assert len(met[node]) - wanted in ({0, 1} if count % 2 else {0})


@given(st.integers(2, 65), st.integers(1, 70))
def test_there_are_no_more_rounds_than_needed(count, length):
    turns = tournament(named(count), length)
    assert len(turns) == min(length + count % 2, count - 1 + count % 2)
    if count % 2:
        short = partners(turns[:-1])
        assert any(len(short.get(node, ())) < min(length, count - 1) for node in named(count))


@given(st.integers(1, 32).map(lambda half: 2 * half + 1))
def test_with_an_odd_number_another_node_has_the_bye_each_time(count):
    nodes = named(count)
    byes = [
        set(nodes) - {node for pair in pairs for node in (pair.source, pair.target)}
        for pairs in tournament(nodes)
    ]
    assert all(len(bye) == 1 for bye in byes)
    assert len(set.union(*byes)) == count


@given(st.integers(3, 65))
def test_in_a_ring_each_node_sends_once_and_receives_once(count):
    nodes = named(count)
    turns = ring(nodes)
    pairs = [pair for each in turns for pair in each]
    assert sorted(pair.source for pair in pairs) == nodes
    assert sorted(pair.target for pair in pairs) == nodes
    assert all(disjoint(each) for each in turns)
    assert len(turns) == 2 + count % 2


@pytest.mark.parametrize("scheme", [tournament, ring])
def test_two_nodes_have_one_pair_and_one_node_none(scheme):
    assert scheme(["a", "b"]) == ((Pair("a", "b"),),)
    assert scheme(["a"]) == ()


def test_pairing_is_the_same_every_time():
    assert tournament(named(9)) == tournament(named(9))


def test_a_level_names_its_scheme_and_rounds_override_it():
    nodes = named(6)
    assert rounds(nodes, PairLevel("ring")) == ring(nodes)
    assert rounds(nodes, PairLevel("all")) == directed(tournament(nodes))
    assert rounds(nodes, PairLevel("tournament", 2)) == directed(tournament(nodes, 2))
    assert rounds(nodes, PairLevel("ring"), 3) == directed(tournament(nodes, 3))
    assert rounds(nodes, PairLevel("all", 1)) == directed(tournament(nodes))
    assert len(rounds(nodes, PairLevel("tournament", 99))) == 5


# --- leaves ---


@st.composite
def clusters(draw, least=1):
    """Nodes in any order, and leaves of any sizes that hold some or all of them."""
    nodes = draw(st.permutations(named(draw(st.integers(least, 48)))))
    sizes = draw(st.lists(st.integers(1, 17), min_size=2, max_size=12))
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    cut = [tuple(nodes[at : at + size]) for at, size in zip(starts, sizes, strict=True)]
    return nodes, {f"leaf{number:02}": leaf for number, leaf in enumerate(cut) if leaf}


def same_leaf(nodes, groups, count):
    """How many partners of each node are in its own leaf; nodes in no leaf count as one leaf."""
    of = {node: name for name, group in groups.items() for node in group}
    met = partners(tournament(nodes, count, tuple(groups.values())))
    return {node: sum(of.get(node) == of.get(other) for other in met[node]) for node in nodes}


@given(clusters(least=2), st.integers(1, 20))
def test_leaves_change_no_property_of_a_tournament(cluster, length):
    nodes, groups = cluster
    turns = tournament(nodes, length, tuple(groups.values()))
    met, wanted = partners(turns), min(length, len(nodes) - 1)
    assert all(disjoint(pairs) for pairs in turns)
    assert len(turns) == len(tournament(nodes, length))
    for node in nodes:
        assert len(met[node]) == len(set(met[node]))
        assert len(met[node]) - wanted in ({0, 1} if len(nodes) % 2 else {0})


@given(clusters(least=4))
def test_of_two_partners_one_is_in_the_same_leaf_and_one_in_another(cluster):
    """Except one node of each odd leaf, and clusters with most of their nodes in one leaf."""
    nodes, groups = cluster
    nodes = nodes[len(nodes) % 2 :]
    left = {name: tuple(n for n in group if n in nodes) for name, group in groups.items()}
    sizes = [len(group) for group in left.values()]
    sizes.append(len(nodes) - sum(sizes))
    if max(sizes) > len(nodes) / 2 or len(nodes) == 2:
        return
    uneven = [node for node, same in same_leaf(nodes, left, 2).items() if same != 1]
    assert len(uneven) == sum(size % 2 for size in sizes)


def test_a_leaf_with_half_of_the_nodes_may_be_declared_at_any_position():
    nodes = named(16)
    groups = {"a": tuple(nodes[:2]), "half": tuple(nodes[2:10]), "c": tuple(nodes[10:])}
    assert set(same_leaf(nodes, groups, 2).values()) == {1}


@pytest.mark.parametrize(("small", "big"), [(2, 6), (10, 30), (4, 44)])
def test_each_node_outside_the_largest_leaf_has_a_partner_in_it(small, big):
    nodes = named(small + big)
    same = same_leaf(nodes, {"small": tuple(nodes[:small]), "big": tuple(nodes[small:])}, 2)
    assert all(same[node] == 1 for node in nodes[:small])
    assert sum(same[node] == 1 for node in nodes[small:]) == small


@pytest.mark.parametrize("count", [3, 4, 6, 8])
def test_more_rounds_balance_partners_inside_and_outside_the_leaf(count):
    nodes = named(256)
    groups = {f"leaf{at:03}": tuple(nodes[at : at + 32]) for at in range(0, 256, 32)}
    same = same_leaf(nodes, groups, count)
    assert all(0 < found < count for found in same.values())
    assert sum(same.values()) == pytest.approx((count // 2) * len(nodes), rel=0.12)
    assert sum(2 * found - count in (-1, 0, 1) for found in same.values()) >= 0.8 * len(nodes)


def test_a_single_round_pairs_nodes_of_different_leaves():
    nodes = named(64)
    groups = {f"leaf{at}": tuple(nodes[at : at + 8]) for at in range(0, 64, 8)}
    assert set(same_leaf(nodes, groups, 1).values()) == {0}


@given(clusters(least=2))
def test_all_pairs_and_rings_ignore_leaves(cluster):
    nodes, groups = cluster
    every = directed(tournament(nodes))
    assert rounds(nodes, PairLevel("all"), None, groups) == every
    assert rounds(nodes, PairLevel("tournament", 99), None, groups) == every
    assert rounds(nodes, PairLevel("ring"), None, groups) == ring(nodes)


@given(clusters(least=4), st.data())
def test_two_rounds_name_one_slow_node_at_every_size(cluster, data):
    """One round leaves two suspects."""
    nodes, groups = cluster
    slow = data.draw(st.sampled_from(nodes))
    for count, named_slow in ((2, (slow,)), (1, ())):
        pairs = [
            p for turn in rounds(nodes, PairLevel("tournament", count), None, groups) for p in turn
        ]
        if count == 1 and len(nodes) % 2:
            continue  # the round for byes gives most nodes a second partner
        found = diagnose_pairs({(p.source, p.target): slow in (p.source, p.target) for p in pairs})
        assert found.slow == named_slow
        assert found.pairs == ()


@pytest.mark.parametrize(
    ("scheme", "first"),
    [(DIRECTED, Pair("c", "b")), (ALTERNATING, Pair("b", "c"))],
    ids=["directed", "alternating"],
)
def test_the_earlier_scheme_of_directions_is_kept(scheme, first):
    """Bundles and interrupted runs of earlier versions use ``ALTERNATING``."""
    groups = {"x": ("a", "b"), "y": ("c", "d")}
    assert rounds(list("abcd"), PairLevel("tournament", 2), None, groups, scheme) == (
        (Pair("a", "d"), first),
        (Pair("b", "a"), Pair("d", "c")),
    )


def test_the_order_within_a_group_does_not_matter():
    nodes = named(12)
    one, other = tuple(nodes[:6]), tuple(nodes[6:])
    level = PairLevel("tournament", 2)
    plain = rounds(nodes, level, None, {"x": one, "y": other})
    assert rounds(nodes, level, None, {"x": one[::-1], "y": other}) == plain


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ({}, ""),
        ({"x": "abc"}, ""),
        ({"x": "abc", "y": "def"}, "xy"),
        ({"x": "ab", "y": "de"}, "xy"),
        ({"x": "abc", "y": "cde"}, ""),
        ({"pod": "abcd", "x": "ab", "y": "cd", "all": "abcdef", "z": "ef"}, "xyz"),
        ({"all": "abcdef", "x": "abc"}, ""),
        ({"x": "ab", "twin": "ba", "y": "cd"}, "xy"),
    ],
    ids=["none", "one", "all", "partial", "overlap", "larger", "one-and-all", "twins"],
)
def test_leaves_are_the_smallest_disjoint_groups(groups, found):
    given_groups = {name: tuple(group) for name, group in groups.items()}
    assert "".join(leaves(list("abcdef"), given_groups)) == found
    if not found:
        level = PairLevel("tournament", 2)
        plain = directed(tournament(list("abcdef"), 2))
        assert rounds(list("abcdef"), level, None, given_groups) == plain


# --- GPU/NIC pairings ---


@pytest.fixture(scope="module")
def metax():
    return thresholds.load("metax-c500", ROOT / "thresholds")


def test_all_pairings_are_every_gpu_with_every_fabric_nic(metax):
    found = choose(metax, "gpu", "all")
    assert len(found) == 16
    assert {pairing.nic for pairing in found} == {"mlx5_0", "mlx5_1"}
    assert Counter(pairing.distance for pairing in found) == {"near": 8, "far": 8}


def test_near_pairings_share_a_switch(metax):
    assert [str(pairing) for pairing in choose(metax, "gpu", "near")] == [
        "gpu0-mlx5_0", "gpu1-mlx5_0", "gpu2-mlx5_0", "gpu3-mlx5_0",
        "gpu4-mlx5_1", "gpu5-mlx5_1", "gpu6-mlx5_1", "gpu7-mlx5_1",
    ]  # fmt: skip


def test_one_per_nic_takes_the_nearest_gpu(metax):
    assert [str(pairing) for pairing in choose(metax, "gpu", "one_per_nic")] == [
        "gpu3-mlx5_0", "gpu4-mlx5_1",
    ]  # fmt: skip


@pytest.mark.parametrize("choice", ["all", "near", "one_per_nic"])
def test_host_memory_has_one_path_per_nic(metax, choice):
    assert [str(pairing) for pairing in choose(metax, "host", choice)] == ["mlx5_0", "mlx5_1"]


def test_a_nic_far_from_all_gpus_is_still_measured(tmp_path):
    doc = with_gpus(document())
    doc["hardware"]["affinity"] = {"0": {"mlx5_0": "SYS"}, "1": {"mlx5_0": "NODE"}}
    platform = thresholds.load("bench", put(tmp_path / "thresholds", doc))
    assert [str(pairing) for pairing in choose(platform, "gpu", "one_per_nic")] == ["gpu1-mlx5_0"]
    assert choose(platform, "gpu", "near") == ()


@pytest.mark.parametrize("count", [None, 1, 2, 5, 50])
@pytest.mark.parametrize("level", [PairLevel("all"), PairLevel("ring"), PairLevel("tournament", 2)])
@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 7, 8, 30])
def test_the_pairs_are_counted_before_they_are_made(nodes, level, count):
    """So that too many of them are refused and not made."""
    made = rounds([f"n{i}" for i in range(nodes)], level, count)
    assert pair_count(nodes, level, count) == sum(map(len, made))
