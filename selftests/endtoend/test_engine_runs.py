"""What the engine measures and what pytest judges, in runs of which the tests are a site's own."""

from __future__ import annotations

import pytest
from testing.acceptance import BARE_SMOKE, HOMELAB, Project, Run, Runs, Scenario, assert_sound
from testing.fewer import measuring

FEW = measuring(
    "connectx4-homelab", "host_write_bandwidth", "host_send_bandwidth", "host_read_bandwidth"
)
OWN = """
import pytest


@pytest.mark.measures("host_write_bandwidth")
def test_with_another(pair, pairing, size, measure, check):
    other = measure(pair, pairing, of="host_read_bandwidth")
    assert other.measurement.name == "host_read_bandwidth"
    check(measure(pair, pairing), size)


@pytest.mark.skip(reason="not tonight")
@pytest.mark.measures("host_send_bandwidth")
def test_skipped(pair, pairing, size, measure, check):
    check(measure(pair, pairing), size)
"""
ASSERTS = """
import pytest


@pytest.mark.expects("memlock")
def test_of_the_site(node, expect):
    expect(node)
    assert False, "an opinion of the site"
"""
DIES = """

import os
import signal
from pathlib import Path

DIED = Path(__file__).parent / "died"


def pytest_runtest_setup(item):
    if item.nodeid == "{}" and not DIED.exists():
        DIED.touch()
        os.kill(os.getpid(), signal.SIGKILL)
"""
ITEM = "tests/network/test_rdma.py::test_bandwidth[host_write_bandwidth-viper:columbia-mlx5_0-8MiB]"
OWN_ITEMS = "tests/network/test_own.py"
SLOW = ("--lab-fault", "slow-node@columbia")


def with_own(project: Project) -> None:
    FEW(project)
    project.write(OWN_ITEMS, OWN)


def with_asserts(project: Project) -> None:
    FEW(project)
    project.write("tests/preflight/test_own.py", ASSERTS)


def with_a_broken_file(project: Project) -> None:
    FEW(project)
    project.write("tests/network/test_own.py", "import nothing_of_that_name")


def with_a_death(project: Project) -> None:
    FEW(project)
    conftest = (project.folder / "conftest.py").read_text(encoding="utf-8")
    project.write("conftest.py", conftest + DIES.format(ITEM))


SCENARIOS = {
    "own": Scenario((*HOMELAB, *BARE_SMOKE, OWN_ITEMS), with_own),
    "own-n2": Scenario((*HOMELAB, *BARE_SMOKE, OWN_ITEMS, "-n", "2"), with_own),
    "first": Scenario((*HOMELAB, *BARE_SMOKE, "-x", *SLOW), FEW),
    "first-n2": Scenario((*HOMELAB, *BARE_SMOKE, "-x", "-n", "2", *SLOW), FEW),
    "opinion": Scenario((*HOMELAB, *BARE_SMOKE), with_asserts),
    "worksteal": Scenario((*HOMELAB, *BARE_SMOKE, "-n", "2", "--dist", "worksteal"), with_a_death),
    "broken": Scenario((*HOMELAB, *BARE_SMOKE), with_a_broken_file),
    "loadscope": Scenario((*HOMELAB, *BARE_SMOKE, "-n", "2", "--dist", "loadscope")),
}


@pytest.mark.parametrize("name", ["own", "own-n2"])
def test_a_test_may_ask_for_a_measurement_of_no_item(runs: Runs, name: str) -> None:
    run = runs[name]
    items = {item: run.outcomes[item] for item in run.outcomes if "test_with_another[" in item}
    assert set(items.values()) == {"passed"}, run.output
    assert {key.partition("[")[0] for key in run.transcripts} == {
        "host_write_bandwidth", "host_read_bandwidth",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["own", "own-n2"])
def test_a_test_with_a_skip_mark_is_not_measured(runs: Runs, name: str) -> None:
    run = runs[name]
    assert {run.outcomes[item] for item in run.outcomes if "test_skipped[" in item} == {"blocked"}
    assert not any(key.startswith("host_send_bandwidth") for key in run.transcripts)


def judged(run: Run) -> set[str]:
    """The measurements that an item has judged."""
    return {
        item.partition("[")[2].partition("-")[0]
        for item, outcome in run.outcomes.items()
        if item.startswith("tests/network/") and outcome in ("passed", "failed")
    }


@pytest.mark.parametrize("name", ["first", "first-n2"])
def test_what_was_measured_is_judged_though_pytest_has_stopped(runs: Runs, name: str) -> None:
    run = runs[name]
    assert run.code == (2 if name == "first-n2" else 1), run.output  # xdist calls it an interrupt
    assert run.verdict["verdict"] == "rejected"
    assert run.with_outcome("not_run"), "pytest has stopped"
    assert {key.partition("[")[0] for key in run.transcripts} <= judged(run)
    assert run.junit.keys() == run.items.keys()


def test_an_assertion_of_a_site_closes_no_gate(runs: Runs) -> None:
    run = runs["opinion"]
    assert_sound(run)
    assert len([item for item in run.with_outcome("failed") if "test_of_the_site" in item]) == 3
    assert run.with_outcome("blocked") == set()
    assert len(run.transcripts) == 9


def test_nothing_is_measured_if_a_file_could_not_be_collected(runs: Runs) -> None:
    run = runs["broken"]
    assert run.code not in (0, 1), run.output
    assert run.transcripts == {}


def test_another_scheduler_of_xdist_runs_the_item_of_a_dead_worker_again(runs: Runs) -> None:
    run = runs["worksteal"]
    assert_sound(run)
    assert run.verdict["verdict"] == "accepted"
    assert f"died while it ran {ITEM}; another worker runs it" in run.words


def test_a_scheduler_that_cannot_do_so_is_refused(runs: Runs) -> None:
    run = runs["loadscope"]
    assert run.code == 4
    assert "--dist loadscope: cannot have an item run again whose worker died" in run.output
