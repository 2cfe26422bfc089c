"""The scaling ladder on a lab of four leaves: pairs are fine, and more nodes are not.

The fault matrix has slow uplinks of all leaves, and slow spines.
"""

import pytest
from testing.acceptance import Run, Runs, Scenario, assert_sound
from testing.fewer import measuring

from railgauge.bundle import archive, check
from railgauge.cli import main

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
    "healthy": (),
}


def scenario(*faults: str) -> Scenario:
    words = [word for fault in faults for word in ("--lab-fault", fault)]
    some = ("scaling_all_reduce", "pair_all_reduce")
    return Scenario(
        ("--hostfile", "hostfiles/leaves.yaml", "--level", "signoff", "--rounds", "2", *words),
        measuring(
            "h200", *some, repeats=1, more=lambda p: p.write("hostfiles/leaves.yaml", LEAVES)
        ),
    )


SCENARIOS = {name: scenario(*faults) for name, faults in FAULTS.items()}


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
    assert failed == {"tests/collective/test_scaling.py::test_scaling[across-8]"}
    assert all(one["confirmation"]["state"] == "confirmed" for one in run.verdict["causes"])


def test_a_healthy_fabric_scales(runs: Runs) -> None:
    run = runs["healthy"]
    assert_sound(run)
    assert not causes(run)
    assert "confirm:" not in run.output
    steps = {item for item in run.items if "test_scaling" in item}
    assert {item.partition("[")[2] for item in steps} == {
        "across-2]", "across-4]", "across-8]"
    }  # fmt: skip


def test_a_slow_node_explains_the_steps_that_it_is_in(runs: Runs) -> None:
    run = runs["node"]
    assert_sound(run)
    assert [(cause, where) for cause, where, _ in causes(run)] == [("slow-node", "h200-06")]
    assert "confirm: 1 of 1: scaling" not in run.output


def test_a_bundle_names_the_same_leaf(runs: Runs, tmp_path) -> None:
    path = tmp_path / "run.railgauge"
    run = runs["leaf"]
    assert main(["bundle", str(run.latest), "-o", str(path), "--unsigned"]) == 0
    with archive.opened(path) as held:
        (cause,) = check.verify(held).verdict.causes
    assert cause.to_json() == run.verdict["causes"][0]
