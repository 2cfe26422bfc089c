"""Intel MPI Benchmarks (only read): ``IMB-MPI1``, ``IMB-NBC`` and others, 3.2 to 2021.

One text may hold several benchmarks, and each of several numbers of processes.

Format: the sources of the benchmarks (intel/mpi-benchmarks), and outputs quoted in public
repositories.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.launchers.failures import find_failures
from railgauge.tools.collector import OutputCollector, problem
from railgauge.tools.relations import AtMost, Quotient, Relation, Statistics
from railgauge.tools.text import clean, lines
from railgauge.tools.torn import complain, figures_at_an_end

_LONGEST_LINE = 400
_VERSION = re.compile(
    r"#\s{1,12}Intel ?\(R\) MPI Benchmarks?(?: Suite)? V?([0-9][\w.]{0,20}), \S{1,20} part\s{0,20}"
)
_BENCHMARK = re.compile(r"# Benchmarking (\w{1,40})\s{0,40}")
_PROCESSES = re.compile(r"# #processes = (\d{1,8})\s{0,40}(?:.{0,80})?")
_END = "# All processes entering MPI_Finalize"
_COLUMNS: dict[str, tuple[str, str]] = {
    "#bytes": ("", ""),
    "#repetitions": ("", ""),
    "t[usec]": ("latency", "us"),
    "t_min[usec]": ("latency_min", "us"),
    "t_max[usec]": ("latency_max", "us"),
    "t_avg[usec]": ("latency_avg", "us"),
    "t_ovrl[usec]": ("latency_overlapped", "us"),
    "t_pure[usec]": ("latency_pure", "us"),
    "t_CPU[usec]": ("cpu_time", "us"),
    "overlap[%]": ("overlap", "%"),
    "Mbytes/sec": ("bandwidth", "MB/s"),
    "Msg/sec": ("message_rate", "1/s"),
    "defects": ("defects", "1"),
}
_MAY_BE_ZERO = frozenset({"overlap", "defects", "cpu_time"})
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,6})?")
_SIZE = re.compile(r"[0-9]{1,15}")
# How often the bytes of a row count in its bandwidth, and which of its times is used.
_COUNTED = {"PingPong": (1, "latency"), "PingPing": (1, "latency"), "Sendrecv": (2, "latency_max"),
            "Exchange": (4, "latency_max")}  # fmt: skip
_MEBI = 2**20 / 1e6
_RELATIONS: tuple[Relation, ...] = (
    Statistics("(?P<of>latency)_(?P<as>min|avg|max)", 0.01),
    AtMost("overlap", 100.0),
)


@dataclass(slots=True)
class _Run:
    """The values of the lines read so far; ``sizes`` are those of the current benchmark."""

    versions: list[str] = field(default_factory=list)
    benchmark: str = ""
    processes: str = ""
    columns: tuple[str, ...] = ()
    sizes: list[int] = field(default_factory=list)
    rows: int = 0
    ends: int = 0
    tests: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"{self.benchmark}/{self.processes or '?'}"


def parse(text: str) -> Parsed:
    """Read all benchmarks of one run. Never raises and takes time linear in the text.

    ``latency``, ``latency_min``, ``latency_avg``, ``latency_max`` (``us``), ``bandwidth``
    (``MB/s``, which in old releases means ``MiB/s``) and ``message_rate`` (``1/s``) of each size,
    with the placement ``Allreduce/16``: the benchmark and its number of processes. A bandwidth must
    follow from size and time. ``defects`` of a check that are not 0 are ``data-corruption``; a run
    without its last line is ``no-closing-line``.
    """
    text = clean(text)
    collector, run = OutputCollector(relations=_RELATIONS), _Run()
    if collector.check_started(text, "IMB-MPI1", "mpirun", "mpiexec", "srun"):
        for line, is_whole in lines(text, _LONGEST_LINE):
            _take(line, run, collector, is_whole=is_whole)
        collector.problems[:0] = [problem(one.kind, one.message) for one in find_failures(text)]
        _check(text, run, collector)
    version = run.versions[0] if run.versions else None
    return collector.parsed("imb", version, {"tests": run.tests} if run.tests else {})


def _take(line: str, run: _Run, collector: OutputCollector, *, is_whole: bool) -> None:
    words = line.split()
    if found := _VERSION.fullmatch(line):
        run.versions.append(found[1])
    elif found := _BENCHMARK.fullmatch(line):
        run.benchmark, run.processes, run.columns, run.sizes = found[1], "", (), []
    elif run.benchmark and (found := _PROCESSES.fullmatch(line)):
        run.processes, run.columns = found[1], ()
    elif line.strip() == _END:
        run.ends += 1
        run.columns = ()
    elif run.benchmark and not run.columns and "#repetitions" in words:
        _take_heading(words, run, collector)
    elif run.columns and words and _NUMBER.fullmatch(words[0]):
        _take_row(words, run, collector, is_whole=is_whole)
    elif run.columns and not line.startswith("#") and figures_at_an_end(line):
        complain(line, collector)


def _take_heading(words: list[str], run: _Run, collector: OutputCollector) -> None:
    run.columns = tuple(words)
    run.tests.append(run.place)
    if unknown := [name for name in words if name not in _COLUMNS]:
        collector.error(ProblemKind.UNKNOWN_COLUMN, f"no known release prints {unknown[0]!r}")
    if run.processes == "1":
        what = f"{run.benchmark} of a single process moves no data between processes"
        collector.error(ProblemKind.TOO_FEW_RANKS, what)


def _take_row(words: list[str], run: _Run, collector: OutputCollector, *, is_whole: bool) -> None:
    if not is_whole or len(words) != len(run.columns) or not all(map(_NUMBER.fullmatch, words)):
        collector.error(ProblemKind.TRUNCATED, f"row cut off or unknown: {' '.join(words)[:120]}")
        return
    row = dict(zip(run.columns, words, strict=True))
    size = row.get("#bytes", "")
    collector.size_bytes = int(size) if _SIZE.fullmatch(size) else None
    run.rows += 1
    run.sizes.append(collector.size_bytes or 0)
    named = {_COLUMNS[name][0]: float(word) for name, word in row.items() if name in _COLUMNS}
    for name, word in row.items():
        metric, unit = _COLUMNS.get(name, ("", ""))
        if metric == "bandwidth":
            _add_bandwidth(float(word), named, run, collector)
        elif metric:
            may_be_zero = metric in _MAY_BE_ZERO
            collector.add(metric, unit, float(word), run.place, may_be_zero=may_be_zero)
    if float(row.get("defects", "0")):
        what = f"{row['defects']} defects at {size} B of {run.place}"
        collector.error(ProblemKind.DATA_CORRUPTION, what)


def _add_bandwidth(
    value: float, row: dict[str, float], run: _Run, collector: OutputCollector
) -> None:
    """Add the bandwidth in the unit that it follows in; old releases count in 2^20 bytes."""
    size = collector.size_bytes
    if not size:
        return  # nothing was moved
    times, time = _COUNTED.get(run.benchmark, (0, ""))
    means = ""
    if times and time in row:
        of_scale = {
            scale: Quotient("bandwidth", time, scale / times, 0.01, 0.01) for scale in (1.0, _MEBI)
        }
        fits = {scale: not one.contradiction(row, size) for scale, one in of_scale.items()}
        means = "MiB/s" if fits[_MEBI] and not fits[1.0] else ""
        if not any(fits.values()):
            what = f"{value} MB/s at {size} B do not follow from {row[time]} us"
            collector.error(ProblemKind.INCONSISTENT, f"{run.place}: {what}")
    if value == 0:
        collector.warn(ProblemKind.BELOW_RESOLUTION, f"{run.place}: 0.00 MB/s at {size} B")
    else:
        collector.keep("bandwidth", "MB/s", value, run.place, means)


def _check(text: str, run: _Run, collector: OutputCollector) -> None:
    if max(len(run.versions), run.ends, 1 + len(run.tests) - len(set(run.tests))) > 1:
        collector.several_runs()
    elif not run.tests and not collector.has_errors:
        collector.nothing(text, "no benchmark of the Intel MPI Benchmarks in this text")
    elif run.tests and not run.rows and not collector.has_errors:
        collector.error(ProblemKind.TRUNCATED, "the output ends before the first row")
    elif run.rows:
        if not run.ends:
            message = f"no line {_END[2:]!r}: sizes and benchmarks may be missing"
            collector.warn(ProblemKind.NO_CLOSING_LINE, message)
        if not run.versions:
            message = "the output begins before this text: benchmarks may be missing"
            collector.warn(ProblemKind.NO_OPENING_LINE, message)
