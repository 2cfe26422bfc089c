"""The output of both programs: a line of names, and below it lines of values. Pure."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.blas_bench.each_gpu import BEGIN, END
from railgauge.tools.collector import OutputCollector
from railgauge.tools.metric import HIGHER, LOWER, Metric
from railgauge.tools.text import clean, is_torn, line_at

METRICS = (
    Metric("gflops", ("GFLOP/s",), HIGHER),
    Metric("norm_error", ("1",), LOWER, may_be_zero=True),
)

_DEVICE = re.compile(r"Device ID ([0-9]{1,4}) : ([^\n]{1,120})")
_ARCHITECTURE = re.compile(r" gfx[0-9a-f]{3,5}\S{0,40}")
_INDEX = re.compile(r"\[[0-9]{1,6}\]:")
_SEVERAL = re.compile(r"Winner:|\[[1-9][0-9]{0,5}\]:trans", re.MULTILINE)
# In small letters, because the programs differ in capitals. Each pattern begins with a fixed text:
# such patterns one by one are far faster than one for all.
_COMPLAINTS = {
    kind: tuple(map(re.compile, patterns))
    for kind, patterns in (
        (ProblemKind.OUT_OF_MEMORY, ("out of memory",)),
        (
            ProblemKind.INVALID_ARGUMENT,
            ("invalid value for", "unrecogni[sz]ed option", "invalid function", "unsupported",
             "not supported"),
        ),
        (
            ProblemKind.HIP_ERROR,
            ("hiperror", "hip error", "rocblas error", "hipblaslt error",
             "rocblas_status_(?!success)", "no rocm-capable", "query device error",
             "no devices found", "invalid device id", "no solution found"),
        ),
    )
}  # fmt: skip
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_NORMS = ("norm_error", "norm_error_1")
_FAILED = "failed"
# Six significant digits are printed; times have them too.
_DIGITS = 2e-5


@dataclass(slots=True)
class _Run:
    """The values of the lines read so far. ``place`` is the GPU of the current run."""

    rate: str
    place: str | None = None
    names: tuple[str, ...] = ()
    headings: int = 0
    has_values: bool = True
    begun: list[tuple[str, int]] = field(default_factory=list)
    rows: list[str | None] = field(default_factory=list)
    asked: dict[str, str] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)
    end: int | None = None

    def summary(self) -> dict[str, object]:
        return {
            **self.asked,
            "measured": tuple(dict.fromkeys(place for place in self.rows if place)),
            "models": tuple(_ARCHITECTURE.sub("", model) for model in self.devices.values()),
            "cycles": max((cycle + 1 for _, cycle in self.begun), default=None),
        }


def read(text: str, tool: str) -> Parsed:
    """Read the runs of ``tool`` on one GPU or on each. Never raises.

    ``gflops`` (``GFLOP/s``) of each run, with the placement ``gpu3`` where the suite ran it, and
    ``norm_error`` (``1``) where results were verified. ``summary`` has the product that the rows
    name (``transA``, ``m``, ``a_type``, …), ``measured``, ``models`` and ``cycles``.
    """
    text = clean(text)
    collector, run = OutputCollector(), _Run(f"{tool.removesuffix('-bench')}-Gflops")
    if collector.check_started(text, tool):
        for line in text.split("\n"):
            _take(line, run, collector)
        small = text.translate(_SMALL)
        for kind, patterns in _COMPLAINTS.items():
            if places := [found.start() for one in patterns if (found := one.search(small))]:
                collector.error(kind, line_at(text, min(places)))
        _check(text, run, collector)
    return collector.parsed(tool, None, run.summary())


def _take(line: str, run: _Run, collector: OutputCollector) -> None:
    if not run.has_values or _is_row(line, run):
        _take_values(line, run, collector)
    elif match := BEGIN.fullmatch(line):
        run.place = match[1]
        run.begun.append((match[1], int(match[2])))
    elif match := END.fullmatch(line):
        run.end = int(match[1])
    elif match := _DEVICE.match(line):
        run.devices[match[1]] = match[2].strip()
    elif f",{run.rate}," in f",{line}," and "," in line:
        run.names = tuple(_INDEX.sub("", line, count=1).split(","))
        run.headings += 1
        run.has_values = False
    elif "-Gflops" in line:
        collector.error(ProblemKind.UNKNOWN_COLUMN, f"no column {run.rate}: {line[:200]}")


def _is_row(line: str, run: _Run) -> bool:
    """Return whether a line is a further row below the last line of names, whole or not."""
    cells = line.split(",")
    return len(cells) > len(run.names) / 2 > 0 and run.rate not in cells


def _take_values(line: str, run: _Run, collector: OutputCollector) -> None:
    names, run.has_values = run.names, True
    cells = [cell.strip() for cell in line.split(",")]
    run.rows.append(run.place)
    if len(cells) != len(names) or len(set(names)) != len(names):
        collector.error(ProblemKind.UNPARSABLE, f"{len(cells)} values below {len(names)} names")
        return
    row = dict(zip(names, cells, strict=True))
    rate, time_us = _number(row[run.rate]), _number(row.get("us", ""))
    if rate is None or time_us is None:
        collector.error(ProblemKind.NOT_A_NUMBER, f"{run.rate} is {row[run.rate]!r}")
        return
    collector.add("gflops", "GFLOP/s", rate, run.place)
    _take_check(row, run, collector)
    _take_asked(row, run, collector)
    if not _follows(row, rate, time_us):
        what = f"{rate:g} Gflop/s and {time_us:g} us are not of one product of this size"
        collector.error(ProblemKind.INCONSISTENT, what)


def _take_check(row: Mapping[str, str], run: _Run, collector: OutputCollector) -> None:
    """Take the error of the result, where the program compared it with the host's."""
    for name in _NORMS:
        if name not in row:
            continue
        error = _number(row[name])
        if error is None:
            what = f"{run.place or 'the GPU'}: {name} is {row[name]!r}"
            collector.error(ProblemKind.DATA_CORRUPTION, what)
        else:
            collector.add("norm_error", "1", error, run.place, may_be_zero=True)
    if _FAILED in (row.get("atol"), row.get("rtol")):
        what = f"{run.place or 'the GPU'}: no tolerance holds for its results"
        collector.error(ProblemKind.DATA_CORRUPTION, what)


