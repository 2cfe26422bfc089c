"""What an item asks of the run: a measurement, and the judgement of its answer."""

from __future__ import annotations

from sys import intern

import pytest

from railgauge.core.errors import DataCorrupted, LimitMissed, NoEvidence
from railgauge.core.model import Case, Outcome
from railgauge.core.question import CORRECT, READ, CaseResult, Question
from railgauge.judging import assess
from railgauge.judging.assess import Assessment, Measured
from railgauge.judging.correctness import judge_corruption
from railgauge.judging.record import record_only
from railgauge.plugin.opening import SERVICES, SETTINGS
from railgauge.plugin.recording import DRAFT, note
from railgauge.run.few_places import FewPlaces

# The question for each case that was read. Records keep theirs to the end of the run, so that those
# of all rows of a case are one.
_READS = pytest.StashKey[dict[Case, Question]]()
_READ = pytest.StashKey[FewPlaces[tuple[CaseResult, Measured]]]()


def measured(item: pytest.Item, case: Case) -> Measured:
    """Make the measurement, or reuse it from this run, and read it.

    Wrong results fail the item and stop the run. Raises ``NoEvidence`` if it cannot be read.
    """
    result = _obtained(item, case)
    reads = item.config.stash.setdefault(_READS, {})
    question = reads.setdefault(case, Question(READ, case))
    try:
        found = _read(item, question.case or case, result)
    except DataCorrupted as error:
        _stop(item, question, error)
        raise
    except NoEvidence as error:
        conclude(item, question, Assessment(errors=(error,)))
        raise
    ask(item, question)
    return found


def check_results(item: pytest.Item, case: Case) -> None:
    """Judge only whether the results of a collective are right; its speed is not judged.

    Wrong results fail the item and stop the run. Raises ``NoEvidence`` if that cannot be told.
    """
    question = Question(CORRECT, case)
    result = _obtained(item, case)
    try:
        findings = assess.correct(_read(item, case, result))
        if findings.errors:
            raise findings.errors[0]
    except DataCorrupted as error:
        _stop(item, question, error)
        raise
    except NoEvidence:
        ask(item, question)
        raise
    conclude(item, question, findings)


def _obtained(item: pytest.Item, case: Case) -> CaseResult:
    run = item.config.stash[SERVICES]
    item.stash[DRAFT].transcript = intern(run.store.transcript_name(case))
    return run.result(case)


def _read(item: pytest.Item, case: Case, result: CaseResult) -> Measured:
    stash = item.config.stash
    kept = stash.setdefault(_READ, FewPlaces())
    of, found = kept.get(case) or (None, None)
    if found is None or of is not result:
        found = assess.read(stash[SETTINGS].platform, case, result, stash[SERVICES].found)
        kept.keep(case, (result, found))
    return found


def _stop(item: pytest.Item, question: Question, error: DataCorrupted) -> None:
    """Fail the item, and stop the run: nodes that corrupt data cannot be accepted."""
    why = f"data corruption: {error}"
    item.session.shouldfail = why
    item.config.stash[SERVICES].gates.stop(f"the run was stopped: {why}")
    conclude(item, question, Assessment((judge_corruption(error),)))


def ask(item: pytest.Item, question: Question) -> None:
    item.stash[DRAFT].questions.append(question)


def conclude(item: pytest.Item, question: Question, findings: Assessment) -> None:
    """Record the judgements, then raise for pytest, so that no judgement is lost."""
    ask(item, question)
    for judgement in findings.judgements:
        note(item, judgement, item.config.stash[SERVICES].store)
    if findings.errors:
        item.stash[DRAFT].unanswered = findings.errors[0]
    if failed := [j for j in findings.judgements if j.outcome is Outcome.FAILED]:
        raise LimitMissed("; ".join(f"{j.reason} (basis: {j.basis})" for j in failed))
    if findings.errors:
        raise findings.errors[0]
    if findings.final:
        pytest.skip(record_only(findings.judgements))
