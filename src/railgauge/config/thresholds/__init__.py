"""Platform files: what is measured, and the limit of every number."""

from railgauge.config.thresholds.limits import (
    limit_for,
    limits_in_use,
    uncovered,
)
from railgauge.config.thresholds.load import load, load_file
from railgauge.config.thresholds.model import LEVELS, Expectation, Measurement, Platform
from railgauge.config.thresholds.physics import ideal, in_its_unit, physical_ceiling, whole
from railgauge.config.thresholds.site import (
    DMA_BUF,
    PEER_MODULES,
    VERSIONS,
    on_site,
    with_model,
)
from railgauge.config.thresholds.source import available

__all__ = [
    "DMA_BUF",
    "LEVELS",
    "PEER_MODULES",
    "VERSIONS",
    "Expectation",
    "Measurement",
    "Platform",
    "available",
    "ideal",
    "in_its_unit",
    "limit_for",
    "limits_in_use",
    "load",
    "load_file",
    "on_site",
    "physical_ceiling",
    "uncovered",
    "whole",
    "with_model",
]
