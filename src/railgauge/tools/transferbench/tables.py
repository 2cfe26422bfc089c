"""Lines to matrices: a heading, rows of cells, and what is broken about their shape."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Borders of the newer versions and the commas of OUTPUT_TO_CSV part cells as blanks do.
BORDERS = str.maketrans(dict.fromkeys("│┃║|,─━═┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬", " "))

_HEADING = re.compile(r"\s{0,40}SRC(?:\\{1,2}|\+EXE\\{1,2})(?:EXE\+)?DST(?=\s)")
_COLUMN = re.compile(r"\s{1,200}(?:(GPU|CPU)\s{1,9}(\d{1,4})|(NIC)\(\d{1,4} QP\)|(STotal|Actual))")
_LABEL = re.compile(
    r"\s{0,40}(?:(GPU|CPU)\s{1,9}(\d{1,4})(?:\s{1,9}(->|<->|<-))?|(RTotal))(?=\s|$)"
)
_NUMBER = re.compile(r"\d{1,12}\.\d{2,3}")
_NOT_AVAILABLE = "N/A"
# Rows that SHOW_ITERATIONS adds below each row of p2p.
_STATISTICS = frozenset({"min", "max", "sd"})

Cell = float | None
"""A bandwidth in GB/s; ``None`` where ``N/A`` is printed."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of cells. ``label`` is ``gpu0``, ``cpu1`` or ``rtotal``, ``arrow`` of p2p alone."""

    label: str
    arrow: str
    cells: tuple[Cell, ...]


@dataclass(slots=True)
class Matrix:
    """A heading's columns (``gpu0``, ``nic``, ``stotal``, …), the rows under it and complaints."""

    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    complaints: list[tuple[str, str]] = field(default_factory=list)
    is_bidirectional: bool = False
    decimals: int = 3

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name.startswith(("gpu", "cpu")))

    @property
    def is_all_to_all(self) -> bool:
        return "stotal" in self.columns


def is_heading(line: str) -> bool:
    return bool(_HEADING.match(line))


def read_heading(line: str, is_whole: bool) -> Matrix | None:
    """The matrix that a heading opens; ``None`` for a heading that is cut or unknown."""
    match = _HEADING.match(line)
    position = match.end() if match else 0
    columns = []
    while column := _COLUMN.match(line, position):
        columns.append(_column_name(column))
        position = column.end()
    is_cut = not is_whole and "stotal" not in columns
    if not columns or line[position:].strip() or is_cut:
        return None
    return Matrix(tuple(columns))


def _column_name(match: re.Match[str]) -> str:
    kind, index, nic, total = match.groups()
    return f"{kind.lower()}{int(index)}" if kind else (nic or total).lower()


def read_row(line: str, is_whole: bool, matrix: Matrix) -> None:
    """Take a row into the matrix, or note what is wrong with it; other lines are passed over."""
    match = _LABEL.match(line)
    if match is None:
        return
    label = "rtotal" if match[4] else f"{match[1].lower()}{int(match[2])}"
    tokens = line[match.end() :].split()
    if tokens and tokens[0] in _STATISTICS:
        return
    wrong = _wrong(tokens, is_whole, _widths(label, matrix))
    if wrong:
        matrix.complaints.append((wrong, f"row {' '.join(line[:160].split())!r}"))
        return
    cells = tuple(None if token == _NOT_AVAILABLE else float(token) for token in tokens)
    matrix.decimals = len(next(t for t in tokens if t != _NOT_AVAILABLE).partition(".")[2])
    matrix.rows.append(Row(label, match[3] or "", cells))


def _widths(label: str, matrix: Matrix) -> tuple[int, ...]:
    """How many cells a row may have: the row of totals has a maximum too, or no Actual at all."""
    width = len(matrix.columns)
    if label != "rtotal":
        return (width,)
    return (width + 1, width, width - 1) if "actual" in matrix.columns else (width,)


def _wrong(tokens: list[str], is_whole: bool, widths: tuple[int, ...]) -> str:
    unfit = [token for token in tokens if not _NUMBER.fullmatch(token) and token != _NOT_AVAILABLE]
    if not is_whole and (unfit or len(tokens) not in widths or not _has_whole_end(tokens)):
        return "truncated"
    if any(not token[:1].isdigit() for token in unfit):
        return "not-a-number"
    if len(tokens) not in widths or not _has_whole_end(tokens):
        return "truncated"
    return "unparsable" if unfit else ""


def _has_whole_end(tokens: list[str]) -> bool:
    """Whether the last number has as many decimals as the others."""
    decimals = {len(token.partition(".")[2]) for token in tokens if token != _NOT_AVAILABLE}
    return len(decimals) == 1
