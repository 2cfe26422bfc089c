"""The telemetry of whole runs: kept, judged and reported, with a GPU that throttles."""

from __future__ import annotations

import signal

from test_interrupt import Running
from testing.acceptance import (
    BARE,
    MI300X,
    SMOKE,
    TCPX,
    Project,
    Run,
    Runs,
    Scenario,
    assert_sound,
)
from testing.fewer import EXPECTED, measuring

TWO = ("--lab-nodes", "2", *SMOKE, *BARE)
COLLECTIVES = ("node_all_reduce", "pair_all_reduce")
SAMPLED = ("gpu_copy_bandwidth", "gpu_host_bandwidth", *COLLECTIVES)
OF_GPUS = (*EXPECTED, "gpu_count", "gpu_model")
SCENARIOS = {
    "healthy": Scenario(
        (*TCPX, "--lab-nodes", "2", *SMOKE, "-n", "2"),
        measuring("h100-tcpx", "host_tcp_bandwidth", *COLLECTIVES),
    ),
    "throttled": Scenario(
        (*TCPX, *TWO, "--lab-fault", "throttle@tcpx02:3"), measuring("h100-tcpx", *COLLECTIVES)
    ),
    "amd": Scenario(
        (*MI300X, *TWO, "--lab-fault", "throttle@mi02:1"), measuring("mi300x", *COLLECTIVES)
    ),
    "missing": Scenario(
        (*TCPX, *TWO, "--no-gates", "--lab-fault", "tool-missing@tcpx02:nvidia-smi"),
        measuring("h100-tcpx", *SAMPLED, expected=OF_GPUS),
    ),
    "silent": Scenario(
        (*TCPX, *TWO, "--lab-fault", "tool-garbage@tcpx02:nvidia-smi"),
        measuring("h100-tcpx", *COLLECTIVES, expected=OF_GPUS),
    ),
}
ITEM = "gpus::telemetry[{}]"


def causes(run: Run) -> list[tuple[str, str, str]]:
    found = [(one["cause"], one["where"]) for one in run.verdict["causes"]]
    return [(cause, where["node"], where["device"]) for cause, where in found]


def reason(run: Run, node: str) -> str:
    (printed,) = [c["says"] for c in run.verdict["causes"] if c["cause"] == "gpu-throttled"]
    assert f" of {node}: " in printed
    return str(printed)


def test_a_healthy_run_has_an_item_of_each_node_in_every_report(runs: Runs) -> None:
    run = runs["healthy"]
    assert_sound(run)
    assert run.verdict["verdict"] == "accepted"
    items = {ITEM.format(node) for node in ("tcpx01", "tcpx02")}
    assert {run.junit[item].outcome for item in items} == {"passed"}
    assert set(run.allure) >= items
    assert set(run.html_rows) >= items


def test_the_samples_are_beside_the_transcripts(runs: Runs) -> None:
    run = runs["healthy"]
    files = sorted((run.latest / "transcripts").glob("*.csv"))
    names = {path.stem.partition("_tcpx")[0] for path in files}
    assert {"node_all_reduce", "pair_all_reduce"} <= names
    assert not {name for name in names if name.startswith("host_")}
    for path in files:
        head, *rows = path.read_text(encoding="utf-8").splitlines()
        assert head.startswith("repeat,node,gpu,time [s],clock [MHz],temperature [C]")
        assert {row.split(",")[2] for row in rows} == set("01234567")


def test_a_throttled_gpu_is_the_one_cause(runs: Runs) -> None:
    run = runs["throttled"]
    assert_sound(run)
    assert run.verdict["verdict"] == "rejected"
    assert causes(run) == [("gpu-throttled", "tcpx02", "gpu3")]
    assert run.junit[ITEM.format("tcpx01")].outcome == "passed"
    assert "hardware-thermal-slowdown from 0 s to its end of" in reason(run, "tcpx02")


def test_a_gpu_of_amd_is_told_too(runs: Runs) -> None:
    run = runs["amd"]
    assert_sound(run)
    assert causes(run) == [("gpu-throttled", "mi02", "gpu1")]
    assert "socket-thermal" in reason(run, "mi02")


def test_a_missing_tool_is_no_pass_and_says_so(runs: Runs) -> None:
    run = runs["missing"]
    assert run.verdict["verdict"] == "incomplete"
    assert run.junit[ITEM.format("tcpx01")].outcome == "passed"
    case = run.junit[ITEM.format("tcpx02")]
    assert case.outcome == "error"
    assert "nvidia-smi was not found; and 3 more measurements without samples" in case.message
    assert ("tool-missing", "tcpx02", "nvidia-smi") in causes(run)


def test_a_tool_that_prints_garbage_is_no_pass(runs: Runs) -> None:
    run = runs["silent"]
    assert run.verdict["verdict"] != "accepted"
    assert run.junit[ITEM.format("tcpx01")].outcome == "passed"
    assert run.junit[ITEM.format("tcpx02")].outcome != "passed"


def test_after_ctrl_c_no_sampler_is_left(project: Project) -> None:
    measuring("h100-tcpx", *SAMPLED)(project)
    run = Running(project, *TCPX, *TWO).end(signal.SIGINT)
    assert run.verdict["verdict"] == "incomplete"


def test_a_tool_that_prints_no_counters_is_an_error_and_no_pass(runs: Runs) -> None:
    run = runs["silent"]
    assert run.verdict["verdict"] != "accepted"
    assert run.junit["counters::growth[tcpx02]"].outcome == "error"
    assert run.junit["counters::growth[tcpx01]"].outcome == "passed"
