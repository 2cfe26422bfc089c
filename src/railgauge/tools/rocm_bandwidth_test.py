"""rocm-bandwidth-test (only read): device lists, tables by size, matrices of devices.

Formats: versions 2.0.1 and 2.6 (``-e``, ``-s … -d …``, ``-a``, ``-A``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.relations import Quotient, Statistics
from railgauge.tools.squares import Square, read_squares
from railgauge.tools.text import clean, is_torn, whole_lines, with_end
from railgauge.tools.torn import complain, figures_at_an_end, is_figure

_TOOL = "rocm-bandwidth-test"
_VERSION = re.compile(r"RocmBandwidthTest Version: ([0-9][\w.]{0,20})\n")
_LAUNCHED = re.compile(r"Launch Command is:[ \t]{0,9}([^\n]{1,300})\n")
_TITLE = re.compile(r"=+\s+(Unidirectional|Bi?directional) Benchmark Result\s+=+")
_SIDE = re.compile(r"=+ (Src|Dst) Device Id: (\d{1,4}) ")
_HEADING = re.compile(r"Data Size\s{2,20}\S.{0,200}")
_ROW = re.compile(r"(\d{1,9}) (Bytes|B|KB|MB|GB)((?:[ \t]{1,40}[^\s]{1,24}){1,12})[ \t]{0,40}")
_COLUMN = re.compile(r"(Avg|Min|Max|Peak) (Time|BW)\((us|GB/s)\)")
_SIZES = {"Bytes": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}
_MATRIX = re.compile(r"(Unidirectional|Bi?directional) copy (peak|average) bandwidth (\S{1,10})")
# 2.0.1 prints six decimals, and "Bdirectional".
_ONE_WAY = "Unidirectional"
_NUMBER = re.compile(r"\d{1,9}\.(?:\d{3}|\d{6})")
_FIELD = re.compile(
    r"\s{1,12}(Device {1,2}(?:Index|Type|Name|BDF|UUID)|Allocatable [^:]{1,40}):(.{0,200})"
)
_FAILED = re.compile(
    r"^.{0,80}(?:\bHSA Error|\berror:|\bfailed\b|not supported).{0,120}", re.I | re.M
)
_RELATIONS = (
    Quotient("avg_bw", "avg_time", 1e3, 0.001, 0.001),
    Quotient("peak_bw", "min_time", 1e3, 0.001, 0.001),
    Statistics("(?:bidirectional_)?(?P<as>avg|peak)_(?P<of>bw)", 0.001),
    Statistics("(?:bidirectional_)?(?P<as>min|avg)_(?P<of>time)", 0.001),
)
# Figures side by side that no other line has.
_FEWEST = 2


@dataclass(slots=True)
class _Table:
    """A table by message size while it is read; ``columns`` are (metric, unit)."""

    is_bidirectional: bool
    sides: dict[str, str] = field(default_factory=dict)
    columns: tuple[tuple[str, str], ...] = ()
    rows: int = 0

    @property
    def placement(self) -> str:
        return f"device{self.sides.get('Src', '?')}>device{self.sides.get('Dst', '?')}"


def parse(text: str) -> Parsed:
    """Read the output; never raises.

    Tables give ``avg_bw`` and ``peak_bw`` (decimal GB/s) and ``avg_time`` and ``min_time`` (us) for
    each size; KB is 1024 bytes, as the printed times show. Bandwidths are checked against times.
    Matrices give ``peak_bw`` or ``average_bw``, and with the ending ``_cells`` the number of
    measured cells. Bidirectional metrics begin with ``bidirectional_``. Placements are
    ``device0>device4`` with the tool's own numbers, in which CPUs come first. ``summary.devices``
    is the list that ``-e`` prints; a list without bandwidths is the warning ``no-bandwidth``.
    """
    text = clean(text)
    text = with_end(with_end(text, decimals=3), decimals=6)
    lines = whole_lines(text)
    collector = OutputCollector(relations=_RELATIONS)
    if collector.check_started(text, "rocm-bandwidth-test", "rocm_bandwidth_test") and (
        failed := _FAILED.search(text)
    ):
        collector.error(ProblemKind.TOOL_FAILED, failed[0])
    devices = _devices(lines)
    summary: dict[str, object] = {"devices": devices}
    _collect_tables(lines, collector)
    _collect_matrices(lines, collector, summary)
    if is_torn(text):
        collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
    indices = [device.get("Device Index") for device in devices]
    collector.refuse_several(1 + len(indices) - len(set(indices)))
    _collect_nothing(text, collector, summary)
    version, launched = _VERSION.search(text), _LAUNCHED.search(text)
    if launched:
        summary["launched"] = launched[1].strip()
    return collector.parsed(_TOOL, version[1] if version else None, summary)


def _devices(lines: list[str]) -> list[dict[str, str]]:
    """Return the fields of each listed device, with names and values as printed."""
    devices: list[dict[str, str]] = []
    for line in lines:
        match = _FIELD.fullmatch(line) if len(line) < 300 else None  # noqa: PLR2004 - short lines
        if match is None:
            continue
        name, value = " ".join(match[1].split()), match[2].strip()
        if name == "Device Index":
            devices.append({})
        if devices:
            devices[-1].setdefault(name, value)
    return devices


def _collect_tables(lines: list[str], collector: OutputCollector) -> None:
    table: _Table | None = None
    for line in map(str.strip, lines):
        if title := _TITLE.fullmatch(line):
            _complain_if_empty(table, collector)
            table = _Table(title[1] != _ONE_WAY)
        elif side := _SIDE.match(line):
            if table:
                table.sides[side[1]] = side[2]
        elif table and _HEADING.fullmatch(line):
            table.columns = _columns(line, collector)
        elif table and (row := _ROW.fullmatch(line)):
            _collect_row(table, row, collector)
        elif table and (figures_at_an_end(line) >= _FEWEST or is_figure(line)):
            complain(line, collector)
    _complain_if_empty(table, collector)
    if table:
        message = "the number of sizes of a table is not printed: the last ones may be missing"
        collector.warn(ProblemKind.NO_CLOSING_LINE, message)


def _complain_if_empty(table: _Table | None, collector: OutputCollector) -> None:
    if table and not table.rows:
        collector.error(ProblemKind.TRUNCATED, f"the table of {table.placement} has no row")


def _columns(line: str, collector: OutputCollector) -> tuple[tuple[str, str], ...]:
    found = []
    for name in re.split(r"\s{2,20}", line)[1:]:
        match = _COLUMN.fullmatch(name)
        if match is None:
            collector.error(ProblemKind.UNKNOWN_COLUMN, name)
            return ()
        found.append((f"{match[1]}_{match[2]}".lower(), match[3]))
    return tuple(found)


def _collect_row(table: _Table, row: re.Match[str], collector: OutputCollector) -> None:
    words = row[3].split()
    if len(words) != len(table.columns):
        collector.error(ProblemKind.UNPARSABLE, f"{len(words)} values in a row: {row[0]}")
        return
    if not all(map(_NUMBER.fullmatch, words)):
        collector.error(ProblemKind.NOT_A_NUMBER, row[0])
        return
    if "?" in table.placement:
        complain(row[0], collector)
        return
    table.rows += 1
    collector.size_bytes = int(row[1]) * _SIZES[row[2]]
    prefix = "bidirectional_" if table.is_bidirectional else ""
    for (metric, unit), word in zip(table.columns, words, strict=True):
        collector.add(f"{prefix}{metric}", unit, float(word), table.placement)
    collector.size_bytes = None


def _collect_matrices(
    lines: list[str], collector: OutputCollector, summary: dict[str, object]
) -> None:
    squares = list(read_squares(lines))
    announced = {at for at, line in enumerate(lines) if _MATRIX.fullmatch(line.strip())}
    for _ in announced - {square.at for square in squares}:
        collector.error(ProblemKind.TRUNCATED, "a matrix is announced but not printed")
    seen = set()
    for square in squares:
        if square.heading in seen:
            collector.error(ProblemKind.SEVERAL_TABLES, f"printed twice: {square.heading[:80]}")
        seen.add(square.heading)
        _collect_matrix(square, collector, summary)


def _collect_matrix(square: Square, collector: OutputCollector, summary: dict[str, object]) -> None:
    if not square.is_whole:
        rows, devices = len(square.rows), len(square.devices)
        collector.error(
            ProblemKind.TRUNCATED, f"{rows} complete rows for {devices} devices: {square.heading}"
        )
        return
    match = _MATRIX.fullmatch(square.heading)
    if match is None:
        # Matrices of peer access and NUMA distance hold no bandwidths.
        summary[square.heading[:80]] = [list(row) for row in square.rows]
    elif match[3] != "GB/s":
        collector.error(ProblemKind.UNIT_UNKNOWN, square.heading)
    else:
        prefix = "bidirectional_" if match[1] != _ONE_WAY else ""
        _collect_cells(square, f"{prefix}{match[2]}_bw", collector)


def _collect_cells(square: Square, metric: str, collector: OutputCollector) -> None:
    measured = 0
    for source, target, cell in square.cells():
        if _NUMBER.fullmatch(cell):
            collector.add(metric, "GB/s", float(cell), f"device{source}>device{target}")
            measured += 1
        elif cell != "N/A":
            collector.error(
                ProblemKind.NOT_A_NUMBER, f"{metric} of device{source}>device{target} is {cell}"
            )
        elif source != target:
            collector.warn(
                ProblemKind.MISSING_CELL, f"{metric} of device{source}>device{target} is N/A"
            )
    collector.add(f"{metric}_cells", "count", measured, "all", may_be_zero=True)


def _collect_nothing(text: str, collector: OutputCollector, summary: dict[str, object]) -> None:
    if not collector.is_empty:
        return
    if summary["devices"]:
        collector.warn(ProblemKind.NO_BANDWIDTH, "a list of devices, but no bandwidth")
    else:
        collector.nothing(text, "no output of rocm-bandwidth-test in this text")