_OUTCOMES = frozenset({"us", "CPU-Gflops", "CPU-us", *_NORMS, "atol", "rtol"})


def _take_asked(row: Mapping[str, str], run: _Run, collector: OutputCollector) -> None:
    """Keep the product that the row shows; all rows of an output must show the same one."""
    did = {
        name.lower(): value
        for name, value in row.items()
        if name not in _OUTCOMES and "flops" not in name and "/s" not in name and "freq" not in name
    }
    if run.asked and did != run.asked:
        collector.error(ProblemKind.INCONSISTENT, "rows of different products in one output")
    run.asked = run.asked or did


def _number(cell: str) -> float | None:
    match = re.fullmatch(r"[0-9]{1,15}(?:\.[0-9]{1,15})?(?:e[+-]?[0-9]{1,3})?", cell)
    return float(cell) if match else None


def _follows(row: Mapping[str, str], rate: float, time_us: float) -> bool:
    """Whether the rate is 2 m n k operations over the time, within the printed digits."""
    lower = {name.lower(): value for name, value in row.items()}
    sizes = [_number(lower.get(name, "")) for name in ("m", "n", "k")]
    batches = _number(lower.get("batch_count", "1"))
    if None in sizes or batches is None or time_us == 0:
        return False
    work = 2.0 * batches
    for size in sizes:
        work *= size or 0.0
    return abs(work / time_us / 1e3 - rate) <= _DIGITS * rate


# --- the whole ---


def _check(text: str, run: _Run, collector: OutputCollector) -> None:
    if match := _SEVERAL.search(text):
        what = f"the best of several kernels ({match[0]}) is no measurement of the library"
        collector.error(ProblemKind.SEVERAL_TABLES, what)
    if not run.rows and not run.begun and not collector.has_errors:
        collector.nothing(text, "no line of names and values in this text")
    elif not run.has_values or is_torn(text):
        collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
    elif run.begun:
        _check_each(run, collector)
    elif run.headings > 1:
        collector.several_runs()


def _check_each(run: _Run, collector: OutputCollector) -> None:
    """Each GPU must have a row for each of its cycles, and all GPUs as many."""
    if run.rows != [place for place, _ in run.begun]:
        what = f"{len(run.rows)} rows of {len(run.begun)} runs"
        collector.error(ProblemKind.METRIC_MISSING, what)
    cycles = max(cycle for _, cycle in run.begun) + 1
    wanted = [(f"gpu{gpu}", cycle) for gpu in range(run.end or 0) for cycle in range(cycles)]
    if run.end is None or run.begun != wanted:
        collector.error(ProblemKind.TRUNCATED, "not every GPU has its runs, and the closing line")
