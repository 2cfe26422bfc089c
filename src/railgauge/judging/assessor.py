"""Answer the questions that a record keeps, from evidence, under the limits of a platform file.

A live run, ``--resume``, ``--replay`` and the verifier all answer with this class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from railgauge.config.thresholds import Platform
from railgauge.core.case_cache import CaseCache
from railgauge.core.errors import DataCorrupted, MetricMissing, NoEvidence, Uncovered
from railgauge.core.model import Case, Fabric, Judgement
from railgauge.core.question import (
    CORRECT,
    FABRIC,
    FACT,
    LIMITS,
    RATIO,
    READ,
    RESULTS,
    TRAFFIC,
    TRANSPORT,
    CaseResult,
    Question,
)
from railgauge.facts import FactsByNode
from railgauge.judging.assess import (
    Assessment,
    Measured,
    correct,
    fabric,
    limits,
    ratio,
    read,
    results,
    traffic,
    transport,
)
from railgauge.judging.correctness import judge_corruption
from railgauge.judging.expectation import judge_at

# Questions that need nothing but the measurement itself.
_OF_THE_RUN = {TRANSPORT: transport, CORRECT: correct}


class Assessor:
    """Answers questions from evidence, under the limits of one platform file."""

    def __init__(
        self,
        platform: Platform,
        found: FactsByNode,
        result: Callable[[Case], CaseResult],
        declared: Fabric | None = None,
    ) -> None:
        """``found`` is what the survey found on each node.

        ``result`` gives the runs of a case; it raises ``NoEvidence`` if there are none.
        """
        self._platform = platform
        self._declared = declared
        self._found = found
        self._result = result
        self._read = CaseCache[Measured | NoEvidence]()

    def answer(self, question: Question) -> Assessment:
        """Answer a question from the evidence.

        Data corruption becomes a judgement; any other obstacle becomes an error.
        """
        try:
            return self._answer(question)
        except DataCorrupted as error:
            return Assessment((judge_corruption(error),))
        except NoEvidence as error:
            return Assessment(errors=(error,))
        except Uncovered as error:  # a replay may use limits that lack what the run asked for
            return Assessment(errors=(MetricMissing(error.what, where=error.where),))

    def answers(
        self, questions: Iterable[Question]
    ) -> tuple[tuple[Judgement, ...], NoEvidence | None]:
        """All judgements of an item's questions, and the error that ended it, if one did."""
        judgements: list[Judgement] = []
        for question in questions:
            found = self._of_item(question)
            judgements.extend(found.judgements)
            if found.final:
                return tuple(judgements), found.errors[0] if found.errors else None
        return tuple(judgements), None

    def _of_item(self, question: Question) -> Assessment:
        """The answer to one of the questions of an item."""
        return self.answer(question)

    def _answer(self, question: Question) -> Assessment:
        if question.kind == FACT:
            return self._about_fact(question)
        measured = self.measured(question.case)
        return Assessment() if question.kind == READ else self._about_case(question, measured)

    def _about_case(self, question: Question, measured: Measured) -> Assessment:
        if question.kind == LIMITS:
            where = question.placement
            return limits(self._platform, measured, question.size_bytes, where, self._found)
        if question.kind == TRAFFIC:
            return traffic(self._platform, measured)
        if question.kind in _OF_THE_RUN:
            return _OF_THE_RUN[question.kind](measured)
        if question.kind == RESULTS:
            return results(self._platform, measured)
        if question.kind == FABRIC:
            since = self.measured(question.other) if question.other else None
            return fabric(self._declared, measured, question.placement, since)
        if question.kind == RATIO:
            return ratio(measured, self.measured(question.other), question.metric)
        raise MetricMissing(f"unknown kind of question: {question.kind[:40]!r}")

    def _about_fact(self, question: Question) -> Assessment:
        platform = self._platform
        expectation = platform.expected.get(question.metric)
        if expectation is None or question.fact is None:
            raise MetricMissing(f"platform {platform.name} expects no {question.metric[:80]}")
        return Assessment((judge_at(question.fact, expectation, platform, self._found),))

    def measured(self, case: Case | None) -> Measured:
        """Read a case. Raises ``NoEvidence`` if it cannot be judged."""
        if case is None:
            raise MetricMissing("the question names no case")
        found = self._read.get(case)
        if found is None:
            found = self._read.keep(case, self._reading(case))
        if isinstance(found, NoEvidence):
            raise found
        return found

    def _reading(self, case: Case) -> Measured | NoEvidence:
        try:
            return read(self._platform, case, self._result(case), self._found)
        except NoEvidence as error:
            return error
