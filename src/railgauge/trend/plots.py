"""Small line charts of nights as SVG text: no script, no font of its own, readable on paper. Pure.

What a line means is never told by colour alone: what was found is drawn thick and named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from railgauge.core.units import format_value

_WIDTH, _HEIGHT = 480, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 12, 12, 30
# Flat series are drawn flat: the axis spans two per cent at least.
_SPAN_MIN = 0.02
_DATE = 8


@dataclass(frozen=True, slots=True)
class PlotLine:
    """One series: values by number of the night. ``told`` lines are those of a finding."""

    name: str
    points: Mapping[int, float]
    told: bool = False


def chart(
    title: str,
    nights: Sequence[str],
    lines: Sequence[PlotLine],
    unit: str,
    since: int | None = None,
) -> str:
    """The lines over the nights; ``since`` is the night at which a mark stands."""
    axis = _Axis.around(len(nights), lines)
    ordered = sorted(lines, key=lambda line: line.told)
    body = [
        *(_grid(axis, value, unit) for value in axis.marks),
        *(_dates(axis, nights)),
        *(_polyline(axis, line) for line in ordered),
        *([_mark(axis, since)] if since is not None else []),
    ]
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(body)}</svg>"
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    nights: int
    low: float
    high: float

    @classmethod
    def around(cls, nights: int, lines: Sequence[PlotLine]) -> _Axis:
        values = [value for line in lines for value in line.points.values()]
        low, high = min(values), max(values)
        pad = max((high - low) * 0.08, (high * _SPAN_MIN - (high - low)) / 2, 0.0)
        return cls(nights, low - pad, high + pad)

    def x(self, night: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (night + 0.5) / self.nights

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share

    @property
    def marks(self) -> tuple[float, ...]:
        return self.low, (self.low + self.high) / 2, self.high


def _grid(axis: _Axis, value: float, unit: str) -> str:
    y = axis.y(value)
    label = escape(format_value(value, unit))
    return (
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    )


def _dates(axis: _Axis, nights: Sequence[str]) -> list[str]:
    """The first, the middle and the last night by their date."""
    ends = {0: "start", len(nights) // 2: "middle", len(nights) - 1: "end"}
    return [
        f'<text x="{axis.x(n):.1f}" y="{_HEIGHT - 8}" text-anchor="{anchor}">'
        f"{escape(nights[n][:_DATE])}</text>"
        for n, anchor in ends.items()
    ]


def _polyline(axis: _Axis, line: PlotLine) -> str:
    dots = [(axis.x(night), axis.y(value)) for night, value in sorted(line.points.items())]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    circles = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in dots)
    kind = "told" if line.told else "quiet"
    name = escape(line.name)
    return f'<g class="{kind}"><title>{name}</title><polyline points="{path}"/>{circles}</g>'


def _mark(axis: _Axis, since: int) -> str:
    x = axis.x(since - 0.5)
    return (
        f'<line class="since" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        f'<text x="{x + 4:.1f}" y="{_TOP + 10}">since here</text>'
    )
