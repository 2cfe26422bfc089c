"""Every cause of the catalogue has a severity and an action, and both say what they mean."""

from __future__ import annotations

import re

import pytest
from testing.places import ROOT

from railgauge.diagnosis import CATALOGUE, OPEN, Cause
from railgauge.diagnosis.catalogue.effect import Harm
from railgauge.diagnosis.catalogue.kind import AMONG_NODES, CauseAction, CauseSeverity, CauseTriage
from railgauge.diagnosis.model import Where

CRITICAL, MAJOR = CauseSeverity.CRITICAL, CauseSeverity.MAJOR
MINOR, UNKNOWN = CauseSeverity.MINOR, CauseSeverity.UNKNOWN
# What takes a node out of service without saying that its hardware is at fault.
NOT_THE_HARDWARE = {
    *("host-key-rejected", "setup-failed", "become-refused", "one-machine", "other-machine"),
}


def test_the_causes_that_hold_nodes_against_each_other_are_in_the_catalogue():
    assert set(CATALOGUE) > AMONG_NODES


@pytest.mark.parametrize("term", [*CauseSeverity, *CauseAction])
def test_each_term_says_what_it_means_and_is_used(term):
    assert re.match(r"[a-z].{20,}[^.]$", term.meaning)
    assert any(term in (one.severity, one.action) for one in CATALOGUE.values())


@pytest.mark.parametrize("term", [*CauseSeverity, *CauseAction])
def test_the_page_has_each_term_with_its_meaning(term):
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    assert f"\n| {term} | {term.meaning} |\n" in page


@pytest.mark.parametrize("name", CATALOGUE)
def test_severity_follows_from_the_harm_that_the_cause_does(name):
    allowed = {
        Harm.OUT_OF_SERVICE: {UNKNOWN} if name in NOT_THE_HARDWARE else {CRITICAL},
        Harm.DEGRADED: {MINOR} if name == "straggler" else {MAJOR},
        Harm.UNMEASURED: {UNKNOWN},
        Harm.DOUBTS: {UNKNOWN},
        Harm.SETTING: {UNKNOWN} if name == "foreign-gpu-process" else {MAJOR, MINOR},
    }
    assert CATALOGUE[name].triage.severity in allowed[CATALOGUE[name].effect.harm]


def test_what_a_login_or_the_hostfile_did_wrong_drains_no_node():
    of_the_run = {*NOT_THE_HARDWARE, "tool-missing", "tool-failing", "login-between-nodes",
                  "port-in-use", "suite-error", "undiagnosed"}  # fmt: skip
    assert not [name for name in of_the_run if CATALOGUE[name].triage.drains]


def test_settings_that_can_be_corrected_under_jobs_drain_no_node():
    settings = [name for name, one in CATALOGUE.items() if one.action is CauseAction.CORRECT]
    drained = {name for name in settings if CATALOGUE[name].triage.drains}
    # no job works there
    assert drained == {"subnet-manager-missing", "duplicate-address", "guid-unset"}


@pytest.mark.parametrize(
    ("severity", "action", "drains"),
    [
        (CRITICAL, CauseAction.CORRECT, True),
        (MAJOR, CauseAction.RESEAT, True),
        (MAJOR, CauseAction.REPAIR_LINK, True),
        (MAJOR, CauseAction.CORRECT, False),
        (MAJOR, CauseAction.ASK_VENDOR, False),
        (MINOR, CauseAction.COMPARE, False),
        (UNKNOWN, CauseAction.DRAIN, True),
        (UNKNOWN, CauseAction.MEASURE_AGAIN, False),
    ],
)
def test_a_node_is_drained_if_jobs_fail_there_or_the_work_disturbs_them(severity, action, drains):
    assert CauseTriage(severity, action).drains is drains


def test_the_worst_severity_comes_first():
    assert sorted([UNKNOWN, MINOR, CRITICAL, MAJOR], key=lambda one: one.rank) == [
        CRITICAL, MAJOR, MINOR, UNKNOWN,
    ]  # fmt: skip


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_cause_in_verdict_json_has_both_as_plain_text(name):
    data = Cause(name, Where("n1"), "says", ("a",), (), OPEN, "", "do", "001: x").to_json()
    assert (data["severity"], data["action"]) == (
        CATALOGUE[name].triage.severity,
        CATALOGUE[name].triage.action,
    )
    assert type(data["severity"]) is type(data["action"]) is str
