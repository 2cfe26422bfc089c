"""Tell what a result of both directions together says about each of them. Pure.

A test that moves its payload both ways reports the sum. One direction may be slow although the sum
reaches its limit: each is only known to carry the sum less the most that the other one can carry.

Example: one direction carries 392 Gb/s at best. A sum of 749 Gb/s proves 357 Gb/s in each
direction, so it says nothing about a direction that carried 372 Gb/s in a test of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from railgauge.config.thresholds.model import Measurement
from railgauge.core.model import Judgement
from railgauge.core.terms import Flow
from railgauge.judging.record import ItemRecord
from railgauge.tools import flow
from railgauge.tools.metric import LOWER

MetricUnit = tuple[str, str]
"""Metric and unit: values that agree in these can be compared."""
_ONE_WAY = (Flow.FORWARD, Flow.BACKWARD)


@dataclass(frozen=True, slots=True)
class EachWay:
    """The most that one direction carried in the items of a run, by metric and unit."""

    flows: Mapping[str, Flow]
    most: Mapping[MetricUnit, float]

    @classmethod
    def of(cls, records: Iterable[ItemRecord], measurements: Mapping[str, Measurement]) -> EachWay:
        flows = {name: flow(measurement) for name, measurement in measurements.items()}
        most: dict[MetricUnit, float] = {}
        for record in records:
            if flows.get(record.subject) in _ONE_WAY:
                for kind, value in _values(record.judgements):
                    most[kind] = max(value, most.get(kind, value))
        return cls(flows, most)

    def is_both(self, record: ItemRecord) -> bool:
        return self.flows.get(record.subject) is Flow.BOTH

    def least(self, record: ItemRecord, judged: Judgement) -> float | None:
        """The value that each direction of the item is known to have reached.

        ``None`` if the judgement is on no value, or on one that is better if it is lower.
        """
        for kind, value in _values([judged]):
            return value - self.most.get(kind, 0.0) if self.is_both(record) else value
        return None

    def slowest(self, slow: Iterable[ItemRecord]) -> dict[MetricUnit, float]:
        """The highest value of the slow items that moved their payload one way."""
        found: dict[MetricUnit, float] = {}
        for record in slow:
            if self.flows.get(record.subject) in _ONE_WAY:
                for kind, value in _values(record.judgements):
                    found[kind] = max(value, found.get(kind, value))
        return found

    def hides(self, record: ItemRecord, slowest: Mapping[MetricUnit, float]) -> bool:
        """Whether a direction as slow as ``slowest`` would not show in this item of both."""
        if not self.is_both(record):
            return False
        return any(
            (least := self.least(record, judged)) is not None
            and least <= slowest.get((judged.metric, judged.unit), 0.0)
            for judged in record.judgements
        )


def _values(judgements: Iterable[Judgement]) -> Iterator[tuple[MetricUnit, float]]:
    for judged in judgements:
        if judged.worst is not None and judged.better != LOWER:
            yield (judged.metric, judged.unit), judged.worst
