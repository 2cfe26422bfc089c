"""Items that hold all pairings and sizes of a test at one place change nothing in a run."""

from __future__ import annotations

from collections import Counter

import pytest
from testing.acceptance import HOMELAB, Project, Runs, Scenario, assert_sound

HELD = ("--most-items", "0")
SWEPT = (*HOMELAB, "--lab-nodes", "2", "--level", "signoff")
SLOW = (*SWEPT, "--lab-fault", "slow-node@columbia")
# Of an item that holds 22 others.
DIES_AT = "tests/network/test_rdma.py::test_write_bandwidth[viper:columbia-mlx5_0-64KiB]"
DIES = f"""

import os
import signal
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    place = Path(__file__).with_name("died")
    if item.nodeid == "{DIES_AT}" and not place.exists():
        place.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return (yield)
"""


def deadly(project: Project) -> None:
    path = project.folder / "conftest.py"
    path.write_text(path.read_text(encoding="utf-8") + DIES, encoding="utf-8")


SCENARIOS = {
    "plain": Scenario(SWEPT),
    "held": Scenario((*SWEPT, *HELD)),
    "held-n2": Scenario((*SWEPT, *HELD, "-n", "2")),
    "dies": Scenario((*SWEPT, *HELD, "-n", "1"), deadly),
    "plain-slow": Scenario(SLOW),
    "held-slow": Scenario((*SLOW, *HELD)),
    "held-selected": Scenario((*SWEPT, *HELD, "-k", "write_bandwidth and 64KiB")),
}


@pytest.mark.parametrize(
    ("plain", "held"),
    [("plain", "held"), ("plain", "held-n2"), ("plain", "dies"), ("plain-slow", "held-slow")],
)
def test_the_items_are_those_of_a_run_that_collects_each(runs: Runs, plain: str, held: str) -> None:
    one, other = runs[plain], runs[held]
    assert_sound(other)
    assert (other.code, other.items) == (one.code, one.items)
    assert {item: case.outcome for item, case in other.junit.items()} == {
        item: case.outcome for item, case in one.junit.items()
    }
    assert sorted(other.allure) == sorted(one.allure)
    assert sorted(other.html_rows) == sorted(one.html_rows)
    assert other.verdict["counts"] == one.verdict["counts"]
    causes = [[c["cause"], c["where"], c["evidence"]] for c in one.verdict["causes"]]
    assert [[c["cause"], c["where"], c["evidence"]] for c in other.verdict["causes"]] == causes


@pytest.mark.parametrize("name", ["held", "held-n2", "dies"])
def test_each_judgement_is_written_once(runs: Runs, name: str) -> None:
    written, expected = (
        Counter((line["id"], line["metric"]) for line in runs[one].measurements)
        for one in (name, "plain")
    )
    assert written == expected


def test_the_run_says_how_many_items_it_collected(runs: Runs) -> None:
    (line,) = (line for line in runs["held"].output.splitlines() if "that are collected" in line)
    will_run, collected = (int(word) for word in line.split() if word.isdigit())
    assert will_run == sum(".py::" in item for item in runs["plain"].items) > collected + 30
    assert "that are collected" not in runs["plain"].output


def test_who_selects_by_name_selects_the_names_of_sizes(runs: Runs) -> None:
    run = runs["held-selected"]
    asked = [item for item, outcome in run.items.items() if outcome != "not_run"]
    other_way = DIES_AT.replace("viper:columbia", "columbia:viper")
    assert [item for item in asked if ".py::" in item] == [DIES_AT, other_way]
