"""Watches each item and writes down what became of it, once, for every report.

pytest calls an exception in a test's body a failure. Here only a missed limit is one: whatever
else goes wrong there is an *error*, and the report is changed so that JUnit, HTML and the terminal
say so too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest

from railgauge.core.errors import LimitMissed, NoEvidence, RailgaugeError
from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import Question
from railgauge.judging.record import (
    MEASUREMENTS,
    OWN_ERROR,
    ItemRecord,
    measurement,
    settled,
    with_error,
    worst_of,
)
from railgauge.plugin.items import ABOUT, About
from railgauge.run.store import Store


@dataclass(slots=True)
class Draft:
    """What is known of a running item so far."""

    judgements: list[Judgement] = field(default_factory=list)
    transcript: str = ""
    blocked_by: tuple[str, ...] = ()
    error: BaseException | None = None
    duration_s: float = 0.0
    questions: list[Question] = field(default_factory=list)
    unanswered: NoEvidence | None = None


DRAFT = pytest.StashKey[Draft]()


def note(item: pytest.Item, judgement: Judgement, store: Store) -> None:
    """Keep a judgement: in the item's record, and in ``measurements.jsonl``."""
    draft, about = item.stash[DRAFT], item.stash[ABOUT]
    draft.judgements.append(judgement)
    line = measurement(_blank(item, about, draft), judgement)
    store.append_bound(MEASUREMENTS, {**line, "evidence": store.evidence})


def observe(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Bring the item's record up to date after one phase, and hang it on the phase's report.

    What went wrong first counts: a failure is not hidden by trouble when cleaning up after it.
    """
    draft = item.stash[DRAFT]
    draft.duration_s += report.duration
    if call.excinfo and draft.error is None:
        draft.error = call.excinfo.value
    draft.error = draft.error or draft.unanswered  # whoever has caught it on its way here
    if report.when == "setup" and report.passed:
        return  # nothing is known yet
    report.railgauge = _record(item, draft).to_json()  # type: ignore[attr-defined]


def _record(item: pytest.Item, draft: Draft) -> ItemRecord:
    blank = _blank(item, item.stash[ABOUT], draft)
    if draft.questions and _follows(draft):
        return settled(blank, draft.judgements, draft.unanswered)
    if draft.error is None:
        return replace(blank, outcome=worst_of(draft.judgements))
    return _went_wrong(blank, draft, draft.error)


def _follows(draft: Draft) -> bool:
    """Whether the outcome follows from the answers alone, or from something else that happened."""
    error, outcomes = draft.error, {judged.outcome for judged in draft.judgements}
    if isinstance(error, LimitMissed):
        return Outcome.FAILED in outcomes
    if isinstance(error, pytest.skip.Exception):
        return Outcome.RECORD_ONLY in outcomes
    return error is draft.unanswered


def _blank(item: pytest.Item, about: About, draft: Draft) -> ItemRecord:
    return ItemRecord(
        id=item.nodeid,
        rung=about.rung,
        subject=about.subject.name,
        title=about.title,
        outcome=Outcome.ERROR,
        nodes=about.nodes,
        pairing=about.pairing,
        size_bytes=about.size_bytes,
        judgements=tuple(draft.judgements),
        blocked_by=draft.blocked_by,
        transcript=draft.transcript,
        duration_s=draft.duration_s,
        questions=tuple(draft.questions),
        ways=about.ways,
    )


def _went_wrong(record: ItemRecord, draft: Draft, error: BaseException) -> ItemRecord:
    """What no evidence led to. A skip that is not the suite's own proves nothing: blocked."""
    if isinstance(error, pytest.skip.Exception):
        return replace(record, outcome=Outcome.BLOCKED, reason=str(error.msg))
    if isinstance(error, AssertionError):
        return replace(record, outcome=Outcome.FAILED, reason=_missed(draft) or str(error))
    if isinstance(error, RailgaugeError):
        return with_error(record, error)
    return replace(record, reason=of_the_suite(error), error_kind=OWN_ERROR)


def of_the_suite(error: BaseException) -> str:
    """What happened where nobody expected it: no node, tool or limit is named for it."""
    return f"an error inside railgauge, not of the cluster: {type(error).__name__}: {error}"


def _missed(draft: Draft) -> str:
    return "; ".join(j.reason for j in draft.judgements if j.outcome is Outcome.FAILED)


def require_judgement(item: pytest.Item) -> None:
    """No pass without positive evidence: a test that compared nothing is an error."""
    if not item.stash[DRAFT].judgements:
        raise NoEvidence(
            "the test ended without comparing anything with a limit",
            where=item.nodeid,
            remedy="call check(...) or expect(...) in it",
        )


def brief(call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """What people need to read is the message; the way through this suite's code is not."""
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, LimitMissed):
        report.longrepr = f"limit missed: {error}"
    elif isinstance(error, RailgaugeError):
        report.longrepr = f"{error.kind}: {error}"


def as_recorded(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    """Have the report of a phase say what the record does, whatever marks and hooks made of it.

    An exception that is no missed limit is an error: what pytest calls one happens at setup.
    """
    outcome = outcome_of(report)
    if outcome is None:
        return
    if hasattr(report, "wasxfail"):
        del report.wasxfail
    if report.when == "teardown":  # what happens there is told beside what the test came to
        report.outcome = "failed" if call.excinfo else "passed"
    else:
        report.outcome = _REPORTED.get(outcome, "failed")
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
    Outcome.RECORD_ONLY: "skipped",
}


def outcome_of(report: Any) -> Outcome | None:
    """The outcome that a phase's report carries, if it is one of the ladder."""
    data = getattr(report, "railgauge", None)
    return Outcome(data["outcome"]) if data else None
