"""Plugins of a site that are broken, or that run items their own way: no verdict gets better."""

from __future__ import annotations

import pytest
from testing.acceptance import BARE_SMOKE, HOMELAB, Change, Project, Runs, Scenario
from testing.fewer import measuring

GOVERNOR = "tests/preflight/test_host.py::test_cpu_governor[viper]"
FEW = ("-k", "test_host or write_bandwidth")
FAULT = ("--lab-fault", "governor@viper")
AUTOUSE = "@pytest.fixture(autouse=True)"
OWN = "test_own or write_bandwidth"
FIRST = "@pytest.hookimpl(tryfirst=True)"
BROKEN = "raise RuntimeError('a plugin of the site')"
HOOK = """
import os
import random

import pytest

pytest_plugins = ["railgauge.plugin"]


{how}
def {hook}:
    {body}
"""
# A plugin by the name of a known one, and with its option.
NAMED = """
from types import SimpleNamespace

pytest_plugins = ["railgauge.plugin"]


def pytest_addoption(parser, pluginmanager):
    parser.addoption("--{option}", action="{action}")
    pluginmanager.register(SimpleNamespace(), "{name}")
"""


SHORT = measuring("connectx4-homelab", "host_write_bandwidth", "host_send_latency")


def with_conftest(text: str) -> Change:
    def change(project: Project) -> None:
        SHORT(project)
        project.write("conftest.py", text)

    return change


def of_the_site(hook: str, body: str, *options: str, how: str = "") -> Scenario:
    text = HOOK.format(hook=hook, body=body, how=how)
    return Scenario((*HOMELAB, *BARE_SMOKE, *FEW, *options), with_conftest(text))


def asked_of(name: str, option: str, action: str, *words: str) -> Scenario:
    text = NAMED.format(name=name, option=option, action=action)
    return Scenario((*HOMELAB, *BARE_SMOKE, *FEW, *words), with_conftest(text))


OWN_TEST = """
import pytest


@pytest.mark.expects("memlock")
def test_own(node, expect):
    expect(node)
    assert node != "columbia", "not today"


@pytest.mark.expects("cpu_governor")
def test_in_own_words(node, expect):
    try:
        expect(node)
    except Exception:
        raise ValueError("in our words") from None
"""


def with_own_tests(project: Project) -> None:
    SHORT(project)
    project.write("tests/preflight/test_own.py", OWN_TEST)


BACKWARDS = ("pytest_collection_modifyitems(items)", "items.reverse()")
SCENARIOS = {
    "teardown": of_the_site("pytest_runtest_teardown(item)", BROKEN),
    "teardown of a fault": of_the_site("pytest_runtest_teardown(item)", BROKEN, *FAULT),
    "report": of_the_site("pytest_runtest_makereport(item, call)", BROKEN),
    "body": of_the_site("pytest_pyfunc_call(pyfuncitem)", "return True", how=FIRST),
    "backwards": of_the_site(*BACKWARDS, how="@pytest.hookimpl(trylast=True)"),
    "backwards with a fault": of_the_site(*BACKWARDS, *FAULT, how="@pytest.hookimpl(trylast=True)"),
    "another order in each worker": of_the_site(
        "pytest_collection_modifyitems(items)",
        "random.Random(os.getpid()).shuffle(items)",
        "-n",
        "2",
        how="@pytest.hookimpl(trylast=True)",
    ),
    "fixture": of_the_site("site()", "raise OSError('no site')", how=AUTOUSE),
    "own": Scenario((*HOMELAB, *BARE_SMOKE, "-k", OWN, *FAULT), with_own_tests),
    "own, in workers": Scenario(
        (*HOMELAB, *BARE_SMOKE, "-k", OWN, *FAULT, "-n", "2"), with_own_tests
    ),
    "same option": of_the_site("pytest_addoption(parser)", "parser.addoption('--level')"),
    "in its place": of_the_site("pytest_cmdline_main(config)", "return 0", how=FIRST),
    "timeout": asked_of("timeout", "timeout", "store", "--timeout", "60"),
    "no timeout": asked_of("timeout", "timeout", "store", "--collect-only", "-q"),
    "forked": asked_of("pytest_forked", "forked", "store_true", "--forked"),
    "parallel": asked_of("parallel", "workers", "store", "--workers", "2"),
}


