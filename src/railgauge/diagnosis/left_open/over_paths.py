"""Items over one path between two nodes, and which way their payload went. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from railgauge.config.thresholds.model import Measurement
from railgauge.core.terms import Flow
from railgauge.diagnosis.left_open.shares import what
from railgauge.judging.record import ItemRecord
from railgauge.tools import flow
from railgauge.tools.metric import LOWER

Measurements = Mapping[str, Measurement]

_END = r"(?:gpu(\d+)-)?([^\s>:]+)"
_PAIRING = re.compile(f"{_END}(?::{_END})?")
_PAIR = 2
WAYS = SENDING, RECEIVING = "sending", "receiving"


def is_path(record: ItemRecord) -> bool:
    """Whether the item measured one pairing between two nodes."""
    return len(set(record.nodes)) == _PAIR and bool(_PAIRING.fullmatch(record.pairing))


def flow_of(record: ItemRecord, measurements: Measurements) -> Flow:
    measurement = measurements.get(record.subject)
    return flow(measurement) if measurement else Flow.UNTOLD


def ways(nodes: Sequence[str], name: str, flow: Flow) -> tuple[str, ...]:
    """What the node ``name`` did in a test of two nodes: sending, receiving, or both."""
    if flow not in (Flow.FORWARD, Flow.BACKWARD):
        return WAYS
    return (SENDING,) if (name == nodes[0]) is (flow is Flow.FORWARD) else (RECEIVING,)


def has_rate(record: ItemRecord) -> bool:
    """Whether the item measured how much a path carries, not only how long it takes."""
    return any(
        judged.better != LOWER and judged.worst and what(record, judged)
        for judged in record.judgements
    )
