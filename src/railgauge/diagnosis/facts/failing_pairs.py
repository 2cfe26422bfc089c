"""Tools that fail in a pair: with good partners it shows on which of the two nodes. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis.model import OPEN, TOOL, Cause, RunResults
from railgauge.diagnosis.reach import nodes_of
from railgauge.judging.confirmation import Confirmed, Remeasurement

_PARTNERS = 2  # as many as prove a node guilty (``pairwise``)


def asked(
    results: RunResults, causes: Iterable[Cause], made: Collection[str]
) -> Iterator[Remeasurement]:
    """The suspects of each undecided failure, each with good nodes in place of the other one.

    ``made`` are the keys of the cases that were measured again before.
    """
    every = tuple(causes)
    trouble = {node for cause in every for node in nodes_of(cause.where.node)}
    good = [node.name for node in results.cluster.nodes if node.name not in trouble][:_PARTNERS]
    for cause in every:
        if cause.cause == TOOL and cause.confidence == OPEN:
            suspects = nodes_of(cause.where.node)
            for one in _with_each(_of_a_pair(cause, results), suspects, good):
                if one.case and one.case.key not in made:
                    yield Remeasurement(tuple(sorted(suspects & {*one.case.nodes})), one)


def _of_a_pair(cause: Cause, results: RunResults) -> Question | None:
    """The question that the first item of two nodes which shows the cause has asked."""
    shown = (results.records[item] for item in cause.evidence)
    questions = (one for record in shown if len(set(record.nodes)) > 1 for one in record.questions)
    return next((one for one in questions if one.kind == LIMITS and one.case), None)


def _with_each(
    question: Question | None, suspects: Collection[str], good: Iterable[str]
) -> Iterator[Question]:
    case = question.case if question else None
    if question is None or case is None or len(case.nodes) > _PARTNERS:
        return
    for partner in good:
        for suspect in case.nodes:
            if suspect in suspects:
                nodes = tuple(one if one == suspect else partner for one in case.nodes)
                yield replace(question, case=replace(case, nodes=nodes))


def failed(one: Confirmed) -> bool:
    """Whether the tool failed once more."""
    return bool(one.error)
