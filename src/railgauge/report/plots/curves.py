"""Plots over message size: every sample, with floor, ceiling and ideal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from railgauge.config.thresholds.model import Platform
from railgauge.core import naming
from railgauge.core.model import Judgement, Outcome
from railgauge.core.units import format_size, format_value
from railgauge.judging.record import ItemRecord
from railgauge.report.plots import svg
from railgauge.report.plots.axes import Scale, around
from railgauge.report.plots.plot import Plot, heading

_WIDTH, _HEIGHT = 480, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 84, 44, 46
_SHOWN = 40  # samples of one size that are drawn one by one
_JITTER = 11.0
_LINES = {"floor": "", "ceiling": "7 3", "ideal": "2 3"}


@dataclass(frozen=True, slots=True)
class _Dot:
    value: float
    missed: bool
    where: str


@dataclass(slots=True)
class _Panel:
    """All samples of one metric by size, and their limits by name and size."""

    unit: str
    dots: dict[int, list[_Dot]] = field(default_factory=dict)
    limits: dict[str, dict[int, float]] = field(default_factory=dict)

    def add(self, record: ItemRecord, judged: Judgement, size_bytes: int) -> None:
        missed = judged.outcome is Outcome.FAILED
        where = " ".join(filter(None, (naming.place(record.nodes), record.pairing)))
        self.dots.setdefault(size_bytes, []).extend(
            _Dot(value, missed and _beyond(value, judged), where) for value in judged.values
        )
        bounds = {
            "floor": judged.floor, "ceiling": judged.ceiling, "ideal": judged.best,
        }  # fmt: skip
        for name, bound in bounds.items():
            if bound is not None:
                self.limits.setdefault(name, {})[size_bytes] = bound


def _beyond(value: float, judged: Judgement) -> bool:
    low = judged.floor is not None and value < judged.floor
    return low or (judged.ceiling is not None and value > judged.ceiling)


def curves(records: Iterable[ItemRecord], platform: Platform, evidence: str) -> list[Plot]:
    """Return a plot for each measurement, metric, and kind of pairing with its own limit."""
    panels: dict[tuple[int, str, str, str], _Panel] = {}
    kinds = _kinds(platform)
    for record in records:
        for judged in record.judgements:
            size = judged.size_bytes if judged.size_bytes is not None else record.size_bytes
            if size is None or not judged.values:
                continue
            kind = kinds.get(judged.pointer, "")
            key = record.rung, record.subject, judged.metric, kind
            panels.setdefault(key, _Panel(judged.unit)).add(record, judged, size)
    return [_plot(key, panel, evidence) for key, panel in panels.items()]


def _kinds(platform: Platform) -> Mapping[str, str]:
    """Return pointer of the limit -> the pairings that it is for, such as ``near``."""
    measured = platform.measurements.values()
    return {limit.pointer: ", ".join(limit.pairings) for m in measured for limit in m.limits}


def _plot(key: tuple[int, str, str, str], panel: _Panel, evidence: str) -> Plot:
    rung, subject, metric, kind = key
    title = f"{subject}{f', {kind}' if kind else ''}"
    sizes = sorted(panel.dots)
    values = [d.value for dots in panel.dots.values() for d in dots]
    bounds = [b for by_size in panel.limits.values() for b in by_size.values()]
    y = around([*values, *bounds], _HEIGHT - _BOTTOM, _TOP)
    x = _columns(sizes)
    shapes = [
        *heading(title, f"{metric} in {panel.unit}", evidence, _WIDTH),
        *_frame(x, y),
        *_limits(panel, x, y),
        *(shape for size in sizes for shape in _samples(panel.dots[size], x[size], y, panel.unit)),
    ]
    said = f"{title}: {metric} in {panel.unit} against message size"
    name = f"rung{rung}-size-{subject}-{metric.replace('/', '-')}{f'-{kind}' if kind else ''}"
    picture = svg.document(_WIDTH, _HEIGHT, said, shapes)
    return Plot(name.replace(", ", "-"), rung, said, _caption(panel, y), picture, subject)


def _columns(sizes: Sequence[int]) -> dict[int, float]:
    """Return the x of each size in pixels; sizes are equally spaced, so that none overlap."""
    width = (_WIDTH - _LEFT - _RIGHT) / len(sizes)
    return {size: _LEFT + width * (number + 0.5) for number, size in enumerate(sizes)}


def _frame(x: Mapping[int, float], y: Scale) -> Iterator[str]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for mark in y.marks:
        yield svg.line((_LEFT, y.at(mark)), (right, y.at(mark)))
        yield svg.text(_LEFT - 6, y.at(mark) + 4, f"{mark:.6g}", anchor="end")
    every = -(-len(x) // 7)
    for number, (size, at) in enumerate(x.items()):
        yield svg.line((at, bottom), (at, bottom + 4), svg.QUIET)
        if number % every == 0 or number == len(x) - 1:
            yield svg.text(at, bottom + 16, format_size(size), anchor="middle")
    yield svg.line((_LEFT, bottom), (right, bottom), svg.QUIET)
    yield svg.text((_LEFT + right) / 2, _HEIGHT - 10, "message size", anchor="middle")


def _limits(panel: _Panel, x: Mapping[int, float], y: Scale) -> Iterator[str]:
    """Draw each limit as a line over the sizes that have it, with its name at the right end."""
    named: list[float] = []
    for name, by_size in panel.limits.items():
        half = (_WIDTH - _LEFT - _RIGHT) / len(x) / 2
        points = [(x[size], y.at(bound)) for size, bound in sorted(by_size.items())]
        ends = [(points[0][0] - half, points[0][1]), *points, (points[-1][0] + half, points[-1][1])]
        yield svg.polyline(ends, svg.LIMIT, _LINES[name])
        last = by_size[max(by_size)]
        foot = _free(ends[-1][1] + 4, named)
        named.append(foot)
        yield svg.text(ends[-1][0] + 4, foot, f"{name} {last:.4g}", size=10.5, bold=name == "floor")


def _free(wanted: float, taken: Sequence[float]) -> float:
    """Return a y in pixels for a label where it overlaps no other label."""
    places = sorted(
        (wanted + step * sign for step in range(0, 60, 12) for sign in (-1, 1)),
        key=lambda place: abs(place - wanted),
    )
    return next((p for p in places if all(abs(p - other) >= 11 for other in taken)), wanted)  # noqa: PLR2004


def _samples(dots: Sequence[_Dot], x: float, y: Scale, unit: str) -> Iterator[str]:
    ordered = sorted(dots, key=lambda dot: dot.value)
    if len(ordered) > _SHOWN:
        yield from _bar(ordered, x, y)
        ordered = ordered[: _SHOWN // 4] + ordered[-_SHOWN // 8 :]
    for number, dot in enumerate(ordered):
        aside = ((number * 7) % 11 - 5) / 5 * _JITTER if len(ordered) > 1 else 0.0
        mark = svg.cross if dot.missed else svg.circle
        hover = f"{dot.where}: {format_value(dot.value, unit)}".lstrip(": ")
        yield mark(x + aside, y.at(dot.value), hover)


def _bar(ordered: Sequence[_Dot], x: float, y: Scale) -> Iterator[str]:
    low, middle, high = (
        ordered[round(share * (len(ordered) - 1))].value for share in (0.05, 0.5, 0.95)
    )
    top, bottom = y.at(high), y.at(low)
    yield svg.box((x - 9, top), 18, max(bottom - top, 1.5), "#cfe2f3", svg.GOOD)
    yield svg.line((x - 12, y.at(middle)), (x + 12, y.at(middle)), svg.GOOD, 2)


def _caption(panel: _Panel, y: Scale) -> str:
    counts = [len(dots) for dots in panel.dots.values()]
    missed = sum(dot.missed for dots in panel.dots.values() for dot in dots)
    said = [f"{sum(counts)} samples"]
    if missed:
        said.append(f"crosses: {missed} beyond the limit")
    if max(counts) > _SHOWN:
        said.append("box: the middle 90 % and the median; only the outermost are single points")
    if not y.log and y.low > 0:
        said.append(f"the axis starts at {y.low:.4g}")
    if len({tuple(sorted(by_size.items())) for by_size in panel.limits.values()}) > 1:
        said.append("ideal: what the declared hardware can do at best")
    return "; ".join(said) + "."
