"""Heat maps: rows and columns of cells with a number in each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from railgauge.report.plots import svg

_LEAST, _ROW = 46, 34
_TOP = 62
_SHADES_UP = ("#f3f8fc", "#e1edf7", "#cfe2f3", "#b4d2ec")
_SHADES_DOWN = ("#fdf0e4", "#fbdfc5", "#f7c89b", "#f2ad6b")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with the texts ``main`` and ``sub``; ``letter`` is an outcome other than passed.

    ``margin`` shades it: blue above 0, orange below 0, darkest from 15 % on.
    """

    main: str
    sub: str = ""
    margin: float | None = None
    letter: str = ""
    hover: str = ""


@dataclass(frozen=True, slots=True)
class LabelledMatrix:
    """Labels and titles of rows and columns, and the cells that have data."""

    rows: Sequence[str]
    columns: Sequence[str]
    row_axis: str
    column_axis: str
    cells: Mapping[tuple[str, str], Cell]

    @property
    def left(self) -> float:
        return 32 + 6.6 * max(map(len, self.rows))

    @property
    def cell_width(self) -> float:
        longest = max(max(len(c.main), len(c.sub)) for c in self.cells.values())
        return max(_LEAST, 6.0 * longest + 12, 5.2 * max(map(len, self.columns)) + 8)

    @property
    def width(self) -> float:
        return max(self.left + self.cell_width * len(self.columns) + 8, 360)

    @property
    def height(self) -> float:
        return _TOP + _ROW * len(self.rows) + 8

    def shapes(self) -> Iterator[str]:
        """Yield the labels, then the cells."""
        yield svg.text(self.left, 46, self.column_axis, fill=svg.QUIET)
        middle = _TOP + _ROW * len(self.rows) / 2
        yield svg.text(12, middle, self.row_axis, fill=svg.QUIET, anchor="middle", turned=True)
        for number, name in enumerate(self.columns):
            x = self.left + self.cell_width * (number + 0.5)
            yield svg.text(x, _TOP - 5, name, anchor="middle", size=10)
        for number, name in enumerate(self.rows):
            yield svg.text(self.left - 5, _TOP + _ROW * (number + 0.62), name, anchor="end")
        for row in range(len(self.rows)):
            for column in range(len(self.columns)):
                yield from self._cell(row, column)

    def _cell(self, row: int, column: int) -> Iterator[str]:
        x, y = self.left + self.cell_width * column, _TOP + _ROW * row
        cell = self.cells.get((self.rows[row], self.columns[column]))
        if cell is None:
            yield svg.box((x, y), self.cell_width, _ROW, "#fff")
            yield svg.text(x + self.cell_width / 2, y + 21, "·", anchor="middle", fill=svg.QUIET)
            return
        yield f"<g><title>{escape(cell.hover)}</title>"
        yield svg.box((x, y), self.cell_width, _ROW, shade(cell.margin), "#b8c0c8")
        if cell.letter in ("F", "E"):
            yield svg.hatched(x, y, self.cell_width, _ROW)
        middle = x + self.cell_width / 2
        yield svg.text(middle, y + (15 if cell.sub else 21), cell.main, anchor="middle", bold=True)
        yield svg.text(middle, y + 28, cell.sub, anchor="middle", size=9.5)
        if cell.letter:
            yield svg.text(x + 3, y + 10, cell.letter, size=9, bold=True, fill=svg.BAD)
        yield "</g>"


def shade(margin: float | None) -> str:
    """Return one of four shades each way; grey if there is no number."""
    if margin is None:
        return "#eceff2"
    shades = _SHADES_DOWN if margin < 0 else _SHADES_UP
    return shades[min(int(abs(margin) / 0.05), len(shades) - 1)]
