"""Records the outcome of each item, once for all reports.

pytest calls every exception in a test's body a failure. Here only a missed limit is a failure; any
other exception is an *error*. The report of the phase is changed, so that JUnit, HTML and the
terminal agree.

Example: ``LimitMissed`` in a test gives the outcome ``failed``; ``NoEvidence`` gives ``error``, and
the report's phase becomes ``setup``, which pytest shows as an error.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, cast

import pytest

from railgauge.core.errors import LimitMissed, NoEvidence, RailgaugeError
from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import Question
from railgauge.judging.record import (
    OWN_ERROR,
    ItemRecord,
    settled,
    with_earlier,
    with_error,
    worst_of,
)
from railgauge.plugin.items import ABOUT
from railgauge.plugin.opening import SERVICES, SETTINGS
from railgauge.run import judgement_lines, ladder
from railgauge.run.decided import MeasuringError
from railgauge.run.run_folder import RunFolder
from railgauge.run.store import Store
from railgauge.verdict.earlier import EarlierResults


@dataclass(slots=True)
class Draft:
    """What is known about a running item so far.

    ``error`` is the first exception; ``in_test`` whether the test itself raised it.
    ``unanswered`` is the error that ended it. ``ended`` is its record if it does not come to its
    test, because its gate is closed or the run was stopped. ``before`` are its records of the runs
    that this one resumes, once it has ended.
    """

    judgements: list[Judgement] = field(default_factory=list)
    transcript: str = ""
    error: BaseException | None = None
    duration_s: float = 0.0
    questions: list[Question] = field(default_factory=list)
    unanswered: NoEvidence | None = None
    in_test: bool = False
    ended: ItemRecord | None = None
    before: tuple[tuple[str, ItemRecord], ...] | None = None


DRAFT = pytest.StashKey[Draft]()
ROWS = "rows"  # of the last report of an item with sub-items: their records


def note(item: pytest.Item, judgement: Judgement, store: Store) -> None:
    """Add a judgement to the item's record and to ``measurements.jsonl``."""
    item.stash[DRAFT].judgements.append(judgement if judgement.values else _shared(judgement))
    judgement_lines.keep(begun(item), judgement, store)


@lru_cache(4096)
def _shared(judgement: Judgement) -> Judgement:
    """The first equal judgement: those of a node's counters are equal in all of its pairs."""
    return judgement


def observe(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport, store: Store
) -> None:
    """Update the item's record after one phase, and attach it to the last report.

    The first error counts, so that an error in the teardown does not hide a failure. Earlier
    reports only have the outcome and the reason.
    """
    draft = item.stash[DRAFT]
    draft.duration_s += report.duration
    if call.excinfo and draft.error is None:
        draft.error, draft.in_test = call.excinfo.value, is_of_test(item, call.excinfo)
    draft.error = draft.error or draft.unanswered  # also if the test has caught it
    if report.when == "setup" and report.passed:
        return
    record = finished(item)
    is_last = report.when == "teardown"
    data = record.to_json() if is_last else in_short(record.outcome, record.reason)
    report.railgauge = masked(data, store)  # type: ignore[attr-defined]


def masked(plain: dict[str, Any], store: Store) -> dict[str, Any]:
    """Plain data with secrets masked, as it is stored."""
    return cast("dict[str, Any]", store.plain(plain))


