"""Answers computed before an item asks for them, so that a case is judged once. Pure.

The engine judges a measurement as soon as it is made. Its items ask the same questions later, in
the order of pytest; without the kept answers the output would be read and parsed again.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from railgauge.core.question import Question
from railgauge.judging.assess import Assessment
from railgauge.judging.assessor import Assessor


class KeptAnswers:
    """Answers, each for as many items as will ask. Several threads may use it at once."""

    def __init__(self) -> None:
        self._changing = Lock()
        self._kept: dict[Question, tuple[Assessment, int]] = {}

    def keep(self, question: Question, answer: Assessment) -> None:
        """Keep an answer for one more item."""
        with self._changing:
            _, items = self._kept.get(question, (answer, 0))
            self._kept[question] = answer, items + 1

    def take(self, question: Question) -> Assessment | None:
        """The answer for an item; ``None`` if it was not kept, or other items have taken it."""
        with self._changing:
            answer, items = self._kept.pop(question, (None, 0))
            if answer and items > 1:
                self._kept[question] = answer, items - 1
        return answer


class AheadAssessor(Assessor):
    """The assessor of the engine: it keeps its answers for the items."""

    def __init__(self, kept: KeptAnswers, *evidence: Any) -> None:
        """``evidence`` is that of an ``Assessor``."""
        super().__init__(*evidence)
        self._kept = kept

    def _of_item(self, question: Question) -> Assessment:
        answer = self.answer(question)
        self._kept.keep(question, answer)
        return answer


class ItemAssessor(Assessor):
    """The assessor of the items: it takes a kept answer, or else judges the evidence."""

    def __init__(self, kept: KeptAnswers, *evidence: Any) -> None:
        """``evidence`` is that of an ``Assessor``."""
        super().__init__(*evidence)
        self._kept = kept

    def answer(self, question: Question) -> Assessment:
        return self._kept.take(question) or super().answer(question)
