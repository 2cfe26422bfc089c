"""The run of a ladder beside pytest's items, in the process that has the nodes."""

from __future__ import annotations

import errno
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
from testing.core_values import ROOT, case, cluster
from testing.engine_bench import GOOD, LIMIT_S, PRESENT
from testing.run_folder import store_in
from testing.waiting import wait_until

from railgauge.config import thresholds
from railgauge.judging.answers import KeptAnswers
from railgauge.leases.nodes import NodeTaken
from railgauge.planning import plan
from railgauge.planning.collected import About, Subject
from railgauge.run.decided import WrittenDecisions
from railgauge.run.ladder_run import LadderRun
from railgauge.run.settings import RunSettings

PLATFORM = thresholds.load("connectx4-homelab", ROOT / "thresholds")
DECLARED = cluster("n1", "n2")
SETTINGS = RunSettings(DECLARED, PLATFORM, plan.level(PLATFORM, DECLARED, "smoke"))
ABOUT = About(
    Subject("measures", "host_write_bandwidth"), ("traffic",), 1, "t", ("n1", "n2"), "mlx5_0"
)


@pytest.fixture
def run(tmp_path):
    decisions = WrittenDecisions(store_in(tmp_path))
    made = SimpleNamespace(decisions=decisions, measured=[], answers=KeptAnswers())
    made.evidence = lambda settings: (settings.platform, {}, lambda _: GOOD, None)
    made.measure = lambda one: made.measured.append(one) or GOOD
    made.interrupted = nullcontext
    return made


@pytest.fixture
def ladder_run(run):
    made = LadderRun(SETTINGS, run, [("x", ABOUT)])
    yield made
    made.end()


def test_decided_cases_count_and_leases_are_kept(run, ladder_run):
    kept = []
    ladder_run.begin(lambda: kept.append(ladder_run.far()), 0)
    (unit,) = ladder_run.ladder.units
    (measured,) = ladder_run.ladder.cases(unit)
    assert run.decisions.wait(measured).measured
    assert run.measured == [measured]
    wait_until(lambda: kept, LIMIT_S, "the look at the leases")
    assert kept[0].decided == 1
    assert kept[0].of > 1
    assert kept[0].left_s is not None


def test_a_case_that_a_test_of_a_site_requests_is_measured_and_does_not_count(run, ladder_run):
    """The engine would end by an error that says nothing about the cluster."""
    kept, other = [], case("n2", "n1")
    ladder_run.begin(lambda: kept.append(ladder_run.far().decided), 0)
    assert run.decisions.request(other) == PRESENT
    wait_until(lambda: len(kept) == 2, LIMIT_S, "both looks at the leases")
    assert run.decisions.error is None
    assert other in run.measured
    assert kept[-1] == 1


def test_the_next_measurement_is_named_while_one_is_made(run):
    second = replace(ABOUT, nodes=("n2", "n1"))
    made, seen = LadderRun(SETTINGS, run, [("x", ABOUT), ("y", second)]), []

    def is_next():
        return made.far().following == "host_write_bandwidth[n2:n1-mlx5_0]"

    def measure(one):
        if one.nodes == ABOUT.nodes:
            wait_until(is_next, LIMIT_S, "the second as the next one")
        seen.append(one)
        return GOOD

    run.measure = measure
    made.begin(lambda: None, 0)
    wait_until(lambda: made.far().decided == 2, LIMIT_S, "both measurements")
    assert len(seen) == 2
    wait_until(lambda: made.far().following == "", LIMIT_S, "nothing that is next")
    made.end()
    assert made.far() is None


def test_a_ladder_that_has_not_begun_ends_and_judges_nothing(run):
    made = LadderRun(SETTINGS, run, [("x", ABOUT)])
    made.end()
    assert list(made.judged({"x"})) == []


DEFECT = ZeroDivisionError("oops")


@pytest.mark.parametrize(
    ("error", "reported"), [(None, None), (DEFECT, DEFECT), (NodeTaken("somebody has it"), None)]
)
def test_an_error_of_the_engine_is_reported_once(run, ladder_run, error, reported):
    """That of a node that another run has taken is reported where it was found."""
    run.decisions.error = error
    assert ladder_run.error() is reported


def test_a_lack_of_this_machine_is_raised(run, ladder_run):
    run.decisions.error = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="No space"):
        ladder_run.error()
