"""Plots of a GPU over one measurement: clock, temperature and power, with throttled time. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from railgauge.judging.telemetry import spells_of
from railgauge.report.plots import svg
from railgauge.report.plots.axes import Scale, around
from railgauge.report.plots.plot import Plot, heading
from railgauge.stacks.sampling import CLOCK, HEAT, POWER, UNITS, GpuSample

_WIDTH, _TOP, _LEFT, _RIGHT, _BOTTOM = 620, 44, 56, 16, 40
_PANEL, _BETWEEN = 92, 26
_SHOWN = (CLOCK, HEAT, POWER)


@dataclass(frozen=True, slots=True)
class GpuTrace:
    """The samples of one GPU in one repeat; times in seconds since the start of the repeat."""

    node: str
    gpu: int
    title: str
    samples: tuple[GpuSample, ...]


def telemetry(trace: GpuTrace, reasons: Collection[str], rung: int, evidence: str) -> Plot:
    """Draw a panel for each of clock, temperature and power; ``reasons`` are what is forbidden."""
    shown = [what for what in _SHOWN if any(what in one.values for one in trace.samples)]
    height = _TOP + len(shown) * (_PANEL + _BETWEEN) + _BOTTOM
    ends = [one.at_s for one in trace.samples]
    x = Scale(min(ends), max(*ends, min(ends) + 1.0), _LEFT, _WIDTH - _RIGHT)
    title = f"gpu{trace.gpu} of {trace.node} during {trace.title}"
    shapes = heading(title, "hatched: throttled", evidence, _WIDTH)
    foot = height - _BOTTOM
    for start, end in _throttled(trace, reasons):
        left, right = x.at(start), x.at(end)
        shapes.append(svg.hatched(left, _TOP, max(right - left, 3.0), foot - _TOP))
    for number, what in enumerate(shown):
        shapes += _panel(trace.samples, what, x, _TOP + number * (_PANEL + _BETWEEN))
    for mark in x.marks:
        shapes.append(svg.text(x.at(mark), foot + 14, f"{mark:g}", anchor="middle"))
    axis = "seconds since the start of the measurement"
    shapes.append(svg.text((_LEFT + _WIDTH) / 2, foot + 30, axis, anchor="middle"))
    picture = svg.document(_WIDTH, height, title, shapes)
    name = f"rung{rung}-telemetry-{trace.node}-gpu{trace.gpu}"
    return Plot(name, rung, title, _caption(trace, reasons), picture)


def _throttled(trace: GpuTrace, reasons: Collection[str]) -> Iterator[tuple[float, float]]:
    for spell in spells_of(trace.title, trace.samples, reasons):
        end_s = trace.samples[-1].at_s if spell.end_s is None else spell.end_s
        yield spell.start_s, end_s


def _panel(samples: Sequence[GpuSample], what: str, x: Scale, top: float) -> Iterator[str]:
    timed = [(one.at_s, one.values[what]) for one in samples if what in one.values]
    y = around([value for _, value in timed], top + _PANEL, top + 14)
    yield svg.text(_LEFT, top + 8, f"{what} in {UNITS[what]}", bold=True)
    for mark in y.marks:
        yield svg.line((_LEFT, y.at(mark)), (_WIDTH - _RIGHT, y.at(mark)))
        yield svg.text(_LEFT - 6, y.at(mark) + 4, f"{mark:.6g}", anchor="end")
    points = [(x.at(at_s), y.at(value)) for at_s, value in timed]
    yield svg.polyline(points, svg.GOOD) if len(points) > 1 else svg.circle(*points[0])


def _caption(trace: GpuTrace, reasons: Collection[str]) -> str:
    spells = [str(spell) for spell in spells_of(trace.title, trace.samples, reasons)]
    return f"{len(trace.samples)} samples; {'; '.join(spells[:3]) or 'not throttled'}."
