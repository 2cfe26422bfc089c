"""An item's record for everything its test can do: pass, raise, skip, compare nothing."""

import json
from types import SimpleNamespace

import pytest
from testing.core_values import ROOT, case, cluster, item, judgement

from railgauge.config import thresholds
from railgauge.core.errors import FactMissing, LimitMissed, NodeUnreachable
from railgauge.core.model import Outcome
from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis import RunResults
from railgauge.planning.collected import About, Subject
from railgauge.plugin import recording
from railgauge.plugin.items import ABOUT
from railgauge.plugin.opening import SERVICES
from railgauge.plugin.recording import DRAFT, Draft
from railgauge.run import judgement_lines
from railgauge.run.store import Store
from railgauge.verdict.earlier import EarlierResults

ASKED = Question(LIMITS, case(), 8)
GOOD, MISSED = judgement(), judgement(Outcome.FAILED, reason="358 Gb/s, limit 372")
NOTED = judgement(Outcome.RECORD_ONLY)
LOST = FactMissing("was not surveyed", where="n1", remedy="survey it")
SUBJECT = Subject("measures", "host_write_bandwidth")


def skip(reason="record only"):
    return pytest.skip.Exception(reason)


def a_test(raises):
    """The function of an item."""
    raises()


def a_hook(error):
    raise error


def caught(error, by_test):
    """The error as pytest has caught it: in the test, or in something that pytest called."""
    with pytest.raises(type(error)) as info:
        a_test(lambda: a_hook(error)) if by_test else a_hook(error)
    return info


@pytest.fixture
def pytest_item():
    about = About(SUBJECT, ("size",), 1, "A title", ("n1", "n2"), "mlx5_0", 8)
    config = SimpleNamespace(stash={recording.EARLIER: EarlierResults({})})
    stash = {DRAFT: Draft(), ABOUT: about}
    return SimpleNamespace(nodeid="a", stash=stash, obj=a_test, config=config)


@pytest.fixture
def phase(pytest_item, tmp_path):
    """``phase(error, when)`` returns the item's record after a phase with this error."""

    def run(error=None, when="call", by_test=True, **draft):
        for name, value in draft.items():
            setattr(pytest_item.stash[DRAFT], name, value)
        call = SimpleNamespace(excinfo=caught(error, by_test) if error else None)
        report = SimpleNamespace(when=when, duration=1.5, passed=error is None)
        recording.observe(pytest_item, call, report, Store(tmp_path))
        if (data := getattr(report, "railgauge", None)) is None:
            return None
        plain = Store(tmp_path).plain(recording.finished(pytest_item).to_json())
        brief = {"outcome": plain["outcome"], "reason": plain["reason"]}
        assert data == (plain if when == "teardown" else brief)
        return plain

    return run


def test_a_failure_of_an_earlier_run_is_reported_in_every_phase_and_written_once(
    phase, pytest_item, tmp_path
):
    low = judgement(Outcome.FAILED, reason="358 Gb/s, limit 372")
    old = item("a", Outcome.FAILED, judgements=(low,), reason="358 Gb/s, limit 372")
    platform = thresholds.load("connectx4-homelab", ROOT / "thresholds")
    run = RunResults({"a": old}, {}, platform, cluster())
    store = Store(tmp_path)
    (tmp_path / "leases").mkdir()
    pytest_item.config.stash |= {
        recording.EARLIER: EarlierResults({"night-1": run}),
        SERVICES: SimpleNamespace(store=store),
    }
    asked = {"judgements": [judgement()], "questions": [Question(LIMITS, case())]}
    for when in ("call", "teardown"):
        found = phase(when=when, **asked)
        assert found["outcome"] == "failed"
        assert found["reason"] == "failed in night-1: 358 Gb/s, limit 372; now passed"
    (line,) = store.lines("measurements.jsonl")[0]
    assert (line["id"], line["outcome"]) == ("a", "failed")


def summary(record):
    return record["outcome"], record["reason"], record["error_kind"], record["by_evidence"]


# --- the outcome of an item ---


