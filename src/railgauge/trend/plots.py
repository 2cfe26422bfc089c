"""Draw small line charts of nights as SVG text, without scripts or fonts, printable. Pure.

Colour alone carries no meaning: the series of a finding are drawn thick and named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from railgauge.core.units import digits, spelled

_WIDTH, _HEIGHT = 480, 188
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 12, 30, 30
# Labels are above the values, each kind in its own row, so that they do not overlap.
_LIMIT_LINE, _SINCE_LINE = 11, 25
_SINCE_WIDTH = 70
# The axis spans at least two per cent, so that flat series look flat.
_SPAN_MIN = 0.02
_DATE = 8
# A limit further from the values than this, as a share, would press them into a flat line.
_LIMIT_NEAR = 0.1
_MARKS_MOST = 6


@dataclass(frozen=True, slots=True)
class PlotLine:
    """One series: number of the night -> value. ``moved`` lines are those of a finding."""

    name: str
    points: Mapping[int, float]
    moved: bool = False


def chart(
    title: str,
    nights: Sequence[str],
    lines: Sequence[PlotLine],
    unit: str,
    since: int | None = None,
    *,
    limit: float | None = None,
) -> str:
    """Return the chart of the lines over the nights; ``since`` is the night to mark.

    The limit is a line if it is near the values; else its label names the side on which it is.
    """
    axis = _Axis.around(len(nights), lines, limit)
    ordered = sorted(lines, key=lambda line: line.moved)
    body = [
        *(_grid(axis, value, unit) for value in axis.marks),
        *(_dates(axis, nights)),
        *(_polyline(axis, line) for line in ordered),
        *([_mark(axis, since)] if since is not None else []),
        *([_limit(axis, limit, unit)] if limit is not None else []),
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
    def around(cls, nights: int, lines: Sequence[PlotLine], limit: float | None) -> _Axis:
        values = [value for line in lines for value in line.points.values()]
        low, high = min(values), max(values)
        if limit is not None and low * (1 - _LIMIT_NEAR) <= limit <= high * (1 + _LIMIT_NEAR):
            low, high = min(low, limit), max(high, limit)
        pad = max((high - low) * 0.08, (high * _SPAN_MIN - (high - low)) / 2, 0.0)
        return cls(nights, low - pad, high + pad)

    def x(self, night: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (night + 0.5) / self.nights

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share

    @property
    def marks(self) -> tuple[float, ...]:
        """Three to six round values: multiples of 1, 2 or 5 times a power of ten."""
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / _MARKS_MOST))
        step = next(f * power for f in (1, 2, 5, 10) if span / (f * power) <= _MARKS_MOST)
        first = math.ceil(self.low / step)
        # 12 digits: 3 * 0.1 is not 0.3.
        return tuple(float(f"{n * step:.12g}") for n in range(first, int(self.high // step) + 1))


def _grid(axis: _Axis, value: float, unit: str) -> str:
    y = axis.y(value)
    label = escape(_label(value, unit))
    return (
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    )


def _dates(axis: _Axis, nights: Sequence[str]) -> list[str]:
    """The date labels of the first, the middle and the last night."""
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
    kind = "moved" if line.moved else "quiet"
    name = escape(line.name)
    return f'<g class="{kind}"><title>{name}</title><polyline points="{path}"/>{circles}</g>'


def _limit(axis: _Axis, limit: float, unit: str) -> str:
    side = ", below" if limit < axis.low else ", above" if limit > axis.high else ""
    label = (
        f'<text x="{_WIDTH - _RIGHT}" y="{_LIMIT_LINE}" text-anchor="end">'
        f"limit {escape(_label(limit, unit))}{side}</text>"
    )
    if side:
        return label
    y = axis.y(limit)
    line = f'<line class="limit" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return f"{line}{label}"


def _mark(axis: _Axis, since: int) -> str:
    x = axis.x(since - 0.5)
    anchor = "start" if x + _SINCE_WIDTH < _WIDTH else "end"
    return (
        f'<line class="since" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        f'<text x="{x:.1f}" y="{_SINCE_LINE}" text-anchor="{anchor}">since here</text>'
    )


def _label(value: float, unit: str) -> str:
    return f"{digits(value)} {spelled(unit)}".strip()
