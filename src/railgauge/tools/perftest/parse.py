"""The parser of perftest: from text or ``--out_json`` to samples, summary and problems."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.core.terms import Severity
from railgauge.tools.collector import OutputCollector
from railgauge.tools.perftest.addresses import QueueAddress, read_addresses
from railgauge.tools.perftest.problems import find_problems
from railgauge.tools.perftest.samples import Figures, add, collect, fitting_unit
from railgauge.tools.perftest.tables import read_tables
from railgauge.tools.relations import Statistics
from railgauge.tools.text import clean

# Rows have two decimals, those of slow links six.
_RELATIONS = (
    Statistics("(?P<of>lat)_(?P<as>min|typical|avg|p99|p999|max)", 0.01),
    Statistics("(?P<of>bw)_(?P<as>average|peak)", 0.01),
)
_STARTED = ("local address:", "Dual-port", "remote address:")


def parse(text: str) -> Parsed:
    """Read the output of one side or of both, as a table or as ``--out_json``.

    Never raises and takes time linear in the text. Samples: ``bw_peak``, ``bw_average`` (``MB/s``
    with ``unit_means="MiB/s"``, ``MiB/s`` or ``Gb/s``), ``msg_rate`` (``Mpps``), ``lat_*``
    (``us``), ``tps`` (``1/s``). Bidirectional values are the sum of both directions. Rows that were
    printed before an error are kept beside the error, which makes all values invalid.

    A row counts only if it is complete to its last decimal. A bandwidth counts only if it equals
    size times message rate. If all rows of a table agree on another unit than the heading's
    (because only the other side had ``--report_gbits``), that unit is used with the warning
    ``unit-mismatch``. If rows disagree, that is an error, and they give no bandwidth.

    ``summary`` holds the header (see ``read_summary``), the queue pairs ``local`` and ``remote``,
    ``tables`` (the number of tables with rows), ``rows`` (the number of sizes) and ``iterations``
    by size.
    """
    text = clean(text)
    collector = OutputCollector(relations=_RELATIONS)
    read = _read_json if is_json(text) else _read_text
    summary, iterations = read(text, collector)
    measured = {"rows": len(iterations), "iterations": iterations} if iterations else {"rows": 0}
    return collector.parsed("perftest", read_version(text), {**summary, **measured})


def _read_text(text: str, collector: OutputCollector) -> tuple[dict[str, object], dict[int, int]]:
    """Return the summary, and iterations by size."""
    tables = read_tables(text, collector)
    said = find_problems(text)
    is_explained = any(problem.severity is Severity.ERROR for problem in said)
    if not tables and not collector.problems and not is_explained:
        _say_why_nothing(text, collector)
    collect(tables, collector)
    collector.problems[:0] = said
    whole, told = sum(1 for table in tables if table.rows), read_addresses(text)
    if whole > _SIDES or (whole == _SIDES and _are_of_one_side(told)):
        collector.error(ProblemKind.SEVERAL_TABLES, "several runs in one output; give one run")
    summary = {**read_summary(text), **told, **({"tables": whole} if whole else {})}
    return summary, {size: n for table in tables for size, n in table.iterations.items()}


_SIDES = 2


def _are_of_one_side(told: Mapping[str, tuple[QueueAddress, ...]]) -> bool:
    """Return whether the tables are of two runs: the two sides of one name each other's queues."""
    local, remote = (
        {(one.qpn, one.psn) for one in told.get(side, ())} for side in ("local", "remote")
    )
    return bool(remote) and not local <= remote


def _say_why_nothing(text: str, collector: OutputCollector) -> None:
    if any(sign in text for sign in _STARTED):
        collector.error(ProblemKind.TRUNCATED, "the output ends before the heading of the table")
    else:
        collector.nothing(text, "no table of perftest in this text")


def payload_bytes(parsed: Parsed) -> float:
    """Return the sum of message size times iterations over all sizes of the run."""
    iterations = parsed.summary.get("iterations")
    if not isinstance(iterations, Mapping):
        return 0.0
    return float(sum(size * count for size, count in iterations.items()))


# --- the header before a table ---

