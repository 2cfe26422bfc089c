"""Items over one path between two nodes, in the terms of the localisation. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from railgauge.config.thresholds.model import Measurement
from railgauge.core.terms import Flow
from railgauge.diagnosis.localise import Located, PathRate, PathResult, likeliest
from railgauge.diagnosis.model import missed
from railgauge.diagnosis.shares import What, what
from railgauge.judging.record import ItemRecord
from railgauge.tools import flow
from railgauge.tools.metric import LOWER

Measurements = Mapping[str, Measurement]

_END = r"(?:gpu(\d+)-)?([^\s>:]+)"
_PAIRING = re.compile(f"{_END}(?::{_END})?")
_PAIR = 2


def is_path(record: ItemRecord) -> bool:
    """Whether the item measured one pairing between two nodes."""
    return len(set(record.nodes)) == _PAIR and bool(_PAIRING.fullmatch(record.pairing))


def path_result(record: ItemRecord, measurements: Measurements, *, slow: bool) -> PathResult:
    """The item as a result of the two ends of its pairing, and of the way its payload went."""
    match = _PAIRING.fullmatch(record.pairing)
    assert match, "an item over a path names it"
    own, other = _path(match[1], match[2]), _path(match[3], match[4]) if match[4] else None
    nodes = (record.nodes[0], record.nodes[1])
    return PathResult(nodes, slow, *own, other, flow_of(record, measurements))


def _path(gpu: str | None, nic: str) -> tuple[int | None, str]:
    return None if gpu is None else int(gpu), nic


def flow_of(record: ItemRecord, measurements: Measurements) -> Flow:
    measurement = measurements.get(record.subject)
    return flow(measurement) if measurement else Flow.UNTOLD


def by_value(
    records: Sequence[ItemRecord],
    result: Callable[[ItemRecord], PathResult],
    test: Callable[[ItemRecord], str] = lambda record: record.subject,
) -> Located | None:
    """The fewest parts that explain the rates of the items; ``None`` if no few parts do.

    ``result`` gives an item's path. Only shares of the same ``test`` are compared closely. A rate
    counts as a share of the best one of its kind that reached its limit: of the same measurement,
    size and limit. Rates of a kind that never did say nothing.
    """
    rates = [(record, *rate) for record in records for rate in _rates(record)]
    best: dict[What, float] = {}
    for record, about, value in rates:
        if not missed(record):
            best[about] = max(value, best.get(about, value))
    if any(about not in best for record, about, _ in rates if missed(record)):
        return None
    return likeliest(
        [
            PathRate(result(record), value / best[about], test(record))
            for record, about, value in rates
            if about in best
        ]
    )


def has_rate(record: ItemRecord) -> bool:
    """Whether the item measured how much a path carries, not only how long it takes."""
    return any(True for _ in _rates(record))


def _rates(record: ItemRecord) -> Iterator[tuple[What, float]]:
    """The worst value of the item's first rate."""
    for judged in record.judgements:
        if judged.better != LOWER and (about := what(record, judged)) and judged.worst:
            yield about, judged.worst
            return
