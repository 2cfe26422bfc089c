"""OSU micro-benchmarks (only read): point-to-point and collective tests of MPI, versions 3 to 7."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.relations import Statistics
from railgauge.tools.text import clean, lines
from railgauge.tools.torn import complain, figures_at_an_end

_LONGEST_LINE = 400
_TITLE = re.compile(r"# OSU ([\w \-/]{1,100}) Test ?v?([0-9][\w.]{0,20})\s{0,40}")
_HEADING = re.compile(r"# (?:Size {2,60})?(?:\S[^\n]{0,300})\s{0,40}")
_COLUMNS = {
    "Bandwidth (MB/s)": ("bandwidth", "MB/s"),
    "MB/s": ("bandwidth", "MB/s"),
    "Latency (us)": ("latency", "us"),
    "Avg Latency(us)": ("latency_avg", "us"),
    "Min Latency(us)": ("latency_min", "us"),
    "Max Latency(us)": ("latency_max", "us"),
    "Messages/s": ("message_rate", "1/s"),
    "Iterations": ("", ""),
    "Validation": ("", ""),
}
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,6})?")
_SIZE = re.compile(r"[0-9]{1,15}")
_RELATIONS = (Statistics("(?P<of>latency)_(?P<as>min|avg|max)", 0.01),)


@dataclass(slots=True)
class _Run:
    """The tests of the text, the columns of the current one, and the sizes of its rows."""

    tests: list[str] = field(default_factory=list)
    version: str | None = None
    columns: tuple[str, ...] = ()
    sizes: list[int | None] = field(default_factory=list)


def parse(text: str) -> Parsed:
    """Read the table of one test. Never raises and takes time linear in the text.

    ``bandwidth`` (decimal ``MB/s``), ``latency``, ``latency_avg``, ``latency_min``, ``latency_max``
    (``us``), ``message_rate`` (``1/s``) of each size; a barrier has none. A size that is missing
    between two others is ``sweep-gap``, a failed validation ``data-corruption``. The tests print no
    last line: the warning ``no-closing-line``.
    """
    run = _Run()
    collector = OutputCollector(relations=_RELATIONS)
    printed = clean(text)
    for line, is_whole in lines(printed, _LONGEST_LINE):
        _take(line, run, collector, is_whole=is_whole)
    _check(printed, run, collector)
    summary = {"test": run.tests[0]} if run.tests else {}
    return collector.parsed("osu", run.version, summary)


def _take(line: str, run: _Run, collector: OutputCollector, *, is_whole: bool) -> None:
    if title := _TITLE.fullmatch(line):
        run.tests.append(title[1])
        run.version, run.columns = title[2], ()
    elif run.tests and not run.columns and _HEADING.fullmatch(line):
        _take_heading(line, run, collector)
    elif run.columns and "0" <= line.strip()[:1] <= "9":
        _take_row(line.split(), run, collector, is_whole=is_whole)
    elif run.columns and not line.startswith("#") and figures_at_an_end(line):
        complain(line, collector)


def _take_heading(line: str, run: _Run, collector: OutputCollector) -> None:
    names = tuple(re.split(r" {2,60}", line.removeprefix("#").strip()))
    unknown = [name for name in names if name != "Size" and name not in _COLUMNS]
    if not any(name in _COLUMNS for name in names):
        return  # a remark, such as the data type
    if unknown:
        collector.error(ProblemKind.UNKNOWN_COLUMN, f"no known version prints {unknown[0]!r}")
    run.columns = names


def _take_row(words: list[str], run: _Run, collector: OutputCollector, *, is_whole: bool) -> None:
    row = dict(zip(run.columns, words, strict=False))
    numbers = [word for name, word in row.items() if name != "Validation"]
    if not is_whole or len(words) != len(run.columns) or not all(map(_NUMBER.fullmatch, numbers)):
        collector.error(ProblemKind.TRUNCATED, f"row cut off or unknown: {' '.join(words)[:120]}")
        return
    size = row.get("Size")
    collector.size_bytes = int(size) if size and _SIZE.fullmatch(size) else None
    run.sizes.append(collector.size_bytes)
    if row.get("Validation", "Pass") != "Pass":
        collector.error(ProblemKind.DATA_CORRUPTION, f"validation at {size} B: {row['Validation']}")
    for name, word in row.items():
        metric, unit = _COLUMNS.get(name, ("", ""))
        if metric:
            collector.add(metric, unit, float(word))


def _check(text: str, run: _Run, collector: OutputCollector) -> None:
    if len(run.tests) > 1:
        collector.error(ProblemKind.SEVERAL_TABLES, "several tests in one output; give one test")
    elif not run.tests:
        collector.nothing(text, "no test of the OSU micro-benchmarks in this text")
    elif not run.sizes and not collector.has_errors:
        collector.error(ProblemKind.TRUNCATED, "the output ends before the first row")
    elif run.sizes:
        sizes = [size for size in run.sizes if size]
        gap = next((small for small, large in pairwise(sizes) if _skips(small, large)), None)
        if gap is not None or len(set(run.sizes)) < len(run.sizes):
            what = (
                f"after {gap} B sizes are missing" if gap is not None else "a size is there twice"
            )
            collector.error(ProblemKind.SWEEP_GAP, what)
        message = "the tests print no last line: the largest sizes may be missing"
        collector.warn(ProblemKind.NO_CLOSING_LINE, message)


def _skips(small: int, large: int) -> bool:
    """Whether a size is missing: these tests double the size from row to row."""
    return large != 2 * small