def is_of_test(item: pytest.Item, error: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether the test's own function was running, and not only a hook or a fixture."""
    test = getattr(item, "obj", None)
    code = getattr(inspect.unwrap(test), "__code__", None) if test else None
    return any(entry.frame.code.raw is code for entry in error.traceback)


def in_short(outcome: Outcome, reason: str) -> dict[str, Any]:
    """What a report keeps of a record."""
    return {"outcome": str(outcome), "reason": reason}


def shorten(report: Any) -> None:
    """Leave in a report only what reporters need: some keep every report until the end."""
    data = report.railgauge
    report.railgauge, report.keywords = in_short(data["outcome"], data["reason"]), {}


def finished(item: pytest.Item) -> ItemRecord:
    """The record of an item, or of its row, that has ended."""
    draft = item.stash[DRAFT]
    record = _record(item, draft)
    if draft.before is None:
        draft.before = tuple(earlier(item.config).of(record))
        for judgement in with_earlier(record, draft.before).judgements[len(record.judgements) :]:
            judgement_lines.keep(record, judgement, item.config.stash[SERVICES].store)
    return with_earlier(record, draft.before)


def earlier(config: pytest.Config) -> EarlierResults:
    """The results of the runs that this one resumes: kept before the first item, read once."""
    if EARLIER not in config.stash:
        kept = RunFolder(config.stash[SERVICES].store.folder)
        runs = kept.earlier_results(config.stash[SETTINGS].platform)
        config.stash[EARLIER] = EarlierResults(runs)
    return config.stash[EARLIER]


EARLIER = pytest.StashKey[EarlierResults]()


def _record(item: pytest.Item, draft: Draft) -> ItemRecord:
    if draft.ended:
        return replace(draft.ended, duration_s=draft.duration_s)
    blank = begun(item)
    if draft.questions and _follows(draft):
        return settled(blank, draft.judgements, draft.unanswered)
    if draft.error is None:
        return replace(blank, outcome=worst_of(draft.judgements))
    return _went_wrong(blank, draft, draft.error)


def _follows(draft: Draft) -> bool:
    """Whether the outcome follows from the answers alone, and not from another exception."""
    error, outcomes = draft.error, {judged.outcome for judged in draft.judgements}
    if isinstance(error, LimitMissed):
        return Outcome.FAILED in outcomes
    if isinstance(error, pytest.skip.Exception):
        return Outcome.RECORD_ONLY in outcomes
    return error is draft.unanswered


def begun(item: pytest.Item) -> ItemRecord:
    """The record of an item so far, without a result."""
    draft = item.stash[DRAFT]
    return replace(
        ladder.begun(item.stash[ABOUT], item.nodeid),
        judgements=tuple(draft.judgements),
        transcript=draft.transcript,
        duration_s=draft.duration_s,
        questions=tuple(draft.questions),
    )


def _went_wrong(record: ItemRecord, draft: Draft, error: BaseException) -> ItemRecord:
    """The record of an item that ended by an exception that no evidence explains.

    A skip by anything but the suite proves nothing, so its item counts as blocked.
    """
    if isinstance(error, pytest.skip.Exception):
        return replace(record, outcome=Outcome.BLOCKED, reason=str(error.msg))
    if isinstance(error, LimitMissed) or (isinstance(error, AssertionError) and draft.in_test):
        return replace(record, outcome=Outcome.FAILED, reason=_missed(draft) or str(error))
    if isinstance(error, RailgaugeError):
        return with_error(record, error)
    return replace(record, reason=of_the_suite(error), error_kind=OWN_ERROR)


def of_the_suite(error: BaseException) -> str:
    """The reason for an unexpected exception; it blames no node, tool or limit."""
    what = error if isinstance(error, MeasuringError) else f"{type(error).__name__}: {error}"
    return f"an error inside railgauge, not of the cluster: {what}"


def _missed(draft: Draft) -> str:
    return "; ".join(j.reason for j in draft.judgements if j.outcome is Outcome.FAILED)


def require_judgement(item: pytest.Item) -> None:
    """Raise ``NoEvidence`` for a test that compared nothing: a pass needs positive evidence."""
    if not item.stash[DRAFT].judgements:
        raise NoEvidence(
            "the test ended without comparing anything with a limit",
            where=item.stash[ABOUT].row_id or item.nodeid,
            remedy="call check(...) or expect(...) in the test",
        )


def brief(call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Show the message of a known error without the traceback through the suite's code."""
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, LimitMissed):
        report.longrepr = f"limit missed: {error}"
    elif isinstance(error, RailgaugeError):
        report.longrepr = f"{error.kind}: {error}"


def as_recorded(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    """Make the report of a phase agree with the record, whatever marks and hooks have set.

    An exception other than a missed limit is reported at setup, which pytest shows as an error.
    """
    outcome = outcome_of(report)
    if outcome is None:
        return
    if hasattr(report, "wasxfail"):
        del report.wasxfail
    if report.when == "teardown":  # an error here is reported beside the outcome
        report.outcome = "failed" if call.excinfo else "passed"
    else:
        report.outcome = reported(outcome)
        if report.failed and outcome is not Outcome.FAILED:
            report.when = "setup"
    if report.passed:
        report.longrepr = None
    elif report.longrepr is None:
        report.longrepr = report.railgauge["reason"]


_REPORTED: dict[Outcome, Literal["passed", "skipped"]] = {
    Outcome.PASSED: "passed",
    Outcome.MARGINAL: "passed",
    Outcome.BLOCKED: "skipped",
    Outcome.NOT_RUN: "skipped",
    Outcome.RECORD_ONLY: "skipped",
}


def reported(outcome: Outcome) -> Literal["passed", "failed", "skipped"]:
    """The outcome as pytest knows it."""
    return _REPORTED.get(outcome, "failed")


def outcome_of(report: Any) -> Outcome | None:
    """The outcome in a phase's report; ``None`` for a test that is not of the ladder."""
    data = getattr(report, "railgauge", None)
    return Outcome(data["outcome"]) if data else None
