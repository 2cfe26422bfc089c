"""Behind a gate: wrong results are found, what stays unknown is reported, partners are replaced."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testing.acceptance import BARE, METAX, SMOKE, Project, Run, Runs, Scenario, assert_sound

from railgauge.cli import main
from railgauge.judging.confirmation import FILE, FOLDER
from railgauge.run.store import Store

SOME = ("-k", "test_nics or write_bandwidth or all_reduce")
SLOW = ("--lab-fault", "slow-node@mx02")
CORRUPT = ("--lab-fault", "port-down@mx01", "--lab-fault", "corrupt@mx05:3")
PATH = (*METAX, *SMOKE, *BARE, *SOME, "--lab-nodes", "5", "--rounds", "2", *CORRUPT,
        "--lab-fault", "slow-path@mx03:mx04")  # fmt: skip
SCENARIOS = {
    "corrupt": Scenario(
        (*METAX, *SMOKE, *BARE, *SOME, "-n", "2", *SLOW, "--lab-fault", "corrupt@mx02:3")
    ),
    "stopped": Scenario((*PATH, "-n", "0")),
    "stopped in a worker": Scenario((*PATH, "-n", "2")),
    "stopped at once": Scenario((*PATH, "--at-once", "4")),
    "stopped in workers at once": Scenario((*PATH, "-n", "2", "--at-once", "4")),
    "gated": Scenario((*METAX, *SMOKE, *SOME, *SLOW, "--lab-fault", "port-down@mx03")),
}


def records(run: Run) -> Iterator[dict[str, Any]]:
    text = (run.latest / "records.jsonl").read_text(encoding="utf-8")
    yield from map(json.loads, text.splitlines())


def causes(run: Run) -> dict[str, dict[str, Any]]:
    return {cause["cause"]: cause for cause in run.verdict["causes"]}


# --- corruption behind a speed gate ---


def test_wrong_results_of_a_slow_node_are_found(runs: Runs) -> None:
    run = runs["corrupt"]
    assert_sound(run)
    found = causes(run)
    assert found["data-corruption"]["where"]["node"] == "mx02"
    assert found["data-corruption"]["confidence"] == "certain"
    assert found["slow-node"]["where"]["node"] == "mx02"


def test_the_rest_of_a_run_that_corruption_stopped_did_not_run(runs: Runs) -> None:
    run = runs["corrupt"]
    counts = run.verdict["counts"]
    assert (counts["error"], counts["not_run"] > 0) == (0, True)
    left = [one for one in records(run) if one["outcome"] == "not_run" and ".py::" in one["id"]]
    own = {one["reason"] for one in left}
    assert all(why.startswith("the run was stopped: data corruption: mx02: ") for why in own), own


@pytest.mark.parametrize("name", ["stopped", "stopped in a worker"])
def test_a_run_that_corruption_stopped_still_asks_good_nodes(runs: Runs, name: str) -> None:
    """Both partners of the slow path are fine with others, which the stopped run had not tried."""
    run = runs[name]
    assert_sound(run)
    found = causes(run)
    assert found["data-corruption"]["where"]["node"] == "mx05"
    where = found["slow-path"]["where"]
    assert {where["node"], where["peer"]} == {"mx03", "mx04"}
    assert found["slow-path"]["confidence"] == "likely"
    assert "confirm: the plan does not tell some suspects apart" in run.output


# --- everything else behind a gate ---


def test_results_behind_a_gate_are_checked_and_the_speed_is_not_judged(runs: Runs) -> None:
    run = runs["gated"]
    assert_sound(run)
    checked = [one for one in records(run) if one["reason"].endswith("; its results are right")]
    assert {tuple(one["nodes"]) for one in checked} >= {("mx02",), ("mx03",), ("mx02", "mx01")}
    for one in checked:
        assert (one["outcome"], [j["metric"] for j in one["judgements"]]) == ("blocked", ["wrong"])
    apart = [one for one in records(run) if "mx03" in one["nodes"] and len(one["nodes"]) > 1]
    assert not any(one["judgements"] for one in apart), "nothing runs over a port that is down"


def test_what_stays_unknown_is_in_every_report(runs: Runs) -> None:
    run = runs["gated"]
    (line,) = [one for one in run.verdict["unknown"] if one["nodes"] == "mx03"]
    assert line["what"][0] == (
        "right results of its collectives with other nodes and in groups of nodes"
    )
    assert line["why"].startswith("blocked by link-down (mx03, mlx5_0)")
    assert line["what"][0] in run.words
    assert line["what"][0] in run.html
    plan = run.verdict["unknown"][-1]
    assert plan["nodes"] == "mx[01-04]"
    assert plan["what"][0] == "14 of 16 pairings of GPU and NIC"
    printed = (run.latest / "allure-results" / "environment.properties").read_text(encoding="utf-8")
    assert "unknown of mx03: right results" in printed


def test_a_good_node_takes_the_place_of_the_gated_partner(runs: Runs) -> None:
    run = runs["gated"]
    cause = causes(run)["slow-node"]
    assert (cause["where"]["node"], cause["confidence"]) == ("mx02", "likely")
    assert cause["confirmation"]["state"] == "confirmed"
    asked = [json.loads(line) for line in (run.latest / FILE).read_text().splitlines()]
    cases = [one["question"]["case"] for one in asked]
    assert {"mx04"} < {node for case in cases for node in case["nodes"]}
    gated = [case["pairing"]["nic"] for case in cases if "mx03" in case["nodes"]]
    assert "mlx5_0" not in gated, "its port is down"
    assert "confirm: the plan does not tell some suspects apart" in run.output


def bundled(folder: Path, path: Path) -> Path:
    assert main(["bundle", str(folder), "-o", str(path), "--unsigned"]) == 0
    return path


def first(runs: Runs, name: str) -> Path:
    """The folder of the scenario's own run; later ones of the project are left out."""
    return min(p.parent for p in runs[name].project.folder.glob("reports/2*/invocation.json"))


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_a_bundle_of_it_verifies(runs: Runs, tmp_path: Path, name: str) -> None:
    path = bundled(first(runs, name), tmp_path / "run.railgauge")
    assert main(["verify", str(path), "--unsigned"]) == 1


