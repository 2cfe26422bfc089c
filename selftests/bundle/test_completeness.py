"""Planned items have records, records have evidence, and nothing is surplus."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from testing import small_runs as small
from testing.core_values import case, cluster, item, transcript

from railgauge.bundle.completeness import (
    refuse_gaps,
    refuse_left_out,
    refuse_other_confirmations,
    refuse_other_end,
    refuse_unplanned,
)
from railgauge.config.deviations import Deviation
from railgauge.core.errors import NotVerified
from railgauge.core.model import Case, Outcome, Pairing
from railgauge.core.question import FACT, LIMITS, TRANSPORT, CaseResult, Question
from railgauge.judging.confirmation import MOST_REPEATS, Remeasurement
from railgauge.run.case_files import case_file
from railgauge.verdict.decision import RunPlan

ON = case("n1", "n2")
ASKED = (Question(LIMITS, case=ON),)
PROVED = item("a", by_evidence=True, questions=ASKED)
FILES = {case_file(ON)}


def plan(*planned, ended=""):
    return RunPlan(2, "r1", "hardware", "smoke", None, planned, "1", ended=ended)


def refused(refuse, *words):
    with pytest.raises(NotVerified) as raised:
        refuse(*words)
    return f"{raised.value.where}: {raised.value.what}"


# --- required checks, and the end ---


def test_each_required_check_and_each_end_of_run_check_has_a_record(tmp_path):
    run = small.made(tmp_path / "r1", 1)
    every = run.records()
    refuse_left_out(run.plan(), run.results(every, run.platform()))
    for name in (small.SETTING.format("n2"), small.LOG.format("n2")):
        rest = {key: one for key, one in every.items() if key != name}
        message = refused(refuse_left_out, run.plan(), run.results(rest, run.platform()))
        assert message.startswith("run/records.jsonl: has no record of ")
        assert message.endswith("which the level requires")


def test_a_record_was_planned():
    refuse_unplanned(plan("a", "b"), [item("b"), item("a")])
    message = refused(refuse_unplanned, plan("a", "b"), [item("a"), item("c"), item("b")])
    assert message == "run/records.jsonl: c was not planned"


GIVEN = (Deviation("n1", "r", "w", "2999-01-01", cause="x"),)


def ends(ended, *began, given=GIVEN, kept=True):
    runs = tuple((transcript(started_at=text),) for text in began)
    contents = SimpleNamespace(
        deviations=lambda: given, kept=lambda asked: CaseResult(runs) if kept else None
    )
    items = [item("a", questions=(Question(FACT), *ASKED)), item("b", questions=ASKED)]
    return plan("a", ended=ended), contents, items


@pytest.mark.parametrize(
    "began",
    [
        "2026-11-24T23:59:59+01:00",
        "2026-11-24T22:59:59+00:00",
        "2026-11-24T22:59:59",  # the suite's own clock is UTC
        "2026-11-24T10:00:00+00:00",
        "noon",
    ],
)
def test_a_run_with_deviations_ends_on_the_day_of_its_last_measurement_or_later(began):
    refuse_other_end(*ends("2026-11-24T12:00:00+01:00", "2026-11-23T00:00:00+00:00", began))
    refuse_other_end(*ends("2026-11-25T00:00:00+01:00", began))


@pytest.mark.parametrize("began", ["2026-11-25T01:00:00+01:00", "2026-11-25T00:00:00"])
def test_a_run_that_ended_on_the_day_before_is_refused(began):
    """The day in UTC counts; it ends an hour later than that of the run's own clock."""
    ended = "2026-11-24T23:00:00+01:00"
    message = refused(refuse_other_end, *ends(ended, "noon", "2026-11-20T00:00:00", began))
    assert message.startswith(f"run/run.json: ended at {ended}, but {case_file(ON)} was begun at ")
    refuse_other_end(*ends(ended, began, given=()))
    refuse_other_end(*ends("", began))
    refuse_other_end(*ends(ended, began, kept=False))


# --- evidence ---


def gaps(records, files, *planned, of=("n1", "n2")):
    by_id = {one.id: one for one in records}
    return plan(*(planned or by_id)), cluster(*of), by_id, set(files)


def test_a_proved_item_has_its_evidence_and_no_other():
    refuse_gaps(*gaps([PROVED], FILES))
    message = refused(refuse_gaps, *gaps([PROVED], ()))
    assert message == f"run/{case_file(ON)}: is missing, and an item is based on it"
    message = refused(
        refuse_gaps, *gaps([PROVED], {*FILES, "transcripts/z.json", "transcripts/y.json"})
    )
    assert message == "run/transcripts/y.json: belongs to no item"


def test_both_cases_of_a_question_are_evidence():
    other = case("n2", "n1")
    both = replace(PROVED, questions=(Question(LIMITS, case=ON, other=other), Question(FACT)))
    refuse_gaps(*gaps([both], {*FILES, case_file(other)}))
    assert "is missing" in refused(refuse_gaps, *gaps([both], FILES))


def test_a_run_that_did_not_come_to_its_end_may_have_more_evidence():
    refuse_gaps(*gaps([PROVED], {*FILES, "transcripts/z.json"}, "a", "b"))
    soaked = ("a", "soak/0001/x.py::y[n1]")
    message = refused(refuse_gaps, *gaps([PROVED], {*FILES, "transcripts/z.json"}, *soaked))
    assert "belongs to no item" in message


