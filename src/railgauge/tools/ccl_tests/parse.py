"""The parser of collective tests: from a table or JSON to samples, summary and problems."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.core.units import KNOWN_UNITS, format_size
from railgauge.tools.ccl_tests.consistency import (
    announced,
    asked_for,
    check_rows,
    check_tables,
    check_whole,
)
from railgauge.tools.ccl_tests.facts import Facts, RankDevice, summarise
from railgauge.tools.ccl_tests.log import Log
from railgauge.tools.ccl_tests.problems import find_problems
from railgauge.tools.ccl_tests.rows import CclRow, Figure, Side
from railgauge.tools.ccl_tests.tables import CclReading, read_lines
from railgauge.tools.collector import OutputCollector
from railgauge.tools.documents import integer, items, part
from railgauge.tools.relations import Statistics
from railgauge.tools.text import clean

# Times of single iterations (-I); from 10 ms on they have one decimal.
_RELATIONS = (Statistics("(?P<of>iteration)_(?P<as>min|p99|max)_us", 0.1),)


def parse(text: str) -> Parsed:
    """Read the output of one run, as a table or as the JSON file of ``-J``.

    Never raises and takes time linear in the text. Samples: ``time_us`` (``us``; ``cputime_us``
    with ``-C``), ``iteration_min_us``, … (with ``-I``), ``algbw`` and ``busbw`` (``GB/s``),
    ``wrong`` (``count``; absent where results were not checked), each with the placement
    ``out_of_place`` or ``in_place`` and the size of the sweep (see ``asked_for``); rows with the
    same size are iterations. Rows that were printed before an error are kept beside the error,
    which makes all values invalid.

    ``summarise`` describes ``summary``. An output in which rows were replaced by dots (``...``) is
    read with warnings.
    """
    text = clean(text)
    collector = OutputCollector(relations=_RELATIONS)
    read = _read_json if is_json(text) else _read_text
    rows, facts, log, is_binary = read(text, collector)
    sizes = announced(facts)
    for row in rows:
        collector.size_bytes = asked_for(row.size_bytes, sizes, facts.nranks)
        _take_row(row, collector, means="GiB/s" if is_binary else "")
    return collector.parsed("ccl-tests", facts.tool_version, summarise(rows, facts, log))


_Read = tuple[list[CclRow], Facts, Log, bool]
"""Rows, facts around them, the library's log, and whether bandwidths are GiB/s."""


def _read_json(text: str, collector: OutputCollector) -> _Read:
    rows, facts = _read_document(text, collector)
    check_rows(rows, facts, collector)
    check_whole(rows, facts, collector)
    return rows, facts, Log(), False


def _read_text(text: str, collector: OutputCollector) -> _Read:
    reading, facts, log, lines = CclReading(collector), Facts(), Log(), []
    for line in read_lines(text):
        reading.take(line)
        facts.take(line)
        log.take(line)
        lines.append(line.text)
        if "CCL WARN" in line.log:
            collector.warn(ProblemKind.LIBRARY_WARNING, line.log[:200])
    facts.logged_ranks = log.nranks
    complaints = find_problems("\n".join(lines))
    why = bool(complaints)
    is_binary = check_tables(reading, facts, text, collector, is_explained=why)
    collector.problems[:0] = complaints
    return reading.rows, facts, log, is_binary


def _take_row(row: CclRow, collector: OutputCollector, means: str) -> None:
    """Add the samples of a row; ``means`` is the true unit if the tool misnames it ``GB/s``."""
    for side in row.sides:
        # With -C the first column is the CPU's time to launch, not the collective's time.
        time = "cputime_us" if side.is_cpu_time else "time_us"
        wrong = None if side.wrong is None else Figure(side.wrong, 0, "count")
        figures = {time: side.time, "algbw": side.algbw, "busbw": side.busbw, "wrong": wrong}
        figures |= {f"iteration_{name}_us": one for name, one in side.iterations.items()}
        for metric, figure in figures.items():
            if figure is not None:
                _take_figure(metric, figure, side.placement, collector, means)
        _check_results(row, side, collector)


