"""From lines to tables: headings, the rows below them, and faults of their shape.

Columns are found by their printed names, because versions add and remove columns. A heading that
perftest itself prints also determines the number of decimals in each column, which shows whether a
row was cut off inside its last number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.text import lines, quoted
from railgauge.tools.torn import complain, figures_at_an_end, is_figure


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``metric`` is ``None`` for columns that give no samples.

    ``unit`` is ``None`` if the heading's unit, ``printed_unit``, is unknown. ``decimals`` is the
    number of decimals of a complete value; ``None`` if it varies.
    """

    label: str
    metric: str | None
    unit: str | None
    printed_unit: str = ""
    decimals: int | None = None

    @property
    def is_integer(self) -> bool:
        return self.label in _INTEGERS

    @property
    def is_bandwidth(self) -> bool:
        return self.metric in _BANDWIDTHS


@dataclass(frozen=True, slots=True)
class Heading:
    """The columns of a table; ``official`` if a version of perftest prints exactly these."""

    columns: tuple[Column, ...]
    official: bool

    def label(self, metric: str) -> str | None:
        return next((column.label for column in self.columns if column.metric == metric), None)

    @property
    def bandwidth_unit(self) -> str | None:
        return next((column.unit for column in self.columns if column.is_bandwidth), None)


_INTEGERS = frozenset({"#bytes", "#iterations", "#sl"})
_BANDWIDTHS = frozenset({"bw_peak", "bw_average"})
_PER_SECOND = {"MB/sec": "MB/s", "MiB/sec": "MiB/s", "Gb/sec": "Gb/s"}
_RATE = {"Mpps": "Mpps"}
_TIME = dict.fromkeys(("usec", "us", "µs", "µsec", "μs", "μsec"), "us")
# Columns that give samples: the metric, and its units by what the heading prints.
_METRICS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "BW peak": ("bw_peak", _PER_SECOND),
    "BW average": ("bw_average", _PER_SECOND),
    "MsgRate": ("msg_rate", _RATE),
    "t_min": ("lat_min", _TIME),
    "t_max": ("lat_max", _TIME),
    "t_typical": ("lat_typical", _TIME),
    "t_avg": ("lat_avg", _TIME),
    "t_stdev": ("lat_stdev", _TIME),
    "99% percentile": ("lat_p99", _TIME),
    "99.9% percentile": ("lat_p999", _TIME),
    "99%": ("lat_p99", _TIME),
    "99.9%": ("lat_p999", _TIME),
    "tps average": ("tps", {"": "1/s"}),
}

_LABEL = re.compile(
    r"#bytes|#iterations|#sl"
    r"|(?:BW[ \t]{1,8}(?:peak|average|Port[12])|MsgRate(?:[ \t]{1,8}Port[12])?"
    r"|t_(?:min|max|typical|avg|stdev)|99(?:\.9)?%(?:[ \t]{1,8}percentile)?)\[[^\]\[]{1,20}\]"
    r"|tps[ \t]{1,8}average|CPU_Util\[%{1,2}\]"
)
# A duration test before 2016 prints no message rate after the average.
_LATENCY = ("t_min", "t_max", "t_typical", "t_avg", "t_stdev", "99% percentile", "99.9% percentile")
_BANDWIDTH = ("BW peak", "BW average", "MsgRate")
_PER_PORT = ("BW Port1", "MsgRate Port1", "BW Port2", "MsgRate Port2")
_START = ("#bytes", "#iterations")
_OFFICIAL = {
    (*_START, *_BANDWIDTH[:2]),
    (*_START, *_BANDWIDTH),
    (*_START, *_BANDWIDTH, *_PER_PORT),
    ("#bytes", "#sl", "#iterations", *_BANDWIDTH),
    (*_START, *_LATENCY[:3]),
    (*_START, *_LATENCY[:5]),
    (*_START, *_LATENCY),
    (*_START, "t_avg", "tps average"),
    (*_START, "t_avg"),
}


