"""Runs with a soak on the lab: what it finds, that it can be carried on, and what it leaves."""

from __future__ import annotations

import json
import shutil
import signal
from datetime import datetime
from pathlib import Path

import pytest
from test_interrupt import Running, processes_of
from testing.acceptance import (
    BARE,
    BARE_SMOKE,
    HOMELAB,
    ONE_PAIR,
    SMOKE,
    TCPX,
    Project,
    Run,
    Runs,
    Scenario,
    assert_clean,
    assert_sound,
)
from testing.fewer import measuring
from testing.waiting import wait_until

TWO_ROUNDS = ("--soak", "2rounds")
FEW = measuring(
    "connectx4-homelab", "host_write_bandwidth", "host_read_bandwidth", "host_send_latency"
)
OF_GPUS = measuring("h100-tcpx", "node_all_reduce", "pair_all_reduce")
SCENARIOS = {
    "healthy": Scenario(
        (*HOMELAB, *SMOKE, "--soak", "5rounds", "--soak-seed", "3", "-n", "2"), FEW
    ),
    "slow": Scenario(
        (*HOMELAB, *BARE_SMOKE, *TWO_ROUNDS, "--lab-fault", "slow-node@columbia"), FEW
    ),
    "lost": Scenario(
        (*HOMELAB, *SMOKE, *TWO_ROUNDS, "--lab-fault", "unreachable@columbia"), FEW, waits=True
    ),
    "throttled": Scenario(
        (*TCPX, *SMOKE, *BARE, "--lab-nodes", "2", *TWO_ROUNDS, "--lab-fault", "throttle@tcpx02:3"),
        OF_GPUS,
    ),
    "corrupt": Scenario((*TCPX, *BARE_SMOKE, "--lab-nodes", "2", *TWO_ROUNDS, "--lab-fault",
                         "corrupt@tcpx02"), OF_GPUS),
    "part": Scenario((*ONE_PAIR, *BARE, "--soak", "1round", "-x", "-k", "nothing or port_state",
                      "--lab-fault", "port-down@viper"), FEW),
}  # fmt: skip
END_LIMIT_S = 60.0


def soak_items(run: Run) -> dict[str, str]:
    return {item: found for item, found in run.at_end.items() if item.startswith("soak/")}


def test_a_healthy_soak_is_accepted_and_in_every_report(runs: Runs) -> None:
    run = runs["healthy"]
    assert_sound(run)
    assert (run.code, run.verdict["verdict"]) == (0, "accepted"), run.output[-3000:]
    passed = {f"soak/{number:04d}/passed::round[all]" for number in range(1, 6)}
    own = {"soak/time::soaked[all]", "soak/drift::drift[all]"}
    assert soak_items(run) == dict.fromkeys(passed | own, "passed")
    for shown in (run.junit, run.allure, run.html_rows):
        assert {item for item in shown if item.startswith("soak/")} == passed | own
    soak = run.verdict["soak"]
    assert (soak["seed"], soak["whole_rounds"], soak["events"]) == (3, 5, 0)
    assert soak["is_reached"] is True
    assert [one["number"] for one in soak["rounds"]] == [1, 2, 3, 4, 5]
    assert "soak: round 5, " in run.output
    assert "95% confidence fewer than one in" in run.words
    assert ">1 to 5</td>" in run.html


def test_partners_change_from_round_to_round(runs: Runs) -> None:
    folder = runs["healthy"].latest / "soak"
    each = [
        sorted(path.name for path in one.glob("transcripts/*.json"))
        for one in sorted(folder.iterdir())
    ]
    assert len(each) == 5
    assert len({tuple(names) for names in each}) > 1
    assert len({len(names) for names in each}) == 1


def test_a_fault_of_the_ladder_is_one_cause_that_the_soak_shows_too(runs: Runs) -> None:
    run = runs["slow"]
    assert_sound(run)
    assert run.verdict["verdict"] == "rejected"
    (cause,) = run.verdict["causes"]
    assert (cause["cause"], cause["where"]["node"]) == ("slow-node", "columbia")
    assert "and in the soak: " in cause["says"]
    assert "in 2 of 2 rounds of the soak, first in round 1 at " in cause["says"]
    assert {item.split("/")[1] for item in cause["evidence"] if item.startswith("soak/")} == {
        "0001",
        "0002",
    }
    assert run.verdict["soak"]["events"] == 2


def test_a_node_that_is_gone_does_not_end_the_soak_of_the_others(runs: Runs) -> None:
    run = runs["lost"]
    assert_sound(run)
    assert run.verdict["verdict"] == "incomplete"
    assert [cause["cause"] for cause in run.verdict["causes"]] == ["node-unreachable"]
    assert run.verdict["soak"]["whole_rounds"] == 2
    found = soak_items(run)
    assert found["soak/0002/passed::round[all]"] == "passed"
    blocked = {item for item, outcome in found.items() if outcome == "blocked"}
    assert blocked
    assert all("columbia" in item for item in blocked)


