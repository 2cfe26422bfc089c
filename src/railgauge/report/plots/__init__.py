"""Plots of a run, made from its records alone: nothing here reads a file or uses pytest.

Every plot names the kind of evidence unless it is hardware, and has units at its axes. No plot
relies on colour: cells have numbers, misses are crosses or hatched, and outcomes are letters.
"""

from __future__ import annotations

from collections.abc import Iterable

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Cluster
from railgauge.judging.record import ItemRecord
from railgauge.report.plots.curves import curves
from railgauge.report.plots.ladder import ladders
from railgauge.report.plots.maps import (
    across_rails,
    gpu_links,
    gpu_nics,
    nic_traffic,
    node_grids,
    node_pairs,
)
from railgauge.report.plots.plot import Plot
from railgauge.report.plots.strips import strips

__all__ = ["Plot", "plots"]


def plots(
    records: Iterable[ItemRecord], platform: Platform, cluster: Cluster, evidence: str
) -> list[Plot]:
    """Return every plot that has data, lowest rung first."""
    items = list(records)
    found = [
        *curves(items, platform, evidence),
        *ladders(items, platform, evidence),
        *node_grids(items, cluster, evidence),
        *node_pairs(items, cluster, evidence),
        *gpu_nics(items, evidence),
        *across_rails(items, evidence),
        *gpu_links(items, evidence),
        *nic_traffic(items, cluster, evidence),
        *strips(items, evidence),
    ]
    return sorted(found, key=lambda plot: plot.rung)
