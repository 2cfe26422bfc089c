"""Rounds of disjoint pairs that leave nobody out, and pairings by choice."""

from collections import Counter

import pytest
from core_values import ROOT, document, put, with_gpus
from hypothesis import given
from hypothesis import strategies as st

from railgauge import thresholds
from railgauge.model import Pair
from railgauge.pairing import choose, ring, rounds, tournament
from railgauge.thresholds.model import PairLevel

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
def test_a_whole_tournament_meets_every_pair_exactly_once(count):
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
def test_every_node_meets_as_many_different_partners_as_asked_for(count, length):
    """With an odd number some meet one more: the round that makes up for the bye is for all."""
    nodes = named(count)
    met = partners(tournament(nodes, length))
    wanted = min(length, count - 1)
    for node in nodes:
        assert len(met[node]) == len(set(met[node]))
        assert len(met[node]) - wanted in ({0, 1} if count % 2 else {0})


@given(st.integers(2, 65), st.integers(1, 70))
def test_no_more_rounds_than_are_needed(count, length):
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
def test_in_two_rounds_of_an_even_tournament_every_node_sends_and_receives(count):
    turns = tournament(named(count), 2)
    sources = {pair.source for pairs in turns for pair in pairs}
    targets = {pair.target for pairs in turns for pair in pairs}
    assert len(sources | targets) == count


@given(st.integers(3, 65))
def test_in_a_ring_every_node_sends_once_and_receives_once(count):
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
    assert rounds(nodes, PairLevel("all")) == tournament(nodes)
    assert rounds(nodes, PairLevel("tournament", 2)) == tournament(nodes, 2)
    assert rounds(nodes, PairLevel("ring"), 3) == tournament(nodes, 3)
    assert rounds(nodes, PairLevel("all", 1)) == tournament(nodes)
    assert len(rounds(nodes, PairLevel("tournament", 99))) == 5


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
def test_host_memory_has_one_path_a_nic(metax, choice):
    assert [str(pairing) for pairing in choose(metax, "host", choice)] == ["mlx5_0", "mlx5_1"]


def test_a_nic_far_from_every_gpu_is_measured_all_the_same(tmp_path):
    doc = with_gpus(document())
    doc["hardware"]["affinity"] = {"0": {"mlx5_0": "SYS"}, "1": {"mlx5_0": "NODE"}}
    platform = thresholds.load("bench", put(tmp_path / "thresholds", doc))
    assert [str(pairing) for pairing in choose(platform, "gpu", "one_per_nic")] == ["gpu1-mlx5_0"]
    assert choose(platform, "gpu", "near") == ()
