"""The checks that a level requires, and the report of those that were not measured."""

from __future__ import annotations

import json
from typing import Any

import pytest
from testing.acceptance import BARE, HOMELAB, ONE_PAIR, SMOKE, Project, Runs, Scenario, assert_sound
from testing.fewer import measuring

WRITE = (
    "tests/network/test_rdma.py::test_bandwidth[host_write_bandwidth-viper:columbia-mlx5_0-8MiB]"
)
NARROW = ("-k", "locked_memory or test_bandwidth and write_bandwidth")


# The last one has one repeat at every level, and is not at smoke.
FEW = measuring(
    "connectx4-homelab",
    *("host_write_bandwidth", "host_send_bandwidth", "host_send_latency", "host_write_latency"),
)


def limit(**settings: Any) -> Any:
    def change(document: dict[str, Any]) -> None:
        document["measurements"]["host_write_bandwidth"]["limits"][0].update(settings)

    def few(project: Project) -> None:
        FEW(project)
        project.edit_platform("connectx4-homelab", change)

    return few


def alone(project: Project) -> None:
    FEW(project)
    project.write(
        "alone.yaml",
        "cluster: alone\nplatform: connectx4-homelab\ntransport: lab\nnodes: [viper]\n",
    )


SCENARIOS = {
    "signoff": Scenario((*HOMELAB, "--level", "signoff", "--lab-nodes", "2", *BARE), FEW),
    "record-only": Scenario(ONE_PAIR, limit(record_only=True)),
    "record-only-n2": Scenario((*ONE_PAIR, "-n", "2"), limit(record_only=True)),
    "marginal": Scenario(ONE_PAIR, limit(marginal=0.5)),
    "alone": Scenario(("--hostfile", "alone.yaml", *SMOKE), alone),
    "rounds-1": Scenario(
        (*HOMELAB, "--level", "nightly", "--rounds", "1", "--lab-nodes", "4"), FEW
    ),
    "narrow": Scenario((*ONE_PAIR, *BARE, *NARROW), FEW),
    "narrow-n2": Scenario((*ONE_PAIR, *BARE, *NARROW, "-n", "2"), FEW),
    "nothing-left": Scenario((*ONE_PAIR, "-k", "no_such_test")),
    "first-failure": Scenario((*ONE_PAIR, *BARE, "-x", "--lab-fault", "governor@columbia"), FEW),
    "collect-only": Scenario((*ONE_PAIR, "--collect-only", "-q")),
}


def whole(runs: Runs) -> int:
    """The number of items of the level."""
    return len(runs["marginal"].items)


@pytest.mark.parametrize("name", ["record-only", "record-only-n2"])
def test_a_limit_under_calibration_never_accepts(runs: Runs, name: str) -> None:
    run = runs[name]
    assert_sound(run)
    assert run.code == 10
    assert run.verdict["verdict"] == "incomplete"
    assert run.counts == {"passed": whole(runs) - 1, "record_only": 1}
    assert "1 record only" in run.words
    line = next(line for line in run.measurements if line["id"] == WRITE)
    assert line["outcome"] == "record_only"
    assert line["values"]
    for text in (run.junit[WRITE].message, str(run.allure[WRITE]["statusDetails"])):
        assert "record only" in text
        assert line["measured"] in text
    assert "record only" in " ".join(run.html_rows[WRITE].split())


def test_a_marginal_value_is_accepted_and_counted(runs: Runs) -> None:
    run = runs["marginal"]
    assert_sound(run)
    assert run.code == 0
    assert run.verdict["verdict"] == "accepted"
    assert run.counts == {"passed": whole(runs) - 1, "marginal": 1}
    assert "1 marginal" in run.words
    assert "marginal" in run.html_rows[WRITE]
    assert run.junit[WRITE].outcome == "passed"