_FIELD = re.compile(
    r"(Dual-port|Device|Number of qps|Transport type|Connection type|PCIe relax order|Mtu"
    r"|Link type|GID index|CQ Moderation|Max inline data|Use [A-Za-z]{1,12} memory)"
    r"[ \t]{0,20}:[ \t]{0,20}([^\s\[]{1,80})"
)
_TITLE = re.compile(
    r"^[ \t]{0,80}((RDMA_Write|RDMA_Read|Send|Atomic)\b[\w ]{0,60}? ?(BW|Latency)(?: Test))[ \t]*$",
    re.MULTILINE,
)
_VERSION = re.compile(r"^[ \t]{0,8}Version: ([0-9][\w.]{0,20})[ \t]*$", re.MULTILINE)
_GPU = re.compile(
    r"Using (maca|ROCm) Device with ID: ([0-9]{1,3})"
    r"|(?:Picking device No\. |\[pid = [0-9]{1,10}, dev = )([0-9]{1,3})"
)
_GPU_MODEL = re.compile(
    r"Using (?:maca|ROCm) Device with ID: [0-9]{1,3}, Name: ([^,\n]{1,60}),"
    r"|device name = \[([^\]\n]{1,60})\]"
)
_GPU_BUS = re.compile(
    r"PCI Bus ID: 0x(?P<bus>[0-9a-fA-F]{1,2}),"
    r"|CUDA device (?P<index>[0-9]{1,3}): PCIe address is (?P<listed>[0-9a-fA-F]{2}):"
)
# One of these is in every text that one of the three expressions fits.
_GPU_SIGNS = (
    *("Device with ID: ", "Picking device No. ", "[pid = ", "device name = ["),
    *("PCI Bus ID: 0x", "CUDA device "),
)
_CUDA = ("initializing CUDA", "creating CUDA Ctx", "CUDA_MEM_DEVICE")
_VERBS = {"RDMA_Write": "write", "RDMA_Read": "read", "Send": "send", "Atomic": "atomic"}
_NAMES = {
    "Device": "device",
    "Transport type": "transport_type",
    "Connection type": "connection_type",
    "Link type": "link_type",
}
_NUMBERS = {
    "Number of qps": "qps",
    "Mtu": "mtu_bytes",
    "GID index": "gid_index",
    "CQ Moderation": "cq_moderation",
    "Max inline data": "inline_bytes",
}
_DMA_BUF = ("using DMA-BUF for GPU buffer", "ibv_reg_dmabuf_mr(")


def read_version(text: str) -> str | None:
    match = _VERSION.search(text) if "Version: " in text else None
    return match[1] if match else None


def read_summary(text: str) -> dict[str, object]:
    """Return the header fields by name; a field that was not printed has no key.

    Keys: ``test``, ``command``, ``bidirectional``, ``device``, ``qps``, ``mtu_bytes``,
    ``gid_index``, ``cq_moderation``, ``inline_bytes``, ``link_type``, ``transport_type``,
    ``connection_type``, ``relaxed_ordering``, ``dmabuf`` (GPU memory was registered by DMA-BUF),
    ``memory`` (``host``, ``cuda``, ``rocm``, ``maca``), ``gpu`` (a tuple if several are named),
    ``gpu_model`` and ``gpu_bus`` (a number). ``memory`` is ``host`` if the header says so, or if a
    header or banner was printed and does not mention a GPU. If the text holds the output of both
    sides, the first one counts.
    """
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields.setdefault(name, value)
    title = _TITLE.search(text)
    named = summarise(title[1] if title else "", fields)
    return {**named, **_gpu(text, fields)}


def summarise(title: str, fields: dict[str, str]) -> dict[str, object]:
    """Return the title and the header fields with the keys of ``read_summary``."""
    summary = _test(title)
    for printed, name in _NAMES.items():
        if printed in fields:
            summary[name] = fields[printed]
    for printed, name in _NUMBERS.items():
        if fields.get(printed, "").isascii() and fields.get(printed, "").isdigit():
            summary[name] = int(fields[printed])
    if "PCIe relax order" in fields:
        summary["relaxed_ordering"] = fields["PCIe relax order"] == "ON"
    return summary


def _test(title: str) -> dict[str, object]:
    match = _TITLE.search(title)
    if match is None:
        return {}
    kind = "bw" if match[3] == "BW" else "lat"
    return {
        "test": match[1],
        "command": f"ib_{_VERBS[match[2]]}_{kind}",
        "bidirectional": "Bidirectional" in match[1],
    }


def _gpu(text: str, fields: dict[str, str]) -> dict[str, object]:
    of_gpus = text if any(sign in text for sign in _GPU_SIGNS) else ""
    named = list(_GPU.finditer(of_gpus))
    match = named[0] if named else None
    memory = memory_of(fields)
    if match and match[1]:
        # The line before the header names a GPU that was opened; the header shows if it is used.
        memory = "host" if _is_off(match[1], fields) else match[1].lower()
    elif match or any(sign in text for sign in _CUDA):
        memory = "cuda"
    elif not fields and memory == "host":
        # Without a header the memory is unknown.
        return {}
    gpus = tuple(dict.fromkeys(int(one[2] or one[3]) for one in named))
    gpu = {"gpu": gpus[0] if len(gpus) == 1 else gpus} if gpus else {}
    model = _GPU_MODEL.search(of_gpus)
    named_as = {"gpu_model": model[1] or model[2]} if model else {}
    by_dmabuf = {"dmabuf": any(sign in text for sign in _DMA_BUF)} if memory != "host" else {}
    return {"memory": memory, **gpu, **named_as, **by_dmabuf, **_gpu_bus(of_gpus, gpu.get("gpu"))}


def _gpu_bus(text: str, gpu: object) -> dict[str, object]:
    """Return the PCI bus of the GPU in use, from its own line or from the list of GPUs (CUDA)."""
    for match in _GPU_BUS.finditer(text):
        if match["bus"] or (gpu is not None and match["index"] == str(gpu)):
            return {"gpu_bus": int(match["bus"] or match["listed"], 16)}
    return {}


