"""Whatever keeps a part of the ladder from running, it is "not run", and nothing is accepted."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from testing import acceptance
from testing.acceptance import BARE, HOMELAB, ONE_PAIR, Project, Run, Runs, Scenario, assert_sound

# What these options leave running is healthy; only what they leave out would fail.
FAULTY = (*ONE_PAIR, *BARE, "--lab-fault", "link-rate@viper")
KEEP_AWAY = "collect_ignore_glob = ['*network*', '*nics*']\n"
OWN_HOOK = """
def pytest_ignore_collect(collection_path):
    return True if collection_path.name in ("network", "test_nics.py") else None
"""
OWN_SELECTION = """
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "test_host" in item.nodeid]
"""


def conftest(text: str) -> Scenario:
    def change(project: Project) -> None:
        path = project.folder / "conftest.py"
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    return Scenario(FAULTY, change)


def without_parametrization(project: Project) -> None:
    """A site's own test that measures another size than the required one."""
    path = project.folder / "tests" / "network" / "test_rdma.py"
    text = path.read_text(encoding="utf-8")
    old = "check(measure(pair, pairing, of=measurement), size)"
    assert old in text
    path.write_text(text.replace(old, old.replace("size", "8388608")), encoding="utf-8")


def without_an_expectation(project: Project) -> None:
    project.edit_platform("connectx4-homelab", lambda file: file["expected"].pop("memlock"))


SCENARIOS = {
    "ignored": Scenario((*FAULTY, "--ignore", "tests/network", "--ignore-glob", "*nics*")),
    "python-files": Scenario((*FAULTY, "--override-ini=python_files=test_host.py")),
    "python-functions": Scenario((*FAULTY, "--override-ini=python_functions=test_cpu*")),
    "path": Scenario((*FAULTY, "tests/preflight/test_host.py")),
    "keyword": Scenario((*FAULTY, "-k", "test_cpu_governor")),
    "keyword-n2": Scenario((*FAULTY, "-k", "test_cpu_governor", "-n", "2")),
    "mark": Scenario((*FAULTY, "-m", "expects", "--deselect", "tests/preflight/test_nics.py")),
    "ignore-glob": conftest(KEEP_AWAY),
    "ignore-hook": conftest(OWN_HOOK),
    "own-selection": conftest(OWN_SELECTION),
    "another-size": Scenario(
        (*HOMELAB, "--level", "nightly", "--lab-nodes", "2", *BARE), without_parametrization
    ),
    "reports": Scenario((*ONE_PAIR, "tests/preflight/test_host.py")),
    "stopped": Scenario((*ONE_PAIR, "-x", "--lab-fault", "governor@columbia")),
    "not-limited": Scenario((*ONE_PAIR, *BARE), without_an_expectation),
}
LEFT_OUT = sorted(set(SCENARIOS) - {"reports", "stopped", "another-size", "not-limited"})
REQUIRED = 66  # of two nodes at smoke, four of them the nodes' kernel logs and counters
CLOSING = 4


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_is_not_run_and_nothing_is_accepted(runs: Runs, name: str) -> None:
    run = runs[name]
    assert run.code == 10, run.output[-3000:]
    counts = run.verdict["counts"]
    assert run.verdict["verdict"] == "incomplete"
    assert counts["planned"] == REQUIRED
    assert counts["not_run"] == REQUIRED - counts["passed"] > 0
    assert f"not run: {counts['not_run']} of {REQUIRED} items" in run.words
    collected = counts["passed"] - CLOSING
    of_tests = REQUIRED - CLOSING
    assert f"requires {of_tests} items, {collected} were collected" in run.words


def test_an_expectation_that_was_taken_out_of_the_platform_file_is_named(runs: Runs) -> None:
    run = runs["not-limited"]
    assert run.code == 0, run.output[-3000:]
    assert run.verdict["not_limited"] == ["memlock"]
    assert "possible here, not limited: memlock" in run.words


def test_options_from_the_environment_are_options(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = "-p no:hypothesispytest -k test_cpu_governor"
    monkeypatch.setattr(
        acceptance, "environment", lambda: {**os.environ, "PYTEST_ADDOPTS": printed}
    )
    run = project.run(*FAULTY)
    assert run.code == 10


def test_an_answer_about_another_size_is_none(runs: Runs) -> None:
    """Every item passed, but nothing is known of the sizes that were not measured."""
    run = runs["another-size"]
    assert run.code == 10, run.output[-3000:]
    assert run.counts["not_run"] > 0
    assert "failed" not in run.counts


def test_a_folder_of_tests_that_is_gone_is_bad_input(project: Project) -> None:
    shutil.rmtree(project.folder / "tests" / "network")
    run = project.run(*FAULTY)
    assert run.code == 4
    assert "no test under tests/ asks for it" in run.output
    assert not list(project.folder.glob("reports/*/verdict.json"))


def not_run(run: Run) -> dict[str, str]:
    text = (run.latest / "records.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.splitlines()]
    return {r["id"]: r["reason"] for r in records if r["outcome"] == "not_run"}


def test_every_report_tells_what_did_not_run(runs: Runs) -> None:
    run = runs["reports"]
    assert_sound(run)
    absent = not_run(run)
    assert len(absent) == run.counts["not_run"]
    assert set(absent.values()) == {"no item of this run asked for it"}
    for name in absent:
        assert run.junit[name].outcome == "skipped"
        assert "not run" in run.junit[name].message
        assert run.allure[name]["status"] == "broken"
        assert "not run" in run.allure[name]["statusDetails"]["message"]
        assert "not run" in run.html_rows[name]
    assert f"requires {REQUIRED} items; {run.counts['passed']} of them ran" in run.html


def test_what_never_came_to_run_stands_in_every_report_by_its_name(runs: Runs) -> None:
    run = runs["stopped"]
    assert_sound(run)
    assert run.code == 1
    absent = not_run(run)
    assert len(absent) == run.counts["not_run"] > 20
    assert set(absent.values()) == {"the run ended before this item"}
    assert all(name.startswith("tests/") for name in absent)
    assert set(absent) <= set(run.junit)
    assert set(absent) <= set(run.allure)
