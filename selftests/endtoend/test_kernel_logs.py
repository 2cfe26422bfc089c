"""The kernels' logs of whole runs: read at the end, with faults, rights, workers and interrupts."""

from __future__ import annotations

import signal

import pytest
from test_interrupt import Running
from test_resume import killed_after
from testing.acceptance import (
    BARE,
    ONE_PAIR,
    SMOKE,
    TCPX,
    Project,
    Run,
    Runs,
    Scenario,
    assert_sound,
)
from testing.fewer import measuring

ITEMS = {f"kernel::kernel_log[{node}]" for node in ("viper", "columbia")}
BOTH_FAULTS = ("--lab-fault", "gpu-xid@tcpx02:3", "--lab-fault", "slow-gpu@tcpx02:3")


FEW = measuring("connectx4-homelab", "host_write_bandwidth", "host_send_latency")


def with_root(project: Project) -> None:
    FEW(project)
    path = project.folder / "hostfiles" / "lab-connectx4-homelab.yaml"
    path.write_text(path.read_text() + "become: sudo -n\n")


OF_GPUS = measuring("h100-tcpx", "gpu_host_bandwidth", "node_all_reduce", "pair_all_reduce")
SCENARIOS = {
    "healthy": Scenario(ONE_PAIR, FEW),
    "workers": Scenario((*ONE_PAIR, "-n", "2"), FEW),
    "denied": Scenario((*ONE_PAIR, *BARE, "--lab-fault", "kernel-log-denied@columbia"), FEW),
    "root": Scenario((*ONE_PAIR, *BARE, "--lab-fault", "kernel-log-denied@columbia"), with_root),
    "lost": Scenario((*ONE_PAIR, *BARE, "--lab-fault", "kernel-log-lost@columbia"), FEW),
    "unreachable": Scenario((*ONE_PAIR, *BARE, "--lab-fault", "unreachable@columbia"), FEW),
    "stopped": Scenario((*ONE_PAIR, *BARE, "-x", "--lab-fault", "governor@columbia"), FEW),
    "gpu": Scenario((*TCPX, *SMOKE, *BARE, "--lab-nodes", "2", *BOTH_FAULTS), OF_GPUS),
}


@pytest.mark.parametrize("name", ["healthy", "workers"])
def test_each_node_has_an_item_in_every_report(runs: Runs, name: str) -> None:
    run = runs[name]
    assert_sound(run)
    assert run.verdict["verdict"] == "accepted"
    assert {run.junit[item].outcome for item in ITEMS} == {"passed"}
    assert set(run.junit) >= ITEMS
    assert set(run.allure) >= ITEMS
    assert set(run.html_rows) >= ITEMS
    lines = [one for one in run.measurements if one["id"] in ITEMS]
    assert [one["measured"] for one in lines] == ["3 lines", "3 lines"]


def causes(run: Run) -> list[tuple[str, str, str]]:
    found = [(one["cause"], one["where"]) for one in run.verdict["causes"]]
    return [(cause, where["node"], where["device"]) for cause, where in found]


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


def test_a_node_that_was_never_reached_has_one_cause(runs: Runs) -> None:
    run = runs["unreachable"]
    assert_sound(run)
    assert causes(run) == [("node-unreachable", "columbia", "")]


def test_a_run_that_stops_itself_reads_the_logs(runs: Runs) -> None:
    run = runs["stopped"]
    assert_sound(run)
    assert run.verdict["verdict"] == "rejected"
    assert {run.junit[item].outcome for item in ITEMS} == {"passed"}


def test_what_is_slow_on_a_gpu_with_an_xid_has_the_xid_as_its_cause(runs: Runs) -> None:
    run = runs["gpu"]
    assert_sound(run)
    assert causes(run) == [("gpu-xid", "tcpx02", "gpu3")]
    assert run.verdict["causes"][0]["explains"] > 0
    assert " ran): " in run.words  # the measurement at that moment


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_after_ctrl_c_they_are_not_run(project: Project, options: tuple[str, ...]) -> None:
    run = Running(project, *options).end(signal.SIGINT)
    assert run.verdict["verdict"] == "incomplete"
    nodes = ("viper", "columbia", "prometheus")
    found = {run.junit[f"kernel::kernel_log[{node}]"].outcome for node in nodes}
    assert found == {"skipped"}
    assert not list((run.latest / "transcripts").glob("kernel_log*"))


def test_a_resumed_run_reads_from_the_start_of_the_first(project: Project) -> None:
    """The lab of the second run has other lines of the run, and the same boot as the first."""
    killed_after(project, 2, *ONE_PAIR, *BARE)
    run = project.run("--resume", "latest", *BARE)
    assert_sound(run)
    assert (run.code, run.verdict["verdict"]) == (0, "accepted"), run.output
    text = (run.latest / "kernel_marks.jsonl").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 2
