"""Plots over message size, or of a single size over nodes: every sample, with its limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from railgauge.config.thresholds.model import Platform
from railgauge.core import naming
from railgauge.core.model import Judgement, Outcome
from railgauge.core.units import digits, format_size, format_value, spelled
from railgauge.judging.record import ItemRecord
from railgauge.report.plots import svg
from railgauge.report.plots.axes import Scale, around, natural
from railgauge.report.plots.plot import Plot, heading

_INNER, _HEIGHT = 334, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 96, 44, 46
_SHOWN = 40  # samples of one column that are drawn one by one
_JITTER = 11.0
_LINES = {"floor": "", "ceiling": "7 3", "ideal": "2 3", "physical": "1 3"}
# A strip over nodes: the width of a node, of all nodes, and from how many on it has one mark each.
_NODE, _MOST_INNER, _CROWD = 14, 1000, 64


@dataclass(frozen=True, slots=True)
class _Dot:
    value: float
    missed: bool
    where: str


@dataclass(slots=True)
class _Panel:
    """All samples of one metric by size, at each node, and their limits by name and size."""

    unit: str
    dots: dict[int, list[_Dot]] = field(default_factory=dict)
    nodes: dict[str, list[_Dot]] = field(default_factory=dict)
    limits: dict[str, dict[int, float]] = field(default_factory=dict)
    lower: bool = False
    paired: bool = False

    def add(self, record: ItemRecord, judged: Judgement, size_bytes: int) -> None:
        missed = judged.outcome is Outcome.FAILED
        place = naming.place(record.nodes)
        where = " ".join(filter(None, (place, record.pairing)))
        dots = [_Dot(value, missed and _beyond(value, judged), where) for value in judged.values]
        self.dots.setdefault(size_bytes, []).extend(dots)
        self.paired |= len(record.nodes) == 2  # noqa: PLR2004
        for name in record.nodes if len(record.nodes) <= 2 else (_group(record),):  # noqa: PLR2004
            self.nodes.setdefault(name, []).extend(dots)
        self.lower = judged.better == "lower"
        bounds = {
            "floor": judged.floor,
            "ceiling": judged.ceiling,
            "ideal": judged.ideal,
            "physical": judged.physical_ceiling if judged.ideal is None else None,
        }
        for name, bound in bounds.items():
            if bound is not None:
                self.limits.setdefault(name, {})[size_bytes] = bound


def curves(records: Iterable[ItemRecord], platform: Platform, evidence: str) -> list[Plot]:
    """Return a plot for each measurement, metric, kind of pairing and number of nodes.

    Kinds of pairings have limits of their own, and groups of nodes have ideals of their own.
    """
    panels: dict[tuple[int, str, str, str], _Panel] = {}
    kinds = _kinds(platform)
    for record in records:
        for judged in record.judgements:
            size = judged.size_bytes if judged.size_bytes is not None else record.size_bytes
            if size is None or not judged.values:
                continue
            kind = kinds.get(judged.pointer, "")
            if len(record.nodes) > 2:  # noqa: PLR2004
                kind = ", ".join(filter(None, (kind, f"{len(record.nodes)} nodes")))
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
    columns, axis = _columns(panel)
    inner = max(_INNER, min(_MOST_INNER, _NODE * len(columns)))
    width = _LEFT + inner + _RIGHT
    values = [d.value for dots in panel.dots.values() for d in dots]
    bounds = [b for by_size in panel.limits.values() for b in by_size.values()]
    y = around([*values, *bounds], _HEIGHT - _BOTTOM, _TOP)
    x = {name: _LEFT + inner * (n + 0.5) / len(columns) for n, name in enumerate(columns)}
    unit = spelled(panel.unit)
    at = f", at {format_size(next(iter(panel.dots)))}" if axis == "node" else ""
    shapes = [
        *heading(title, f"{metric} in {unit}{at}", evidence, width),
        *_frame(x, y, inner, axis),
        *_limits(panel, [*x.values()], inner, y),
        *_marks(panel, columns, x, y),
    ]
    label = f"{title}: {metric} in {unit} {f'by node{at}' if at else 'against message size'}"
    name = f"rung{rung}-size-{subject}-{metric.replace('/', '-')}{f'-{kind}' if kind else ''}"
    picture = svg.document(width, _HEIGHT, label, shapes)
    caption = _caption(panel, columns, y)
    return Plot(name.replace(", ", "-").replace(" ", "-"), rung, label, caption, picture, subject)


def _columns(panel: _Panel) -> tuple[Mapping[str, Sequence[_Dot]], str]:
    """Return the samples of each column and what the columns are: sizes, or nodes at one size."""
    if len(panel.dots) > 1:
        return {format_size(size): panel.dots[size] for size in sorted(panel.dots)}, "message size"
    return {name: panel.nodes[name] for name in sorted(panel.nodes, key=natural)}, "node"


def _frame(x: Mapping[str, float], y: Scale, inner: float, axis: str) -> Iterator[str]:
    right, bottom = _LEFT + inner, _HEIGHT - _BOTTOM
    for mark in y.marks:
        yield svg.line((_LEFT, y.at(mark)), (right, y.at(mark)))
        yield svg.text(_LEFT - 6, y.at(mark) + 4, f"{mark:.6g}", anchor="end")
    # Only as many names as fit without overlap.
    room = inner / len(x)
    every = max(1, -(-int(6.4 * max(map(len, x)) + 8) // max(1, int(room))))
    for number, (name, at) in enumerate(x.items()):
        if number % every == 0:
            yield svg.line((at, bottom), (at, bottom + 4), svg.QUIET)
            anchor = "middle" if every == 1 or number else "start"
            yield svg.text(at, bottom + 16, name, anchor=anchor)
    yield svg.line((_LEFT, bottom), (right, bottom), svg.QUIET)
    yield svg.text((_LEFT + right) / 2, _HEIGHT - 10, axis, anchor="middle")


def _limits(panel: _Panel, x: Sequence[float], inner: float, y: Scale) -> Iterator[str]:
    """Draw each limit as a line over the sizes that have it, with its name at the right end."""
    named: list[float] = []
    sizes = sorted(panel.dots)
    half = inner / len(x) / 2
    for name, by_size in panel.limits.items():
        of = dict(zip(sizes, x, strict=False))
        points = [(of[size], y.at(bound)) for size, bound in sorted(by_size.items())]
        end = points[-1][0] + half if len(sizes) > 1 else _LEFT + inner
        ends = [(points[0][0] - half, points[0][1]), *points, (end, points[-1][1])]
        yield svg.polyline(ends, svg.LIMIT, _LINES[name])
        last = by_size[max(by_size)]
        foot = _free(ends[-1][1] + 4, named)
        named.append(foot)
        yield svg.text(end + 4, foot, f"{name} {digits(last)}", size=10.5, bold=name == "floor")


def _free(wanted: float, taken: Sequence[float]) -> float:
    """Return a y in pixels for a label where it overlaps no other label."""
    places = sorted(
        (wanted + step * sign for step in range(0, 60, 12) for sign in (-1, 1)),
        key=lambda place: abs(place - wanted),
    )
    return next((p for p in places if all(abs(p - other) >= 11 for other in taken)), wanted)  # noqa: PLR2004


def _marks(
    panel: _Panel, columns: Mapping[str, Sequence[_Dot]], x: Mapping[str, float], y: Scale
) -> Iterator[str]:
    if len(columns) > _CROWD:
        spans = "".join(_span(dots, x[name], y) for name, dots in columns.items())
        yield f'<path d="{spans}" stroke="{svg.GOOD}" stroke-opacity=".5"/>'
    room = (max(x.values()) - min(x.values())) / len(x) if len(x) > 1 else 4 * _JITTER
    worst = max if panel.lower else min
    for name, every in columns.items():
        is_crowd = len(columns) > _CROWD
        dots = [worst(every, key=lambda dot: dot.value)] if is_crowd else every
        yield from _samples(dots, x[name], y, panel.unit, min(_JITTER, room / 3))


def _span(dots: Sequence[_Dot], x: float, y: Scale) -> str:
    values = [dot.value for dot in dots]
    return f"M{x:.1f} {y.at(min(values)):.1f}V{y.at(max(values)):.1f}"


def _samples(dots: Sequence[_Dot], x: float, y: Scale, unit: str, jitter: float) -> Iterator[str]:
    ordered = sorted(dots, key=lambda dot: dot.value)
    if len(ordered) > _SHOWN:
        yield from _bar(ordered, x, y, jitter)
        ordered = ordered[: _SHOWN // 4] + ordered[-_SHOWN // 8 :]
    for number, dot in enumerate(ordered):
        aside = ((number * 7) % 11 - 5) / 5 * jitter if len(ordered) > 1 else 0.0
        mark = svg.cross if dot.missed else svg.circle
        hover = f"{dot.where}: {format_value(dot.value, unit)}".lstrip(": ")
        yield mark(x + aside, y.at(dot.value), hover)


def _bar(ordered: Sequence[_Dot], x: float, y: Scale, half: float) -> Iterator[str]:
    low, middle, high = (
        ordered[round(share * (len(ordered) - 1))].value for share in (0.05, 0.5, 0.95)
    )
    top, bottom = y.at(high), y.at(low)
    yield svg.box((x - half, top), 2 * half, max(bottom - top, 1.5), "#cfe2f3", svg.GOOD)
    yield svg.line((x - half - 2, y.at(middle)), (x + half + 2, y.at(middle)), svg.GOOD, 2)


def _caption(panel: _Panel, columns: Mapping[str, Sequence[_Dot]], y: Scale) -> str:
    counts = [len(dots) for dots in panel.dots.values()]
    missed = sum(dot.missed for dots in panel.dots.values() for dot in dots)
    parts = [f"{sum(counts)} sample{'s' * (sum(counts) > 1)}"]
    if len(panel.dots) == 1 and panel.paired:
        parts.append("samples of a pair are at both of its nodes")
    if missed:
        parts.append(f"crosses: {missed} beyond the limit")
    if len(columns) > _CROWD:
        parts.append("a mark is the worst sample of a node, the line reaches from least to most")
    elif max(map(len, columns.values())) > _SHOWN:
        parts.append("box: the middle 90 % and the median; only the outermost are single points")
    if not y.log and y.low > 0:
        parts.append(f"the axis starts at {y.low:.4g}")
    explained = {
        "ideal": "ideal: the best that this measurement can reach",
        "physical": "physical: what the hardware can carry",
    }
    parts += [words for name, words in explained.items() if name in panel.limits]
    return "; ".join(parts) + "."


def _group(record: ItemRecord) -> str:
    return naming.shortened(naming.folded(record.nodes))


def _beyond(value: float, judged: Judgement) -> bool:
    low = judged.floor is not None and value < judged.floor
    return low or (judged.ceiling is not None and value > judged.ceiling)
