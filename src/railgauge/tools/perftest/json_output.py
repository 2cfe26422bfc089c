"""What ``--out_json`` writes.

The file says no unit: a bandwidth is taken only if its message rate shows which unit it is in.
Latencies are microseconds, as perftest writes them unless ``-C`` asks for cycles. After a sweep the
file holds the last size alone. Raw Ethernet with QoS and ``--output=bandwidth`` write JSON
that is not valid; that is a problem, not a guess.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from railgauge.core.model import Problem
from railgauge.tools.perftest.bandwidth import Figures, fitting_unit
from railgauge.tools.perftest.samples import Collection
from railgauge.tools.perftest.summary import memory_of, summarise

_BANDWIDTHS = {"BW_peak": "bw_peak", "BW_average": "bw_average"}
_OTHERS = {
    "MsgRate": ("msg_rate", "Mpps"),
    "t_min": ("lat_min", "us"),
    "t_max": ("lat_max", "us"),
    "t_typical": ("lat_typical", "us"),
    "t_avg": ("lat_avg", "us"),
    "t_stdev": ("lat_stdev", "us"),
    "percentile_99": ("lat_p99", "us"),
    "percentile_99.9": ("lat_p999", "us"),
    "tps_average": ("tps", "1/s"),
}
_FIELDS = {
    "Device": "Device",
    "Number_of_qps": "Number of qps",
    "Transport_type": "Transport type",
    "Connection_type": "Connection type",
    "PCIe_relax_order": "PCIe relax order",
    "Mtu": "Mtu",
    "Link_type": "Link type",
    "GID_index": "GID index",
    "Use_ROCm_memory": "Use ROCm memory",
    "Use_MACA_memory": "Use MACA memory",
}
_LARGEST_SIZE = 2**63
_DECIMALS = 2


def is_json(text: str) -> bool:
    """Whether the text is ``--out_json`` rather than a table."""
    return text.lstrip().startswith("{") or ('"test_info"' in text and "#bytes" not in text)


def read_json(text: str) -> tuple[Collection, dict[str, object], dict[int, int]]:
    """Samples, summary and iterations by size of one or more documents."""
    collection = Collection()
    summary: dict[str, object] = {}
    iterations: dict[int, int] = {}
    for document in _documents(text, collection):
        summary = summary or _summary(document)
        for result in _results(document):
            _read_result(result, collection, iterations)
    if not iterations and not collection.problems:
        collection.complain("no-table", "JSON without results of perftest")
    return collection, summary, iterations


def _documents(text: str, collection: Collection) -> Iterator[dict[str, object]]:
    decoder = json.JSONDecoder()
    position = text.find("{")
    while position >= 0:
        try:
            document, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            collection.problems.append(_invalid(error))
            return
        yield document
        rest = text[end : end + 1000].lstrip()
        position = text.find("{", end) if rest.startswith("{") else -1


def _invalid(error: Exception) -> Problem:
    return Problem(
        "unparsable",
        "error",
        f"invalid or unfinished JSON ({str(error)[:100]}); raw Ethernet with QoS and"
        " --output=bandwidth write such files",
    )


def _results(document: dict[str, object]) -> list[dict[str, object]]:
    results = document.get("results")
    entries = results if isinstance(results, list) else [results]
    return [entry for entry in entries if isinstance(entry, dict)]


def _read_result(
    result: dict[str, object], collection: Collection, iterations: dict[int, int]
) -> None:
    size, count = result.get("MsgSize"), result.get("n_iterations")
    if not isinstance(size, int) or not 0 <= size < _LARGEST_SIZE or isinstance(size, bool):
        collection.complain("unparsable", f"no message size in the JSON: {str(size)[:40]!r}")
        return
    iterations[size] = count if isinstance(count, int) else 0
    _read_bandwidths(result, size, collection)
    for key, (metric, unit) in _OTHERS.items():
        value = _number(result, key, collection)
        if value is not None:
            collection.add(metric, unit, value, size)


def _read_bandwidths(result: dict[str, object], size: int, collection: Collection) -> None:
    if not _BANDWIDTHS.keys() & result.keys():
        return
    unit = _unit(result, size)
    if unit is None:
        message = "the JSON says no unit and the message rate does not show which one it is"
        collection.complain("unit-unknown", message)
        return
    for key, metric in _BANDWIDTHS.items():
        value = _number(result, key, collection)
        if value is not None:
            collection.add(metric, unit, value, size)


def _unit(result: dict[str, object], size: int) -> str | None:
    average, rate = result.get("BW_average"), result.get("MsgRate")
    if not isinstance(average, float) or not isinstance(rate, float):
        return None
    return fitting_unit([Figures(size, average, _DECIMALS, rate)])


def _number(result: dict[str, object], key: str, collection: Collection) -> float | None:
    value = result.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        collection.complain("not-a-number", f"{key} is {str(value)[:40]!r}")
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _summary(document: dict[str, object]) -> dict[str, object]:
    info = document.get("test_info")
    if not isinstance(info, dict):
        return {}
    fields = {_FIELDS[key]: str(value) for key, value in info.items() if key in _FIELDS}
    title = str(info.get("test", ""))[:100]
    summary = summarise(_spaced(title), fields)
    has_cuda = info.get("cuda_device") is not None
    return {**summary, "memory": "cuda" if has_cuda else memory_of(fields)}


def _spaced(title: str) -> str:
    """The JSON joins the title's words: ``RDMA_Write_BW_Test``."""
    for verb in ("RDMA_Write", "RDMA_Read"):
        if title.startswith(verb):
            return verb + title.removeprefix(verb).replace("_", " ")
    return title.replace("_", " ")
