"""End-of-run checks: items without a test, one a node, judged when all others have ended.

Their records are computed again for every verdict, so that a recorded one is never trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from railgauge.core.model import Case, Outcome
from railgauge.core.question import Question
from railgauge.core.terms import Rung
from railgauge.judging.record import ItemRecord

_UNDECIDED = (Outcome.NOT_RUN, Outcome.BLOCKED, Outcome.ERROR)


@dataclass(frozen=True, slots=True)
class EndOfRunChecks:
    """One kind of check: the items ``FOLDER::SUBJECT[NODE]``, each with one question.

    ``is_read`` is true if the evidence is read from the node at the end of the run. It is stored
    like that of a measurement, under the case of the question.
    """

    folder: str
    subject: str
    title: str
    rung: Rung
    question_kind: str
    is_read: bool = False

    def item_id(self, node: str) -> str:
        return f"{self.folder}::{self.subject}[{node}]"

    def has(self, item_id: str) -> bool:
        """Whether the item is one of these."""
        return item_id.startswith(f"{self.folder}::{self.subject}[")

    def case_of(self, node: str) -> Case | None:
        """The case under which the evidence of a node is stored; ``None`` if nothing is read."""
        return Case(self.subject, (node,), None, ()) if self.is_read else None

    def question_of(self, node: str) -> Question:
        case = self.case_of(node)
        return Question(self.question_kind, case=case, placement=node, metric=self.subject)

    def begun(self, node: str) -> ItemRecord:
        """The item of a node, with its question and without a result."""
        return ItemRecord(
            id=self.item_id(node),
            rung=self.rung,
            subject=self.subject,
            title=self.title,
            outcome=Outcome.ERROR,
            nodes=(node,),
            questions=(self.question_of(node),),
        )


def combined(readings: Sequence[ItemRecord]) -> ItemRecord:
    """Combine the items of one node from several runs: the worst of them.

    It has the judgements of all. If a reading is missing beside a failure, the item was not judged
    completely, so that the failure cannot be accepted.
    """
    worst = max(readings, key=lambda item: list(Outcome).index(item.outcome))
    alike = [item for item in readings if item.outcome is worst.outcome]
    missing = [item for item in readings if item.outcome in _UNDECIDED]
    judgements = tuple(judged for item in readings for judged in item.judgements)
    one = replace(worst, reason=_reasons(alike), judgements=judgements)
    if worst.outcome is not Outcome.FAILED:
        return one
    besides = dict.fromkeys(item.beside for item in alike)
    return replace(one, beside="; ".join(filter(None, (*besides, _reasons(missing)))))


def _reasons(items: Sequence[ItemRecord]) -> str:
    return "; ".join(dict.fromkeys(item.reason for item in items if item.reason))
