"""Draws the plots of a run, as files of their own; the pages hold them too.

Of each GPU that was throttled, it plots the measurement that shows it best.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from railgauge.core.model import Cluster, Outcome
from railgauge.core.naming import title
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.diagnosis import RunResults
from railgauge.judging.record import ItemRecord
from railgauge.judging.telemetry import SUBJECT, spells_of, traced
from railgauge.planning.soak import is_of_soak
from railgauge.report.plots import Plot, plots
from railgauge.report.plots.telemetry import GpuTrace, telemetry
from railgauge.run.store import write_whole
from railgauge.stacks.sampling import HEAT

# The most throttled GPUs that are plotted.
_MOST = 6


@PROGRESS_OF_PROCESS.during("plots")
def draw(folder: Path, found: RunResults, declared: Cluster, evidence: str) -> list[Plot]:
    """Write the plots of every rung below ``folder``, and return them, lowest rung first."""
    ladder = [item for name, item in found.records.items() if not is_of_soak(name)]
    drawn = [*plots(ladder, found.platform, declared, evidence), *throttled_plots(found, evidence)]
    for plot in drawn:
        write_whole(folder / "plots" / f"{plot.name}.svg", plot.svg)
    return sorted(drawn, key=lambda plot: plot.rung)


def throttled_plots(results: RunResults, evidence: str) -> list[Plot]:
    """Return one plot for each GPU that missed a limit of its telemetry, up to a few."""
    asked = results.platform.telemetry
    if asked is None:
        return []
    reasons = asked.never.reasons if asked.never else ()
    missed = [r for r in results.records.values() if r.subject == SUBJECT and r.judgements]
    found = [(r, gpu) for r in missed for gpu in _gpus(r)][:_MOST]
    traces = ((r, _shown(r.nodes[0], gpu, reasons, results)) for r, gpu in found)
    return [telemetry(trace, reasons, r.rung, evidence) for r, trace in traces if trace]


def _gpus(record: ItemRecord) -> dict[int, None]:
    failed = (j for j in record.judgements if j.outcome is Outcome.FAILED)
    named = (device for j in failed for _, device in j.points_at)
    return {int(device.removeprefix("gpu")): None for device in named}


def _shown(node: str, gpu: int, reasons: tuple[str, ...], results: RunResults) -> GpuTrace | None:
    """The repeat in which the GPU was throttled for longest, else in which it was hottest."""
    traces = [one for one in _traces(node, gpu, results) if one.samples]
    return max(traces, key=lambda one: _weight(one, reasons), default=None)


def _weight(trace: GpuTrace, reasons: tuple[str, ...]) -> tuple[float, float]:
    last_s = trace.samples[-1].at_s
    spells = spells_of(trace.title, trace.samples, reasons)
    throttled_s = sum((last_s if s.end_s is None else s.end_s) - s.start_s + 1 for s in spells)
    return throttled_s, max(one.values.get(HEAT, 0.0) for one in trace.samples)


def _traces(node: str, gpu: int, results: RunResults) -> Iterator[GpuTrace]:
    assert results.platform.telemetry is not None
    sampler = results.platform.telemetry.sampler
    cases = {
        question.case: None
        for record in results.records.values()
        if node in record.nodes
        for question in record.questions
        if question.case and results.platform.samples(question.case.measurement)
    }
    for case in cases:
        kept = results.kept(case)
        for run in kept.runs if kept else ():
            samples = tuple(one for one in traced(node, run, sampler) if one.gpu == gpu)
            yield GpuTrace(node, gpu, title(case), samples)
