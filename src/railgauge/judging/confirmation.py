"""A second measurement of a suspect, made beside the run: the request and its result. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import Question
from railgauge.judging.assessor import Assessor

# The requests, one a line. Their transcripts have a folder of their own, because the run itself
# may have measured the same pair.
FILE = "confirmations.jsonl"
FOLDER = "confirm"
# An intermittent fault is measured several times, but not endlessly.
MOST_REPEATS = 10


@dataclass(frozen=True, slots=True)
class Remeasurement:
    """One measurement that is made beside the plan, and its nodes that are suspected."""

    suspects: tuple[str, ...]
    question: Question


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The result of a remeasurement: judgements by the same limits, or why there are none."""

    asked: Remeasurement
    judgements: tuple[Judgement, ...]
    error: str = ""

    @property
    def missed(self) -> bool:
        return any(judged.outcome is Outcome.FAILED for judged in self.judgements)


def confirmed(asked: Remeasurement, assessor: Assessor) -> Confirmed:
    """Judge a remeasurement by its evidence."""
    answer = assessor.answer(asked.question)
    if answer.judgements:
        return Confirmed(asked, answer.judgements)
    error = str(answer.errors[0]) if answer.errors else "nothing was compared with a limit"
    return Confirmed(asked, (), error)