@pytest.mark.parametrize(
    ("judgements", "error", "outcome"),
    [
        ([GOOD], None, "passed"),
        ([GOOD, GOOD], None, "passed"),
        ([MISSED], LimitMissed("358"), "failed"),
        ([GOOD, MISSED], LimitMissed("358"), "failed"),
        ([NOTED], skip(), "record_only"),
    ],
)
def test_the_outcome_follows_from_the_answers_alone(phase, judgements, error, outcome):
    record = phase(error, judgements=judgements, questions=[ASKED])
    assert (record["outcome"], record["by_evidence"]) == (outcome, True)
    assert len(record["judgements"]) == len(judgements)


def test_an_answer_that_could_not_be_had_is_an_error_by_evidence(phase):
    record = phase(LOST, judgements=[GOOD], questions=[ASKED], unanswered=LOST)
    assert summary(record) == ("error", "n1: was not surveyed", "fact-missing", True)
    assert (record["error_where"], record["remedy"]) == ("n1", "survey it")


def test_an_answer_that_could_not_be_had_counts_also_if_the_test_caught_the_error(phase):
    record = phase(None, judgements=[GOOD], questions=[ASKED], unanswered=LOST)
    assert summary(record) == ("error", "n1: was not surveyed", "fact-missing", True)


def test_a_missed_limit_is_failed_though_something_else_is_unknown(phase):
    record = phase(LimitMissed("x"), judgements=[MISSED], questions=[ASKED], unanswered=LOST)
    assert summary(record) == ("failed", "358 Gb/s, limit 372", "", True)


@pytest.mark.parametrize("judgements", [[], [GOOD], [NOTED]])
def test_a_missed_limit_that_no_judgement_shows_is_failed_and_not_by_evidence(phase, judgements):
    record = phase(LimitMissed("own"), judgements=judgements, questions=[ASKED])
    assert summary(record) == ("failed", "own", "", False)


def test_an_assertion_of_a_test_s_own_fails_in_the_words_of_the_missed_limits(phase):
    error = AssertionError("own words")
    assert summary(phase(error, judgements=[GOOD], questions=[ASKED])) == (
        "failed", "own words", "", False,
    )  # fmt: skip
    missed = phase(error, judgements=[MISSED, GOOD, MISSED])
    assert missed["reason"] == "358 Gb/s, limit 372; 358 Gb/s, limit 372"


@pytest.mark.parametrize("when", ["setup", "call", "teardown"])
def test_an_assertion_of_a_hook_or_a_fixture_is_no_missed_limit(phase, when):
    """A plugin's hook at the end of an item leaves "previous item was not torn down properly"."""
    record = phase(AssertionError("was not torn down"), when, by_test=False)
    said_of_it = "an error inside railgauge, not of the cluster: AssertionError: was not torn down"
    assert summary(record) == ("error", said_of_it, "bug", False)


def test_a_limit_that_a_fixture_has_missed_fails_the_item(phase):
    record = phase(LimitMissed("358"), "setup", by_test=False)
    assert summary(record) == ("failed", "358", "", False)


@pytest.mark.parametrize("judgements", [[], [GOOD], [MISSED]])
def test_a_skip_that_is_not_the_suite_s_own_proves_nothing(phase, judgements):
    record = phase(skip("not today"), judgements=judgements, questions=[ASKED])
    assert summary(record) == ("blocked", "not today", "", False)


def test_an_error_of_the_suite_is_reported_as_its_own(phase):
    record = phase(ZeroDivisionError("oops"), judgements=[GOOD], questions=[ASKED])
    words = "an error inside railgauge, not of the cluster: ZeroDivisionError: oops"
    assert summary(record) == ("error", words, "bug", False)
    assert len(record["judgements"]) == 1


def test_an_error_with_a_kind_keeps_it(phase):
    lost = NodeUnreachable("no route", where="n2")
    record = phase(lost, judgements=[GOOD], questions=[ASKED])
    assert summary(record) == ("error", "n2: no route", "node-unreachable", False)


@pytest.mark.parametrize(
    ("judgements", "outcome"), [([], "error"), ([GOOD], "passed"), ([GOOD, MISSED], "failed")]
)
def test_an_item_without_a_question_has_its_judgements_and_no_evidence(phase, judgements, outcome):
    record = phase(judgements=judgements)
    assert (record["outcome"], record["by_evidence"]) == (outcome, False)


