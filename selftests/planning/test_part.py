"""Shards: together they are exactly the plan, and the first ones share no node."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from testing.core_values import ROOT, cluster, without_closing_items

from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.planning import part, sample
from railgauge.planning.part import LevelPart
from railgauge.planning.required import SUBNET, LevelScope, required_checks
from railgauge.verdict.decision import not_applicable

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
    steps = (("step", name) for name in level.ladder.steps)
    scans = (("scan", node) for node in level.scan.nodes)
    return [*facts, *alone, *level.pairs, *groups, *steps, *scans]


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
        return [check.question for check in required_checks(LevelScope(PLATFORM, declared, one))]

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
    parts = [part.shard(f"{i}/10", declared) for i in range(1, 11)]
    used = [set(part.used(part.of_level(one, every))) for one in parts]
    found = [part.together_with(one, every) for one in parts]
    assert found == [
        [i for i, nodes in enumerate(used, 1) if i != one.shard and nodes.isdisjoint(own)]
        for one, own in zip(parts, used, strict=True)
    ]
    assert {2, 3, 4} <= set(found[0])
    assert (6 in found[4], 8 in found[6]) == (True, True)


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


def test_a_shard_without_nodes_of_the_sample_measures_none_of_its_nodes_alone():
    platform = without_closing_items(thresholds.load("metax-c500", ROOT / "thresholds"))
    declared = site(64, 8)
    every = sample.level(platform, declared, "smoke")
    assert len(every.sample) < 8
    parts = shards(declared, every, 36)
    measured = [node for one in parts for node in one.measured]
    assert Counter(measured) == Counter(every.sample)
    assert any(one.nodes and not one.measured for one in parts)


def test_the_level_is_that_of_all_nodes_though_the_part_knows_some():
    declared = site(8, 4)
    every = whole(declared)
    third = part.shard("3/3", declared)
    used = part.used(part.of_level(third, every))
    fewer = part.within(declared, used[:3])
    assert whole(part.whole_cluster(third, fewer)) == every


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "1/3/5", "-1/3", "1/ 3", "٣/٣"])
def test_an_invalid_shard_is_refused(text):
    with pytest.raises(BadInput, match="shard"):
        part.shard(text, site(4))


def test_a_part_has_a_text_that_names_it():
    assert LevelPart((), {}, (), 2, 4).what == "shard 2/4"
    assert part.notes(None) == ()


def test_only_one_shard_reports_that_the_subnet_was_not_scanned():
    platform = without_closing_items(thresholds.load("h200", ROOT / "thresholds"))
    declared = site(8, 4)
    every = sample.level(platform, declared, "signoff")
    assert every.scan.is_missing
    scans = {name for name in not_applicable(platform, every) if name in SUBNET}
    assert not scans
    first, second, _ = shards(declared, every, 3)
    assert first.scan.is_missing
    assert not second.scan.is_missing
    assert set(SUBNET) <= not_applicable(platform, second).keys()


# --- some nodes ---


def only(declared, level, nodes, partners, **more):
    asked = LevelPart(tuple(n.name for n in declared.nodes), declared.groups, only=nodes, **more)
    return part.of_level(replace(asked, partners=partners), level)


def test_nodes_are_measured_with_partners_alone_in_the_directions_of_the_level():
    declared = site(6)
    every = whole(declared, "signoff")
    found = only(declared, every, ("n001",), ("n000", "n002", "n003"))
    assert found.nodes == found.measured == ("n001",)
    assert {frozenset((p.source, p.target)) for p in found.pairs} == {
        frozenset(("n001", partner)) for partner in ("n000", "n002", "n003")
    }
    assert set(found.pairs) <= set(every.pairs)
    assert part.used(found) == ("n001", *(n for n in part.used(found) if n != "n001"))
    assert not found.groups
    assert not found.scan.nodes


def test_two_nodes_to_qualify_meet_each_other_too():
    declared = site(6)
    found = only(declared, whole(declared, "signoff"), ("n001", "n002"), ("n003",))
    met = {frozenset((p.source, p.target)) for p in found.pairs}
    assert met == {frozenset(two) for two in [("n001", "n002"), ("n001", "n003"), ("n002", "n003")]}


def test_a_group_is_measured_if_all_its_others_are_partners():
    declared = site(6)
    every = whole(declared, "signoff")
    rest = tuple(f"n00{i}" for i in (0, 2, 3, 4, 5))
    assert set(only(declared, every, ("n001",), rest).groups) == {"all"}
    assert not only(declared, every, ("n001",), rest[:-1]).groups


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_node_meets_as_many_partners_as_the_level_gives_it_and_named_ones_all(rounds):
    declared = site(8)
    every = whole(declared, "nightly", rounds)
    own = {n for p in every.pairs if "n001" in (p.source, p.target) for n in (p.source, p.target)}
    strangers = tuple(n.name for n in declared.nodes if n.name not in own)
    for partners in (strangers, tuple(sorted((own | set(strangers)) - {"n001"}))):
        found = only(declared, every, ("n001",), partners)
        assert len(found.pairs) == min(rounds, len(partners))
    known = {n for p in found.pairs for n in (p.source, p.target)}
    assert known == own, "the level's own partners come first"
    assert len(only(declared, every, ("n001",), strangers, each=True).pairs) == len(strangers)
