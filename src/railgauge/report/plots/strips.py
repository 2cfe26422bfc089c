"""Strip plots: the samples of each item on a line, which shows one group or two. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median_high

from railgauge.core import naming
from railgauge.core.errors import RailgaugeError
from railgauge.core.model import Judgement, Outcome
from railgauge.core.units import digits, format_size, format_value
from railgauge.judging.dispersion import TWO_GROUPS, Groups, spread, two_groups
from railgauge.judging.record import ItemRecord
from railgauge.report.plots import svg
from railgauge.report.plots.axes import Scale, around
from railgauge.report.plots.plot import Plot, heading

_WIDTH, _TOP, _ROW = 620, 50, 58
_LEFT, _RIGHT, _BOTTOM = 16, 16, 40
_FEWEST = 4
_MOST, _QUIET = 12, 6
_WIDEST = 96  # characters of a name that fit on its line


@dataclass(frozen=True, slots=True)
class _Strip:
    record: ItemRecord
    judged: Judgement
    groups: Groups | None
    cv: float

    @property
    def is_notable(self) -> bool:
        return self.groups is not None or self.judged.outcome is Outcome.FAILED

    @property
    def name(self) -> str:
        record, size = self.record, self.judged.size_bytes or self.record.size_bytes
        place = (naming.place(record.nodes), record.pairing, format_size(size) if size else "")
        return " ".join(filter(None, (record.subject, *place, self.judged.metric)))


def strips(records: Iterable[ItemRecord], evidence: str) -> list[Plot]:
    """Return for each rung the items with the widest samples, those in two groups first."""
    by_rung: dict[int, list[_Strip]] = {}
    for record in records:
        for judged in record.judgements:
            if len(judged.values) >= _FEWEST and (found := _strip(record, judged)):
                by_rung.setdefault(record.rung, []).append(found)
    return [_plot(rung, found, evidence) for rung, found in sorted(by_rung.items())]


def _strip(record: ItemRecord, judged: Judgement) -> _Strip | None:
    try:
        # A split that the limit allows is the noise of a healthy part, not a finding.
        groups = two_groups(judged.values) if TWO_GROUPS in judged.reason else None
        return _Strip(record, judged, groups, spread(judged.values).cv)
    except RailgaugeError:  # an impossible value; the item is already an error
        return None


def _plot(rung: int, found: Sequence[_Strip], evidence: str) -> Plot:
    ordered = sorted(found, key=lambda one: (one.groups is None, not one.is_notable, -one.cv))
    notable = sum(one.is_notable for one in ordered)
    shown = ordered[: min(_MOST, max(notable, _QUIET))]
    height = _TOP + _ROW * len(shown) + _BOTTOM
    ratios = [value / _median(one) for one in shown for value in one.judged.values]
    x = around([*ratios, 1.0], _LEFT, _WIDTH - _RIGHT)
    title = f"rung {rung}: spread of the samples of each item"
    shapes = [
        *heading(title, "each row: sample / median of its samples", evidence, _WIDTH),
        *_axis(x, height),
        *(s for number, one in enumerate(shown) for s in _row(one, _TOP + _ROW * number, x)),
    ]
    picture = svg.document(_WIDTH, height, title, shapes)
    return Plot(f"rung{rung}-samples", rung, title, _caption(shown, found), picture)


def _median(one: _Strip) -> float:
    return median_high(one.judged.values)  # always one of the measured values


def _axis(x: Scale, height: float) -> Iterator[str]:
    foot = height - _BOTTOM
    for mark in x.marks:
        yield svg.line((x.at(mark), _TOP), (x.at(mark), foot))
        yield svg.text(x.at(mark), foot + 14, f"{mark:g}", anchor="middle")
    yield svg.text((_LEFT + _WIDTH - _RIGHT) / 2, foot + 30, "sample / median", anchor="middle")


def _row(one: _Strip, top: float, x: Scale) -> Iterator[str]:
    unit, middle = one.judged.unit, _median(one)
    highest_low = sorted(one.judged.values)[one.groups.low_count - 1] if one.groups else 0.0
    yield svg.text(_LEFT, top + 14, _short(one.name), size=10.5, bold=one.is_notable)
    yield svg.text(_LEFT, top + 27, _spread_text(one), size=10.5, fill=svg.QUIET)
    y = top + 42
    yield svg.line((_LEFT, y), (_WIDTH - _RIGHT, y), "#b8c0c8")
    for number, value in enumerate(one.judged.values):
        mark = svg.wedge if value <= highest_low else svg.circle
        at = y + (number % 3 - 1) * 4
        yield mark(x.at(value / middle), at, f"sample {number + 1}: {format_value(value, unit)}")


def _short(name: str) -> str:
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 3]}..."


def _spread_text(one: _Strip) -> str:
    groups, unit = one.groups, one.judged.unit
    if groups is None:
        return f"one group, cv {one.cv:.1%}, median {format_value(_median(one), unit)}"
    return (
        f"TWO GROUPS: {groups.low_count} around {digits(groups.low)}, "
        f"{groups.high_count} around {format_value(groups.high, unit)}"
    )


def _caption(shown: Sequence[_Strip], found: Sequence[_Strip]) -> str:
    two = sum(one.groups is not None for one in found)
    apart = f"{two} in two groups (triangles: the lower one)" if two else "none in two groups"
    return f"{len(shown)} of {len(found)} items with {_FEWEST} samples or more; {apart}."