def is_heading(line: str) -> bool:
    return "#bytes" in line or "#iterations" in line


@lru_cache(256)  # of nearly all outputs it is one of a few
def read_heading(line: str) -> Heading | None:
    """Return a heading's columns; ``None`` if it has a column that perftest does not print."""
    if _LABEL.sub("", line).strip():
        return None
    columns = tuple(_column(match[0]) for match in _LABEL.finditer(line))
    labels = tuple(column.label for column in columns)
    if labels[:1] != ("#bytes",) or "#iterations" not in labels or len(set(labels)) < len(labels):
        return None
    if not any(column.metric for column in columns):
        return None
    official = _without_cpu(labels) in _OFFICIAL
    return Heading(columns=columns, official=official)


def _without_cpu(labels: tuple[str, ...]) -> tuple[str, ...]:
    return labels[:-1] if labels[-1] == "CPU_Util" else labels


def _column(text: str) -> Column:
    label, _, rest = text.partition("[")
    label = " ".join(label.split())
    printed_unit = rest.rstrip("]")
    metric, units = _METRICS.get(label, (None, {}))
    return Column(label, metric, units.get(printed_unit), printed_unit, _decimals(label))


def _decimals(label: str) -> int | None:
    if label.startswith("MsgRate"):
        return 6
    # Bandwidths show 2, or 6 where the average is below 0.1 Gb/s.
    return None if label.startswith("BW") or label in _INTEGERS else 2


# --- rows and tables ---