def _is_off(name: str, fields: dict[str, str]) -> bool:
    return any(
        printed.lower() == f"use {name.lower()} memory" and value == "OFF"
        for printed, value in fields.items()
    )


def memory_of(fields: dict[str, str]) -> str:
    """Return the memory that a field ``Use X memory : ON`` names; ``host`` without one."""
    for name, value in fields.items():
        if name.startswith("Use ") and value == "ON":
            return name.split()[1].lower()
    return "host"


# --- ``--out_json`` ---

_JSON_BANDWIDTHS = {"BW_peak": "bw_peak", "BW_average": "bw_average"}
_JSON_OTHERS = {
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
_JSON_FIELDS = {
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
    """Return whether the text is ``--out_json`` and not a table."""
    return text.lstrip().startswith("{") or ('"test_info"' in text and "#bytes" not in text)


def _read_json(text: str, collector: OutputCollector) -> tuple[dict[str, object], dict[int, int]]:
    """Return the summary, and iterations by size, of one or more documents.

    The file gives no unit: a bandwidth is used only if its message rate shows the unit. Latencies
    are microseconds, as perftest writes them unless ``-C`` asks for cycles. After a sweep the file
    holds only the last size. Raw Ethernet with QoS and ``--output=bandwidth`` write invalid JSON,
    which is a problem and is not repaired.
    """
    summary: dict[str, object] = {}
    iterations: dict[int, int] = {}
    for document in _documents(text, collector):
        summary = summary or _json_summary(document)
        for result in _results(document):
            _read_result(result, collector, iterations)
    if not iterations and not collector.problems:
        collector.error(ProblemKind.NO_TABLE, "the JSON holds no results of perftest")
    collector.problems[:0] = find_problems(text)
    return summary, iterations


def _documents(text: str, collector: OutputCollector) -> Iterator[dict[str, object]]:
    decoder = json.JSONDecoder()
    position = text.find("{")
    while position >= 0:
        try:
            document, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            what = f"invalid or incomplete JSON ({str(error)[:100]})"
            why = "raw Ethernet with QoS and --output=bandwidth write such files"
            collector.error(ProblemKind.UNPARSABLE, f"{what}; {why}")
            return
        yield document
        rest = text[end : end + 1000].lstrip()
        position = text.find("{", end) if rest.startswith("{") else -1


def _results(document: dict[str, object]) -> list[dict[str, object]]:
    results = document.get("results")
    entries = results if isinstance(results, list) else [results]
    return [entry for entry in entries if isinstance(entry, dict)]


def _read_result(
    result: dict[str, object], collector: OutputCollector, iterations: dict[int, int]
) -> None:
    size, count = result.get("MsgSize"), result.get("n_iterations")
    if not isinstance(size, int) or not 0 <= size < _LARGEST_SIZE or isinstance(size, bool):
        collector.error(ProblemKind.UNPARSABLE, f"no message size in the JSON: {str(size)[:40]!r}")
        return
    iterations[size] = count if isinstance(count, int) else 0
    _read_bandwidths(result, size, collector)
    for key, (metric, unit) in _JSON_OTHERS.items():
        value = _number(result, key, collector)
        if value is not None:
            add(metric, unit, value, size, collector)


def _read_bandwidths(result: dict[str, object], size: int, collector: OutputCollector) -> None:
    if not _JSON_BANDWIDTHS.keys() & result.keys():
        return
    unit = _json_unit(result, size)
    if unit is None:
        message = "the JSON gives no unit, and the message rate does not show which one it is"
        collector.error(ProblemKind.UNIT_UNKNOWN, message)
        return
    for key, metric in _JSON_BANDWIDTHS.items():
        value = _number(result, key, collector)
        if value is not None:
            add(metric, unit, value, size, collector)


def _json_unit(result: dict[str, object], size: int) -> str | None:
    average, rate = result.get("BW_average"), result.get("MsgRate")
    if not isinstance(average, float) or not isinstance(rate, float):
        return None
    return fitting_unit([Figures(size, average, _DECIMALS, rate)])


def _number(result: dict[str, object], key: str, collector: OutputCollector) -> float | None:
    value = result.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        collector.error(ProblemKind.NOT_A_NUMBER, f"{key} is {str(value)[:40]!r}")
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _json_summary(document: dict[str, object]) -> dict[str, object]:
    info = document.get("test_info")
    if not isinstance(info, dict):
        return {}
    fields = {_JSON_FIELDS[key]: str(value) for key, value in info.items() if key in _JSON_FIELDS}
    title = str(info.get("test", ""))[:100]
    summary = summarise(_spaced(title), fields)
    has_cuda = info.get("cuda_device") is not None
    return {**summary, "memory": "cuda" if has_cuda else memory_of(fields)}


def _spaced(title: str) -> str:
    """Return the title as in text output: the JSON has ``RDMA_Write_BW_Test``."""
    for verb in ("RDMA_Write", "RDMA_Read"):
        if title.startswith(verb):
            return verb + title.removeprefix(verb).replace("_", " ")
    return title.replace("_", " ")
