"""Shapes as SVG text. All style is in attributes, so a plot looks the same alone and inline.

Lengths are in pixels of the plot's own size. Colours are few and never the only sign of something.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

INK, QUIET, GRID = "#1b1f24", "#57606a", "#d8dee4"
GOOD, BAD, LIMIT = "#0b5394", "#b3261e", "#1b1f24"
Point = tuple[float, float]
_FONT = "system-ui,-apple-system,Segoe UI,Roboto,DejaVu Sans,sans-serif"


def document(width: float, height: float, title: str, shapes: Iterable[str]) -> str:
    """Return a complete SVG document. ``title`` is for screen readers."""
    label = escape(title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-label="{label}" '
        f'font-family="{_FONT}" font-size="11"><title>{label}</title>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(shapes)}</svg>'
    )


def text(
    x: float,
    y: float,
    content: str,
    *,
    anchor: str = "start",
    size: float = 11,
    fill: str = INK,
    bold: bool = False,
    turned: bool = False,
) -> str:
    """Return a line of text with its baseline at ``y``; ``turned`` reads from the bottom up."""
    weight = ' font-weight="600"' if bold else ""
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" '
        f'fill="{fill}"{weight}{turn}>{escape(content)}</text>'
    )


def line(start: Point, end: Point, stroke: str = GRID, width: float = 1) -> str:
    (x1, y1), (x2, y2) = start, end
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{stroke}" stroke-width="{width:g}"/>'
    )


def polyline(points: Iterable[Point], stroke: str, dash: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="1.6"{dashes}/>'


def box(corner: Point, width: float, height: float, fill: str, stroke: str = GRID) -> str:
    x, y = corner
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def hatched(x: float, y: float, width: float, height: float) -> str:
    """Return diagonal strokes over a box, which mark a problem without colour."""
    step = 8
    strokes = []
    for start in range(0, int(width + height), step):
        left, right = max(0.0, start - height), min(float(start), width)
        foot, head = y + start - left, y + start - right
        strokes.append(f"M{x + left:.1f} {foot:.1f}L{x + right:.1f} {head:.1f}")
    return f'<path d="{"".join(strokes)}" stroke="{BAD}" stroke-opacity=".35"/>'


def circle(x: float, y: float, hover: str = "") -> str:
    return _hovered(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="none" stroke="{GOOD}" stroke-width="1"',
        "circle",
        hover,
    )


def cross(x: float, y: float, hover: str = "") -> str:
    """Return the mark of a sample that misses its limit."""
    path = f"M{x - 3.5:.1f} {y - 3.5:.1f}l7 7m0 -7l-7 7"
    return _hovered(
        f'<path d="{path}" stroke="{BAD}" stroke-width="1.8" fill="none"', "path", hover
    )


def wedge(x: float, y: float, hover: str = "") -> str:
    """Return the mark of a sample of the lower of two groups: a triangle that points down."""
    path = f"M{x - 4:.1f} {y - 3.5:.1f}h8l-4 7z"
    return _hovered(
        f'<path d="{path}" fill="#fff" stroke="{BAD}" stroke-width="1.5"', "path", hover
    )


def _hovered(opening: str, name: str, hover: str) -> str:
    return f"{opening}><title>{escape(hover)}</title></{name}>" if hover else f"{opening}/>"
