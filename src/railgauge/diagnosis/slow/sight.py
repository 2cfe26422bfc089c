"""What the figures of a run show of a part beside slower ones. Pure.

A pair is as fast as its slowest part. It is taken for true here that the larger of two losses hides
the smaller one: that is the worse case. A figure then shows whether a part misses its limit only if
it would be another one with such a part.

Example: ``mx03`` reaches 0.75 of what the others do. A measurement with it shows nothing of a NIC
of ``mx01`` that would reach 0.9. One over the same NIC with ``mx02`` does.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.core.model import Case
from railgauge.diagnosis.slow.constants import STEEP, STRAGGLES
from railgauge.diagnosis.slow.decision import Weighed
from railgauge.diagnosis.slow.faults import Hypothesis, also
from railgauge.diagnosis.slow.found_parts import FoundPart
from railgauge.diagnosis.slow.likelihood import Model
from railgauge.diagnosis.slow.places import Losses
from railgauge.diagnosis.slow.readings import Execution, ShareReading
from railgauge.tools.form import ClusterPart, KindOfPart

NodeEnd = tuple[str, str, KindOfPart]
"""A node, its NIC or its pairing of GPU and NIC, and the direction of payload there."""
_PAIR = 2
_BEYOND = 0.003  # as a share: what keeps a limit by less is close to it


@dataclass(frozen=True, slots=True)
class PartFigure:
    """A part, and one of the figures that depend on it."""

    part: int
    execution: Execution
    reading: ShareReading


@dataclass(frozen=True, slots=True)
class Sight:
    """The figures beside the slow parts that are decided."""

    model: Model
    decided: Hypothesis

    @classmethod
    def of(cls, model: Model, weighed: Weighed, found: Iterable[FoundPart]) -> Sight:
        parts = model.evidence.parts
        sure = {one.part for one in found if one.is_decided}
        faults = (one for one in weighed.best if parts[one.part] in sure)
        known = (one for one in weighed.best if parts[one.part].is_known)
        return cls(model, tuple(sorted((*faults, *known))))

    def of_ends(self) -> Mapping[NodeEnd, Sequence[PartFigure]]:
        """The figures of each end that the plan measures."""
        evidence = self.model.evidence
        found: dict[NodeEnd, list[PartFigure]] = defaultdict(list)
        for execution in evidence.executions:
            for reading in execution.readings:
                parts = [evidence.parts[number] for number in reading.places.at]
                for end, about in _ends(execution.case, parts):
                    if about in evidence.number:
                        found[end].append(PartFigure(evidence.number[about], execution, reading))
        return {
            end: figures
            for end, figures in found.items()
            if not all(one.execution.added for one in figures)
        }

    def of_nodes(self, measurements: Collection[str]) -> Mapping[str, Sequence[PartFigure]]:
        """The figures of several nodes in these measurements, for each node.

        They are those of the largest message size: a small one is fast over a slow path too.
        """
        evidence = self.model.evidence
        found: dict[str, list[PartFigure]] = defaultdict(list)
        for run in evidence.executions:
            if run.case.measurement in measurements and len(run.case.nodes) > 1:
                for node in run.case.nodes:
                    part = evidence.number.get(ClusterPart(KindOfPart.NODE, node))
                    if part is not None:
                        found[node] += (PartFigure(part, run, one) for one in _largest(run))
        return found

    def hiding(self, figures: Sequence[PartFigure]) -> tuple[ClusterPart, ...] | None:
        """What hides a part in all its figures; ``None`` if one shows whether it misses its limit.

        It is empty if figures do not show that although nothing slower is in them.
        """
        limits = [one.least for figure in figures for one in figure.reading.shown]
        tightest = max(limits, default=-math.inf)
        if tightest == -math.inf:
            return None
        loss = min(tightest - _BEYOND, -STRAGGLES)
        found: dict[ClusterPart, None] = {}
        for figure in figures:
            slower = self._slower(figure)
            if _shows(figure, slower, loss):
                return None
            found |= dict.fromkeys(self.model.evidence.parts[part] for part, _ in slower)
        return tuple(found)

    def _slower(self, figure: PartFigure) -> Losses:
        """What is slow in a figure beside the part's own node: how fast that is, is known."""
        parts, at = self.model.evidence.parts, figure.reading.places.at
        own = parts[figure.part].node

        def may_hide(one: ClusterPart) -> bool:
            return one.is_known or bool(one.peer) or one.node != own

        losses = self.model.likeliest(figure.execution, self.decided)
        return tuple(one for one in losses if one[0] in at and may_hide(parts[one[0]]))


def _largest(run: Execution) -> Iterator[ShareReading]:
    size = max(one.size_bytes or 0 for one in run.readings)
    return (one for one in run.readings if (one.size_bytes or 0) == size)


def _shows(figure: PartFigure, slower: Losses, loss: float) -> bool:
    """Whether the figure would miss its limit, or lose as much, if the part had this loss.

    The sum of two directions loses less than one of them: its limit alone tells of that.
    """
    reading = figure.reading
    (_, without), (_, with_) = (
        reading.places.predicted(losses, adds=False)
        for losses in (slower, also(slower, figure.part, loss))
    )
    least = max(one.least for one in reading.shown)
    loses_it = reading.low == reading.high and with_ <= loss
    return with_ < least <= without or (loses_it and with_ < without - STEEP * reading.sigma)


def _ends(case: Case, parts: Iterable[ClusterPart]) -> Iterator[tuple[NodeEnd, ClusterPart]]:
    """The ends of a measurement between two nodes over one NIC of each, with the part of each that
    it is about; none if its figure has no direction. ``parts`` are those of its form."""
    if len(case.nodes) != _PAIR or case.pairing is None:
        return
    for part in parts:
        if part.is_direction and part.nic:
            own = case.path_at(part.node)
            assert own is not None
            about = part
            if own.gpu is not None:
                about = ClusterPart(KindOfPart.PCIE, part.node, own.nic, own.gpu)
            yield (part.node, str(own), part.kind), about
