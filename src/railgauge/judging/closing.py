"""Items that no test makes: one a node, judged when all others have ended.

Their records are made anew wherever a verdict is reached, so that a recorded one is never believed.
"""

from __future__ import annotations

from dataclasses import dataclass

from railgauge.core.model import Outcome
from railgauge.core.question import Question
from railgauge.core.terms import Rung
from railgauge.judging.record import ItemRecord


@dataclass(frozen=True, slots=True)
class ClosingItems:
    """One kind of them: the items ``FOLDER::SUBJECT[NODE]``, each with one question."""

    folder: str
    subject: str
    title: str
    rung: Rung
    question_kind: str

    def item_id(self, node: str) -> str:
        return f"{self.folder}::{self.subject}[{node}]"

    def has(self, item_id: str) -> bool:
        """Whether the item is one of these."""
        return item_id.startswith(f"{self.folder}::{self.subject}[")

    def question_of(self, node: str) -> Question:
        return Question(self.question_kind, placement=node, metric=self.subject)

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
