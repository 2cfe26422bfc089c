"""The curve of a scaling ladder: what each step keeps of the bandwidth of the smallest one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Judgement, Outcome
from railgauge.judging.record import ItemRecord
from railgauge.report.plots import svg
from railgauge.report.plots.axes import Scale, around
from railgauge.report.plots.plot import Plot, heading
from railgauge.tools.metric import SCALING

_INNER, _HEIGHT = 334, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 96, 44, 46
_DASHES = ("", "6 3", "2 3")

Steps = Mapping[str, Sequence[tuple[int, Judgement]]]
"""The number of nodes of each step and what was judged, by the kind of steps, smallest first."""


def ladders(records: Iterable[ItemRecord], platform: Platform, evidence: str) -> Iterator[Plot]:
    """Yield a plot for each measurement that is made over the steps of a ladder."""
    found: dict[str, list[ItemRecord]] = {}
    for record in records:
        measurement = platform.measurements.get(record.subject)
        if measurement and measurement.ladder:
            found.setdefault(record.subject, []).append(record)
    for subject, items in found.items():
        if steps := _steps(items):
            yield _plot(subject, items[0].rung, steps, evidence)


def _steps(items: Iterable[ItemRecord]) -> Steps:
    """The item of a step ends with ``-across-16]``."""
    found: dict[str, list[tuple[int, Judgement]]] = {}
    for item in items:
        kind = item.id.rpartition("[")[2].split("-")[-2]
        judged = next((j for j in item.judgements if j.metric == SCALING.name and j.values), None)
        if judged:
            found.setdefault(kind, []).append((len(item.nodes), judged))
    return {kind: sorted(steps, key=lambda step: step[0]) for kind, steps in found.items()}


def _plot(subject: str, rung: int, steps: Steps, evidence: str) -> Plot:
    every = [step for made in steps.values() for step in made]
    counts = sorted({count for count, _ in every})
    x = {count: _LEFT + _INNER * (n + 0.5) / len(counts) for n, count in enumerate(counts)}
    floors = sorted({judged.floor for _, judged in every if judged.floor is not None})
    values = [value for _, judged in every for value in judged.values]
    y = around([*values, *floors, 1.0], _HEIGHT - _BOTTOM, _TOP)
    width = _LEFT + _INNER + _RIGHT
    title = f"{subject}: share of the bandwidth of the smallest step, by number of nodes"
    shapes = [
        *heading(subject, "share of the bandwidth of two nodes", evidence, width),
        *_frame(x, y),
        *_floors(floors, y),
        *(shape for n, kind in enumerate(steps) for shape in _curve(kind, n, steps[kind], x, y)),
    ]
    missed = sum(judged.outcome is Outcome.FAILED for _, judged in every)
    caption = f"{len(every)} steps" + (f"; crosses: {missed} beyond the limit" if missed else "")
    picture = svg.document(width, _HEIGHT, title, shapes)
    return Plot(f"rung{rung}-scaling-{subject}", rung, title, f"{caption}.", picture, subject)


def _frame(x: Mapping[int, float], y: Scale) -> Iterator[str]:
    bottom, right = _HEIGHT - _BOTTOM, _LEFT + _INNER
    for mark in y.marks:
        yield svg.line((_LEFT, y.at(mark)), (right, y.at(mark)))
        yield svg.text(_LEFT - 6, y.at(mark) + 4, f"{mark:.6g}", anchor="end")
    for count, at in x.items():
        yield svg.text(at, bottom + 16, str(count), anchor="middle")
    yield svg.line((_LEFT, bottom), (right, bottom), svg.QUIET)
    yield svg.text((_LEFT + right) / 2, _HEIGHT - 10, "nodes", anchor="middle")


def _floors(floors: Iterable[float], y: Scale) -> Iterator[str]:
    for floor in floors:
        yield svg.line((_LEFT, y.at(floor)), (_LEFT + _INNER, y.at(floor)), svg.LIMIT)
        yield svg.text(_LEFT + _INNER + 4, y.at(floor) + 4, f"floor {floor:g}", bold=True)


def _curve(
    kind: str, number: int, steps: Sequence[tuple[int, Judgement]], x: Mapping[int, float], y: Scale
) -> Iterator[str]:
    """The names of the curves stand in the left lower corner, each with its dashes."""
    dash, foot = _DASHES[number % len(_DASHES)], _HEIGHT - _BOTTOM - 8 - 14 * number
    yield svg.polyline([(x[n], y.at(min(j.values))) for n, j in steps], svg.GOOD, dash)
    yield svg.polyline([(_LEFT + 6, foot - 4), (_LEFT + 36, foot - 4)], svg.GOOD, dash)
    yield svg.text(_LEFT + 42, foot, kind)
    for count, judged in steps:
        mark = svg.cross if judged.outcome is Outcome.FAILED else svg.circle
        yield mark(x[count], y.at(min(judged.values)), f"{kind} {count}: {min(judged.values):.3g}")