# Rows of perftest are far shorter: a longer line is not a row.
_LONGEST_ROW = 2000
_INTEGER = re.compile(r"[0-9]{1,20}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{1,30})?|nan|inf)", re.ASCII)
_PRINTED_RATE = re.compile(r"[0-9]{1,9}\.[0-9]{6}")
# Figures side by side that no other line has.
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its size, its iterations, and its figures by the label of their column.

    ``decimals`` is the number of decimals of the average bandwidth.
    """

    size_bytes: int
    iterations: int
    figures: Mapping[str, float]
    decimals: int = 2


@dataclass(slots=True)
class Table:
    """A heading and the rows below it, up to the next heading or the next test."""

    heading: Heading
    rows: list[Row] = field(default_factory=list)
    is_closed: bool = False
    # If both sides print to one terminal, two headings follow each other.
    is_superseded: bool = False


def read_tables(text: str, collector: OutputCollector) -> list[Table]:
    """Return all tables of ``text``, which comes from ``clean``, in linear time."""
    tables: list[Table] = []
    table: Table | None = None
    for line, is_whole in lines(text):
        if is_heading(line):
            table = _open_table(line, is_whole, table, collector)
            tables += [table] if table else []
        elif table is not None:
            table = _read_line(line, is_whole, table, collector)
    for finished in tables:
        _check_table(finished, collector)
    return tables


def _open_table(
    line: str, is_whole: bool, previous: Table | None, collector: OutputCollector
) -> Table | None:
    if len(line) > _LONGEST_ROW:
        return None
    heading = read_heading(line)
    if heading is None:
        kind = ProblemKind.UNPARSABLE if is_whole else ProblemKind.TRUNCATED
        collector.error(kind, f"perftest does not print this heading: {quoted(line)}")
        return None
    if previous is not None and not previous.rows:
        previous.is_superseded = True
        _compare_units(previous.heading, heading, collector)
    if not heading.official:
        message = (
            f"perftest does not print these columns together; they are read by name: {quoted(line)}"
        )
        collector.warn(ProblemKind.HAND_EDITED, message)
    return Table(heading)


def _compare_units(first: Heading, second: Heading, collector: OutputCollector) -> None:
    if first.bandwidth_unit != second.bandwidth_unit:
        collector.warn(
            ProblemKind.UNIT_MISMATCH,
            f"one side's heading says {first.bandwidth_unit}, the other's {second.bandwidth_unit};"
            " the message rate decides the unit",
        )


def _read_line(line: str, is_whole: bool, table: Table, collector: OutputCollector) -> Table | None:
    text = line.strip()
    if text.startswith("------"):
        table.is_closed = True
    elif text.startswith(("Dual-port", "local address:")) or text.endswith(" Test"):
        # Another run begins: its rows must not be read with this heading.
        return None
    elif "0" <= text[:1] <= "9" and len(line) <= _LONGEST_ROW:
        _read_row(text, is_whole, table, collector)
    elif figures_at_an_end(text) >= _FEWEST or is_figure(text):
        complain(text, collector)
    return table


def _read_row(text: str, is_whole: bool, table: Table, collector: OutputCollector) -> None:
    tokens = tuple(text.split())
    if not table.rows and _has_rate(tokens, table.heading):
        table.heading = Heading((*table.heading.columns, _column("MsgRate[Mpps]")), official=True)
    columns = table.heading.columns
    fits = len(tokens) == len(columns) and all(
        (_INTEGER if column.is_integer else _NUMBER).fullmatch(token)
        for column, token in zip(columns, tokens, strict=True)
    )
    if fits and _has_whole_end(tokens[-1], table.heading, is_whole):
        table.rows.append(_row(tokens, columns))
    elif fits:
        _complain_of_row(" ".join(tokens), True, collector)
    elif not table.is_closed or figures_at_an_end(text) >= _FEWEST:
        # After the closing line other lines may begin with a number; before it only rows do.
        is_cut = len(tokens) < len(columns) or not is_whole or text.endswith(".")
        _complain_of_row(text, is_cut, collector)


def _has_rate(tokens: tuple[str, ...], heading: Heading) -> bool:
    """Return whether the rows have a message rate whose name is missing in the heading.

    It is the only value with six decimals, and must fit size and average in every row.
    """
    labels = tuple(column.label for column in heading.columns)
    is_named = labels == (*_START, *_BANDWIDTH[:2])
    return is_named and len(tokens) == len(labels) + 1 and bool(_PRINTED_RATE.fullmatch(tokens[-1]))


def _row(tokens: Sequence[str], columns: Sequence[Column]) -> Row:
    cells = {column.label: token for column, token in zip(columns, tokens, strict=True)}
    figures = {column.label: float(cells[column.label]) for column in columns if column.metric}
    decimals = len(cells.get("BW average", "").partition(".")[2])
    return Row(int(cells["#bytes"]), int(cells["#iterations"]), figures, decimals)


def _has_whole_end(token: str, heading: Heading, is_whole: bool) -> bool:
    """Return whether the last number has all the decimals that perftest prints."""
    decimals = heading.columns[-1].decimals
    if not token[-1:].isdigit() or not heading.official or decimals is None:
        return is_whole
    return len(token.partition(".")[2]) == decimals


def _complain_of_row(text: str, is_cut: bool, collector: OutputCollector) -> None:
    if is_cut:
        collector.error(ProblemKind.TRUNCATED, f"row cut off: {quoted(text)}")
    else:
        collector.error(ProblemKind.UNPARSABLE, f"not a row of perftest: {quoted(text)}")


def _check_table(table: Table, collector: OutputCollector) -> None:
    if table.is_superseded:
        return
    if not table.rows:
        collector.error(ProblemKind.TRUNCATED, "a heading without rows: nothing was measured")
        return
    _check_gaps(table, collector)
    if not table.is_closed:
        message = "no closing line: the text may be cut off"
        collector.warn(ProblemKind.NO_CLOSING_LINE, message)


def _check_gaps(table: Table, collector: OutputCollector) -> None:
    sizes = {row.size_bytes for row in table.rows}
    size, largest = min(sizes), max(sizes)
    while 0 < size < largest:
        if size not in sizes:
            collector.error(ProblemKind.SWEEP_GAP, f"the sweep has no row for size {size}")
            return
        size *= 2