@pytest.mark.parametrize("pairing", ["", "mlx5_0"])
def test_evidence_of_an_item_that_was_stopped_is_its_own(pairing):
    begun = item("b", Outcome.NOT_RUN, subject="host_read_bandwidth", pairing=pairing)
    for path in (None, Pairing(pairing) if pairing else None):
        files = {*FILES, case_file(Case(begun.subject, begun.nodes, path, ()))}
        refuse_gaps(*gaps([PROVED, begun], files))
        for other in (replace(begun, nodes=()), replace(begun, outcome=Outcome.ERROR)):
            assert "belongs to no item" in refused(refuse_gaps, *gaps([PROVED, other], files))


def test_an_item_is_about_nodes_of_the_cluster():
    message = refused(refuse_gaps, *gaps([PROVED], FILES, of=("n1", "n3")))
    assert message == "run/records.jsonl: a is about a node that the cluster does not have"


def test_an_item_that_claims_evidence_has_asked():
    message = refused(refuse_gaps, *gaps([item("a", by_evidence=True)], ()))
    assert message.endswith("a claims to be based on evidence, but asked no question")


def test_nothing_passes_without_evidence():
    for outcome in (Outcome.PASSED, Outcome.MARGINAL, Outcome.RECORD_ONLY):
        message = refused(refuse_gaps, *gaps([item("a", outcome)], ()))
        assert message.endswith(f"a is {outcome} without evidence")
    for outcome in set(Outcome) - {Outcome.PASSED, Outcome.MARGINAL, Outcome.RECORD_ONLY}:
        refuse_gaps(*gaps([item("a", outcome)], ()))


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_blocking_item_did_not_pass(outcome):
    blocked = item("b", Outcome.BLOCKED, blocked_by=("a",))
    of = gaps([item("a", outcome, by_evidence=True, questions=ASKED), blocked], FILES)
    if outcome in (Outcome.FAILED, Outcome.ERROR, Outcome.FLAKY):
        refuse_gaps(*of)
    else:
        message = refused(refuse_gaps, *of)
        assert message.endswith("b is blocked by a, which did not fail")


def test_a_blocking_item_was_planned_and_may_have_no_record():
    """A worker that died at an item leaves none."""
    blocked = item("b", Outcome.BLOCKED, blocked_by=("a",))
    refuse_gaps(*gaps([blocked], (), "a", "b"))
    assert "which did not fail" in refused(refuse_gaps, *gaps([blocked], (), "b"))


# --- what was measured again ---


PLATFORM = SimpleNamespace(
    measurements={
        ON.measurement: SimpleNamespace(
            extents={"smoke": SimpleNamespace(repeats=2, sizes=ON.sizes)}
        )
    }
)
TWICE = replace(ON, repeats=2)


def again(on=TWICE, suspects=("n1",), kind=LIMITS):
    return Remeasurement(suspects, Question(kind, case=on))


def confirmations(*asked, files=None, level="smoke", platform=PLATFORM):
    made = {f"confirm/{case_file(one.question.case)}" for one in asked if one.question.case}
    run = replace(plan("a"), level=level)
    return run, cluster("n1", "n2"), platform, asked, made if files is None else files


@pytest.mark.parametrize(
    "asked",
    [
        again(),
        again(kind=TRANSPORT),
        again(suspects=("n1", "n2")),
        again(suspects=()),
        again(on=replace(TWICE, repeats=MOST_REPEATS)),
    ],
)
def test_a_suspect_measured_again_as_the_run_measures_is_accepted(asked):
    refuse_other_confirmations(*confirmations(asked))
    refuse_other_confirmations(*confirmations(asked, files=set()))  # interrupted before it


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (again(on=None), "asks for no measurement"),
        (again(kind=FACT), "asks for no measurement"),
        (again(on=replace(TWICE, measurement="warp")), "that the run cannot make"),
        (again(suspects=("n3",)), "that the run cannot make"),
        (again(on=replace(TWICE, nodes=("n1", "n9"))), "that the run cannot make"),
        (again(on=replace(TWICE, sizes=(1,))), "other sizes or repeats than level smoke has"),
        (again(on=replace(TWICE, repeats=1)), "other sizes or repeats than level smoke has"),
        (again(on=replace(TWICE, repeats=MOST_REPEATS + 1)), "other sizes or repeats"),
    ],
)
def test_a_suspect_measured_again_otherwise_is_refused(asked, why):
    message = refused(refuse_other_confirmations, *confirmations(again(), asked))
    assert message.startswith("run/confirmations.jsonl: ")
    assert why in message


def test_a_level_with_more_repeats_allows_as_many():
    extent = SimpleNamespace(repeats=MOST_REPEATS + 5, sizes=ON.sizes)
    many = SimpleNamespace(
        measurements={ON.measurement: SimpleNamespace(extents={"smoke": extent})}
    )
    for repeats in (MOST_REPEATS + 5, MOST_REPEATS + 4, MOST_REPEATS + 6):
        of = confirmations(again(on=replace(ON, repeats=repeats)), platform=many)
        if repeats == MOST_REPEATS + 5:
            refuse_other_confirmations(*of)
        else:
            assert "other sizes or repeats" in refused(refuse_other_confirmations, *of)


def test_a_measurement_that_the_level_does_not_make_is_refused():
    message = refused(refuse_other_confirmations, *confirmations(again(), level="nightly"))
    assert message.endswith("asks for a measurement that level nightly does not make")


def test_a_transcript_that_nobody_asked_for_is_refused():
    files = {f"confirm/{case_file(TWICE)}", "confirm/z.json", "confirm/y.json"}
    message = refused(refuse_other_confirmations, *confirmations(again(), files=files))
    assert message == "run/confirm/y.json: belongs to no repeated measurement"
