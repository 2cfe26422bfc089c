"""Samples of a node's GPUs during its measurements: read, kept as columns, and judged. Pure."""

from __future__ import annotations

from railgauge.judging.telemetry.columns import columns
from railgauge.judging.telemetry.judged import ITEMS, SUBJECT, judged
from railgauge.judging.telemetry.seen import Watched, spells_of, traced, watched

__all__ = [
    "ITEMS",
    "SUBJECT",
    "Watched",
    "columns",
    "judged",
    "spells_of",
    "traced",
    "watched",
]
