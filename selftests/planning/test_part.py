"""Shards: together they are exactly the plan, and the first ones share no node."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from testing.core_values import ROOT, cluster, without_closing_items

from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.planning import part, sample
from railgauge.planning.demand import DemandInputs, demands
from railgauge.planning.part import LevelPart

PLATFORM = without_closing_items(thresholds.load("connectx4-homelab", ROOT / "thresholds"))


def site(count, leaf=0, outside=0):
    """A cluster of ``count`` nodes in leaves of ``leaf``; the last ``outside`` are in none."""
    nodes = [f"n{number:03}" for number in range(count)]
    inside = nodes[: count - outside]
    starts = range(0, len(inside), leaf) if leaf else ()
    return cluster(*nodes, groups={f"leaf{at}": tuple(inside[at : at + leaf]) for at in starts})


def whole(declared, level="smoke", rounds=None):
    return sample.level(PLATFORM, declared, level, rounds)


def shards(declared, level, count):
    return [part.of_level(part.shard(f"{i}/{count}", declared), level) for i in range(1, count + 1)]


def places(level):
    facts = (("facts", node) for node in level.nodes)
    alone = (("alone", node) for node in level.measured)
    groups = (("group", name) for name in level.groups)
    scans = (("scan", node) for node in level.scanners)
    return [*facts, *alone, *level.pairs, *groups, *scans]


@settings(max_examples=150, deadline=None)
@given(
    count=some.integers(1, 40),
    leaf=some.integers(0, 12),
    outside=some.integers(0, 5),
    number=some.integers(1, 20),
    level=some.sampled_from(["smoke", "nightly", "signoff"]),
)
def test_the_shards_together_are_exactly_the_plan(count, leaf, outside, number, level):
    declared = site(count, leaf, min(outside, count))
    every = whole(declared, level)
    parts = shards(declared, every, number)
    assert Counter(place for one in parts for place in places(one)) == Counter(places(every))


@pytest.mark.parametrize("level", ["smoke", "signoff"])
@pytest.mark.parametrize("number", [1, 2, 3, 5, 6])
def test_the_questions_of_the_shards_are_those_of_the_level(level, number):
    declared = site(9, 3)
    every = whole(declared, level)

    def asked(one):
        return [demand.question for demand in demands(DemandInputs(PLATFORM, declared, one))]

    found = [question for one in shards(declared, every, number) for question in asked(one)]
    assert Counter(found) == Counter(asked(every))


def test_leaves_are_measured_at_the_same_time_and_then_the_pairs_between_them():
    declared = site(8, 4)
    leaf0, leaf1, across = shards(declared, whole(declared), 3)
    assert leaf0.nodes == tuple(f"n00{i}" for i in range(4))
    assert set(part.used(leaf0)).isdisjoint(part.used(leaf1))
    assert not across.nodes
    assert not across.measured
    assert across.pairs
    assert all(p.source < "n004" or p.target < "n004" for p in across.pairs)
    assert set(across.groups) == {"all"}


def test_shards_of_disjoint_pairs_of_leaves_share_no_node():
    declared = site(16, 4)
    every = whole(declared, "signoff")
    found = set(part.together(every, 10))
    assert {(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4), (5, 6), (7, 8)} <= found


def test_a_block_is_split_by_rounds_when_there_are_more_shards():
    declared = site(8)
    one, two = shards(declared, whole(declared, "signoff"), 2)
    assert one.nodes == tuple(f"n00{i}" for i in range(8))
    assert not two.nodes
    assert len(one.pairs) + len(two.pairs) == 28
    assert abs(len(one.pairs) - len(two.pairs)) <= 4


def test_a_shard_that_measures_no_node_alone_does_not_fall_back_to_all():
    declared = site(8, 4)
    across = shards(declared, whole(declared), 3)[2]
    assert across.measured == ()


def test_the_level_is_that_of_all_nodes_though_the_part_knows_some():
    declared = site(8, 4)
    every = whole(declared)
    third = part.shard("3/3", declared)
    used = part.used(part.of_level(third, every))
    fewer = part.within(declared, used[:3])
    assert whole(part.whole_cluster(third, fewer)) == every


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "1/3/5", "-1/3", "1/ 3", "٣/٣"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(BadInput, match="shard"):
        part.shard(text, site(4))


def test_a_part_says_what_it_is():
    assert LevelPart((), {}, (), 2, 4).what == "shard 2/4"
    assert part.notes(None) == ()
