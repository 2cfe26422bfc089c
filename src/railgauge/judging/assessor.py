"""Answer the questions that a record keeps, from evidence, under the limits of a platform file.

A live run, ``--resume``, ``--replay`` and the verifier all answer with this class.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from railgauge.config.thresholds import Platform
from railgauge.core.errors import DataCorrupted, MetricMissing, NoEvidence, Uncovered
from railgauge.core.model import Case, Fabric, Judgement
from railgauge.core.question import (
    FABRIC,
    FACT,
    LIMITS,
    RATIO,
    READ,
    RESULTS,
    TRAFFIC,
    TRANSPORT,
    Question,
)
from railgauge.judging.assess import (
    Assessment,
    EvidenceSource,
    Measured,
    fabric,
    limits,
    ratio,
    read,
    results,
    traffic,
    transport,
)
from railgauge.judging.expectation import judge_at
from railgauge.judging.judge import judge_corruption

_KEPT_CASES = 64  # items of one case follow each other, so a few cases are enough


class Assessor:
    """Answers questions from evidence, under the limits of one platform file."""

    def __init__(
        self, platform: Platform, evidence: EvidenceSource, declared: Fabric | None = None
    ) -> None:
        self._platform = platform
        self._declared = declared
        self._evidence = evidence
        self._read: OrderedDict[Case, Measured | NoEvidence] = OrderedDict()

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
            found = self.answer(question)
            judgements.extend(found.judgements)
            if found.final:
                return tuple(judgements), found.errors[0] if found.errors else None
        return tuple(judgements), None

    def _answer(self, question: Question) -> Assessment:
        if question.kind == FACT:
            return self._about_fact(question)
        measured = self._measured(question.case)
        return Assessment() if question.kind == READ else self._about_case(question, measured)

    def _about_case(self, question: Question, measured: Measured) -> Assessment:
        if question.kind == LIMITS:
            found, where = self._evidence.found, question.placement
            return limits(self._platform, measured, question.size_bytes, where, found)
        if question.kind == TRAFFIC:
            return traffic(self._platform, measured)
        if question.kind == TRANSPORT:
            return transport(measured)
        if question.kind == RESULTS:
            return results(self._platform, measured)
        if question.kind == FABRIC:
            since = self._measured(question.other) if question.other else None
            return fabric(self._declared, measured, question.placement, since)
        if question.kind == RATIO:
            return ratio(measured, self._measured(question.other), question.metric)
        raise MetricMissing(f"unknown kind of question: {question.kind[:40]!r}")

    def _about_fact(self, question: Question) -> Assessment:
        platform = self._platform
        expectation = platform.expected.get(question.metric)
        if expectation is None or question.fact is None:
            raise MetricMissing(f"platform {platform.name} expects no {question.metric[:80]}")
        return Assessment((judge_at(question.fact, expectation, platform, self._evidence.found),))

    def _measured(self, case: Case | None) -> Measured:
        if case is None:
            raise MetricMissing("the question names no case")
        if case not in self._read:
            self._read[case] = self._reading(case)
            if len(self._read) > _KEPT_CASES:
                self._read.popitem(last=False)
        found = self._read[case]
        if isinstance(found, NoEvidence):
            raise found
        return found

    def _reading(self, case: Case) -> Measured | NoEvidence:
        try:
            result = self._evidence.result(case)
            return read(self._platform, case, result, self._evidence.found)
        except NoEvidence as error:
            return error
