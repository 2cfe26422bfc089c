"""A suspect that is measured again beside the run: what was asked, and what came of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import Question
from railgauge.judging.assess import Assessor

# What was asked, a line each; the transcripts of it stand in a folder of their own, for the same
# pair may have been measured in the run itself.
FILE = "confirmations.jsonl"
FOLDER = "confirm"


@dataclass(frozen=True, slots=True)
class Remeasurement:
    """One measurement that is made again, and why.

    ``node``, ``device`` and ``peer`` are those of the cause that is to be confirmed. ``suspects``
    are the nodes of the measurement that are under suspicion; the others were found good.
    """

    cause: str
    node: str
    device: str
    peer: str
    suspects: tuple[str, ...]
    question: Question


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What came of it: judgements by the same limits, or why there are none."""

    asked: Remeasurement
    judgements: tuple[Judgement, ...]
    error: str = ""

    @property
    def missed(self) -> bool:
        return any(judged.outcome is Outcome.FAILED for judged in self.judgements)


def confirmed(asked: Remeasurement, assessor: Assessor) -> Confirmed:
    """What the evidence says to what was asked again."""
    answer = assessor.answer(asked.question)
    if answer.judgements:
        return Confirmed(asked, answer.judgements)
    error = str(answer.errors[0]) if answer.errors else "nothing was compared with a limit"
    return Confirmed(asked, (), error)
