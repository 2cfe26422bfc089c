"""The parser of perftest: from text or ``--out_json`` to samples, summary and problems."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.core.terms import Severity
from railgauge.tools.collector import OutputCollector
from railgauge.tools.documents import integer, items, number
from railgauge.tools.perftest.addresses import QueueAddress, read_addresses
from railgauge.tools.perftest.problems import find_problems
from railgauge.tools.perftest.samples import collect
from railgauge.tools.perftest.tables import Column, Heading, Row, Table, read_tables
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
    summary, tables = (_read_json if is_json(text) else _read_text)(text, collector)
    iterations = {row.size_bytes: row.iterations for table in tables for row in table.rows}
    measured = {"rows": len(iterations), "iterations": iterations} if iterations else {"rows": 0}
    return collector.parsed("perftest", read_version(text), {**summary, **measured})


_Read = tuple[dict[str, object], list[Table]]
"""The summary of the header, and the tables."""


def _read_text(text: str, collector: OutputCollector) -> _Read:
    tables = read_tables(text, collector)
    problems = find_problems(text)
    is_explained = any(problem.severity is Severity.ERROR for problem in problems)
    if not tables and not collector.problems and not is_explained:
        _explain_nothing(text, collector)
    collect(tables, collector)
    collector.problems[:0] = problems
    whole, addresses = sum(1 for table in tables if table.rows), read_addresses(text)
    if whole > _SIDES or (whole == _SIDES and _are_of_one_side(addresses)):
        collector.several_runs()
    return {**read_summary(text), **addresses, **({"tables": whole} if whole else {})}, tables


_SIDES = 2


def _are_of_one_side(addresses: Mapping[str, tuple[QueueAddress, ...]]) -> bool:
    """Return whether the tables are of two runs: the two sides of one name each other's queues."""
    local, remote = (
        {(one.qpn, one.psn) for one in addresses.get(side, ())} for side in ("local", "remote")
    )
    return bool(remote) and not local <= remote


def _explain_nothing(text: str, collector: OutputCollector) -> None:
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


