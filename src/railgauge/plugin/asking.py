"""What an item asks of the run: a measurement, and the judgement of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern

import pytest

from railgauge.core.errors import LimitMissed
from railgauge.core.model import Case, Judgement, Outcome
from railgauge.core.question import READ, Question
from railgauge.judging.assess import Measured
from railgauge.judging.assessor import Assessor
from railgauge.judging.correctness import CORRUPTION
from railgauge.judging.record import record_only
from railgauge.plugin.opening import SERVICES, SETTINGS
from railgauge.plugin.recording import DRAFT, note

# The question for each case that was read. Records keep theirs to the end of the run, so that those
# of all rows of a case are one.
_READS = pytest.StashKey[dict[Case, Question]]()
_ASSESSOR = pytest.StashKey[Assessor]()


def assessor(config: pytest.Config) -> Assessor:
    """What answers all questions of this process, from the evidence of the run."""
    settings, run = config.stash[SETTINGS], config.stash[SERVICES]
    known = (settings.platform, run.found, run.result, settings.declared.fabric)
    return config.stash.setdefault(_ASSESSOR, Assessor(*known))


def measured(item: pytest.Item, case: Case) -> Measured:
    """Make the measurement, or reuse it from this run, and read it.

    Wrong results fail the item and stop the run. Raises ``NoEvidence`` if it cannot be read.
    """
    say_transcript(item, case)
    reads = item.config.stash.setdefault(_READS, {})
    question = reads.setdefault(case, Question(READ, case))
    judge(item, question)
    return assessor(item.config).measured(question.case)


def say_transcript(item: pytest.Item, case: Case) -> None:
    """The item says where the measurement is kept."""
    item.stash[DRAFT].transcript = intern(item.config.stash[SERVICES].store.transcript_name(case))


def judge(item: pytest.Item, question: Question) -> None:
    """Answer a question: record the judgements, then raise for pytest, so that none is lost."""
    answer, draft = assessor(item.config).answer(question), item.stash[DRAFT]
    draft.questions.append(question)
    for judgement in answer.judgements:
        note(item, judgement, item.config.stash[SERVICES].store)
    if answer.errors:
        draft.unanswered = answer.errors[0]
    raise_if_missed(item, answer.judgements)
    if answer.errors:
        raise answer.errors[0]
    if answer.final:
        pytest.skip(record_only(answer.judgements))


def raise_if_missed(item: pytest.Item, judgements: Sequence[Judgement]) -> None:
    """Raise ``LimitMissed`` for judgements that failed.

    Wrong results stop the run: nodes that corrupt data cannot be accepted.
    """
    failed = [judged for judged in judgements if judged.outcome is Outcome.FAILED]
    if wrong := [judged for judged in failed if judged.metric == CORRUPTION]:
        why = f"data corruption: {wrong[0].reason}"
        item.session.shouldfail = why
        item.config.stash[SERVICES].gates.stop(f"the run was stopped: {why}")
    if failed:
        raise LimitMissed("; ".join(f"{one.reason} (basis: {one.basis})" for one in failed))
