"""The parser of mpi-bench: from its lines to samples and problems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from railgauge.core.model import Parsed
from railgauge.core.problems import Problem, ProblemKind
from railgauge.launchers import on_core
from railgauge.launchers.failures import find_failures
from railgauge.launchers.on_core import RankOnCore
from railgauge.tools.collector import OutputCollector, missing_program, problem
from railgauge.tools.relations import Quotient
from railgauge.tools.text import clean

# A launcher that is missing is reported under its own name.
_PROGRAMS = ("mpi-bench", "mpirun", "mpiexec", "srun")
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_LINE = re.compile(r"(?:^|(?<=\]))mpi-bench (version|run|library|rank|row|end)\b([^\n]{0,300})$")
_ROW = re.compile(
    rf" size=([0-9]{{1,12}}) cycle=([0-9]{{1,6}}) time_us=({_NUMBER}) algbw=({_NUMBER})"
    rf" busbw=({_NUMBER}) wrong=([0-9]{{1,15}})"
)
_RUN = re.compile(
    r" collective=([a-z_]{1,20}) ranks=([0-9]{1,7}) type=(\w{1,10})"
    r" iterations=([0-9]{1,9}) warmup=([0-9]{1,9}) cycles=([0-9]{1,9})"
)
_RANK = re.compile(r" ([0-9]{1,7}) (\S{1,255})")
_END = re.compile(r" rows=([0-9]{1,9}) wrong=([0-9]{1,15})")
_NO_MPI4PY = re.compile(r"(?:ModuleNotFoundError|ImportError):[^\n]{0,120}mpi4py[^\n]{0,120}")

_FEWEST_RANKS = 2
# Times have three decimals of a microsecond, bandwidths six of a GB/s.
_HALF_GB_S = 0.0000005
_RELATIONS = (Quotient("algbw", "time_us", 1e3, 2 * _HALF_GB_S, 0.001),)
_EDGE = 1e-6


def factor(collective: str, ranks: int) -> float | None:
    """Return busbw / algbw as in ``program``; ``None`` for an unknown collective."""
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if collective in ("all_gather", "reduce_scatter", "alltoall"):
        return (ranks - 1) / ranks
    return 1.0 if collective == "broadcast" else None


# --- the lines ---

_MAY_BE_ZERO = ("out_of_bounds", "warmup")


@dataclass(slots=True)
class _Run:
    """The values of the lines around the rows."""

    collective: str = ""
    ranks: int = 0
    dtype: str = ""
    iterations: int = 0
    warmup: int = 0
    cycles: int = 0
    version: str | None = None
    library: str = ""
    hosts: dict[int, str] = field(default_factory=dict)
    on_core: tuple[RankOnCore, ...] = ()
    runs: int = 0
    rows: int = 0
    wrong: int = 0
    end: tuple[int, int] | None = None

    def summary(self) -> dict[str, object]:
        """Return the summary of ``parse``; ``ranks`` has the hosts in the order of the ranks."""
        found: dict[str, object] = {
            "collective": self.collective,
            "nranks": self.ranks,
            "nnodes": len(set(self.hosts.values())),
            "ranks": dict(Counter(host for _, host in sorted(self.hosts.items()))),
            "dtype": self.dtype,
            "iterations": self.iterations,
            "warmup": self.warmup,
            "cycles": self.cycles,
            "library": self.library,
            "out_of_bounds": self.wrong,
            "on_core": self.on_core,
        }
        return {name: value for name, value in found.items() if value or name in _MAY_BE_ZERO}


def parse(text: str) -> Parsed:
    """Read one run. Never raises and takes time linear in the text.

    Samples of each row: ``time_us`` (``us``), ``algbw`` and ``busbw`` (``GB/s``), ``wrong``
    (``count``). Every row must satisfy ``algbw = size / time`` and ``busbw = algbw x factor``
    within rounding, and the closing line must give the number of rows. ``summary``: ``collective``,
    ``nranks``, ``nnodes``, ``ranks`` (host -> how many), ``dtype``, ``iterations``, ``warmup``,
    ``cycles``, ``library``, and ``on_core``, a ``RankOnCore`` for each rank that prints its core.
    """
    text = clean(text)
    collector, run = OutputCollector(relations=_RELATIONS), _Run()
    for kind, rest in _lines(text):
        _take(kind, rest, run, collector)
    run.on_core = tuple(_on_core(text))
    collector.problems[:0] = _complaints(text)
    _check_whole(text, run, collector)
    return collector.parsed("mpi-bench", run.version, run.summary() if run.runs else {})


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        if "mpi-bench " in line[:200] and (match := _LINE.search(line[:600])):
            yield match[1], match[2].rstrip()


def _on_core(text: str) -> Iterator[RankOnCore]:
    for line in text.split("\n"):
        at = line[:200].find(on_core.BEGINS)
        if at >= 0 and (printed := on_core.read(line[at : at + 2000])):
            yield printed


def _complaints(text: str) -> Iterator[Problem]:
    """Yield what prevented the measurement, the most likely cause first."""
    if match := _NO_MPI4PY.search(text):
        yield problem(ProblemKind.TOOL_MISSING, f"mpi-bench: {match[0]}")
    elif missing := missing_program(text, _PROGRAMS):
        yield missing
    yield from (problem(found.kind, found.message) for found in find_failures(text))


def _take(kind: str, rest: str, run: _Run, collector: OutputCollector) -> None:
    readers = {"run": _take_run, "rank": _take_rank, "row": _take_row, "end": _take_end}
    if kind == "version":
        run.version = rest.strip()[:20]
    elif kind == "library":
        run.library = rest.strip()
    elif not readers[kind](rest, run, collector):
        collector.error(ProblemKind.UNPARSABLE, f"mpi-bench {kind}{rest}")


def _take_run(rest: str, run: _Run, _collector: OutputCollector) -> bool:
    match = _RUN.fullmatch(rest)
    if match:
        run.runs += 1
        run.collective, run.ranks, run.dtype = match[1], int(match[2]), match[3]
        run.iterations, run.warmup, run.cycles = int(match[4]), int(match[5]), int(match[6])
    return bool(match)


def _take_rank(rest: str, run: _Run, _collector: OutputCollector) -> bool:
    match = _RANK.fullmatch(rest)
    if match:
        run.hosts[int(match[1])] = match[2]
    return bool(match)


def _take_end(rest: str, run: _Run, _collector: OutputCollector) -> bool:
    match = _END.fullmatch(rest)
    if match:
        run.end = int(match[1]), int(match[2])
    return bool(match)


def _take_row(rest: str, run: _Run, collector: OutputCollector) -> bool:
    match = _ROW.fullmatch(rest)
    if not match:
        return False
    size, wrong = int(match[1]), int(match[6])
    time_us, algbw, busbw = float(match[3]), float(match[4]), float(match[5])
    run.rows += 1
    run.wrong += wrong
    collector.size_bytes = size
    collector.add("time_us", "us", time_us)
    collector.add("algbw", "GB/s", algbw)
    collector.add("busbw", "GB/s", busbw)
    collector.add("wrong", "count", wrong, may_be_zero=True)
    if wrong:
        collector.error(ProblemKind.DATA_CORRUPTION, f"{wrong} elements of {size} bytes are wrong")
    if not _fits(run, algbw, busbw):
        collector.error(ProblemKind.INCONSISTENT, f"algbw and busbw do not agree:{rest}")
    return True


def _fits(run: _Run, algbw: float, busbw: float) -> bool:
    expected = factor(run.collective, run.ranks) if run.ranks else None
    return (
        expected is not None and abs(busbw - expected * algbw) <= 2.5 * _HALF_GB_S + _EDGE * busbw
    )


def _check_whole(text: str, run: _Run, collector: OutputCollector) -> None:
    """Report no run, several runs, too few ranks, and a run that is not complete."""
    if run.runs > 1:
        collector.several_runs()
    elif not run.runs and not collector.has_errors:
        kind = ProblemKind.NO_TABLE if text.strip() else ProblemKind.NO_OUTPUT
        collector.error(kind, "no run of mpi-bench in this text")
    elif run.runs and run.ranks < _FEWEST_RANKS:
        collector.error(ProblemKind.TOO_FEW_RANKS, "a single rank moves no data between nodes")
    if run.runs == 1:
        _check_end(run, collector)


def _check_end(run: _Run, collector: OutputCollector) -> None:
    if len(run.hosts) != run.ranks:
        collector.error(
            ProblemKind.INCONSISTENT, f"{len(run.hosts)} of {run.ranks} ranks are listed"
        )
    if run.end is None:
        collector.error(ProblemKind.TRUNCATED, "no closing line: the run did not finish")
    elif run.end != (run.rows, run.wrong):
        collector.error(
            ProblemKind.TRUNCATED,
            f"{run.rows} rows with {run.wrong} wrong elements, but the closing line counts "
            f"{run.end[0]} with {run.end[1]}",
        )


def payload_bytes(parsed: Parsed) -> float:
    """Return the bytes that each node sent to the next, assuming a ring; 0 inside one node.

    busbw x time is what a ring sends from node to node in an iteration; warm-up iterations count.
    """
    nnodes = parsed.summary.get("nnodes")
    each = [parsed.summary.get(name, 0) for name in ("iterations", "warmup")]
    if not isinstance(nnodes, int) or nnodes < _FEWEST_RANKS:
        return 0.0
    times = sum(count for count in each if isinstance(count, int))
    found = {"busbw": [0.0], "time_us": [0.0]}
    for sample in parsed.samples:
        if sample.metric in found:
            found[sample.metric].append(sample.value)
    return times * sum(b * t * 1e3 for b, t in zip(found["busbw"], found["time_us"], strict=False))
