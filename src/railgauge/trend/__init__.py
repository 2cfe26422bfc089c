"""Nights compared: what changed, since when, and where. ``findings`` is pure; ``read`` is not."""

from railgauge.trend.findings import findings, series_of
from railgauge.trend.values import (
    FEWEST_NIGHTS,
    Finding,
    Fleet,
    Key,
    Movement,
    Night,
    Rules,
    Scope,
    Trend,
)

__all__ = [
    "FEWEST_NIGHTS",
    "Finding",
    "Fleet",
    "Key",
    "Movement",
    "Night",
    "Rules",
    "Scope",
    "Trend",
    "findings",
    "series_of",
]
