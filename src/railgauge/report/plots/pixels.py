"""Maps of clusters too large for a number in each cell: a small square for each node or pair. Pure.

Squares that missed their limit are dark, squares without a number hollow, whatever the colour. Each
square has its place and value as a tooltip; the certificate's table of nodes has them as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from railgauge.core import naming
from railgauge.core.model import Outcome
from railgauge.report.plots import svg
from railgauge.report.plots.matrix import Cell, LabelledMatrix, shade
from railgauge.report.plots.plot import LETTERS

KEY = "Red: beyond the limit. Hollow: no value. Blank: not measured."
_MISSED = LETTERS[Outcome.FAILED]
_SIDE, _IN_ROW, _TOP = 18, 32, 56
_WIDEST, _LEAST = 960, 3
_GAP_FROM = 4  # larger squares have a gap between them
# From this many squares on, those that passed have no tooltip: a page would be megabytes longer.
_MOST_HOVERS = 4000


@dataclass(frozen=True, slots=True)
class NodeGrid:
    """A square for each node. ``rows`` are the nodes of each row by its label."""

    rows: Mapping[str, Sequence[str]]
    cells: Mapping[str, Cell]

    @property
    def left(self) -> float:
        return 14 + 6.4 * max(map(len, self.rows))

    @property
    def width(self) -> float:
        return max(self.left + _SIDE * max(map(len, self.rows.values())) + 8, 420)

    @property
    def height(self) -> float:
        return _TOP + _SIDE * len(self.rows) + 10

    def shapes(self) -> Iterator[str]:
        """Yield the labels and squares."""
        left = self.left
        for number, (label, row) in enumerate(self.rows.items()):
            y = _TOP + _SIDE * number
            yield svg.text(left - 6, y + 13, label, anchor="end")
            for column, node in enumerate(row):
                x = left + _SIDE * column
                cell = self.cells.get(node)
                if cell is None:
                    yield svg.box((x, y), _SIDE, _SIDE, "#fff")
                else:
                    yield _square(x, y, _SIDE, cell, has_hover=True)


def rows_of(nodes: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the nodes in rows of 32, each with its nodes as a NodeSet: ``h200-[01-32]``."""
    rows = (nodes[at : at + _IN_ROW] for at in range(0, len(nodes), _IN_ROW))
    return {naming.folded(row): row for row in rows}


@dataclass(frozen=True, slots=True)
class PixelMap(LabelledMatrix):
    """A square for each measured pair of a row and a column, which are named at intervals."""

    @property
    def side(self) -> float:
        return min(14.0, _WIDEST / len(self.columns))

    @property
    def width(self) -> float:
        return max(self.left + self.side * len(self.columns) + 40, 420)

    @property
    def height(self) -> float:
        return _TOP + 14 + self.row_height * len(self.rows) + 10

    @property
    def row_height(self) -> float:
        """A map of few rows, such as NICs, has rows that are high enough to be distinguished."""
        return max(self.side, 10.0) if len(self.rows) <= _SIDE else self.side

    def shapes(self) -> Iterator[str]:
        """Yield the axes, the frame and the squares, missed ones last, above the others."""
        top, foot = _TOP + 14, _TOP + 14 + self.row_height * len(self.rows)
        yield svg.text(self.left, _TOP - 10, self.column_axis, fill=svg.QUIET)
        yield svg.text(
            12, (top + foot) / 2, self.row_axis, fill=svg.QUIET, anchor="middle", turned=True
        )
        yield svg.box((self.left, top), self.side * len(self.columns), foot - top, "#fff")
        every = -(-int(6.4 * max(map(len, self.columns)) + 10) // max(1, int(self.side)))
        for number in range(0, len(self.columns), max(1, every)):
            x = self.left + self.side * (number + 0.5)
            yield svg.text(x, top - 5, self.columns[number], size=10)
        for number in range(0, len(self.rows), max(1, -(-12 // max(1, int(self.row_height))))):
            y = top + self.row_height * (number + 0.5) + 4
            yield svg.text(self.left - 5, y, self.rows[number], anchor="end", size=10)
        yield from self._squares(top)

    def _squares(self, top: float) -> Iterator[str]:
        left, side_of_row = self.left, self.row_height
        across = {name: number for number, name in enumerate(self.columns)}
        down = {name: number for number, name in enumerate(self.rows)}
        side = max(_LEAST, min(self.side, self.row_height))
        ordered = sorted(self.cells.items(), key=lambda item: bool(item[1].letter))
        for (row, column), cell in ordered:
            x, y = left + self.side * across[column], top + side_of_row * down[row]
            yield _square(
                x, y, side, cell, has_hover=bool(cell.letter) or len(ordered) <= _MOST_HOVERS
            )


def _square(x: float, y: float, side: float, cell: Cell, *, has_hover: bool) -> str:
    fill, stroke = shade(cell.margin), ""
    if cell.letter == _MISSED:
        fill = "#7f1d1d"
    elif cell.margin is None:
        fill, stroke = "#fff", f' stroke="{svg.QUIET}"'
    edge = side - 1 if side > _GAP_FROM else side
    path = f'<path d="M{x:.1f} {y:.1f}h{edge:.1f}v{edge:.1f}h-{edge:.1f}z" fill="{fill}"{stroke}'
    shape = f"{path}><title>{escape(cell.hover)}</title></path>" if has_hover else f"{path}/>"
    if side < _SIDE or not cell.letter:
        return shape
    colour = "#fff" if cell.letter == _MISSED else svg.INK
    return shape + svg.text(
        x + side / 2, y + 13, cell.letter, anchor="middle", size=10, bold=True, fill=colour
    )