def test_an_item_that_asked_and_compared_nothing_is_an_error(phase):
    assert phase(questions=[ASKED])["outcome"] == "error"


def test_the_first_error_counts(phase):
    phase(LimitMissed("x"), judgements=[MISSED], questions=[ASKED])
    record = phase(NodeUnreachable("no route", where="n2"), when="teardown")
    assert record["outcome"] == "failed"


def test_an_error_in_the_teardown_after_a_pass_is_an_error(phase):
    assert phase(judgements=[GOOD], questions=[ASKED])["outcome"] == "passed"
    assert phase(NodeUnreachable("no route", where="n2"), when="teardown")["outcome"] == "error"


def test_nothing_is_known_after_setup_unless_it_failed(phase):
    assert phase(when="setup") is None
    shut = item("a", Outcome.BLOCKED, blocked_by=("b",), reason="blocked by b")
    assert phase(skip("blocked by b"), when="setup", ended=shut)["blocked_by"] == ["b"]


def test_an_item_that_its_gate_ended_has_the_record_of_the_gate(phase):
    shut = item("a", Outcome.BLOCKED, blocked_by=("b",), reason="blocked by b", error_kind="hung")
    phase(when="setup")
    record = phase(skip("blocked by b"), ended=shut)
    assert summary(record) == ("blocked", "blocked by b", "hung", False)
    assert (record["duration_s"], record["id"]) == (3, "a")
    late = NodeUnreachable("no route", where="n2")
    assert summary(phase(late, when="teardown")) == summary(record), "what ended it first counts"


def test_a_teardown_that_passes_has_the_record_too(phase):
    phase(judgements=[GOOD], questions=[ASKED])
    assert phase(when="teardown")["outcome"] == "passed"


def test_a_setup_that_passes_has_no_record_whatever_was_asked(phase):
    assert phase(None, when="setup", judgements=[GOOD]) is None


def test_a_record_says_what_it_is_about_and_how_long_it_took(phase):
    phase(when="setup")
    record = phase(judgements=[GOOD], questions=[ASKED], transcript="t.txt")
    about = ("id", "rung", "subject", "title", "nodes", "pairing", "size_bytes", "ways")
    assert [record[name] for name in about] == [
        "a", 1, "host_write_bandwidth", "A title", ["n1", "n2"], "mlx5_0", 8, ["size"],
    ]  # fmt: skip
    assert (record["duration_s"], record["transcript"]) == (3, "t.txt")
    assert len(record["questions"]) == 1


def test_a_new_draft_is_empty():
    assert Draft() == Draft([], "", None, 0.0, [], None, False)


def test_a_pass_needs_a_comparison(pytest_item):
    with pytest.raises(recording.NoEvidence, match="without comparing anything") as raised:
        recording.require_judgement(pytest_item)
    assert (raised.value.where, bool(raised.value.remedy)) == ("a", True)
    pytest_item.stash[DRAFT].judgements.append(GOOD)
    recording.require_judgement(pytest_item)


def test_each_judgement_is_kept_in_the_record_and_in_the_measurements(pytest_item, tmp_path):
    (tmp_path / "leases").mkdir()
    for one in (GOOD, MISSED):
        recording.note(pytest_item, one, Store(tmp_path, lambda: "simulated"))
    assert pytest_item.stash[DRAFT].judgements == [GOOD, MISSED]
    lines = [json.loads(line) for line in (tmp_path / "measurements.jsonl").open()]
    assert [(line["id"], line["outcome"], line["evidence"]) for line in lines] == [
        ("a", "passed", "simulated"), ("a", "failed", "simulated"),
    ]  # fmt: skip


# --- pytest's own reports of an item ---


@pytest.fixture
def reported():
    """``reported(outcome, when, error)`` returns the outcome and text of a phase's report."""

    def run(outcome, when="call", error=None, **more):
        data = {"outcome": str(outcome), "reason": "the reason"}
        began = "failed" if error else "passed"
        report = Report(when, more.pop("began", began), data if outcome else None, **more)
        call = SimpleNamespace(excinfo=SimpleNamespace(value=error) if error else None)
        recording.as_recorded(report, call)
        return report

    return run


