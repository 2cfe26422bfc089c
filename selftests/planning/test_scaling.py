"""The steps of a scaling ladder, and their place in a plan."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from testing.core_values import ROOT, cluster

from railgauge.cli import main
from railgauge.config import thresholds
from railgauge.planning import part, plan, scaling
from railgauge.planning.required import LevelScope, required_checks

H200 = thresholds.load("h200", ROOT / "thresholds")
TWO_LEAVES = {"a": ("a1", "a2", "a3", "a4"), "b": ("b1", "b2", "b3", "b4")}
EIGHT = (*TWO_LEAVES["a"], *TWO_LEAVES["b"])


def test_steps_double_within_a_leaf_and_across():
    assert scaling.steps(EIGHT, TWO_LEAVES) == {
        "within-4": ("a1", "a2", "a3", "a4"),
        "across-2": ("a1", "b1"),
        "across-4": ("a1", "b1", "a2", "b2"),
        "across-8": ("a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4"),
    }
    assert scaling.smallest(EIGHT, TWO_LEAVES) == ("a1", "a2")


@pytest.mark.parametrize(("count", "sizes"), [(2, []), (3, [3]), (4, [4]), (7, [4, 7])])
def test_without_leaves_the_nodes_are_taken_in_order(count, sizes):
    nodes = [f"n{number}" for number in range(count)]
    steps = scaling.steps(nodes, {})
    assert list(steps) == [f"nodes-{size}" for size in sizes]
    assert all(list(step) == nodes[: len(step)] for step in steps.values())
    assert list(scaling.smallest(nodes, {})) == nodes[:2]


def test_nodes_without_a_leaf_are_one_of_their_own():
    nodes = (*EIGHT, "c1")
    assert scaling.by_leaf(nodes, TWO_LEAVES) == {**TWO_LEAVES, scaling.NO_LEAF: ("c1",)}
    assert set(scaling.steps(nodes, TWO_LEAVES)["across-9"]) == {*nodes}


def test_neighbours_are_in_different_leaves():
    order = scaling.steps(EIGHT, TWO_LEAVES)["across-8"]
    assert all(one[0] != other[0] for one, other in pairwise(order))


def eight():
    return replace(cluster(*EIGHT), groups=TWO_LEAVES)


def scaled(level, of="scaling_all_reduce"):
    found = (d for d in required_checks(LevelScope(H200, eight(), level)) if d.key.way == "ratio")
    return {one.place: one.question for one in found if one.key.subject == of}


@pytest.mark.parametrize("variant", ["", "_tree", "_nvls"])
def test_each_step_is_compared_with_a_ring_over_the_smallest_one(variant):
    found = scaled(plan.level(H200, eight(), "signoff"), f"scaling_all_reduce{variant}")
    assert list(found) == ["within-4", "across-2", "across-4", "across-8"]
    others = {question.other for question in found.values()}
    assert {(one.measurement, one.nodes) for one in others} == {
        ("scaling_all_reduce", ("a1", "a2"))
    }  # fmt: skip
    assert all(question.case.nodes != ("a1", "a2") for question in found.values())


def test_other_levels_make_none():
    for name in ("smoke", "nightly"):
        assert not scaled(plan.level(H200, eight(), name))


def test_one_shard_makes_the_whole_ladder_and_some_nodes_make_none():
    whole = plan.level(H200, eight(), "signoff")
    made = [
        scaled(part.of_level(part.shard(f"{number}/3", eight()), whole)) for number in (1, 2, 3)
    ]
    assert [len(found) for found in made] == [0, 0, 4]
    only = part.LevelPart(EIGHT, TWO_LEAVES, only=("a1",), partners=("a2",))
    assert not scaled(part.of_level(only, whole))


def test_the_plan_shows_the_most_runs_that_are_added(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    most = scaling.most_runs(4, 2) + 2  # and each variant's step once more
    for level, added in (
        ("nightly", None),
        ("signoff", {"most": most, "estimate_s": (most + 1) * 40}),
    ):
        main(["plan", "--hostfile", "hostfiles/lab-h200.yaml", "--level", level, "--json"])
        assert json.loads(capsys.readouterr().out)["follow_ups"].get("scaling") == added


@pytest.mark.parametrize(
    ("variant", "logged"), [("", "TUNING"), ("_tree", "TUNING"), ("_nvls", "INIT,TUNING")]
)
def test_the_library_is_asked_to_log_what_shows_the_algorithm(variant, logged):
    level = plan.level(H200, eight(), "signoff")
    made = plan.case_on(
        H200.measurements[f"scaling_all_reduce{variant}"], "signoff", level.ladder.smallest, None
    )
    (command,) = plan.commands(made, H200, eight(), 0)
    assert command.environment["NCCL_DEBUG_SUBSYS"] == logged
