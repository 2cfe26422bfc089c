"""Draws the plots of a run, as files of their own; the pages hold them too."""

from __future__ import annotations

from pathlib import Path

from railgauge.core.model import Cluster
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.diagnosis import RunResults
from railgauge.planning.soak import is_of_soak
from railgauge.report import throttled
from railgauge.report.plots import Plot, plots
from railgauge.run.store import write_whole


@PROGRESS_OF_PROCESS.during("plots")
def draw(folder: Path, found: RunResults, declared: Cluster, evidence: str) -> list[Plot]:
    """Write the plots of every rung below ``folder``, and return them, lowest rung first."""
    ladder = [item for name, item in found.records.items() if not is_of_soak(name)]
    drawn = [*plots(ladder, found.platform, declared, evidence), *throttled.plots(found, evidence)]
    for plot in drawn:
        write_whole(folder / "plots" / f"{plot.name}.svg", plot.svg)
    return sorted(drawn, key=lambda plot: plot.rung)
