"""Nights compared: what changed, since when, and where. ``findings`` is pure; ``read`` is not."""

from railgauge.trend.findings import findings
from railgauge.trend.values import (
    Fleet,
    Key,
    Night,
    Rules,
    Trend,
)

__all__ = ["Fleet", "Key", "Night", "Rules", "Trend", "findings"]
