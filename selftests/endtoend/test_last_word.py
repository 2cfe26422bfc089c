"""Foreign marks and hooks, and errors at the end, change no verdict."""

from __future__ import annotations

from testing.acceptance import BARE_SMOKE, HOMELAB, SMOKE, Runs, Scenario

GOVERNOR = "tests/preflight/test_host.py::test_cpu_governor[viper]"
FAULT = ("--lab-fault", "governor@viper", "-k", "test_host")

FORGIVING = """
import pytest

pytest_plugins = ["railgauge.plugin"]


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.xfail(reason="we know"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        report.outcome, report.longrepr = "passed", None
    return report


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_sessionfinish(session):
    yield
    session.exitstatus = 0
"""
# A machine without memory: no thread can be started any more.
EXHAUSTED = """
from railgauge.leases.nodes import NodeLeases

pytest_plugins = ["railgauge.plugin"]


def release(self):
    raise RuntimeError("can't start new thread")


NodeLeases.release = release


def pytest_unconfigure(config):
    raise SystemExit(0)
"""


def with_conftest(text: str):
    return lambda project: project.write("conftest.py", text)


SCENARIOS = {
    "forgiving": Scenario(
        (*HOMELAB, *SMOKE, *FAULT, "--junitxml", "mine/own.xml"), with_conftest(FORGIVING)
    ),
    "exhausted": Scenario((*HOMELAB, *BARE_SMOKE, "-k", "test_host"), with_conftest(EXHAUSTED)),
}


def test_xfail_and_hooks_change_no_report(runs: Runs) -> None:
    run = runs["forgiving"]
    assert run.verdict["verdict"] == "rejected"
    assert run.code == 1, run.output
    assert run.with_outcome("failed") == {GOVERNOR}
    assert run.junit[GOVERNOR].outcome == "failure"
    assert "powersave" in run.junit[GOVERNOR].message
    assert int(run.junit_suite.attrib["failures"]) == 1
    own = run.project.folder / "mine" / "own.xml"
    assert own.read_bytes() == (run.latest / "junit.xml").read_bytes()
    assert run.allure[GOVERNOR]["status"] == "failed"
    assert "failed" in run.html_rows[GOVERNOR].split()


def test_a_lease_that_cannot_be_let_go_is_no_rejection(runs: Runs) -> None:
    run = runs["exhausted"]
    assert run.code == 3, run.output
    assert "the leases on the nodes could not be released" in run.words
    assert "can't start new thread" in run.words
    assert "railgauge: pytest could not end the session: SystemExit: 0" in run.words
    assert "exit code 3, not the verdict's 10" in run.words