def test_a_replay_says_the_same(runs: Runs, tmp_path: Path) -> None:
    path = bundled(first(runs, "gated"), tmp_path / "run.railgauge")
    replay = runs["gated"].project.run(f"--replay={path}", *SOME, *BARE)
    was = json.loads((first(runs, "gated") / "verdict.json").read_text(encoding="utf-8"))
    for part in ("causes", "counts", "unknown"):
        assert replay.verdict[part] == was[part]


def test_a_run_that_is_carried_on_measures_nothing_twice(runs: Runs, tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    shutil.copytree(runs["gated"].project.folder, project.folder, symlinks=True)
    asked = (first(runs, "gated") / FILE).read_text().splitlines()
    run = project.run("--resume", first(runs, "gated").name, *METAX)
    assert causes(run) == {
        cause["cause"]: cause
        for cause in json.loads((first(runs, "gated") / "verdict.json").read_text())["causes"]
    }
    taken = (run.latest / "resumed.jsonl").read_text(encoding="utf-8")
    assert taken.count(f'"case": "{FOLDER}/') == len(asked)


def test_wrong_results_cannot_be_hidden_behind_a_gate(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The transcript of a blocked collective is replaced by one with a wrong value."""
    folder = tmp_path / "run"
    shutil.copytree(first(runs, "gated"), folder)
    (path,) = (folder / "transcripts").glob("node_all_reduce_mx02*.json")
    text = path.read_text(encoding="utf-8")
    assert "Out of bounds values : 0 OK" in text
    path.write_text(text.replace("Out of bounds values : 0 OK", "Out of bounds values : 4 FAILED"))
    Store(folder).write_manifest({})  # or it would tell of the change
    assert main(["bundle", str(folder), "-o", str(tmp_path / "x"), "--unsigned"]) == 2
    printed = capsys.readouterr().err
    assert "is recorded as blocked, but its evidence gives failed" in printed
