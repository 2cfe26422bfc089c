"""Nights compared: what changed, since when, and where. ``findings`` is pure; ``read`` is not."""

from railgauge.trend.findings import findings
from railgauge.trend.values import (
    Fleet,
    Night,
    Rules,
    SeriesKey,
    Trend,
)

__all__ = ["Fleet", "Night", "Rules", "SeriesKey", "Trend", "findings"]
