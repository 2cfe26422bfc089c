"""``-n W --at-once K``: workers judge what the engine measures, as one process does."""

from __future__ import annotations

import json
from typing import Any

from test_many_nodes import at_a_time, clashes, uses
from test_resume import killed_after, measured_at
from testing.acceptance import (
    BARE_SMOKE,
    HOMELAB,
    METAX,
    ROOT,
    Project,
    Run,
    Runs,
    Scenario,
    assert_sound,
)
from testing.fewer import measuring

from railgauge.config import thresholds

EIGHT = (*HOMELAB, *BARE_SMOKE, "--lab-nodes", "8", "--rounds", "2")
SHARED = ("-n", "2", "--at-once", "4")
# One node is not reached, and another one is slow: nothing is measured above that on its pairs.
BROKEN = ("--lab-fault", "unreachable@mx05", "--lab-fault", "slow-node@mx03")
SOME = ("-k", "test_nics or write_bandwidth or all_reduce")
LADDER = (*METAX, *BARE_SMOKE, *SOME, "--lab-nodes", "6", "--rounds", "2", *BROKEN)
METAX_C500 = thresholds.load("metax-c500", ROOT / "thresholds")
WRITES = ("host_write_bandwidth", "host_send_bandwidth")
# SIGKILL, as the kernel sends it when memory is short: one worker dies before it judges an item,
# another one with a judged item that was not reported.
_KILLING = """

import os
import signal
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def die(name):
    try:
        (HERE / name).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def pytest_runtest_setup(item):
    if "test_bandwidth[host_write_bandwidth-node06:node05-mlx5_0" in item.nodeid:
        die("died-before-judging")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    if "test_bandwidth[host_send_bandwidth-node05:node04-mlx5_0" in item.nodeid:
        die("died-judging")
    return (yield)
"""


def deadly(project: Project) -> None:
    measuring("connectx4-homelab", *WRITES)(project)
    conftest = (project.folder / "conftest.py").read_text(encoding="utf-8")
    project.write("conftest.py", conftest + _KILLING)


SCENARIOS = {
    "deadly": Scenario((*EIGHT, *SHARED), deadly),
    "broken": Scenario((*LADDER, *SHARED)),
    "broken, one process": Scenario((*LADDER, "--at-once", "4")),
    "few": Scenario((*EIGHT, "-n", "3", "--at-once", "2"), measuring("connectx4-homelab", *WRITES)),
}


def crashes(run: Run) -> list[dict[str, Any]]:
    lines = (run.latest / "crashes.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_dead_worker_ends_no_measurement_and_another_one_judges_its_item(runs: Runs) -> None:
    run = runs["deadly"]
    assert_sound(run)
    assert set(run.counts) == {"passed"}
    assert run.verdict["verdict"] == "accepted"
    assert len(run.transcripts) == 16
    assert all(data["runs"] and not data["error"] for data in run.transcripts.values())
    lines = [line["id"] for line in run.measurements]
    assert len({json.dumps(line, sort_keys=True) for line in run.measurements}) == len(lines)
    assert clashes(run) == []


def test_deaths_are_reported_with_the_item_that_the_worker_ran(runs: Runs) -> None:
    run = runs["deadly"]
    found = crashes(run)
    assert len({crash["worker"] for crash in found}) == len(found) == 2
    assert all(crash["again"] for crash in found)
    items = {crash["item"] for crash in found}
    assert any("test_bandwidth[host_write_bandwidth-node06:node05-mlx5_0" in item for item in items)
    assert any("test_bandwidth[host_send_bandwidth-node05:node04-mlx5_0" in item for item in items)
    assert run.words.count("another worker runs it") >= 2


def rung_of(case: str) -> int:
    return int(METAX_C500.measurements[case.partition("[")[0]].rung)


def test_no_rung_is_begun_before_what_is_below_it_on_its_nodes(runs: Runs) -> None:
    ran = [(node, begun, end, rung_of(key)) for node, begun, end, key in uses(runs["broken"])]
    assert len({rung for *_, rung in ran}) > 2
    for node, begun, _, rung in ran:
        below = [end for at, _, end, low in ran if at == node and low < rung]
        assert all(end <= begun for end in below), (node, rung)


def test_what_is_found_on_a_lower_rung_blocks_items_of_all_workers(runs: Runs) -> None:
    """What is above it is blocked, wherever it would have run."""
    run, alone = runs["broken"], runs["broken, one process"]
    assert_sound(run)
    assert run.outcomes == alone.outcomes
    assert run.verdict["counts"] == alone.verdict["counts"]
    assert run.transcripts.keys() == alone.transcripts.keys()
    assert clashes(run) == []
    assert "mx05" not in {node for node, *_ in uses(run)}
    blocked = run.with_outcome("blocked")
    assert all(any(node in item for item in blocked) for node in ("mx03", "mx05"))


def test_never_more_at_once_than_were_asked_for_by_however_many_workers(runs: Runs) -> None:
    run = runs["few"]
    assert_sound(run)
    assert set(run.counts) == {"passed"}
    assert at_a_time(run) == 2
    assert clashes(run) == []


def test_a_killed_run_is_carried_on(project: Project) -> None:
    """Three at once by two workers: what was measured is not measured again, by one of them."""
    options = (*EIGHT, "-n", "2", "--at-once", "3")
    first = killed_after(project, 5, *options)
    before = measured_at(first)
    run = project.run("--resume", "latest", "-n", "2", "--at-once", "3")
    assert_sound(run)
    after = measured_at(run.latest.resolve())
    assert before.items() <= after.items()
    assert len(after) > len(before)
    assert run.verdict["verdict"] == "accepted"
    assert clashes(run) == []
