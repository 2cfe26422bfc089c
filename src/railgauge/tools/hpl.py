"""High-Performance Linpack (only read): ``xhpl`` 2.x and the vendors' builds of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.text import clean, lines

_LONGEST_LINE = 400
_VERSION = re.compile(r"^\s{0,40}HPLinpack ([0-9][\w.]{0,20})\s", re.MULTILINE)
_ROW = re.compile(
    r"\s{0,40}(W[RC][0-9]{1,3}[LRC][0-9]{1,2}[LRC][0-9]{1,3})\s{1,40}([0-9]{1,10})\s{1,40}"
    r"([0-9]{1,6})\s{1,40}([0-9]{1,6})\s{1,40}([0-9]{1,6})\s{1,40}([0-9]{1,9}\.[0-9]{2})\s{1,40}"
    r"([0-9]\.[0-9]{2,8}e[+-][0-9]{2})(?: \( ?[0-9.e+]{1,16}\))?\s{0,40}"
)
_CHECK = re.compile(
    r"\s{0,40}\|\|Ax-b\|\|_oo/[^=\n]{1,120}= {0,20}([0-9.e+-]{1,20}|-?nan|inf) \.{3,9} "
    r"(PASSED|FAILED)\s{0,40}"
)
_COUNT = re.compile(r"\s{0,40}([0-9]{1,9}) tests completed and (passed|failed) residual checks,\s*")
_END = "End of Tests."
# Six digits of the rate, and two decimals of the seconds.
_DIGITS = 1e-3
_HALF_S = 0.006


@dataclass(slots=True)
class _Run:
    """``rows`` counts the rows, ``checks`` holds the result of each check."""

    rows: int = 0
    checks: list[str] = field(default_factory=list)
    counts: list[tuple[str, int]] = field(default_factory=list)
    ends: int = 0


def parse(text: str) -> Parsed:
    """Read all tests of one run. Never raises and takes time linear in the text.

    ``gflops`` (``GFLOP/s``) and ``time`` (``s``) of each test, which are its repeats; the placement
    is its size and grid, ``N114000/NB768/1x1``. The rate must follow from N and the time. A failed
    residual check is ``data-corruption``; a test without its check, a count that does not fit and a
    run without ``End of Tests.`` are ``truncated``.
    """
    text = clean(text)
    collector, run = OutputCollector(), _Run()
    for line, is_whole in lines(text, _LONGEST_LINE):
        _take(line, run, collector, is_whole=is_whole)
    _check(text, run, collector)
    version = _VERSION.search(text)
    return collector.parsed("hpl", version[1] if version else None, {"tests": run.rows})


def _take(line: str, run: _Run, collector: OutputCollector, *, is_whole: bool) -> None:
    if row := _ROW.fullmatch(line):
        if is_whole:
            _take_row(row, run, collector)
    elif check := _CHECK.fullmatch(line):
        run.checks.append(check[2])
        if check[2] == "FAILED":
            collector.error(ProblemKind.DATA_CORRUPTION, f"the residual {check[1]} is too large")
    elif count := _COUNT.fullmatch(line):
        run.counts.append((count[2], int(count[1])))
    elif line.strip() == _END:
        run.ends += 1


def _take_row(row: re.Match[str], run: _Run, collector: OutputCollector) -> None:
    size, seconds, rate = float(row[2]), float(row[6]), float(row[7])
    run.rows += 1
    if len(run.checks) != run.rows - 1:
        collector.error(ProblemKind.TRUNCATED, f"the test before N={row[2]} has no residual check")
    place = f"N{row[2]}/NB{row[3]}/{row[4]}x{row[5]}"
    collector.add("gflops", "GFLOP/s", rate, place)
    collector.add("time", "s", seconds, place)
    work = (2 * size**3 / 3 + 3 * size**2 / 2) / 1e9
    if seconds <= _HALF_S or not (
        work / (seconds + _HALF_S) * (1 - _DIGITS)
        <= rate
        <= work / (seconds - _HALF_S) * (1 + _DIGITS)
    ):
        what = f"{rate:g} GFLOP/s do not follow from N={row[2]} in {seconds} s"
        collector.error(ProblemKind.INCONSISTENT, what)


def _check(text: str, run: _Run, collector: OutputCollector) -> None:
    if run.ends > 1 or len(run.counts) > len(_COUNTED):
        collector.several_runs()
    elif not run.rows and not run.checks and not run.counts:
        collector.nothing(text, "no test of HPL in this text")
    else:
        counted = dict(run.counts)
        found = {result: run.checks.count(result.upper()) for result in _COUNTED}
        if not run.ends or counted != found or sum(found.values()) != run.rows:
            tests = f"{run.rows} tests and {len(run.checks)} checks"
            collector.error(ProblemKind.TRUNCATED, f"{tests}, and {counted or 'nothing'} counted")


_COUNTED = ("passed", "failed")
