"""From lines to tables: headings, rows, closing lines, and faults of their shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from railgauge.core.problems import ProblemKind
from railgauge.tools.ccl_tests.rows import (
    CclHeading,
    CclRow,
    is_heading,
    is_placements,
    is_units,
    read_heading,
    read_row,
    usual_heading,
)
from railgauge.tools.collector import OutputCollector
from railgauge.tools.text import lines, quoted
from railgauge.tools.torn import complain, figures_at_an_end, is_figure

_LOG_MARKS = ("CCL INFO", "CCL WARN", "CCL TRACE", "CCL ERROR")
_LOG_START = re.compile(r"(\S{1,200}):[0-9]{1,10}:[0-9]{1,10} \[[0-9]{1,4}\] [A-Z]{0,4}$")
_WINDOW = 260


@dataclass(frozen=True, slots=True)
class Line:
    """One line: ``text`` before the library's log, ``log`` from the host name on.

    ``is_whole`` is false for an incomplete last line. If the library interrupts a row, the log
    follows without a blank: ``float sum -1node01:7:7 [0] NCCL INFO``. The row's last number is then
    at the start of ``log``.
    """

    text: str
    log: str
    is_whole: bool

    @property
    def content(self) -> str:
        """The text without comment marks."""
        return self.text.strip().lstrip("#").strip()


def read_lines(text: str) -> Iterator[Line]:
    """Yield the lines of ``text`` that are not empty; ``text`` comes from ``clean``."""
    for line, is_whole in lines(text):
        if line:
            yield _split(line, is_whole=is_whole)


def _split(line: str, *, is_whole: bool) -> Line:
    at = min((at for mark in _LOG_MARKS if (at := line.find(mark)) >= 0), default=-1)
    if at < 0:
        return Line(line, "", is_whole)
    window = max(0, at - _WINDOW)
    match = _LOG_START.search(line[window:at])
    start = window + match.start() if match else 0
    return Line(line[:start], line[start:], is_whole)


# --- tables ---

# Rows of these tools are far shorter: a longer line is not a row.
_LONGEST_ROW = 2000
_INTEGER = re.compile(r"[0-9]{1,20}")
_NUMERIC = re.compile(r"[-0-9.e+N/Anif*]{1,40}")
_ELISION = re.compile(r"[#<\s(]{0,8}(?:\.\.\.|…)|[#\s]{0,4}<[^>]{0,80}(?:truncated|omitted|snip)")
_CLOSING = ("Out of bounds values", "Avg bus bandwidth", "Errors with asterisks")
# Rows are indented.
_BEGUN = re.compile(r"\s{1,40}[0-9]")
_FEWEST = 3
_GLUED_ROOT = re.compile(r"-1|[0-9]")
_GLUED_COUNT = re.compile(r"0|[1-9][0-9]{0,6}")


@dataclass(slots=True)
class CclTable:
    """A heading and the rows below it; ``has_heading`` is false if the text begins with rows."""

    heading: CclHeading
    has_heading: bool = True
    rows: list[CclRow] = field(default_factory=list)
    is_closed: bool = False


@dataclass(slots=True)
class CclReading:
    """Reads lines into tables; ``is_elided`` is true if dots replace some lines."""

    collector: OutputCollector
    tables: list[CclTable] = field(default_factory=list)
    is_elided: bool = False
    _placements: str = ""
    _pending: list[str] = field(default_factory=list)
    # The lines that begin like a row, above the first row of a text without a heading.
    _before: str = ""

    @property
    def rows(self) -> list[CclRow]:
        return [row for table in self.tables for row in table.rows]

    def take(self, line: Line) -> None:
        """Read the next line of the output."""
        if len(line.text) > _LONGEST_ROW:
            return
        content = line.content
        if is_heading(content):
            self._open(content, line)
        elif is_placements(content):
            self._placements = content
        elif self.tables and is_units(content) and not self.tables[-1].rows:
            self._take_units(content, line)
        elif line.log:
            self._keep_start(content, line.log)
        else:
            self._take_other(content, line)

    def _open(self, content: str, line: Line) -> None:
        heading = read_heading(content.split(), self._placements)
        self._placements, self._pending = "", []
        if heading is None:
            kind = ProblemKind.UNPARSABLE if line.is_whole else ProblemKind.TRUNCATED
            self.collector.error(kind, f"these tools do not print this heading: {quoted(content)}")
            return
        if heading.unknown:
            names = ", ".join(heading.unknown)
            self.collector.error(
                ProblemKind.UNKNOWN_COLUMN, f"no known version prints the columns {names}"
            )
        self.tables.append(CclTable(heading))

    def _take_units(self, content: str, line: Line) -> None:
        heading = self.tables[-1].heading.with_units(content)
        if heading is not None:
            self.tables[-1].heading = heading
        elif line.is_whole:
            self.collector.error(
                ProblemKind.UNPARSABLE, f"the units do not fit the columns: {quoted(content)}"
            )

    def _keep_start(self, content: str, log: str) -> None:
        """Keep the start of a row that the library's log interrupts."""
        tokens = content.split()
        if not tokens or not self.tables or not (self._pending or _INTEGER.fullmatch(tokens[0])):
            return
        tokens = [*self._pending, *tokens]
        pattern = _GLUED_ROOT if self._lacks_one(tokens, 0) else _GLUED_COUNT
        glued = pattern.match(log)
        if glued and (self._lacks_one(tokens, 0) or self._lacks_one(tokens, 1)):
            tokens.append(glued[0])
        if len(tokens) > len(self.tables[-1].heading.columns):
            self.collector.error(
                ProblemKind.TRUNCATED, f"the log interrupts this row: {quoted(content)}"
            )
            tokens = []
        self._pending = tokens

    def _lacks_one(self, tokens: list[str], side: int) -> bool:
        """Return whether exactly one token is missing before that side of the row."""
        columns = self.tables[-1].heading.columns
        start = next((i for i, column in enumerate(columns) if column.side == side), 0)
        return len(tokens) == start - 1

    def _take_other(self, content: str, line: Line) -> None:
        if not content:
            return
        table = self.tables[-1] if self.tables else None
        if table and not self._pending and content.startswith(_CLOSING):
            table.is_closed = True
        elif _ELISION.match(line.text):
            self.is_elided = True
        elif self._pending or _is_numeric(content):
            self._take_row(content.split(), line)
        elif table and not table.is_closed and _is_part(line.text):
            complain(line.text, self.collector)
        elif table is None and figures_at_an_end(line.text) >= _FEWEST:
            self._before = line.text

    def _take_row(self, tokens: list[str], line: Line) -> None:
        pending, self._pending = self._pending, []
        table = self.tables[-1] if self.tables else None
        if table is None or (table.is_closed and table.rows):
            self._take_headless(tokens, line)
            return
        if not table.has_heading and _restarts(tokens, table):
            self._take_headless(tokens, line)
            return
        row = read_row([*pending, *tokens], table.heading, is_whole=line.is_whole)
        if row is not None:
            table.rows.append(row)
        else:
            self._complain_of_row([*pending, *tokens], table.heading, line)

    def _take_headless(self, tokens: list[str], line: Line) -> None:
        """Read a row without a heading, if it has the shape that official versions print."""
        heading = usual_heading(len(tokens))
        row = read_row(tokens, heading, is_whole=line.is_whole) if heading else None
        if not heading or not row:
            self._before = line.text
            return
        if self._before and not self.tables:
            complain(self._before, self.collector)
        self.tables.append(CclTable(heading, has_heading=False, rows=[row]))

    def _complain_of_row(self, tokens: list[str], heading: CclHeading, line: Line) -> None:
        text = quoted(" ".join(tokens))
        if len(tokens) < len(heading.columns) or not line.is_whole:
            self.collector.error(ProblemKind.TRUNCATED, f"row cut off or interrupted: {text}")
        else:
            self.collector.error(
                ProblemKind.UNPARSABLE, f"this row does not fit its heading: {text}"
            )


def _restarts(tokens: list[str], table: CclTable) -> bool:
    """Return whether a sweep without heading begins again, as in the output of several runs."""
    last = table.rows[-1]
    is_row = len(tokens) == len(table.heading.columns) and _INTEGER.fullmatch(tokens[0]) is not None
    return is_row and tokens[2] == last.dtype and int(tokens[0]) < last.size_bytes


def _is_numeric(content: str) -> bool:
    """Return whether it may be a row or its start: the first two words are numbers."""
    words = content[:80].split(None, 2)
    return "0" <= content[0] <= "9" and all(_NUMERIC.fullmatch(word) for word in words[:2])


def _is_part(text: str) -> bool:
    """Return whether a line between rows is the rest of a row: its first or its last figures."""
    return bool(_BEGUN.match(text)) or is_figure(text) or figures_at_an_end(text) >= _FEWEST
