"""What an item asks of the run: a measurement, and the judgement of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern

import pytest

from railgauge.core.errors import DataCorrupted, LimitMissed, NoEvidence
from railgauge.core.model import Case, Judgement, Outcome
from railgauge.core.question import READ, CaseResult, Question
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
    say_transcript(item, case)
    result = item.config.stash[SERVICES].result(case)
    reads = item.config.stash.setdefault(_READS, {})
    question = reads.setdefault(case, Question(READ, case))
    try:
        found = _read(item, question.case or case, result)
    except DataCorrupted as error:
        stop(item, str(error))
        conclude(item, question, Assessment((judge_corruption(error),)))
        raise
    except NoEvidence as error:
        conclude(item, question, Assessment(errors=(error,)))
        raise
    ask(item, question)
    return found


def say_transcript(item: pytest.Item, case: Case) -> None:
    """The item says where the measurement is kept."""
    item.stash[DRAFT].transcript = intern(item.config.stash[SERVICES].store.transcript_name(case))


def _read(item: pytest.Item, case: Case, result: CaseResult) -> Measured:
    stash = item.config.stash
    kept = stash.setdefault(_READ, FewPlaces())
    of, found = kept.get(case) or (None, None)
    if found is None or of is not result:
        found = assess.read(stash[SETTINGS].platform, case, result, stash[SERVICES].found)
        kept.keep(case, (result, found))
    return found


def stop(item: pytest.Item, wrong: str) -> None:
    """Stop the run at wrong results: nodes that corrupt data cannot be accepted."""
    why = f"data corruption: {wrong}"
    item.session.shouldfail = why
    item.config.stash[SERVICES].gates.stop(f"the run was stopped: {why}")


def ask(item: pytest.Item, question: Question) -> None:
    item.stash[DRAFT].questions.append(question)


def conclude(item: pytest.Item, question: Question, findings: Assessment) -> None:
    """Record the judgements, then raise for pytest, so that no judgement is lost."""
    ask(item, question)
    for judgement in findings.judgements:
        note(item, judgement, item.config.stash[SERVICES].store)
    if findings.errors:
        item.stash[DRAFT].unanswered = findings.errors[0]
    raise_if_missed(findings.judgements)
    if findings.errors:
        raise findings.errors[0]
    if findings.final:
        pytest.skip(record_only(findings.judgements))


def raise_if_missed(judgements: Sequence[Judgement]) -> None:
    """Raise ``LimitMissed`` for judgements that failed."""
    if failed := [judged for judged in judgements if judged.outcome is Outcome.FAILED]:
        raise LimitMissed("; ".join(f"{one.reason} (basis: {one.basis})" for one in failed))
