"""Lines to tables: headings and the rows below them, and what is broken about their shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from railgauge.core.model import Problem
from railgauge.tools.perftest.columns import Heading, is_heading, read_heading

# No row of perftest comes near this; anything longer is noise and not worth splitting.
_LONGEST_ROW = 2000
_INTEGER = re.compile(r"[0-9]{1,20}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{1,30})?|nan|inf)", re.ASCII)
_QUOTED_LENGTH = 160


@dataclass(frozen=True, slots=True)
class Row:
    """The tokens of a row, one for each column of its heading."""

    heading: Heading
    tokens: tuple[str, ...]

    @property
    def size_bytes(self) -> int:
        return int(self.tokens[0])

    @property
    def iterations(self) -> int:
        labels = [column.label for column in self.heading.columns]
        return int(self.tokens[labels.index("#iterations")])

    def token(self, metric: str) -> str | None:
        index = self.heading.index(metric)
        return None if index is None else self.tokens[index]


@dataclass(slots=True)
class Table:
    """A heading and the rows below it, up to the next heading or the next test."""

    heading: Heading
    rows: list[Row] = field(default_factory=list)
    is_closed: bool = False
    # Two sides that print into one terminal print their headings one after the other.
    is_superseded: bool = False


@dataclass(slots=True)
class Reading:
    tables: list[Table] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def complain(self, kind: str, message: str, severity: str = "error") -> None:
        self.problems.append(Problem(kind, severity, message))


def read_tables(text: str) -> Reading:
    """All tables of ``text``, which has plain line ends, in linear time."""
    reading = Reading()
    table: Table | None = None
    for line, is_whole in _lines(text):
        if is_heading(line):
            table = _open_table(line, is_whole, table, reading)
        elif table is not None:
            table = _read_line(line, is_whole, table, reading)
    for finished in reading.tables:
        _check_table(finished, reading)
    return reading


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether its end was printed too."""
    lines = text.split("\n")
    for line in lines[:-1]:
        yield line, True
    yield lines[-1], False


def _open_table(
    line: str, is_whole: bool, previous: Table | None, reading: Reading
) -> Table | None:
    if len(line) > _LONGEST_ROW:
        return None
    heading = read_heading(line)
    if heading is None:
        kind = "unparsable" if is_whole else "truncated"
        reading.complain(kind, f"heading that perftest does not print: {_quote(line)}")
        return None
    if previous is not None and not previous.rows:
        previous.is_superseded = True
        _compare_units(previous.heading, heading, reading)
    if not heading.official:
        message = f"perftest does not print this heading, read by its names: {_quote(line)}"
        reading.complain("hand-edited", message, "warning")
    table = Table(heading)
    reading.tables.append(table)
    return table


def _compare_units(first: Heading, second: Heading, reading: Reading) -> None:
    if first.bandwidth_unit != second.bandwidth_unit:
        reading.complain(
            "unit-mismatch",
            f"one side's heading says {first.bandwidth_unit}, the other's {second.bandwidth_unit};"
            " the unit is taken from bandwidth against message rate",
            "warning",
        )


def _read_line(line: str, is_whole: bool, table: Table, reading: Reading) -> Table | None:
    text = line.strip()
    if text.startswith("------"):
        table.is_closed = True
    elif text.startswith(("Dual-port", "local address:")) or text.endswith(" Test"):
        # Another run began: rows without its own heading must not be read by this one.
        return None
    elif "0" <= text[:1] <= "9" and len(line) <= _LONGEST_ROW:
        _read_row(text, is_whole, table, reading)
    return table


def _read_row(text: str, is_whole: bool, table: Table, reading: Reading) -> None:
    tokens = tuple(text.split())
    columns = table.heading.columns
    fits = len(tokens) == len(columns) and all(
        (_INTEGER if column.is_integer else _NUMBER).fullmatch(token)
        for column, token in zip(columns, tokens, strict=True)
    )
    if fits:
        _add_row(Row(table.heading, tokens), is_whole, table, reading)
    elif not table.is_closed:
        # Behind the closing line anything may begin with a number; before it only rows do.
        is_cut = len(tokens) < len(columns) or not is_whole or text.endswith(".")
        _complain_of_row(text, is_cut, reading)


def _add_row(row: Row, is_whole: bool, table: Table, reading: Reading) -> None:
    if _has_whole_end(row, is_whole):
        table.rows.append(row)
    else:
        _complain_of_row(" ".join(row.tokens), True, reading)


def _has_whole_end(row: Row, is_whole: bool) -> bool:
    """Whether the last number shows all the decimals that perftest prints."""
    last = row.heading.columns[-1]
    shown = len(row.tokens[-1].partition(".")[2])
    if not row.tokens[-1][-1:].isdigit():
        return is_whole
    if not row.heading.official or last.decimals is None:
        return is_whole
    return shown == last.decimals


def _complain_of_row(text: str, is_cut: bool, reading: Reading) -> None:
    if is_cut:
        reading.complain("truncated", f"row cut off: {_quote(text)}")
    else:
        reading.complain("unparsable", f"not a row of perftest: {_quote(text)}")


def _check_table(table: Table, reading: Reading) -> None:
    if table.is_superseded:
        return
    if not table.rows:
        reading.complain("truncated", "a heading without any row: nothing was measured")
        return
    _check_gaps(table, reading)
    if not table.is_closed:
        message = "no closing line: the output may go on where this text ends"
        reading.complain("no-closing-line", message, "warning")


def _check_gaps(table: Table, reading: Reading) -> None:
    sizes = {row.size_bytes for row in table.rows}
    size, largest = min(sizes), max(sizes)
    while 0 < size < largest:
        if size not in sizes:
            reading.complain("sweep-gap", f"the sweep lacks size {size}")
            return
        size *= 2


def _quote(text: str) -> str:
    text = " ".join(text[:_QUOTED_LENGTH].split())
    return repr(text)
