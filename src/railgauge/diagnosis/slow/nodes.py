"""Each node compared with the others, as a limit on stragglers asks. Pure.

A path is no part of a node: a slow one fails the item of neither.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from railgauge.core.question import Question
from railgauge.diagnosis.slow.decision import Weighed
from railgauge.diagnosis.slow.found_parts import FoundPart
from railgauge.diagnosis.slow.likelihood import Model
from railgauge.diagnosis.slow.readings import Execution
from railgauge.diagnosis.slow.text import in_words, would_decide

_PAIR, _FEWEST = 2, 3


@dataclass(frozen=True, slots=True)
class BehindPart:
    """A part that is behind its peers by a share, in words.

    Unless ``is_decided``, it is one of several suspects; ``would_decide`` says what to measure.
    """

    share: float
    says: str
    is_decided: bool
    would_decide: str = ""


@dataclass(frozen=True, slots=True)
class ComparedNode:
    """By how much a node as a whole is behind the others, and its parts that stand out."""

    share: float
    parts: tuple[BehindPart, ...] = ()


def compared_nodes(
    model: Model, weighed: Weighed, found: Collection[FoundPart], questions: Sequence[Question]
) -> dict[str, ComparedNode]:
    """The nodes that two others were measured like, by themselves or in pairs."""
    behind: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in model.evidence.executions:
        nodes = set(run.case.nodes)
        for node in nodes if len(nodes) <= _PAIR else ():
            behind[run.case.measurement][node] += _behind(model, weighed, run, node)
    shares: dict[str, list[float]] = defaultdict(list)
    for of_node in behind.values():
        known = {node: some for node, some in of_node.items() if some}
        for node, some in known.items() if len(known) >= _FEWEST else ():
            shares[node] += some
    return {
        node: ComparedNode(
            max(0.0, 1 - math.exp(-median(some))),
            tuple(_part(one, questions) for one in found if node in _suspects(one)),
        )
        for node, some in shares.items()
    }


def _behind(model: Model, weighed: Weighed, run: Execution, node: str) -> Iterator[float]:
    """What the figures of an execution lack beside what other nodes and paths cost them."""
    parts = model.evidence.parts
    losses = model.likeliest(run, weighed.best)
    others = tuple(one for one in losses if parts[one[0]].nodes != (node,))
    for reading in run.readings:
        if reading.low == reading.high:
            yield reading.places.predicted(others, adds=model.adds)[0] - reading.low


def _suspects(one: FoundPart) -> set[str]:
    return {part.node for part in (one.part, *one.rivals) if not part.peer}


def _part(one: FoundPart, questions: Sequence[Question]) -> BehindPart:
    decides = "" if one.is_decided else would_decide(questions, [one.part, *one.rivals])
    return BehindPart(1 - one.share, in_words(one), one.is_decided, decides)
