"""Plots of a run, from its records alone: nothing here reads a file or knows pytest.

Every plot says what evidence it shows where that is not hardware, has units at its axes, and tells
nothing by colour alone: numbers stand in cells, misses are crosses or hatched, outcomes letters.
"""

from __future__ import annotations

from collections.abc import Iterable

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Cluster
from railgauge.judging.record import ItemRecord
from railgauge.report.plots.curves import curves
from railgauge.report.plots.maps import gpu_links, gpu_nics, nic_traffic, node_pairs
from railgauge.report.plots.plot import Plot
from railgauge.report.plots.strips import strips

__all__ = ["Plot", "plots"]


def plots(
    records: Iterable[ItemRecord], platform: Platform, cluster: Cluster, evidence: str
) -> list[Plot]:
    """Every plot that has something to show, from the lowest rung up."""
    items = list(records)
    found = [
        *curves(items, platform, evidence),
        *node_pairs(items, cluster, evidence),
        *gpu_nics(items, evidence),
        *gpu_links(items, evidence),
        *nic_traffic(items, cluster, evidence),
        *strips(items, evidence),
    ]
    return sorted(found, key=lambda plot: plot.rung)
