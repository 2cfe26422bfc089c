"""The file that ``-J`` writes: truth values are the strings ``true`` and ``false``, NaN is one too.

The file holds the whole environment of the run; nothing of it is read or kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from railgauge.core.model import Problem
from railgauge.tools.ccl_tests.facts import Device, Facts
from railgauge.tools.ccl_tests.figures import Figure
from railgauge.tools.ccl_tests.rows import Row, Side

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


def read_json(text: str) -> tuple[list[Row], Facts, list[Problem]]:
    """Rows, facts and what is wrong with the file; never raises."""
    facts = Facts(library="NCCL")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        return [], facts, [_problem("truncated", f"not a whole JSON file: {error}")]
    if not isinstance(document, dict) or not isinstance(document.get("results"), list):
        return [], facts, [_problem("no-table", "JSON without results of nccl-tests")]
    _take_config(document, facts)
    _take_devices(document, facts)
    _take_foot(document, facts)
    problems = [_problem("tool-failed", str(error)[:200]) for error in _list(document, "errors")]
    rows = [_row(entry) for entry in document["results"]]
    if None in rows:
        problems.append(_problem("unparsable", "a result lacks its size or its figures"))
    if not rows:
        problems.append(_problem("truncated", "no result: nothing was measured"))
    if "end_time" not in document:
        problems.append(_problem("truncated", "no end time: the run did not end"))
    return [row for row in rows if row], facts, problems


def _take_config(document: Mapping[str, Any], facts: Facts) -> None:
    config = _mapping(document, "config")
    facts.argument_lines = 1
    facts.is_step_factor = "step_bytes" not in config
    for name, field in _CONFIG.items():
        if isinstance(config.get(name), int):
            facts.numbers[field] = config[name]
    version = document.get("nccl_version")
    if isinstance(version, int):
        major, rest = divmod(version, 10_000)
        facts.library_version = f"{major}.{rest // 100}.{rest % 100}"
    arguments = _list(document, "args")
    program = str(arguments[0]).rpartition("/")[2] if arguments else ""
    if program.endswith("_perf"):
        facts.collective = program.removesuffix("_perf")


def _take_devices(document: Mapping[str, Any], facts: Facts) -> None:
    """One device a process is listed; with several GPUs a process the others follow it."""
    config = _mapping(document, "config")
    devices = _list(config, "devices") or _list(document, "devices")
    for device in devices:
        if not isinstance(device, dict) or not isinstance(device.get("rank"), int):
            continue
        facts.devices.append(_device_of(device))
        count = facts.numbers.get("threads", 1) * facts.numbers.get("gpus_per_process", 1)
        for rank in range(device["rank"], device["rank"] + min(count, 64)):
            facts.repeated_ranks += rank in facts.ranks
            facts.ranks[rank] = str(device.get("hostname", ""))
        if isinstance(device.get("group"), int):
            facts.groups.add(device["group"])


def _device_of(device: Mapping[str, Any]) -> Device:
    number = device.get("device")
    host, bus, model = (str(device.get(k, "")) for k in ("hostname", "device_hex", "device_info"))
    return Device(device["rank"], host, number if isinstance(number, int) else 0, bus, model)


def _take_foot(document: Mapping[str, Any], facts: Facts) -> None:
    bounds, average = _mapping(document, "out_of_bounds"), document.get("average_bus_bandwidth")
    if isinstance(bounds.get("count"), int):
        facts.bounds_lines = 1
        facts.out_of_bounds = bounds["count"]
        facts.bounds_failed = bounds.get("okay") in {"false", False}
    bits = _mapping(document, "bitwise_mismatches").get("count")
    facts.bitwise_mismatches = bits if isinstance(bits, int) else 0
    if isinstance(average, dict):
        facts.average = _figure(average.get("bandwidth"), "GB/s")
        facts.average_failed = average.get("okay") in {"false", False}


def _row(entry: object) -> Row | None:
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
    return Row(entry["size"], str(entry.get("type", "")), str(entry.get("redop", "")), known)


def _side(placement: str, cells: Mapping[str, Any]) -> Side | None:
    is_cpu = "cpu_time" in cells
    time = _figure(cells.get("cpu_time" if is_cpu else "time"), "us")
    algbw, busbw = _figure(cells.get("alg_bw"), "GB/s"), _figure(cells.get("bus_bw"), "GB/s")
    if time is None or algbw is None or busbw is None:
        return None
    wrong = _figure(cells.get("nwrong"), "count")
    bits = _figure(_mapping(cells, "bitwise").get("different_bits"), "count")
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


def _mapping(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
    found = document.get(name)
    return found if isinstance(found, list) else []


def _problem(kind: str, message: str) -> Problem:
    return Problem(kind, "error", message)