class Report(SimpleNamespace):
    """As in pytest's reports, ``passed`` and ``failed`` follow from the outcome."""

    def __init__(self, when, outcome, data, **more):
        kept = {"railgauge": data} if data else {}
        super().__init__(when=when, outcome=outcome, **{"longrepr": None, **more}, **kept)

    @property
    def passed(self):
        return self.outcome == "passed"

    @property
    def failed(self):
        return self.outcome == "failed"


@pytest.mark.parametrize(
    ("outcome", "says", "when"),
    [
        (Outcome.PASSED, "passed", "call"),
        (Outcome.MARGINAL, "passed", "call"),
        (Outcome.RECORD_ONLY, "skipped", "call"),
        (Outcome.BLOCKED, "skipped", "call"),
        (Outcome.FAILED, "failed", "call"),
        (Outcome.ERROR, "failed", "setup"),
        (Outcome.FLAKY, "failed", "setup"),
        (Outcome.NOT_RUN, "skipped", "call"),
    ],
)
@pytest.mark.parametrize("began", ["passed", "failed", "skipped"])
def test_a_report_agrees_with_the_record_whatever_it_was_before(
    reported, outcome, says, when, began
):
    report = reported(outcome, began=began, longrepr="as it was")
    assert (report.outcome, report.when) == (says, when)
    assert report.longrepr == (None if says == "passed" else "as it was")
    assert reported(outcome).longrepr == (None if says == "passed" else "the reason")


def test_an_expected_failure_is_reported_as_failed(reported):
    report = reported(Outcome.FAILED, began="skipped", wasxfail="known")
    assert not hasattr(report, "wasxfail")
    assert (report.outcome, report.when) == ("failed", "call")


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED, Outcome.ERROR])
def test_a_teardown_reports_its_own_error(reported, outcome):
    good = reported(outcome, "teardown", began="failed")
    bad = reported(outcome, "teardown", ValueError("x"), began="passed")
    assert (good.outcome, good.when, good.longrepr) == ("passed", "teardown", None)
    assert (bad.outcome, bad.when) == ("failed", "teardown")


def test_a_report_that_carries_no_record_stays_as_it_is(reported):
    report = reported(None, began="skipped", wasxfail="known", longrepr="as it was")
    assert (report.outcome, report.wasxfail, report.longrepr) == ("skipped", "known", "as it was")
    assert recording.outcome_of(report) is None
    assert recording.outcome_of(SimpleNamespace(railgauge={})) is None
    assert recording.outcome_of(SimpleNamespace(railgauge={"outcome": "failed"})) is Outcome.FAILED


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (LimitMissed("358 Gb/s"), "limit missed: 358 Gb/s"),
        (LOST, "fact-missing: n1: was not surveyed; survey it"),
        (ValueError("x"), "the way through the code"),
        (None, "the way through the code"),
    ],
)
def test_the_report_has_the_message_without_the_traceback(error, says):
    call = SimpleNamespace(excinfo=SimpleNamespace(value=error) if error else None)
    report = SimpleNamespace(longrepr="the way through the code")
    recording.brief(call, report)
    assert report.longrepr == says


def test_judgements_of_an_item_that_no_test_made_are_kept_one_a_line(tmp_path):
    store = Store(tmp_path, lambda: "simulated")
    (tmp_path / "leases").mkdir()
    record = item("peers::behind_peers[n1]", judgements=(GOOD, MISSED))
    judgement_lines.keep_all([record], store)
    lines = [
        json.loads(line) for line in (tmp_path / "measurements.jsonl").read_text().splitlines()
    ]
    assert [line["outcome"] for line in lines] == ["passed", "failed"]
    assert {(line["id"], line["evidence"]) for line in lines} == {(record.id, "simulated")}


def test_a_report_that_is_kept_until_the_end_holds_the_outcome_and_the_reason_alone():
    whole = item("a", Outcome.FAILED, reason="slow").to_json()
    report = SimpleNamespace(railgauge={**whole, recording.ROWS: [whole]}, keywords={"a": 1})
    recording.shorten(report)
    assert report == SimpleNamespace(railgauge={"outcome": "failed", "reason": "slow"}, keywords={})
