"""From one matrix of a test case, in text or JSON, to samples."""

from __future__ import annotations

import re
from dataclasses import dataclass

from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector

MatrixCell = float | None
"""A value; ``None`` for ``N/A``."""

_UNIT = re.compile(r"\((GB/s|ns)\)\s*$")
_PART = re.compile(r"(Read1|Read2|Write1|Write2|Total) bandwidth")
_TOTAL = "Total"
# The test cases that name pairs of GPUs even if there is only one row.
_OF_PAIRS = re.compile(r"(?:multinode_)?device_to_device_(?:bidirectional_)?(?:memcpy|latency)_")
_SIDES = re.compile(r"\b(CPU|GPU)\((?:row|column)\)")


@dataclass(frozen=True, slots=True)
class Matrix:
    """One matrix. ``name`` is its test case, ``description`` the line above it.

    ``total`` is the printed sum; ``rounding`` is the largest rounding error of a cell.
    """

    name: str
    description: str
    rows: tuple[tuple[MatrixCell, ...], ...]
    total: float | None
    rounding: float

    @property
    def metric(self) -> str:
        """The test case's name, with the part of a bidirectional one: ``_read1``, ``_write2``, …"""
        part = _PART.search(self.description)
        ending = "" if part is None or part[1] == _TOTAL else f"_{part[1].lower()}"
        return f"{self.name}{ending}"

    @property
    def unit(self) -> str | None:
        match = _UNIT.search(self.description)
        return match[1] if match else None

    @property
    def is_between_gpus(self) -> bool:
        """Whether rows and columns are both GPUs, so that the diagonal has no meaning.

        The heading shows it. A test case with one sum for each GPU has a single row.
        """
        sides = _SIDES.findall(self.description)
        has_pairs = len(self.rows) > 1 or bool(_OF_PAIRS.match(self.name))
        return sides == ["GPU", "GPU"] and has_pairs

    def placement(self, row: int, column: int) -> str:
        if self.is_between_gpus:
            return f"gpu{row}>gpu{column}"
        return f"gpu{column}" if len(self.rows) == 1 else f"cpu{row}>gpu{column}"


def has_sides(description: str) -> bool:
    """Return whether a description names its rows and columns."""
    return len(_SIDES.findall(description)) == 2  # noqa: PLR2004 - row and column


def split_parts(matrix: Matrix) -> tuple[Matrix, ...]:
    """Split the JSON matrix of a bidirectional case, which holds three below each other.

    The description and the sum in the JSON belong to the last one, the total.
    """
    height = len(matrix.rows[0]) if matrix.rows else 0
    if not matrix.is_between_gpus or len(matrix.rows) != 3 * height or height == 0:
        return (matrix,)
    verb = "Write" if "_write_" in matrix.name else "Read"
    parts = []
    for index, part in enumerate((f"{verb}1", f"{verb}2", _TOTAL)):
        rows = matrix.rows[index * height : (index + 1) * height]
        description = matrix.description.replace(_TOTAL, part)
        total = matrix.total if part == _TOTAL else None
        parts.append(Matrix(matrix.name, description, rows, total, matrix.rounding))
    return tuple(parts)


def collect(matrix: Matrix, collector: OutputCollector) -> None:
    """Add the samples of one matrix, its sum and its number of cells; only an error if broken."""
    if matrix.unit is None:
        collector.error(ProblemKind.UNIT_UNKNOWN, f"{matrix.name}: {matrix.description[:120]!r}")
        return
    if not _has_shape(matrix, collector):
        return
    measured = _collect_cells(matrix, matrix.unit, collector)
    collector.add(f"{matrix.metric}_cells", "count", len(measured), "all", may_be_zero=True)
    if matrix.total is None:
        return
    allowed = len(measured) * matrix.rounding + 1e-5 * sum(measured) + 0.01
    if abs(sum(measured) - matrix.total) > allowed:
        message = f"{matrix.metric}: cells add up to {sum(measured):.2f}, not to {matrix.total}"
        collector.error(ProblemKind.INCONSISTENT, message)
    collector.add(f"{matrix.metric}_sum", matrix.unit, matrix.total, "all")


def _has_shape(matrix: Matrix, collector: OutputCollector) -> bool:
    widths = {len(row) for row in matrix.rows}
    if not matrix.rows or len(widths) != 1 or 0 in widths:
        collector.error(ProblemKind.TRUNCATED, f"{matrix.name}: the matrix has no complete row")
        return False
    if matrix.is_between_gpus and widths != {len(matrix.rows)}:
        message = f"{matrix.name}: {len(matrix.rows)} rows for {widths.pop()} GPUs"
        collector.error(ProblemKind.TRUNCATED, message)
        return False
    return True


def _collect_cells(matrix: Matrix, unit: str, collector: OutputCollector) -> list[float]:
    measured = []
    for row, cells in enumerate(matrix.rows):
        for column, cell in enumerate(cells):
            is_diagonal = matrix.is_between_gpus and row == column
            if is_diagonal and not cell:
                continue
            placement = matrix.placement(row, column)
            if cell is None:
                collector.warn(ProblemKind.MISSING_CELL, f"{matrix.metric} of {placement} is N/A")
                continue
            collector.add(matrix.metric, unit, cell, placement)
            measured.append(cell)
    return measured