def _take_figure(
    metric: str, figure: Figure, placement: str | None, collector: OutputCollector, means: str
) -> None:
    if wrong := _wrong(metric, figure, collector.size_bytes or 0):
        collector.refuse(*wrong, metric, placement)
        return
    unit_means = means if figure.unit == "GB/s" else ""
    collector.keep(metric, figure.unit, figure.value, placement, unit_means)


def _check_results(row: CclRow, side: Side, collector: OutputCollector) -> None:
    where = f"at {format_size(row.size_bytes)}, {side.placement or 'result'}"
    if side.wrong:
        collector.error(ProblemKind.DATA_CORRUPTION, f"{side.wrong:g} wrong values {where}")
    elif side.is_flagged:
        message = f"an error above the tool's threshold {where}"
        collector.error(ProblemKind.DATA_CORRUPTION, message)
    if side.different_bits:
        message = f"{side.different_bits:g} bits differ between runs {where}"
        collector.error(ProblemKind.BITWISE_MISMATCH, message)


def _wrong(metric: str, figure: Figure, size_bytes: int) -> tuple[ProblemKind, str] | None:
    where = f"{metric} at {format_size(size_bytes)}"
    if figure.unit not in KNOWN_UNITS:
        return ProblemKind.UNIT_UNKNOWN, f"{where} has the unknown unit {figure.unit!r}"
    if not math.isfinite(figure.value) or figure.value < 0:
        return ProblemKind.NOT_A_NUMBER, f"{where} is {figure.value}"
    if metric == "time_us" and figure.value == 0 and size_bytes > 0:
        return ProblemKind.ZERO_VALUE, f"{where} is 0"
    return None


# --- the file that ``-J`` writes ---

# jsonDouble prints six decimals.
_HALF = 0.5e-6
_CONFIG = {
    "nthreads": "threads",
    "ngpus": "gpus_per_process",
    "minimum_bytes": "minimum_bytes",
    "maximum_bytes": "maximum_bytes",
    "step_factor": "step",
    "step_bytes": "step",
    "warmup_iters": "warmup",
    "iterations": "iterations",
    "aggregated_iterations": "aggregated",
    "validation": "validation",
    "graph": "graph",
}


def is_json(text: str) -> bool:
    return text.lstrip()[:1] == "{"


def _read_document(text: str, collector: OutputCollector) -> tuple[list[CclRow], Facts]:
    """Return rows and facts of the file that ``-J`` writes.

    The file writes booleans and NaN as strings. It also holds the complete environment of the run,
    which is neither read nor kept.
    """
    facts = Facts(library="NCCL")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        collector.error(ProblemKind.TRUNCATED, f"not a complete JSON file: {error}")
        return [], facts
    if not isinstance(document, dict) or not isinstance(document.get("results"), list):
        collector.error(ProblemKind.NO_TABLE, "the JSON holds no results of nccl-tests")
        return [], facts
    _take_config(document, facts)
    _take_devices(document, facts)
    _take_foot(document, facts)
    for message in _list(document, "errors"):
        collector.error(ProblemKind.TOOL_FAILED, str(message)[:200])
    rows = [_row(entry) for entry in document["results"]]
    if None in rows:
        collector.error(ProblemKind.UNPARSABLE, "a result has no size or no values")
    if not rows:
        collector.error(ProblemKind.TRUNCATED, "no result: nothing was measured")
    if "end_time" not in document:
        collector.error(ProblemKind.TRUNCATED, "no end time: the run did not finish")
    return [row for row in rows if row], facts


def _take_config(document: Mapping[str, Any], facts: Facts) -> None:
    config = part(document, "config")
    facts.argument_lines = 1
    facts.is_step_factor = "step_bytes" not in config
    for name, field in _CONFIG.items():
        if isinstance(value := config.get(name), int):
            facts.numbers[field] = value
    version = document.get("nccl_version")
    if isinstance(version, int):
        major, rest = divmod(version, 10_000)
        facts.library_version = f"{major}.{rest // 100}.{rest % 100}"
    arguments = _list(document, "args")
    program = str(arguments[0]).rpartition("/")[2].removesuffix("_mpi") if arguments else ""
    if program.endswith("_perf"):
        facts.collective = program.removesuffix("_perf")


