"""Error counters and kernels' logs of whole runs: faults, rights, workers, interrupts, replays."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from test_confirm import bundled
from test_interrupt import Running
from test_resume import killed_after
from testing.acceptance import (
    BARE,
    HOMELAB,
    ONE_PAIR,
    SMOKE,
    TCPX,
    Project,
    Run,
    Runs,
    Scenario,
    assert_sound,
)
from testing.fewer import EXPECTED, measuring

from railgauge.cli import main

NODES = ("viper", "columbia")
GROWTH = {f"counters::growth[{node}]" for node in NODES}
LOGS = {f"kernel::kernel_log[{node}]" for node in NODES}
SLOW_AND_LOSSY = ("--lab-fault", "retransmits@columbia")
BELOW_NO_LIMIT = ("--lab-fault", "retransmits@columbia=1%")
TWO = (*SMOKE, *BARE, "--lab-nodes", "2")
FEW = measuring(
    "connectx4-homelab", "host_write_bandwidth", "host_send_bandwidth", "host_send_latency"
)
OF_GPUS = measuring("h100-tcpx", "node_all_reduce", expected=(*EXPECTED, "gpu_ecc_errors"))
OF_PAIRS = measuring("h100-tcpx", "gpu_host_bandwidth", "node_all_reduce", "pair_all_reduce")
STOPPED = (*BARE, "-x", "--lab-fault", "governor@columbia")
DENIED = ("--lab-fault", "kernel-log-denied@columbia")
XID = ("--lab-fault", "gpu-xid@tcpx02:3", "--lab-fault", "slow-gpu@tcpx02:3")


def with_root(project: Project) -> None:
    FEW(project)
    path = project.folder / "hostfiles" / "lab-connectx4-homelab.yaml"
    path.write_text(path.read_text() + "become: sudo -n\n")


SCENARIOS = {
    "healthy": Scenario(ONE_PAIR, FEW),
    "workers": Scenario((*ONE_PAIR, "-n", "2"), FEW),
    "lossy": Scenario((*HOMELAB, *SMOKE, *BARE, *SLOW_AND_LOSSY), FEW),
    "fast": Scenario((*HOMELAB, *SMOKE, *BARE, *BELOW_NO_LIMIT), FEW),
    "later": Scenario((*HOMELAB, *SMOKE, *BARE, "--lab-fault", "pcie-replays@columbia,after=1s")),
    "gpu": Scenario((*TCPX, *TWO, "--lab-fault", "ecc-growth@tcpx02:3"), OF_GPUS),
    "unreachable": Scenario((*ONE_PAIR, *BARE, "--lab-fault", "unreachable@columbia"), FEW),
    "denied": Scenario((*ONE_PAIR, *BARE, *DENIED), FEW),
    "root": Scenario((*ONE_PAIR, *BARE, *DENIED), with_root),
    "lost": Scenario((*ONE_PAIR, *BARE, "--lab-fault", "kernel-log-lost@columbia"), FEW),
    "stopped": Scenario((*ONE_PAIR, *STOPPED), FEW),
    "stopped workers": Scenario((*ONE_PAIR, *STOPPED, "-n", "2"), FEW),
    "xid": Scenario((*TCPX, *TWO, *XID), OF_PAIRS),
}  # fmt: skip


def causes(run: Run) -> list[tuple[str, str, str]]:
    found = [(one["cause"], one["where"]) for one in run.verdict["causes"]]
    return [(cause, where["node"], where["device"]) for cause, where in found]


@pytest.mark.parametrize("name", ["healthy", "workers"])
def test_each_node_has_an_item_of_its_counters_in_every_report(runs: Runs, name: str) -> None:
    run = runs[name]
    assert_sound(run)
    assert run.verdict["verdict"] == "accepted"
    assert {run.junit[item].outcome for item in GROWTH} == {"passed"}
    assert set(run.allure) >= GROWTH
    assert set(run.html_rows) >= GROWTH
    lines = [one for one in run.measurements if one["id"] in GROWTH]
    assert {one["metric"] for one in lines} >= {"rdma_retransmits", "pcie_corrected"}
    assert {one["measured"].partition(" (")[0] for one in lines} == {"none"}


@pytest.mark.parametrize("name", ["healthy", "workers"])
def test_the_first_reading_is_before_every_measurement_and_the_last_after_it(
    runs: Runs, name: str
) -> None:
    run = runs[name]
    for node in NODES:
        path = run.latest / "transcripts" / f"growth_{node}.json"
        ((before, after),) = json.loads(path.read_text(encoding="utf-8"))["runs"]
        times = [
            one["started_at"]
            for case in run.transcripts.values()
            for repeat in case["runs"]
            for one in repeat
        ]
        assert before["started_at"] < min(times) <= max(times) < after["started_at"]


def test_what_is_slow_over_a_nic_that_loses_packets_has_that_one_cause(runs: Runs) -> None:
    run = runs["lossy"]
    assert_sound(run)
    assert causes(run) == [("link-retransmits", "columbia", "mlx5_0")]
    assert run.verdict["causes"][0]["explains"] > 0
    assert {run.junit[f"counters::growth[{node}]"].outcome for node in NODES} == {"failure"}


def test_losses_that_cost_too_little_to_miss_a_limit_are_found(runs: Runs) -> None:
    run = runs["fast"]
    assert causes(run) == [("link-retransmits", "columbia", "mlx5_0")]
    slow = [one for one in run.verdict["causes"][0]["misses"] if "bandwidth" in one]
    assert not slow


def test_errors_that_begin_during_the_run_are_found(runs: Runs) -> None:
    assert causes(runs["later"]) == [("pcie-errors", "columbia", "mlx5_0")]


def test_errors_of_a_gpu_that_grow_are_found_at_it(runs: Runs) -> None:
    run = runs["gpu"]
    assert_sound(run)
    assert causes(run) == [("gpu-memory-errors", "tcpx02", "gpu3")]
    assert "ecc_uncorrected by " in run.words


def test_a_node_that_was_never_reached_has_one_cause(runs: Runs) -> None:
    run = runs["unreachable"]
    assert_sound(run)
    assert causes(run) == [("node-unreachable", "columbia", "")]
    assert run.junit["counters::growth[columbia]"].outcome == "error"


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_after_ctrl_c_they_are_not_run(project: Project, options: tuple[str, ...]) -> None:
    run = Running(project, *options).end(signal.SIGINT)
    assert run.verdict["verdict"] == "incomplete"
    for item in ("counters::growth", "kernel::kernel_log"):
        nodes = ("viper", "columbia", "prometheus")
        assert {run.junit[f"{item}[{node}]"].outcome for node in nodes} == {"skipped"}
    assert not list((run.latest / "transcripts").glob("kernel_log*"))


def test_a_resumed_run_keeps_what_the_first_read_and_replays(
    project: Project, tmp_path: Path
) -> None:
    """The lab of the second run is another one: same boots and counters, other lines of the run."""
    killed_after(project, 2, *ONE_PAIR, *BARE)
    run = project.run("--resume", "latest", *BARE)
    assert_sound(run)
    assert (run.code, run.verdict["verdict"]) == (0, "accepted"), run.output
    path = run.latest / "transcripts" / "growth_columbia.json"
    first, own = json.loads(path.read_text(encoding="utf-8"))["runs"]
    assert [len(first), len(own)] == [1, 2]
    marks = (run.latest / "kernel_marks.jsonl").read_text(encoding="utf-8")
    assert len(marks.splitlines()) == 2
    path = bundled(run.latest, tmp_path / "run.railgauge")
    again = project.run(f"--replay={path}", *BARE)
    assert (again.code, again.verdict["verdict"]) == (0, "accepted"), again.output
    assert again.counts == run.counts


def test_a_replay_of_a_faulty_run_has_the_same_cause(
    runs: Runs, project: Project, tmp_path: Path
) -> None:
    run = runs["fast"]
    path = bundled(run.latest, tmp_path / "run.railgauge")
    again = project.run(f"--replay={path}", *BARE)
    assert causes(again) == causes(run) == [("link-retransmits", "columbia", "mlx5_0")]


@pytest.mark.parametrize("name", ["healthy", "workers"])
def test_each_node_has_an_item_of_its_log_in_every_report(runs: Runs, name: str) -> None:
    run = runs[name]
    assert_sound(run)
    assert run.verdict["verdict"] == "accepted"
    assert {run.junit[item].outcome for item in LOGS} == {"passed"}
    assert set(run.junit) >= LOGS
    assert set(run.allure) >= LOGS
    assert set(run.html_rows) >= LOGS
    lines = [one for one in run.measurements if one["id"] in LOGS]
    assert [one["measured"] for one in lines] == ["3 lines", "3 lines"]


def test_a_log_that_only_root_may_read_is_an_error(runs: Runs) -> None:
    run = runs["denied"]
    assert_sound(run)
    assert (run.verdict["verdict"], run.counts["error"]) == ("incomplete", 1)
    assert causes(run) == [("kernel-log-unread", "columbia", "")]
    assert "Operation not permitted" in run.words
    assert "become: sudo -n" in run.words


def test_root_reads_it(runs: Runs) -> None:
    assert runs["root"].verdict["verdict"] == "accepted"


def test_lost_lines_are_an_error(runs: Runs) -> None:
    run = runs["lost"]
    assert (run.verdict["verdict"], run.counts["error"]) == ("incomplete", 1)
    assert causes(run) == [("kernel-log-unread", "columbia", "")]


@pytest.mark.parametrize("way", ["stopped", "stopped workers"])
def test_a_run_that_stops_itself_reads_the_logs(runs: Runs, way: str, tmp_path: Path) -> None:
    run = runs[way]
    assert_sound(run)
    assert run.verdict["verdict"] == "rejected"
    assert {run.junit[item].outcome for item in LOGS | GROWTH} == {"passed"}
    path = bundled(run.latest, tmp_path / "stopped.railgauge")
    assert main(["verify", str(path), "--unsigned"]) == 1


def test_what_is_slow_on_a_gpu_with_an_xid_has_the_xid_as_its_cause(runs: Runs) -> None:
    run = runs["xid"]
    assert_sound(run)
    assert causes(run) == [("gpu-xid", "tcpx02", "gpu3")]
    assert run.verdict["causes"][0]["explains"] > 0
    assert " ran): " in run.words  # the measurement at that moment
