"""Where pytest is configured, and when the plugin does nothing."""

from __future__ import annotations

import os
import re
import sys
import threading
from pathlib import Path

import pytest
from testing.acceptance import HOMELAB, ROOT, SMOKE, Project, assert_clean, environment

OF_THE_PROJECT = "def test_of_the_suite_itself():\n    assert True\n"


def test_tox_ini_is_the_only_configuration_of_pytest() -> None:
    """A table in pyproject.toml would make pytest silently ignore tox.ini."""
    assert "[pytest]" in (ROOT / "tox.ini").read_text()
    pyproject = (ROOT / "pyproject.toml").read_text()
    assert not re.search(r"^\s*\[\s*tool\s*\.\s*\"?pytest", pyproject, re.MULTILINE)
    assert not re.search(r"^\s*pytest\s*[.=]", pyproject, re.MULTILINE)
    for name in ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "setup.cfg"):
        assert not (ROOT / name).exists()


def test_pytest_says_that_it_reads_tox_ini(project: Project) -> None:
    run = project.run(*HOMELAB, *SMOKE, "--collect-only")
    assert "configfile: tox.ini" in run.stdout


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_selftests_start_no_lab_and_leave_no_report(
    project: Project, options: tuple[str, ...]
) -> None:
    project.write("selftests/test_own.py", OF_THE_PROJECT)
    run = project.run("selftests", *options)
    assert run.code == 0, run.output
    assert "1 passed" in run.stdout
    assert not (project.folder / "reports").exists()
    for word in ("survey", "evidence", "cluster:", "ACCEPTED"):
        assert word not in run.output


def linked(project: Project) -> Path:
    """A second project whose parts are links to the first project's."""
    folder = project.folder.with_name("linked")
    folder.mkdir()
    for name in ("conftest.py", "tox.ini", "tests", "thresholds", "hostfiles"):
        (folder / name).symlink_to(project.folder / name)
    return folder


@pytest.mark.parametrize("place", [(), (".",), ("tests",), ("tests/preflight/test_host.py",)])
def test_a_ladder_behind_a_link_is_a_ladder(project: Project, place: tuple[str, ...]) -> None:
    run = Project(linked(project)).run(*HOMELAB, *SMOKE, "--collect-only", *place)
    assert_clean(run)
    assert "evidence: SIMULATED" in run.stdout


@pytest.mark.parametrize("plugin", ["html", "xdist"])
def test_a_run_without_a_reporter(project: Project, plugin: str) -> None:
    run = project.run(*HOMELAB, *SMOKE, "-p", f"no:{plugin}", "-k", "locked_memory")
    assert_clean(run)
    assert run.is_good


def test_faults_are_listed(project: Project) -> None:
    run = project.run("--lab-fault", "list")
    assert run.code == 0
    assert_clean(run)
    for name in ("slow-node", "unreachable", "tool-hangs"):
        assert re.search(rf"^ *{name} ", run.output, re.MULTILINE)
    assert not (project.folder / "reports").exists()


def test_the_environment_of_a_run_is_read_while_pytest_changes_its_own() -> None:
    """Runs start in threads, and PYTEST_CURRENT_TEST of the main thread changes meanwhile."""
    ended = threading.Event()

    def other_tests() -> None:
        while not ended.is_set():
            os.environ["PYTEST_OF_ANOTHER"] = "x"
            del os.environ["PYTEST_OF_ANOTHER"]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=other_tests)
    thread.start()
    try:
        assert all("PYTEST_OF_ANOTHER" not in environment() for _ in range(2000))
    finally:
        ended.set()
        thread.join()
        sys.setswitchinterval(before)