def _take_devices(document: Mapping[str, Any], facts: Facts) -> None:
    """Read ranks and devices: one device a process is listed, its other ranks follow it."""
    config = part(document, "config")
    count = facts.numbers.get("threads", 1) * facts.numbers.get("gpus_per_process", 1)
    for device in items(config.get("devices")) or items(document.get("devices")):
        first = integer(device.get("rank"))
        if first is None:
            continue
        facts.devices.append(_device_of(first, device))
        for rank in range(first, first + min(count, 64)):
            facts.repeated_ranks += rank in facts.ranks
            facts.ranks[rank] = str(device.get("hostname", ""))
        if isinstance(group := device.get("group"), int):
            facts.groups.add(group)


def _device_of(rank: int, device: Mapping[str, object]) -> RankDevice:
    host, bus, model = (str(device.get(k, "")) for k in ("hostname", "device_hex", "device_info"))
    return RankDevice(rank, host, integer(device.get("device")) or 0, bus, model)


def _take_foot(document: Mapping[str, Any], facts: Facts) -> None:
    bounds, average = part(document, "out_of_bounds"), document.get("average_bus_bandwidth")
    if isinstance(count := bounds.get("count"), int):
        facts.bounds_lines = 1
        facts.out_of_bounds = count
        facts.bounds_failed = bounds.get("okay") in {"false", False}
    facts.bitwise_mismatches = integer(part(document, "bitwise_mismatches").get("count")) or 0
    if isinstance(average, dict):
        facts.average = _figure(average.get("bandwidth"), "GB/s")
        facts.average_failed = average.get("okay") in {"false", False}


def _row(entry: object) -> CclRow | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("size"), int):
        return None
    sides = [
        _side(name, entry[name])
        for name in ("out_of_place", "in_place")
        if isinstance(entry.get(name), dict)
    ]
    known = tuple(side for side in sides if side)
    if not known or len(known) != len(sides):
        return None
    return CclRow(entry["size"], str(entry.get("type", "")), str(entry.get("redop", "")), known)


def _side(placement: str, cells: Mapping[str, Any]) -> Side | None:
    is_cpu = "cpu_time" in cells
    time = _figure(cells.get("cpu_time" if is_cpu else "time"), "us")
    algbw, busbw = _figure(cells.get("alg_bw"), "GB/s"), _figure(cells.get("bus_bw"), "GB/s")
    if time is None or algbw is None or busbw is None:
        return None
    wrong = _figure(cells.get("nwrong"), "count")
    bits = _figure(part(cells, "bitwise").get("different_bits"), "count")
    return Side(
        placement,
        time,
        algbw,
        busbw,
        is_cpu,
        wrong=wrong.value if wrong else None,
        has_check="nwrong" in cells,
        different_bits=bits.value if bits else 0.0,
    )


def _figure(value: object, unit: str) -> Figure | None:
    if value in {"nan", "inf", "-nan", "-inf"}:
        return Figure(float(str(value)), 0.0, unit)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Figure(float(value), _HALF, unit)


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
    found = document.get(name)
    return found if isinstance(found, list) else []


_GB, _US = 1e9, 1e-6


def payload_bytes(parsed: Parsed) -> float:
    """Return the bytes that each node sent to the others, assuming a ring; 0 inside one node.

    busbw x time is what one rank sends in an iteration (2(n-1)/n of the message for all_reduce). A
    ring enters and leaves every node once, so that all ranks of a node together send this amount
    to the next node.
    """
    nnodes, iterations = parsed.summary.get("nnodes"), parsed.summary.get("iterations")
    if not isinstance(nnodes, int) or nnodes < 2 or not isinstance(iterations, int):  # noqa: PLR2004
        return 0.0
    keys = {
        (s.size_bytes, s.placement, s.iteration): s.value
        for s in parsed.samples
        if s.metric == "time_us"
    }
    return iterations * sum(
        sample.value * _GB * keys[key] * _US
        for sample in parsed.samples
        if sample.metric == "busbw"
        and (key := (sample.size_bytes, sample.placement, sample.iteration)) in keys
    )
