"""An item as its evidence gives it: in front of its gate and behind it."""

import pytest
from testing.core_values import case, item, judgement

from railgauge.core.errors import CommandTimedOut
from railgauge.core.model import Outcome
from railgauge.core.question import CORRECT, LIMITS, Question
from railgauge.judging import by_evidence

ASKED = (Question(LIMITS, case()),)
RIGHT, WRONG = judgement(), judgement(Outcome.FAILED, reason="4 wrong")
HUNG = CommandTimedOut("ended after 60 s", where="n1: all_reduce_perf")
BEGUN = item("a.py::x[n1]", Outcome.ERROR)


class Answers:
    """An assessor with the same answer to every item; it keeps what it was asked."""

    def __init__(self, *judgements, error=None):
        self.given, self.asked = (judgements, error), []

    def answers(self, questions):
        self.asked.append(questions)
        return self.given


def behind(*blockers, **answers):
    """The item behind its gate, its results checked."""
    shut = by_evidence.blocked(BEGUN, blockers, case())
    assert shut.questions == (Question(CORRECT, case()),)
    return by_evidence.judged(shut, Answers(*answers.pop("judgements", ()), **answers))


def test_the_outcome_of_an_item_is_that_of_its_answers():
    recorded = item("a.py::x[n1]", Outcome.PASSED, questions=ASKED, reason="fine", error_kind="old")
    for answers, outcome, reason in (
        (Answers(RIGHT), Outcome.PASSED, ""),
        (Answers(RIGHT, WRONG), Outcome.FAILED, "4 wrong"),
        (Answers(error=HUNG), Outcome.ERROR, "n1: all_reduce_perf: ended after 60 s"),
    ):
        made = by_evidence.judged(recorded, answers)
        assert (made.outcome, made.reason, made.by_evidence) == (outcome, reason, True)
        assert made.error_kind == ("command-timed-out" if outcome is Outcome.ERROR else "")
        assert answers.asked == [ASKED]


@pytest.mark.parametrize(
    ("blockers", "reason"),
    [("b", "blocked by b"), ("bc", "blocked by b and 1 more"), ("bcd", "blocked by b and 2 more")],
)
def test_a_blocked_item_that_is_not_measured_asks_nothing(blockers, reason):
    shut, answers = by_evidence.blocked(BEGUN, blockers), Answers(WRONG)
    assert (shut.outcome, shut.reason, shut.questions) == (Outcome.BLOCKED, reason, ())
    assert shut.blocked_by == tuple(blockers)
    assert by_evidence.judged(shut, answers) == shut
    assert answers.asked == []


def test_right_results_leave_it_blocked_and_are_reported():
    made = behind("b", judgements=[RIGHT])
    assert (made.outcome, made.reason) == (
        Outcome.BLOCKED, "blocked by b; its results are right",
    )  # fmt: skip
    assert (made.judgements, made.blocked_by, made.by_evidence) == ((RIGHT,), ("b",), False)


def test_wrong_results_make_it_fail_and_nothing_blocks_it():
    made = behind("b", "c", judgements=[WRONG])
    assert (made.outcome, made.reason, made.by_evidence) == (Outcome.FAILED, "4 wrong", True)
    assert made.blocked_by == ()


def test_unchecked_results_leave_it_blocked_with_the_error():
    made = behind("b", error=HUNG)
    reason = "blocked by b; whether its results are right is unknown: ended after 60 s"
    assert (made.outcome, made.reason, made.error_kind) == (
        Outcome.BLOCKED, reason, "command-timed-out",
    )  # fmt: skip
    assert (made.error_where, made.blocked_by) == ("n1: all_reduce_perf", ("b",))


@pytest.mark.parametrize("answers", [{"judgements": [RIGHT]}, {"error": HUNG}])
def test_an_item_judged_again_is_the_same(answers):
    once = behind("b", **answers)
    assert by_evidence.judged(once, Answers(*answers.pop("judgements", ()), **answers)) == once


def test_an_item_skipped_for_another_reason_keeps_it_unless_its_results_are_wrong():
    skipped = item("a.py::x[n1]", Outcome.BLOCKED, questions=ASKED, reason="not today")
    kept = by_evidence.judged(skipped, Answers(RIGHT))
    assert (kept.outcome, kept.reason, kept.judgements) == (Outcome.BLOCKED, "not today", (RIGHT,))
    assert by_evidence.judged(skipped, Answers(WRONG)).outcome is Outcome.FAILED
