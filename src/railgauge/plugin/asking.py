"""What an item asks of the run: a measurement, and its judgement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sys import intern

import pytest

from railgauge.config.thresholds import Measurement
from railgauge.core.errors import LimitMissed, NoEvidence
from railgauge.core.model import Case, Judgement, Outcome
from railgauge.core.question import READ, Question
from railgauge.judging.answers import ItemAssessor
from railgauge.judging.assessor import Assessor
from railgauge.judging.correctness import CORRUPTION
from railgauge.judging.record import record_only
from railgauge.planning.collected import CaseFinder
from railgauge.plugin.items import ABOUT
from railgauge.plugin.opening import SERVICES, SETTINGS
from railgauge.plugin.recording import DRAFT, note
from railgauge.run.decided import MeasuringError

# One question for each case that was read. Records keep their questions to the end of the run, so
# all rows of a case share one object.
_READS = pytest.StashKey[dict[Case, Question]]()
_ASSESSOR = pytest.StashKey[Assessor]()
_FINDER = pytest.StashKey[CaseFinder]()


def assessor(config: pytest.Config) -> Assessor:
    """Return the assessor that answers all items of this process from the run's evidence."""
    settings, run = config.stash[SETTINGS], config.stash[SERVICES]
    if _ASSESSOR not in config.stash:
        config.stash[_ASSESSOR] = ItemAssessor(run.answers, *run.evidence(settings))
    return config.stash[_ASSESSOR]


@dataclass(frozen=True, slots=True)
class MeasuredCase:
    """A case that was measured, and whose outputs could be read."""

    case: Case
    measurement: Measurement


def measured(item: pytest.Item, case: Case) -> MeasuredCase:
    """Make the measurement, or reuse it from this run, and check that it can be judged.

    Wrong results fail the item and stop the run. Raises ``NoEvidence`` if it cannot be read.
    """
    _have_measured(item, case)
    note_transcript(item, case)
    reads = item.config.stash.setdefault(_READS, {})
    question = reads.setdefault(case, Question(READ, case))
    judge(item, question)
    measurement = item.config.stash[SETTINGS].platform.measurements[case.measurement]
    return MeasuredCase(case, measurement)


def has_case(item: pytest.Item) -> bool:
    """Whether an item, or its row, is about a measurement at a place."""
    about = item.stash[ABOUT]
    return about.is_measured and bool(about.nodes)


def case_of(item: pytest.Item) -> Case:
    """The measurement of an item, or of its row."""
    stash = item.config.stash
    if _FINDER not in stash:
        stash[_FINDER] = CaseFinder(stash[SETTINGS].platform, stash[SETTINGS].level.name)
    return stash[_FINDER].case(item.stash[ABOUT])


def _have_measured(item: pytest.Item, case: Case) -> None:
    """Wait for another measurement; the item has waited for its own one at its gate."""
    if has_case(item) and case == case_of(item):
        return
    decided = item.config.stash[SERVICES].decisions.request(case)
    if decided.broken:
        raise MeasuringError(decided.broken)
    if not decided.measured:
        raise NoEvidence(f"was not measured: {decided.stopped}", where=case.key)


def note_transcript(item: pytest.Item, case: Case) -> None:
    """Add the path of the case's transcript to the item's record."""
    item.stash[DRAFT].transcript = intern(item.config.stash[SERVICES].store.transcript_name(case))


def judge(item: pytest.Item, question: Question) -> None:
    """Answer a question: record all judgements first, then raise what pytest has to report."""
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

    Wrong results stop the run: nodes that corrupt data cannot be accepted. The engine stops by
    itself.
    """
    failed = [judged for judged in judgements if judged.outcome is Outcome.FAILED]
    if wrong := [judged for judged in failed if judged.metric == CORRUPTION]:
        item.session.shouldfail = f"data corruption: {wrong[0].reason}"
    if failed:
        raise LimitMissed("; ".join(f"{one.reason} (basis: {one.basis})" for one in failed))
