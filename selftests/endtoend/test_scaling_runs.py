"""The scaling ladder on a lab of four leaves: pairs are fine, and more nodes are not.

The fault matrix has slow uplinks of all leaves, and slow spines.
"""

import pytest
from testing.acceptance import Run, Runs, Scenario, assert_sound
from testing.bundle_bench import assert_bundle_names_the_cause
from testing.fewer import measuring

LEAVES = """\
cluster: lab-h200
platform: h200
transport: lab
nodes: h200-[01-08]
groups:
  leaf01: h200-[01-02]
  leaf02: h200-[03-04]
  leaf03: h200-[05-06]
  leaf04: h200-[07-08]
fabric: {none: "a lab simulates nodes and their links, and no switches that could be asked"}
"""
FAULTS = {
    "leaf": ("slow-leaf@h200-04",),
    "two leaves": ("slow-leaf@h200-01", "slow-leaf@h200-06=45%"),
    "node": ("slow-node@h200-06",),
    "node and leaf": ("slow-node@h200-06", "slow-leaf@h200-03"),
    "healthy": (),
}
TWO_LEAVES = """\
cluster: lab-h200
platform: h200
transport: lab
nodes: h200-[01-06]
groups: {leaf01: "h200-[01-03]", leaf02: "h200-[04-06]"}
fabric: {none: "a lab simulates nodes and their links, and no switches that could be asked"}
"""
RING = "scaling_all_reduce"
LADDERS = (RING, f"{RING}_tree", f"{RING}_nvls")


def scenario(*faults: str, hostfile: str = LEAVES, ladders: tuple[str, ...] = (RING,)) -> Scenario:
    words = [word for fault in faults for word in ("--lab-fault", fault)]
    some = (*ladders, "pair_all_reduce")
    return Scenario(
        ("--hostfile", "hostfiles/leaves.yaml", "--level", "signoff", "--rounds", "2", *words),
        measuring(
            "h200", *some, repeats=1, more=lambda p: p.write("hostfiles/leaves.yaml", hostfile)
        ),
    )


def with_variable(setting: str) -> Scenario:
    """All ladders, with a variable of the site that overrides those of the measurements."""
    return scenario(hostfile=f"{LEAVES}environment: {{{setting}}}\n", ladders=LADDERS)


SCENARIOS = {
    **{name: scenario(*faults) for name, faults in FAULTS.items()},
    **{
        f"two: {name}": scenario(fault, hostfile=TWO_LEAVES)
        for name, fault in (("leaf", "slow-leaf@h200-04"), ("hash", "no-adaptive-routing"))
    },
    "ladders": scenario(ladders=LADDERS),
    "slow ladders": scenario("slow-leaf@h200-04", ladders=LADDERS),
    "all rings": with_variable("NCCL_ALGO: Ring"),
    "no nvls": with_variable('NCCL_NVLS_ENABLE: "0"'),
}


def causes(run: Run) -> list[tuple[str, str, str]]:
    found = run.verdict["causes"]
    return [(one["cause"], one["where"]["node"], one["confidence"]) for one in found]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("leaf", [("slow-leaf", "h200-[03-04]")]),
        ("two leaves", [("slow-leaf", "h200-[01-02]"), ("slow-leaf", "h200-[05-06]")]),
    ],
)
def test_the_place_is_named(runs: Runs, name: str, expected: list[tuple[str, str]]) -> None:
    run = runs[name]
    assert_sound(run)
    assert run.verdict["verdict"] == "rejected"
    assert causes(run) == [(cause, where, "likely") for cause, where in expected]
    failed = run.with_outcome("failed")
    assert failed == {f"tests/collective/test_scaling.py::test_scaling[{RING}-across-8]"}
    assert all(one["confirmation"]["state"] == "confirmed" for one in run.verdict["causes"])


def test_a_healthy_fabric_scales(runs: Runs) -> None:
    run = runs["healthy"]
    assert_sound(run)
    assert not causes(run)
    assert "confirm:" not in run.output
    steps = {item for item in run.items if "test_scaling" in item}
    assert {item.rpartition(f"{RING}-")[2] for item in steps} == {
        "across-2]", "across-4]", "across-8]"
    }  # fmt: skip


def test_a_slow_node_explains_the_steps_that_it_is_in(runs: Runs) -> None:
    run = runs["node"]
    assert_sound(run)
    assert [(cause, where) for cause, where, _ in causes(run)] == [("slow-node", "h200-06")]
    assert run.output.count(f": {RING} ") == 1, "one run without the node, which is fine"


def test_a_slow_node_hides_no_slow_leaf(runs: Runs) -> None:
    run = runs["node and leaf"]
    assert_sound(run)
    assert {(cause, where) for cause, where, _ in causes(run)} == {
        ("slow-node", "h200-06"), ("slow-leaf", "h200-[03-04]"),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["two: leaf", "two: hash"])
def test_of_two_leaves_what_is_between_them_is_named(runs: Runs, name: str) -> None:
    run = runs[name]
    assert_sound(run)
    assert run.verdict["verdict"] == "rejected"
    assert causes(run) == [("oversubscribed-uplinks", "", "likely")]


def of(run: Run, measurement: str) -> set[str]:
    """The outcomes of the steps of a ladder."""
    return {outcome for name, outcome in run.items.items() if f"[{measurement}-across" in name}


def test_each_ladder_of_a_healthy_fabric_passes(runs: Runs) -> None:
    run = runs["ladders"]
    assert_sound(run)
    assert not causes(run)
    assert [of(run, name) for name in LADDERS] == [{"passed"}] * 3


def test_a_slow_leaf_is_one_cause_of_all_ladders(runs: Runs) -> None:
    run = runs["slow ladders"]
    assert_sound(run)
    assert causes(run) == [("slow-leaf", "h200-[03-04]", "likely")]
    assert all("failed" in of(run, name) for name in LADDERS)


def test_a_ring_does_not_pass_as_a_tree(runs: Runs) -> None:
    run = runs["all rings"]
    assert_sound(run)
    assert [of(run, name) for name in LADDERS] == [{"passed"}, {"error"}, {"error"}]
    assert "algorithm: asked for Tree, the tool says RING" in run.words
    assert run.verdict["verdict"] == "incomplete"


def test_nvls_that_is_off_does_not_pass(runs: Runs) -> None:
    run = runs["no nvls"]
    assert_sound(run)
    assert [of(run, name) for name in LADDERS] == [{"passed"}, {"passed"}, {"error"}]
    assert run.verdict["verdict"] == "incomplete"


def test_a_bundle_names_the_same_leaf(runs: Runs, tmp_path) -> None:
    assert_bundle_names_the_cause(runs["leaf"], tmp_path)
