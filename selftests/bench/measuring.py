"""Tools of the benchmarks: rows, two sides in one run, child processes, growth.

A topic is a module ``bench_<topic>.py`` beside this one with ``TITLE`` (one line), ``ABOUT`` (a
few lines for the page: what is measured, and how) and one function::

    def rows() -> Iterable[Row]:
        for size in (1_000, 2_000, 4_000):              # three sizes or more: growth is fitted
            both = compare(lambda: ours(size), lambda: theirs(size))
            yield Row("collection", size, "items", both.measured, "s",
                      compared_with="bare pytest", baseline=both.baseline, ratio=both.ratio,
                      target=1.3, why="what stands in the way, in physics; shown if missed")

``measured`` is a cost (seconds, MiB): less is better. ``target`` is the most that the ratio may
be, or the measured value itself where nothing is compared. Rows of one ``what`` are one series:
``measured`` over ``size`` gives its growth exponent, which ``growth_max`` limits. Ratios come from
one run: ``compare`` takes both sides in turn, so that a load on the machine meets both.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import linear_regression, median
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from testing.places import ROOT

# Sorting grows with exponent 1.1 over a fourfold size, squares with 2; between them is noise.
GROWTH_MAX = 1.35
SIZES_FOR_GROWTH = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One size of one series. ``shown`` is the same in other words, such as a rate in MB/s."""

    what: str
    size: float
    size_unit: str
    measured: float
    unit: str
    compared_with: str = ""
    baseline: float | None = None
    ratio: float | None = None
    target: float | None = None
    why: str = ""
    shown: str = ""
    growth_max: float = GROWTH_MAX

    @property
    def judged(self) -> float:
        """What the target limits: the ratio, or the value if nothing is compared."""
        if self.ratio is not None:
            return self.ratio
        return self.measured if self.baseline is None else self.measured / self.baseline

    @property
    def missed(self) -> bool:
        return self.target is not None and not self.judged <= self.target


def row_to_json(row: Row) -> dict[str, Any]:
    return asdict(row)


def row_from_json(data: Mapping[str, Any]) -> Row:
    return Row(**data)


# --- growth ---


def exponent(points: Iterable[tuple[float, float]]) -> float | None:
    """``k`` of cost = c * size^k by least squares on logarithms; ``None`` below three sizes."""
    usable = [(math.log(size), math.log(cost)) for size, cost in points if size > 0 and cost > 0]
    if len({size for size, _ in usable}) < SIZES_FOR_GROWTH:
        return None
    return linear_regression(*zip(*usable, strict=True)).slope


def growths(rows: Sequence[Row]) -> dict[str, float | None]:
    """The growth exponent of each series."""
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        series.setdefault(row.what, []).append((row.size, row.measured))
    return {what: exponent(points) for what, points in series.items()}


def too_fast(row: Row, growth: float | None) -> bool:
    """Whether the series of ``row`` grows faster than allowed."""
    return growth is not None and growth > row.growth_max


# --- measuring ---


@dataclass(frozen=True, slots=True)
class Compared:
    """Medians of both sides, and the median of the ratios of each turn."""

    measured: float
    baseline: float
    ratio: float


def compare(ours: Callable[[], float], theirs: Callable[[], float], turns: int = 3) -> Compared:
    """Both sides in turn, ``turns`` times; each returns its own cost."""
    pairs = [(ours(), theirs()) for _ in range(turns)]
    return Compared(
        median(ours for ours, _ in pairs),
        median(theirs for _, theirs in pairs),
        median(ours / theirs for ours, theirs in pairs),
    )


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of this process, which other load on the machine changes little."""
    start = time.process_time()
    work()
    return time.process_time() - start


def wall_s(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Child:
    """A process that has ended: its cost, that of its children, and its output."""

    cpu_s: float
    wall_s: float
    peak_rss_mib: float
    stdout: str


# A process starts with the peak memory of its parent, so a small process must start it.
_FORK = """
import os, sys
pid = os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, used = os.wait4(pid, 0)
words = (os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss)
os.write(int(sys.argv[1]), " ".join(map(str, words)).encode())
"""


def child(
    argv: Sequence[str], cwd: Path = ROOT, codes: Collection[int] = (0,), **environment: str
) -> Child:
    """Run ``argv`` to its end. Raises ``RuntimeError`` with its output for another exit code."""
    start = time.perf_counter()
    with TemporaryFile("w+") as out, TemporaryFile("w+") as reported:
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _FORK, str(reported.fileno()), *argv],
            cwd=cwd, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **environment},
            pass_fds=[reported.fileno()], check=True,
        )  # fmt: skip
        wall = time.perf_counter() - start
        for file in (out, reported):
            file.seek(0)
        printed, (code, cpu, peak_kib) = out.read(), reported.read().split()
    if int(code) not in codes:
        raise RuntimeError(f"{argv[0]} exited {code}: {printed[-2000:]}")
    return Child(float(cpu), wall, int(peak_kib) / 1024, printed)


def python(
    *arguments: str, cwd: Path = ROOT, codes: Collection[int] = (0,), **environment: str
) -> Child:
    """``child`` of this interpreter, with bytecode kept between its calls, as users have it."""
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _bytecode().name}
    return child([sys.executable, *arguments], cwd, codes, **kept, **environment)


@cache
def _bytecode() -> TemporaryDirectory[str]:
    """Lives as long as this process; a program's first call fills it."""
    return TemporaryDirectory(prefix="railgauge-bench-")