def test_one_node_has_a_preflight_only(runs: Runs) -> None:
    run = runs["alone"]
    assert_sound(run)
    assert run.code == 0
    assert all(item_id.startswith("tests/preflight/") for item_id in run.outcomes)
    assert not run.transcripts
    assert run.verdict["coverage"]["pairs"] == {"tested": 0, "declared": 0}
    for measurement in ("host_write_bandwidth", "host_send_latency"):
        assert "no pair" in run.verdict["not_applicable"][measurement]
        assert measurement in run.html
    assert "not applicable here: " in run.words


def test_one_round_measures_each_node_once_and_is_less_than_the_level(runs: Runs) -> None:
    run = runs["rounds-1"]
    assert_sound(run)
    assert run.code == 10
    less = "level nightly reduced by --rounds 1: 2 of 4 pairs"
    assert f"({less}, no GPU): INCOMPLETE (SIMULATED evidence), asserted" in run.words
    assert run.verdict["scope"] == f"{less}, no GPU"
    asserted = run.verdict["counts"]["asserted"]
    assert (
        f"INCOMPLETE: asserted {asserted} of {asserted + 1}, 1 not run ({less}, no GPU)" in run.html
    )
    printed = {one.get("name"): one.get("value") for one in run.junit_suite.iter("property")}
    assert printed["scope"] == f"{less}, no GPU"
    assert less in json.loads((run.latest / "allurerc.json").read_text())["name"]
    assert run.counts["not_run"] == 1
    assert '"id": "pairs::rounds[all]"' in (run.latest / "records.jsonl").read_text()
    pairs = {case.partition("[")[2].split("-")[0] for case in run.transcripts}
    assert len(pairs) == 2
    nodes = [node for pair in pairs for node in pair.split(":")]
    assert sorted(nodes) == sorted(run.environment["nodes"])
    assert run.verdict["coverage"]["pairs"] == {"tested": 2, "declared": 6}


def test_every_repeat_is_kept_as_a_sample(runs: Runs) -> None:
    run = runs["signoff"]
    assert_sound(run)
    assert run.code == 0, run.output
    measured = [line for line in run.measurements if line["unit"]]
    assert len(measured) > 20
    platform = json.loads((run.latest / "thresholds.json").read_text(encoding="utf-8"))
    levels = {name: one["levels"]["signoff"] for name, one in platform["measurements"].items()}
    for line in measured:
        assert len(line["values"]) == levels[line["subject"]].get("repeats", 1)
    assert {len(data["runs"]) for data in run.transcripts.values()} == {1, 3}
    for line in (line for line in measured if len(line["values"]) > 1):
        worst = max if line["metric"].startswith("lat_") else min
        assert float(line["measured"].split()[0]) == pytest.approx(worst(line["values"]), rel=1e-3)
        assert "worst of 3" in line["measured"]


@pytest.mark.parametrize("name", ["narrow", "narrow-n2"])
def test_what_was_left_out_is_counted_and_told(runs: Runs, name: str) -> None:
    run = runs[name]
    assert_sound(run)
    assert run.code == 10
    kept = 3 + len(run.at_end)
    assert run.counts == {"passed": kept, "not_run": whole(runs) - kept}


def test_nothing_left_is_not_accepted(runs: Runs) -> None:
    run = runs["nothing-left"]
    assert run.code == 5
    assert not (run.latest / "verdict.json").exists()
    assert not (run.latest / "cluster.json").exists()


def test_stopping_at_the_first_failure_leaves_the_rest_not_run(runs: Runs) -> None:
    run = runs["first-failure"]
    assert run.code == 1
    assert run.verdict["verdict"] == "rejected"
    assert run.counts["failed"] == 1
    assert sum(run.counts.values()) == whole(runs)
    assert run.counts["not_run"] == whole(runs) - run.verdict["counts"]["asserted"]


def test_collecting_leaves_nothing_behind(runs: Runs) -> None:
    run = runs["collect-only"]
    assert run.code == 0
    assert WRITE in run.stdout
    assert not (run.project.folder / "reports").exists()