def _number(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() else None


# What is printed, its key in the summary, and how it is read: no key if that gives nothing.
_FIELDS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "Device": ("device", str),
    "Transport type": ("transport_type", str),
    "Connection type": ("connection_type", str),
    "Link type": ("link_type", str),
    "Number of qps": ("qps", _number),
    "Mtu": ("mtu_bytes", _number),
    "GID index": ("gid_index", _number),
    "CQ Moderation": ("cq_moderation", _number),
    "Max inline data": ("inline_bytes", _number),
    "PCIe relax order": ("relaxed_ordering", lambda word: word == "ON"),
}
_FIELD = re.compile(
    rf"(Dual-port|{'|'.join(_FIELDS)}|Use [A-Za-z]{{1,12}} memory)"
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
    for printed, (key, read) in _FIELDS.items():
        if printed in fields and (value := read(fields[printed])) is not None:
            summary[key] = value
    return summary


def _test(title: str) -> dict[str, object]:
    match = _TITLE.search(title)
    if match is None:
        return {}
    verb, kind = match[2].removeprefix("RDMA_").lower(), "bw" if match[3] == "BW" else "lat"
    return {
        "test": match[1],
        "command": f"ib_{verb}_{kind}",
        "bidirectional": "Bidirectional" in match[1],
    }


def _gpu(text: str, fields: dict[str, str]) -> dict[str, object]:
    of_gpus = text if any(sign in text for sign in _GPU_SIGNS) else ""
    named = list(_GPU.finditer(of_gpus))
    match = named[0] if named else None
    memory = memory_of(fields)
    if match and match[1]:
        # The line before the header names a GPU that was opened; the header shows if it is used.
        name = match[1].lower()
        memory = "host" if _memories(fields).get(name) == "OFF" else name
    elif match or any(sign in text for sign in _CUDA):
        memory = "cuda"
    elif not fields:
        return {}  # without a header the memory is unknown
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


def memory_of(fields: dict[str, str]) -> str:
    """Return the memory that a field ``Use X memory : ON`` names; ``host`` without one."""
    return next((name for name, value in _memories(fields).items() if value == "ON"), "host")


def _memories(fields: dict[str, str]) -> dict[str, str]:
    """Return ``{"rocm": "ON"}`` of a field ``Use ROCm memory : ON``."""
    named = ((re.fullmatch(r"Use (.{1,40}) memory", name), value) for name, value in fields.items())
    return {name[1].lower(): value for name, value in named if name}


# --- ``--out_json`` ---

_JSON_COLUMNS = (
    Column("BW_peak", "bw_peak", None),
    Column("BW_average", "bw_average", None),
    Column("MsgRate", "msg_rate", "Mpps"),
    Column("t_min", "lat_min", "us"),
    Column("t_max", "lat_max", "us"),
    Column("t_typical", "lat_typical", "us"),
    Column("t_avg", "lat_avg", "us"),
    Column("t_stdev", "lat_stdev", "us"),
    Column("percentile_99", "lat_p99", "us"),
    Column("percentile_99.9", "lat_p999", "us"),
    Column("tps_average", "tps", "1/s"),
)
# perftest prints them with decimals, without which one is cut off.
_WITH_DECIMALS = frozenset({"BW_peak", "BW_average", "MsgRate"})
_LARGEST_SIZE = 2**63


def is_json(text: str) -> bool:
    """Return whether the text is ``--out_json`` and not a table."""
    return text.lstrip().startswith("{") or ('"test_info"' in text and "#bytes" not in text)


def _read_json(text: str, collector: OutputCollector) -> _Read:
    """Return the summary and the results of one or more documents, each a table of one row.

    The file gives no unit: a bandwidth is used only if its message rate shows the unit. Latencies
    are microseconds, as perftest writes them unless ``-C`` asks for cycles. After a sweep the file
    holds only the last size. Raw Ethernet with QoS and ``--output=bandwidth`` write invalid JSON,
    which is a problem and is not repaired.
    """
    documents = list(_documents(text, collector))
    tables = [_table(one, collector) for document in documents for one in _results(document)]
    whole = [table for table in tables if table]
    collect(whole, collector)
    if not whole and not collector.problems:
        collector.error(ProblemKind.NO_TABLE, "the JSON holds no results of perftest")
    collector.problems[:0] = find_problems(text)
    return next(filter(None, map(_json_summary, documents)), {}), whole


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
    return items(results if isinstance(results, list) else [results])


def _table(result: Mapping[str, object], collector: OutputCollector) -> Table | None:
    size, count = integer(result.get("MsgSize")), integer(result.get("n_iterations"))
    if size is None or not 0 <= size < _LARGEST_SIZE:
        shown = str(result.get("MsgSize"))[:40]
        collector.error(ProblemKind.UNPARSABLE, f"no message size in the JSON: {shown!r}")
        return None
    figures: dict[str, float] = {}
    for label, value in ((one.label, result.get(one.label)) for one in _JSON_COLUMNS):
        read = number(value)
        if read is not None and (isinstance(value, float) or label not in _WITH_DECIMALS):
            figures[label] = read
        elif value is not None:
            collector.error(ProblemKind.NOT_A_NUMBER, f"{label} is {str(value)[:40]!r}")
    columns = tuple(column for column in _JSON_COLUMNS if column.label in result)
    return Table(Heading(columns, official=True), [Row(size, count or 0, figures)])


def _json_summary(document: dict[str, object]) -> dict[str, object]:
    info = document.get("test_info")
    if not isinstance(info, dict):
        return {}
    fields = {name.replace("_", " "): str(value) for name, value in info.items()}
    title = re.sub("(?<!RDMA)_", " ", str(info.get("test", ""))[:100])
    memory = "cuda" if info.get("cuda_device") is not None else memory_of(fields)
    return {**summarise(title, fields), "memory": memory}
