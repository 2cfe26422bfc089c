"""Reading of the output line by line: matrices, averages, transfers, errors and warnings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.core.problems import ProblemKind
from railgauge.tools.text import lines

# Borders of newer versions and the commas of OUTPUT_TO_CSV separate cells like blanks.
BORDERS = str.maketrans(dict.fromkeys("│┃║|,─━═┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬", " "))

_HEADING = re.compile(r"\s{0,40}SRC(?:\\{1,2}|\+EXE\\{1,2})(?:EXE\+)?DST(?=\s)")
_COLUMN = re.compile(r"\s{1,200}(?:(GPU|CPU)\s{1,9}(\d{1,4})|(NIC)\(\d{1,4} QP\)|(STotal|Actual))")
_LABEL = re.compile(
    r"\s{0,40}(?:(GPU|CPU)\s{1,9}(\d{1,4})(?:\s{1,9}(->|<->|<-))?|(RTotal))(?=\s|$)"
)
_NUMBER = re.compile(r"\d{1,12}\.\d{2,3}")
_NOT_AVAILABLE = "N/A"
# The rows that SHOW_ITERATIONS adds below each row of p2p.
_STATISTICS = frozenset({"min", "max", "sd"})

PeerRate = float | None
"""A bandwidth in GB/s; ``None`` for ``N/A``."""


@dataclass(frozen=True, slots=True)
class PeerRow:
    """A row of cells. ``label`` is ``gpu0``, ``cpu1`` or ``rtotal``; only p2p has an ``arrow``."""

    label: str
    arrow: str
    cells: tuple[PeerRate, ...]


@dataclass(slots=True)
class PeerMatrix:
    """The columns (``gpu0``, ``nic``, ``stotal``, …), the rows below them, and their problems."""

    columns: tuple[str, ...]
    rows: list[PeerRow] = field(default_factory=list)
    complaints: list[tuple[ProblemKind, str]] = field(default_factory=list)
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


def read_heading(line: str, is_whole: bool) -> PeerMatrix | None:
    """Return the empty matrix of a heading; ``None`` if the heading is cut off or unknown."""
    match = _HEADING.match(line)
    position = match.end() if match else 0
    columns = []
    while column := _COLUMN.match(line, position):
        columns.append(_column_name(column))
        position = column.end()
    is_cut = not is_whole and "stotal" not in columns
    if not columns or line[position:].strip() or is_cut:
        return None
    return PeerMatrix(tuple(columns))


def _column_name(match: re.Match[str]) -> str:
    kind, index, nic, total = match.groups()
    return f"{kind.lower()}{int(index)}" if kind else (nic or total).lower()


def read_row(line: str, is_whole: bool, matrix: PeerMatrix) -> None:
    """Add a row to the matrix, or a complaint if it is invalid; skip other lines."""
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
    matrix.rows.append(PeerRow(label, match[3] or "", cells))


def _widths(label: str, matrix: PeerMatrix) -> tuple[int, ...]:
    """Return the allowed numbers of cells: the row of totals may have a maximum, or no Actual."""
    width = len(matrix.columns)
    if label != "rtotal":
        return (width,)
    return (width + 1, width, width - 1) if "actual" in matrix.columns else (width,)


def _wrong(tokens: list[str], is_whole: bool, widths: tuple[int, ...]) -> ProblemKind | None:
    unfit = [token for token in tokens if not _NUMBER.fullmatch(token) and token != _NOT_AVAILABLE]
    if not is_whole and (unfit or len(tokens) not in widths or not _has_whole_end(tokens)):
        return ProblemKind.TRUNCATED
    if any(not token[:1].isdigit() for token in unfit):
        return ProblemKind.NOT_A_NUMBER
    if len(tokens) not in widths or not _has_whole_end(tokens):
        return ProblemKind.TRUNCATED
    return ProblemKind.UNPARSABLE if unfit else None


def _has_whole_end(tokens: list[str]) -> bool:
    """Return whether the last number has as many decimals as the others."""
    decimals = {len(token.partition(".")[2]) for token in tokens if token != _NOT_AVAILABLE}
    return len(decimals) == 1


# --- all lines ---

# Lines of TransferBench are far shorter: a longer line is not a row.
_LONGEST_LINE = 2000

_VERSION = re.compile(r"^TransferBench v([0-9][\w.]{0,20})", re.MULTILINE)
_SIZE = re.compile(
    r"\[(\d{1,18}) bytes per Transfer\]|Copying (\d{1,18}) bytes between"
    r"|Bytes Per Direction[ ,](\d{1,18})(?=\s)"
)
# The bracket distinguishes it from the same words of rocm_bandwidth_test.
_DIRECTION = re.compile(r"^(Uni|Bi)directional copy peak bandwidth GB/s \[", re.MULTILINE)
_CLOSING = re.compile(
    r"\s{0,9}(Average|Aggregate)\s{1,9}bandwidth \((GPU|CPU) Timed\)[: ]\s{0,20}"
    r"([0-9]{1,12}\.[0-9]{3}) ([KMGT]?B/s)(?=\s|$)"
)
_SUBEXECUTORS = re.compile(
    r"between directly connected pairs of GPUs using (\d{1,6}) CUs"
    r"|^NUM_(?:SUB_EXEC|GPU_SE) {1,20}= {1,20}(\d{1,6}) :|\[GFX:(\d{1,6})\]",
    re.MULTILINE,
)
# A line of the printed configuration.
_SETTING = re.compile(r"^([A-Z][A-Z0-9_]{2,30}) {1,20}= {1,20}(\S{1,40}) :", re.MULTILINE)
# Memory of the source, executor, and memory of the destination: F0 -> G000:008 -> F1.
_ROUTE = re.compile(
    r"\| ([A-Z])\d{1,4} -> ([A-Z])\d{1,4}:\d{1,6} -> ([A-Z])\d{1,4}\s*$", re.MULTILINE
)
_MEANS = re.compile(
    r"Averages \(During\s{1,3}(Uni|Bi)Dir\):((?:\s{1,12}(?:\d{1,9}\.\d\d|N/A)){4})\s*$"
)
_TEST = re.compile(r"\s{0,40}Test (\d{1,6}):\s*$")
_TRANSFER = re.compile(
    r"\s{0,49}(?:(Executor): (GPU|CPU|DMA|NIC) (\d{1,4})|Transfer (\d{1,6})|(Aggregate) \(CPU\))"
    r"\s{0,9}\|\s{0,12}([0-9]{1,12}\.[0-9]{3}) ([KMGT]?B/s) \|\s{0,12}[0-9.]{1,15} ms \|"
    r"\s{0,18}(\d{1,18}) bytes \|"
)
CLOSINGS = {
    ("Average", "GPU"): "average_bw",
    ("Aggregate", "GPU"): "aggregate_bw",
    ("Aggregate", "CPU"): "cpu_aggregate_bw",
}


@dataclass(frozen=True, slots=True)
class Transfer:
    """A line of a test block: an executor, a transfer, or the test's total by the CPU's clock.

    ``test`` is 0 above the first heading of a test.
    """

    metric: str
    placement: str
    value: float
    unit: str
    size_bytes: int
    test: int


@dataclass(slots=True)
class Reading:
    """All that was read. ``closings`` are (metric, value, unit), ``means`` the four of p2p.

    ``directions`` counts the announcements of p2p matrices; ``subexecutors`` are the compute units
    per transfer that the text names, ``settings`` the printed configuration, ``routes`` the kinds
    of transfers: memory of the source, executor, memory of the destination.
    """

    version: str | None = None
    size_bytes: int | None = None
    subexecutors: tuple[int, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    routes: frozenset[tuple[str, str, str]] = frozenset()
    is_announced: bool = False
    directions: int = 0
    matrices: list[PeerMatrix] = field(default_factory=list)
    closings: list[tuple[str, float, str]] = field(default_factory=list)
    means: dict[bool, tuple[float | None, ...]] = field(default_factory=dict)
    transfers: list[Transfer] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    broken_headings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _State:
    """The position in the output: matrix, direction and test of the current line."""

    matrix: PeerMatrix | None = None
    is_bidirectional: bool = False
    test: int = 0


def read(text: str) -> Reading:
    """Read all of ``text``, which comes from ``clean``, in linear time."""
    version = _VERSION.search(text)
    size = _SIZE.search(text)
    reading = Reading(
        version[1] if version else None, int(size[size.lastindex or 1]) if size else None
    )
    found = (int(one[one.lastindex or 1]) for one in _SUBEXECUTORS.finditer(text))
    reading.subexecutors = tuple(dict.fromkeys(found))
    reading.settings = dict(_SETTING.findall(text))
    reading.routes = frozenset(_ROUTE.findall(text))
    reading.is_announced = "All-To-All benchmark" in text or bool(_DIRECTION.search(text))
    state = _State()
    for line, is_whole in lines(text, _LONGEST_LINE):
        _read_line(line, is_whole, state, reading)
    return reading


def _read_line(line: str, is_whole: bool, state: _State, reading: Reading) -> None:
    if line.lstrip().startswith(("[ERROR]", "[WARN]")):
        (reading.errors if "[ERROR]" in line else reading.warnings).append(line.strip())
        return
    cells = line.translate(BORDERS)
    if is_heading(cells):
        _open(cells, is_whole, state, reading)
    elif _closes(line, state, reading):
        state.matrix = None
    elif state.matrix is not None:
        read_row(cells, is_whole, state.matrix)
    elif "|" in line:
        _read_transfer(line, state, reading)


def _open(cells: str, is_whole: bool, state: _State, reading: Reading) -> None:
    state.matrix = read_heading(cells, is_whole)
    if state.matrix is None:
        reading.broken_headings.append(cells)
        return
    state.matrix.is_bidirectional = state.is_bidirectional
    reading.matrices.append(state.matrix)


def _closes(line: str, state: _State, reading: Reading) -> bool:
    """Return whether the line ends a matrix, and store its values."""
    if direction := _DIRECTION.match(line):
        state.is_bidirectional = direction[1] == "Bi"
        reading.directions += 1
    elif test := _TEST.match(line):
        state.test = int(test[1])
    elif closing := _CLOSING.match(line.replace(",", " ")):
        metric = CLOSINGS.get((closing[1], closing[2]))
        if metric:
            reading.closings.append((metric, float(closing[3]), closing[4]))
    elif means := _MEANS.match(line):
        reading.means[means[1] == "Bi"] = _means(means[2])
    else:
        return False
    return True


def _means(text: str) -> tuple[float | None, ...]:
    return tuple(None if mean == "N/A" else float(mean) for mean in text.split())


def _read_transfer(line: str, state: _State, reading: Reading) -> None:
    match = _TRANSFER.match(line)
    if match is None:
        return
    test = f"test{state.test}"
    if match[1]:
        metric, placement = "executor_bw", f"{test}/{match[2].lower()}{int(match[3])}"
    elif match[4]:
        metric, placement = "transfer_bw", f"{test}/transfer{int(match[4])}"
    else:
        metric, placement = "test_cpu_bw", test
    value, unit, size = float(match[6]), match[7], int(match[8])
    reading.transfers.append(Transfer(metric, placement, value, unit, size, state.test))
