"""A pair beside a load, as a sign-off measures it: healthy, and without congestion control."""

from testing.acceptance import Run, Runs, Scenario, assert_sound
from testing.bundle_bench import assert_bundle_names_the_cause
from testing.fewer import measuring

LEAVES = """\
cluster: lab-h200
platform: h200
transport: lab
nodes: h200-[01-06]
groups: {leaf01: "h200-[01-02]", leaf02: "h200-[03-04]", leaf03: "h200-[05-06]"}
fabric: {none: "a lab simulates nodes and their links, and no switches that could be asked"}
"""
FAULTS = {
    "healthy": (),
    "leaf": ("no-congestion-control@h200-03",),
    "slow node": ("slow-node@h200-05",),
}


def scenario(*faults: str) -> Scenario:
    words = [word for fault in faults for word in ("--rounds", "2", "--lab-fault", fault)]
    some = ("group_congestion", *(("pair_all_reduce",) if faults else ()))
    return Scenario(
        ("--hostfile", "hostfiles/leaves.yaml", "--level", "signoff", *words),
        measuring(
            "h200", *some, repeats=1, more=lambda p: p.write("hostfiles/leaves.yaml", LEAVES)
        ),
    )


SCENARIOS = {name: scenario(*faults) for name, faults in FAULTS.items()}
PLACES = ("leaf01-leaf02", "leaf02-leaf03", "leaf03-leaf01")
TEST = "tests/collective/test_congestion.py::test_congestion"


def causes(run: Run) -> list[tuple[str, str]]:
    return [(one["cause"], one["where"]["node"]) for one in run.verdict["causes"]]


def test_a_healthy_fabric_is_accepted(runs: Runs) -> None:
    run = runs["healthy"]
    assert_sound(run)
    assert run.verdict["verdict"] == "accepted"
    assert {f"{TEST}[{place}]" for place in PLACES} <= set(run.items)


def test_the_leaf_without_congestion_control_is_named(runs: Runs) -> None:
    run = runs["leaf"]
    assert_sound(run)
    assert run.verdict["verdict"] == "rejected"
    assert run.with_outcome("failed") == {f"{TEST}[{place}]" for place in PLACES[:2]}
    assert causes(run) == [("congestion-impact", "h200-[03-04]")]


def test_a_slow_node_slows_no_other_pair(runs: Runs) -> None:
    run = runs["slow node"]
    assert_sound(run)
    assert causes(run) == [("slow-node", "h200-05")]


def test_a_bundle_names_the_same_leaf(runs: Runs, tmp_path) -> None:
    assert_bundle_names_the_cause(runs["leaf"], tmp_path)
