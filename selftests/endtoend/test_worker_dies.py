"""A worker of ``-n K`` is killed: another one runs its items, and all reports agree."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_many_nodes import clashes
from testing.acceptance import HOMELAB, SMOKE, Project, Run, Runs, Scenario, assert_sound
from testing.fewer import measuring

ONCE = "tests/network/test_rdma.py::test_bandwidth[host_write_bandwidth-viper:columbia-mlx5_0-8MiB]"
TWICE = "tests/network/test_rdma.py::test_traffic[host_read_bandwidth-prometheus:viper-mlx5_0]"
LATE = "tests/network/test_rdma.py::test_traffic[host_send_bandwidth-columbia:prometheus-mlx5_0]"
# The other item of the case, which reads what was measured before the workers died.
SAME_CASE = (
    "tests/network/test_rdma.py::test_bandwidth[host_read_bandwidth-prometheus:viper-mlx5_0-8MiB]"
)
# SIGKILL, as the kernel sends it when memory is short: first before an item is judged, then after
# an item is judged and before it is reported.
_KILLING = f"""

import os
import signal
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def die(name, times):
    place = HERE / name
    deaths = place.read_text() if place.exists() else ""
    if len(deaths) < times:
        place.write_text(deaths + "x")
        os.kill(os.getpid(), signal.SIGKILL)


def pytest_runtest_setup(item):
    if item.nodeid == "{ONCE}":
        die("died-once", 1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    if item.nodeid == "{TWICE}":
        die("died-twice", 2)
    if item.nodeid == "{LATE}":
        die("died-late", 1)
    return (yield)
"""


FEW = measuring(
    "connectx4-homelab", "host_write_bandwidth", "host_read_bandwidth", "host_send_bandwidth"
)


def deadly(project: Project) -> None:
    """One item kills the first worker that runs it, another one the first two."""
    FEW(project)
    conftest = (project.folder / "conftest.py").read_text(encoding="utf-8")
    project.write("conftest.py", conftest + _KILLING)


SCENARIOS = {"deadly": Scenario((*HOMELAB, *SMOKE, "-n", "2"), deadly)}


@pytest.fixture
def run(runs: Runs) -> Run:
    return runs["deadly"]


def crashes(run: Run) -> list[dict[str, Any]]:
    lines = (run.latest / "crashes.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_reports_agree(run: Run) -> None:
    """Each item is in each report once; an error is an error everywhere."""
    assert_sound(run)
    assert run.counts == {"passed": run.verdict["counts"]["planned"] - 1, "error": 1}
    assert len(list(run.junit_suite.iter("testcase"))) == len(run.junit) == len(run.html_rows)
    assert run.allure.keys() == run.junit.keys()
    assert run.code == 10


def test_an_item_whose_worker_died_once_is_judged_by_its_evidence(run: Run) -> None:
    for item in (ONCE, LATE):
        assert run.outcomes[item] == "passed"
        assert run.junit[item].outcome == "passed"
        assert run.allure[item]["status"] == "passed"


def test_what_was_judged_and_not_told_does_not_count(run: Run) -> None:
    """``railgauge trend`` reads these lines: each item has one, and an error has none."""
    lines = [json.dumps(line, sort_keys=True) for line in run.measurements]
    assert len(lines) == len(set(lines))
    found = {line["id"] for line in run.measurements}
    assert {ONCE, LATE, SAME_CASE} <= found
    assert TWICE not in found


def test_an_item_at_which_two_workers_died_is_an_error_that_says_so(run: Run) -> None:
    assert run.outcomes[TWICE] == "error"
    assert run.junit[TWICE].outcome == "error"
    assert f"2 workers died while they ran {TWICE}" in run.junit[TWICE].message
    assert "2 workers died while they ran" in run.words
    assert run.allure[TWICE]["status"] == "broken"
    assert run.outcomes[SAME_CASE] == "passed"


def test_deaths_are_told_and_written_down(run: Run) -> None:
    found = [(crash["item"], crash["again"]) for crash in crashes(run)]
    assert sorted(found) == sorted([(ONCE, True), (LATE, True), (TWICE, True), (TWICE, False)])
    assert len({crash["worker"] for crash in crashes(run)}) == 4
    for crash in crashes(run):
        assert f"worker {crash['worker']} died while it ran {crash['item']}" in run.words
    assert "crashes.jsonl" in run.manifest


def test_every_case_has_a_whole_result(run: Run) -> None:
    """A worker's death ends no measurement."""
    assert all(len(case["runs"]) == 1 and not case["error"] for case in run.transcripts.values())
    assert "host_write_bandwidth[viper:columbia-mlx5_0]" in run.transcripts


def test_no_node_was_in_two_measurements_at_a_time(run: Run) -> None:
    """Of three nodes, any two pairs share one."""
    assert clashes(run) == []
