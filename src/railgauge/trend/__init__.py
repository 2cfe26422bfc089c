"""Nights compared: what changed, since when, and where. ``findings`` is pure; ``read`` is not."""

from railgauge.trend.findings import findings
from railgauge.trend.values import (
    Night,
    Rules,
    Trend,
)

__all__ = ["Night", "Rules", "Trend", "findings"]