def test_a_throttled_gpu_is_found_in_every_round(runs: Runs) -> None:
    run = runs["throttled"]
    assert_sound(run)
    found = [(c["cause"], c["where"]["node"], c["where"]["device"]) for c in run.verdict["causes"]]
    assert found == [("gpu-throttled", "tcpx02", "gpu3")]
    assert soak_items(run)["soak/0002/gpus::telemetry[tcpx02]"] == "failed"
    assert soak_items(run)["soak/time::soaked[tcpx01:tcpx02]"] == "passed"


def test_a_ladder_that_was_stopped_has_no_soak(runs: Runs) -> None:
    for name in ("corrupt", "part"):
        run = runs[name]
        assert_clean(run)
        assert run.verdict["verdict"] == "rejected"
        (outcome,) = soak_items(run).values()
        assert outcome == "not_run"
        assert "soak: not begun" in run.output
        assert not (run.latest / "soak").exists()


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (("--soak", "24"), "neither a time nor a number of rounds"),
        (("--soak-seed", "3"), "needs --soak"),
        (("--soak", "1h", "--soak-below", "often"), "no rate of events"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(
    project: Project, options: tuple[str, ...], printed: str
) -> None:
    run = project.run(*HOMELAB, *SMOKE, *options)
    assert run.code == 4
    assert printed in run.output
    assert_no_traceback(run)


def assert_no_traceback(run: Run) -> None:
    assert "Traceback" not in run.output


# --- interrupted, and carried on ---


class Soaking(Running):
    """A run in the second round of its soak."""

    def __init__(self, project: Project) -> None:
        super().__init__(project, *SOAKED, level=())
        first = project.folder / "reports" / "latest" / "soak" / "0002" / "transcripts"
        wait_until(lambda: len(list(first.glob("*.json"))) >= 2, END_LIMIT_S, "the second round")


SOAKED = (*ONE_PAIR, *BARE, "--soak", "3rounds", "--soak-seed", "5")


def test_an_interrupted_soak_is_incomplete_and_can_be_carried_on(project: Project) -> None:
    running = Soaking(project)
    run = running.end(signal.SIGINT)
    assert run.code == 2, run.output[-2000:]
    assert_clean(run)
    assert run.verdict["verdict"] == "incomplete"
    assert processes_of(running.temporary) == []
    assert "soak: interrupted in round 2; --resume carries it on" in run.output
    found = soak_items(run)
    assert found["soak/time::soaked[viper:columbia]"] == "not_run"
    assert found["soak/0001/passed::round[viper:columbia]"] == "passed"
    assert found["soak/0002/passed::round[viper:columbia]"] == "not_run"
    earlier = run.verdict["soak"]

    resumed = project.run("--resume", "latest", *BARE)
    assert resumed.code == 0, resumed.output[-3000:]
    soak = resumed.verdict["soak"]
    assert (soak["seed"], soak["whole_rounds"]) == (5, 3)
    assert soak["rounds"][0] == earlier["rounds"][0], "taken over, not measured again"
    assert soak["soaked_s"] == pytest.approx(sum(map(lasted, soak["stretches"])), abs=0.01)
    assert_disjoint(soak["stretches"])
    again = project.run("--resume", "latest", *BARE)
    assert again.verdict["soak"]["stretches"] == soak["stretches"], "no hour counts twice"


def lasted(stretch: list[str]) -> float:
    began, ended = map(datetime.fromisoformat, stretch)
    return (ended - began).total_seconds()


def assert_disjoint(stretches: list[list[str]]) -> None:
    flat = [moment for stretch in stretches for moment in stretch]
    assert flat == sorted(flat)


def test_another_soak_than_that_of_the_run_is_refused(runs: Runs) -> None:
    run = runs["slow"]
    other = run.project.run("--resume", "latest", "--soak", "3rounds", *BARE)
    assert other.code == 4
    assert "--soak is 3rounds here and was 2rounds in the run" in other.output


def test_evidence_of_a_soak_that_was_changed_is_not_taken_over(runs: Runs, tmp_path: Path) -> None:
    run = runs["slow"]
    copy = tmp_path / run.latest.resolve().name
    shutil.copytree(run.latest, copy)
    path = next((copy / "soak" / "0001" / "transcripts").glob("*.json"))
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(data), encoding="utf-8")
    other = run.project.run("--resume", str(copy), *BARE)
    assert other.code == 4
    assert "was changed after the run wrote it" in other.words
