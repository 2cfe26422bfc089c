"""The output of either victim: each part is read by the parser of its own tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from railgauge.core.errors import UnitUnknown
from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.core.units import convert
from railgauge.launchers import PROGRAMS
from railgauge.tools import ccl_tests, perftest
from railgauge.tools.ccl_tests.consistency import UNFINISHED
from railgauge.tools.ccl_tests.plan import COMMANDS as COLLECTIVES
from railgauge.tools.collector import OutputCollector, missing_program
from railgauge.tools.congestion.plan import (
    AGAIN,
    BANDWIDTH,
    ISOLATED,
    LATENCY,
    LOADED,
    PHASES,
    TESTS,
)
from railgauge.tools.perftest.plan import COMMANDS as PERFTEST
from railgauge.tools.text import clean

_PART = re.compile(r"^railgauge congestion ([a-z]{1,10} [a-z]{1,10})$", re.MULTILINE)
_FAILED = re.compile(r"^railgauge congestion failed: ([^\n]{1,200})", re.MULTILINE)
_PROGRAMS = (*PROGRAMS, *COLLECTIVES, *PERFTEST)
_END = "the end"
_BEFORE, _DURING, _AFTER = OF_LOAD = ("load before", "load during", "load after")
_SERVED = (*(f"{phase} {test}" for phase in PHASES for test in TESTS), _END)
_LED = (*_SERVED[:2], _BEFORE, *_SERVED[2:4], _DURING, _AFTER, *_SERVED[4:])
LOAD = "load"
"""The key of the summary that has the parsed output of the load; the tests have their parts'."""
_FIGURES = {LATENCY: ("lat_p99", "us"), BANDWIDTH: ("bw_average", "Gb/s")}


def parse(text: str) -> Parsed:
    """Read what one victim printed. Never raises and takes time linear in the text.

    Samples, of the first victim: ``p99_isolated``, ``p99_loaded``, ``p99_again`` (``us``),
    ``bandwidth_isolated``, … (``Gb/s``), each also divided as ``latency_impact`` and
    ``bandwidth_impact`` by the better one of the two without load, and ``load_busbw`` (``GB/s``):
    the slowest row of the load that was printed while perftest ran, or as the next one. All parts
    must be there in their order, and the load must have printed rows before, during and after.
    ``summary`` has the parsed output of each part (``loaded latency``), and of the ``load``.
    """
    text = clean(text)
    collector, parts = OutputCollector(), _parts(text)
    names = [name for name, _ in parts]
    if missing := missing_program(text, _PROGRAMS):
        collector.problems.append(missing)
    elif failed := _FAILED.search(text):
        collector.error(ProblemKind.TOOL_FAILED, failed[1])
    elif not names:
        collector.nothing(text, "no part of a measurement of congestion in this text")
    elif tuple(names) not in (_SERVED, _LED):
        collector.error(*_wrong_order(names))
    read = dict(_read(dict(parts), collector))
    if tuple(names) == _LED and not collector.has_errors:
        _add_figures(dict(parts), read, collector)
    return collector.parsed("congestion", None, read)


def _parts(text: str) -> list[tuple[str, str]]:
    """Return the parts with their names, in the order of the text."""
    found = _PART.split(text)[1:]
    return list(zip(found[::2], found[1::2], strict=True))


def _wrong_order(names: list[str]) -> tuple[ProblemKind, str]:
    for known in (_SERVED, _LED):
        if tuple(names) == known[: len(names)]:
            return ProblemKind.TRUNCATED, f"the output ends in the part {names[-1]!r}"
    return ProblemKind.INCONSISTENT, f"the parts are not those of one run: {', '.join(names)[:150]}"


def _read(parts: Mapping[str, str], collector: OutputCollector) -> Iterator[tuple[str, Parsed]]:
    for name in _SERVED[:-1]:
        if name in parts:
            yield name, _noted(perftest.parse(parts[name]), collector)
    if any(name in parts for name in OF_LOAD):
        text = "".join(parts.get(name, "").lstrip("\n") for name in OF_LOAD)
        yield LOAD, _noted(_unending(ccl_tests.parse(text)), collector)


def _noted(parsed: Parsed, collector: OutputCollector) -> Parsed:
    collector.problems += parsed.problems
    return parsed


def _unending(parsed: Parsed) -> Parsed:
    """Return the load without the problem that it was ended: that is how it must end."""
    problems = tuple(one for one in parsed.problems if one.message != UNFINISHED)
    return replace(parsed, problems=problems)


def _add_figures(
    parts: Mapping[str, str], read: Mapping[str, Parsed], collector: OutputCollector
) -> None:
    for test, best in ((LATENCY, min), (BANDWIDTH, max)):
        _add_impact(test, best, read, collector)
    counts = {name: len(_busbw(ccl_tests.parse(parts[name]))) for name in OF_LOAD}
    if not all(counts.values()):
        printed = ", ".join(f"{count} {name}" for name, count in counts.items())
        what = f"the load did not run all the time: rows of {printed}"
        collector.error(ProblemKind.METRIC_MISSING, what)
    elif meanwhile := _busbw(read[LOAD])[counts[_BEFORE] :]:
        collector.add("load_busbw", "GB/s", min(meanwhile))


def _add_impact(
    test: str,
    best: Callable[[Sequence[float]], float],
    read: Mapping[str, Parsed],
    collector: OutputCollector,
) -> None:
    """Add the figures of a test, and what load does to the best one without it."""
    found = {phase: _figure(read[f"{phase} {test}"], test) for phase in PHASES}
    name, unit = "p99" if test == LATENCY else test, _FIGURES[test][1]
    for phase, value in found.items():
        if value is None:
            what = f"{phase} {test}: not one {_FIGURES[test][0]}"
            collector.error(ProblemKind.METRIC_MISSING, what)
        else:
            collector.add(f"{name}_{phase}", unit, value)
    quiet, loaded = [found[phase] for phase in (ISOLATED, AGAIN)], found[LOADED]
    known = [value for value in quiet if value]
    if loaded and len(known) == len(quiet):
        collector.add(f"{test}_impact", "1", loaded / best(known))


def _figure(parsed: Parsed, test: str) -> float | None:
    """Return the one figure of a test in its unit; ``None`` if it is not there, or there twice."""
    metric, unit = _FIGURES[test]
    found = [one for one in parsed.samples if one.metric == metric]
    if len(found) != 1:
        return None
    try:
        return convert(found[0].value, found[0].unit_means or found[0].unit, unit)
    except UnitUnknown:
        return None


def _busbw(parsed: Parsed) -> list[float]:
    """Return the bus bandwidths of all rows, in the order in which they were printed."""
    return [one.value for one in parsed.samples if one.metric == "busbw" and one.unit == "GB/s"]
