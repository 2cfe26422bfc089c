"""Runs whose figures are drawn from the forms of the tools: what these predict of some faults."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from random import Random

from railgauge.config.thresholds import Platform
from railgauge.core.model import Case, Cluster, Judgement, Outcome
from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.slow.faults import joined
from railgauge.diagnosis.slow.forms import Measurable
from railgauge.diagnosis.slow.places import Losses, Places
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan, sample
from railgauge.tools import form
from railgauge.tools.form import ClusterPart, FigureForm, Layout, ToolFigure
from railgauge.tools.metric import HIGHER

HEALTHY, NOISE, LIMIT = 100.0, 0.002, 0.93
_LEVEL, _ROUNDS, _OFTEN = "smoke", 2, 0.4
PartLosses = Mapping[ClusterPart, float]
"""The logarithm of the share that is left to each slow part."""


class DrawnFigures:
    """A cluster of which some parts are slow; ``faults`` may be set anew."""

    def __init__(self, platform: Platform, cluster: Cluster, seed: int) -> None:
        self.platform, self.cluster, self.random = platform, cluster, Random(seed)
        self.faults: PartLosses = {}

    @cached_property
    def parts(self) -> list[ClusterPart]:
        """The parts that some figure depends on."""
        every = (stage for _, one in self._figures for stage in one.stages)
        return sorted({part for stage in every for chain in stage for part in chain})

    @cached_property
    def _figures(self) -> list[tuple[Measurable, FigureForm]]:
        layout, found = Layout.of(self.platform), []
        for what in self._measured():
            measurement = self.platform.measurements[what.case.measurement]
            metric = measurement.asserts[0].metric
            one = form(ToolFigure(what.case, measurement, layout, metric, what.placement))
            if one is not None:
                found.append((what, one))
        return found

    def _measured(self) -> Iterator[Measurable]:
        gpus = range(self.platform.gpus.count if self.platform.gpus else 0)
        each = [("link", f"gpu{a}>gpu{b}") for a in gpus for b in gpus if a != b]
        each += [*(("gpu", f"gpu{gpu}") for gpu in gpus), ("run", "")]
        level = sample.level(self.platform, self.cluster, _LEVEL, _ROUNDS, sampled=False)
        for _, case in plan.cases(self.platform, level):
            asserted = self.platform.measurements[case.measurement].asserted
            sizes = (s for s in case.sizes if asserted("size", s, case.sizes))
            yield from (Measurable(case, size, "") for size in sizes)
            yield from (
                Measurable(case, None, p) for per, p in each if asserted(per, None, case.sizes)
            )

    def results(self, *, varying: bool = False, at_times: PartLosses | None = None) -> RunResults:
        """``varying``: each case has a share of its own of each loss. ``at_times`` are losses of
        parts in four of ten cases, beside those that are always there."""
        number = {part: place for place, part in enumerate({**self.faults, **(at_times or {})})}
        records = {}
        for what, one in self._figures:
            by_case = Random(what.case.key).random()
            level = by_case if varying else 1.0
            losses = [(number[part], level * share) for part, share in self.faults.items()]
            if at_times and by_case < _OFTEN:
                losses += [(number[part], share) for part, share in at_times.items()]
            record = self._record(what, Places.of(one, number), joined(losses))
            records[record.id] = record
        return RunResults(records, {}, self.platform, self.cluster)

    def _record(self, what: Measurable, places: Places, losses: Losses) -> ItemRecord:
        share, _ = places.predicted(losses, adds=True)
        value = HEALTHY * math.exp(share) * self.random.gauss(1, NOISE)
        case, size, placement = what.case, what.size_bytes, what.placement
        measurement = self.platform.measurements[case.measurement]
        judged = Judgement(
            measurement.asserts[0].metric,
            Outcome.FAILED if value < LIMIT * HEALTHY else Outcome.PASSED,
            "", "", "", unit="GB/s", values=(value,), floor=LIMIT * HEALTHY, better=HIGHER,
        )  # fmt: skip
        return ItemRecord(
            id=f"{case.key} {size} {placement}",
            rung=measurement.rung,
            title="",
            subject=case.measurement,
            outcome=judged.outcome,
            nodes=case.nodes,
            pairing=str(case.pairing) if case.pairing else placement,
            size_bytes=size,
            judgements=(judged,),
            questions=(_question(case, size, placement),),
        )


def _question(case: Case, size: int | None, placement: str) -> Question:
    return Question(LIMITS, case, size, placement or None)
