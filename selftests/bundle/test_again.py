"""Which items of a run are judged again, and by what."""

from __future__ import annotations

import pytest
from testing import small_runs as small
from testing.core_values import item, judgement

from railgauge.bundle.again import judged_again, judged_anew
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Outcome
from railgauge.core.question import FACT, Question

ASKED = (Question(FACT, metric="cpu_governor"),)
BAD, GOOD = judgement(Outcome.FAILED, reason="odd"), judgement()


class Answers:
    """An assessor with the same answer to every question; it keeps what it was asked."""

    def __init__(self, *judgements, error=None):
        self.given, self.asked = (judgements, error), []

    def answers(self, questions):
        self.asked.append(questions)
        return self.given


def test_an_item_that_rests_on_evidence_is_judged_by_it_alone():
    record = item("a.py::b[n1]", Outcome.PASSED, by_evidence=True, questions=ASKED, reason="fine")
    answers = Answers(BAD)
    made = judged_again(record, answers)
    assert (made.outcome, made.reason, made.judgements) == (Outcome.FAILED, "odd", (BAD,))
    assert answers.asked == [ASKED]
    assert judged_again(made, Answers(GOOD)).outcome is Outcome.PASSED
    error = judged_again(record, Answers(error=NoEvidence("gone", where="n1")))
    assert (error.outcome, error.reason) == (Outcome.ERROR, "n1: gone")


@pytest.mark.parametrize(
    "record",
    [
        item("a.py::b[n1]", Outcome.ERROR, questions=ASKED, reason="the suite"),
        item("a.py::b[n1]", Outcome.FLAKY, by_evidence=True, questions=ASKED, reason="second"),
        item("a.py::b[n1]", Outcome.BLOCKED, blocked_by=("c",)),
        item(small.LOG.format("n1"), Outcome.FAILED, by_evidence=True, questions=ASKED),
    ],
    ids=["no evidence", "flaky", "blocked", "closing"],
)
def test_an_item_that_no_evidence_decides_keeps_its_record(record):
    """A flaky item ran twice and passed the second time, which its transcripts do not show."""
    answers = Answers(GOOD)
    assert judged_again(record, answers) == record
    assert answers.asked == []


def test_only_wrong_results_of_a_blocked_item_are_judged():
    record = item("a.py::b[n1]", Outcome.BLOCKED, blocked_by=("c",), questions=ASKED, reason="by c")
    kept, right = judged_again(record, Answers(GOOD)), "blocked by c; its results are right"
    assert (kept.outcome, kept.reason, kept.judgements) == (Outcome.BLOCKED, right, (GOOD,))
    made = judged_again(record, Answers(GOOD, BAD))
    assert (made.outcome, made.reason) == (Outcome.FAILED, "odd")


def test_a_recorded_claim_of_right_results_is_never_believed():
    record = item(
        "a.py::b[n1]", Outcome.BLOCKED, blocked_by=("c",), questions=ASKED, reason="right"
    )
    unknown = judged_again(record, Answers(error=NoEvidence("gone", where="n1")))
    assert (unknown.outcome, unknown.judgements) == (Outcome.BLOCKED, ())
    assert unknown.reason == "blocked by c; whether its results are right is unknown: gone"


def test_a_run_is_judged_with_its_closing_items(tmp_path):
    run = small.made(tmp_path / "r1", 1, wrong=["n2"], logged={"n1": small.FALLEN})
    found = judged_anew(run, run.records(), run.platform())
    assert found.verdict.verdict == "rejected"
    assert found.records == run.records() == dict(found.results.records) | found.records
    assert {name for name, one in found.records.items() if one.outcome is Outcome.FAILED} == {
        small.SETTING.format("n2"),
        small.LOG.format("n1"),
    }


def test_a_recorded_closing_item_is_never_believed(tmp_path):
    run = small.made(tmp_path / "r1", 1, logged={"n1": small.FALLEN})
    name = small.LOG.format("n1")
    forged = small.recorded(run, name, outcome="passed", reason="", judgements=[])
    found = judged_anew(forged, forged.records(), forged.platform())
    assert found.records[name].outcome is Outcome.FAILED
    assert found.verdict.counts.failed == 1