def test_a_hook_that_fails_behind_each_item_is_no_failure_of_the_cluster(runs: Runs) -> None:
    """The next item finds the one before it not torn down, which pytest says by an assertion."""
    run = runs["teardown"]
    assert run.code == 10, run.output
    assert run.with_outcome("failed") == set()
    assert run.with_outcome("error")
    assert run.verdict["verdict"] == "incomplete"


def test_nor_does_it_hide_one(runs: Runs) -> None:
    run = runs["teardown of a fault"]
    assert run.with_outcome("passed") - set(run.at_end) == set()
    assert run.verdict["verdict"] in ("rejected", "incomplete")
    assert run.code == {"rejected": 1, "incomplete": 10}[run.verdict["verdict"]]


def test_a_hook_that_fails_ends_the_session_and_is_told(runs: Runs) -> None:
    run = runs["report"]
    assert run.code == 3, run.output
    assert run.verdict["verdict"] == "incomplete"
    (line,) = [line for line in run.output.splitlines() if "pytest ended with an internal" in line]
    name = run.latest.resolve().name
    for word in (
        "RuntimeError: a plugin of the site (conftest.py:",
        "-p no:NAME",
        f"--resume {name}",
    ):
        assert word in line


def test_a_test_whose_body_does_not_run_has_compared_nothing(runs: Runs) -> None:
    run = runs["body"]
    assert run.code == 10, run.output
    assert run.with_outcome("passed") <= set(run.at_end)
    assert run.counts["error"] > 0


def test_in_whatever_order_items_are_collected_lower_rungs_come_first(runs: Runs) -> None:
    """An item waits for those below it; in one process it would wait for itself."""
    faulty, shuffled = runs["backwards with a fault"], runs["another order in each worker"]
    run = runs["backwards"]
    for one in (run, shuffled):
        assert (one.code, set(one.counts)) == (10, {"passed", "not_run"}), one.output
    assert shuffled.outcomes == run.outcomes
    assert faulty.code == 1, faulty.output
    assert faulty.with_outcome("failed") == {GOVERNOR}
    assert faulty.with_outcome("blocked")


@pytest.mark.parametrize("name", ["own", "own, in workers"])
def test_a_gate_follows_the_evidence_and_not_what_a_site_s_own_test_makes_of_it(
    runs: Runs, name: str
) -> None:
    """columbia fails by an assert of the site's own; viper misses a limit, which the test hides."""
    run = runs[name]
    own, hidden = (f"tests/preflight/test_own.py::test_{one}" for one in ("own", "in_own_words"))
    assert run.with_outcome("failed") == {f"{own}[columbia]"}
    assert run.with_outcome("error") == {f"{hidden}[viper]"}
    pairs = {item for item in run.outcomes if "write_bandwidth" in item}
    assert run.with_outcome("blocked") == {item for item in pairs if "viper" in item}
    assert any("columbia" in item for item in pairs & run.with_outcome("passed"))
    assert run.verdict["verdict"] == "rejected"


def test_a_fixture_that_fails_at_each_item_is_no_fault_of_a_node(runs: Runs) -> None:
    run = runs["fixture"]
    assert set(run.outcomes.values()) == {"error"}, run.output
    assert run.code == 10


def test_a_plugin_in_place_of_the_session_has_tested_nothing(runs: Runs) -> None:
    run = runs["in its place"]
    assert run.code == 3, run.output
    assert (
        "railgauge: a plugin ended pytest before the session began: nothing was tested" in run.words
    )


def test_a_plugin_with_an_option_of_the_suite_is_no_rejection(runs: Runs) -> None:
    """Python would end with 1, the code of a rejected cluster."""
    run = runs["same option"]
    assert run.code == 4, run.output
    assert "railgauge: a plugin or a conftest.py has failed: ValueError: option " in run.words
    assert "switch that plugin off: -p no:NAME" in run.words
    assert "Traceback" not in run.output


@pytest.mark.parametrize(
    ("name", "option"),
    [("timeout", "--timeout"), ("forked", "--forked"), ("parallel", "--workers")],
)
def test_a_plugin_that_would_end_or_run_items_itself_is_refused(
    runs: Runs, name: str, option: str
) -> None:
    run = runs[name]
    assert run.code == 4, run.output
    assert f"railgauge: pytest-{name}: it" in run.words
    assert f"leave {option}" in run.words
    assert not run.latest.exists()


def test_such_a_plugin_may_be_installed(runs: Runs) -> None:
    assert runs["no timeout"].code == 0, runs["no timeout"].output
