"""What the tools of the GPU vendors print: inventories, tables, links and matrices."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict

from railgauge.core.problems import ProblemKind
from railgauge.stacks import amd_smi, amd_tables, metax, nvidia_smi, nvlink, rocm_smi, topology
from railgauge.stacks.smi_table import parse_table
from railgauge.tools.collector import OutputCollector
from railgauge.tools.probed.program import (
    Found,
    ProbedProgram,
    complain,
    count,
    refuse,
    refuse_twins,
)
from railgauge.tools.relations import AtMost

# --- tables for people ---

_FIGURE = re.compile(r"\d{1,12}(?:\.\d{1,6})?")
# The metrics of the numbers of a value, and their unit; memory has the unit that is printed.
_FIGURES = {
    "temperature": (("temperature",), "C"),
    "power": (("power", "power_cap"), "W"),
    "power_cap": (("power_cap",), "W"),
    "utilization": (("utilization",), "%"),
    "memory_utilization": (("memory_utilization",), "%"),
    "clock": (("clock",), "MHz"),
    "memory_clock": (("memory_clock",), "MHz"),
    "memory": (("memory_used", "memory_total"), ""),
    "ecc": (("ecc_uncorrected",), "count"),
}


def _read_table(text: str, collector: OutputCollector, instead: str) -> Found:
    """The table without arguments: every value of every GPU, or none."""
    table = parse_table(text)
    if table.problem:
        refuse(collector, f"{table.problem}; give the output of {instead}")
        return {}
    count(collector, "gpus", len(table.gpus))
    refuse_twins((gpu["gpu"] for gpu in table.gpus), collector)
    for gpu in table.gpus:
        for name, (metrics, unit) in _FIGURES.items():
            value = gpu.get(name, "")
            printed = unit or ("MB" if value.endswith(" MB") else "MiB")
            for metric, figure in zip(metrics, _FIGURE.findall(value), strict=False):
                collector.add(metric, printed, float(figure), f"gpu{gpu['gpu']}", may_be_zero=True)
    _fail(table.failed, collector)
    return {"gpus": [dict(gpu) for gpu in table.gpus]}


def _fail(those: Iterable[str], collector: OutputCollector) -> None:
    for what in those:
        collector.error(ProblemKind.GPU_FAILED, what)


# --- NVIDIA ---

_MATRIX_CELL = re.compile(r"^[ \t]{0,80}GPU0[ \t]{1,80}(?:GPU1|X|CPU|NIC0|mlx)", re.MULTILINE)
_OF_LINK = re.compile(r"^\s{0,40}Links? [0-9]{1,3}\b", re.MULTILINE)
_GPU_HEADING = re.compile(r"^\s{0,40}(GPU [0-9]{1,4}): ", re.MULTILINE)
_ROW = re.compile(
    r"^[ \t]{0,80}(GPU\d{1,4})[ \t]{1,80}(?!GPU|CPU|NIC|NUMA|Node|mlx)\S", re.MULTILINE
)
_METAX_CELL = re.compile(r"^[ \t]{0,80}GPU[01][^\n]{0,80}\bMX\b", re.MULTILINE)
_NO_GPU = "No devices were found"


def _read_nvidia(text: str, collector: OutputCollector) -> Found:
    """``-q``, ``-q -x``, ``--query-gpu``, ``topo -m``, ``nvlink -s``, ``-e``, ``-R``, the table."""
    if "NVSMI LOG" in text or "<nvidia_smi_log>" in text or text.strip() == _NO_GPU:
        return _smi_log(nvidia_smi.parse_log(text), collector)
    if text.lstrip().startswith("index, "):
        return _smi_log(nvidia_smi.parse_query(text), collector)
    if _OF_LINK.search(text) and _GPU_HEADING.search(text):
        return _read_nvlink(text, collector)
    if "NVIDIA-SMI" in text and "+---" in text:
        return _read_table(text, collector, "nvidia-smi -q")
    return None if _METAX_CELL.search(text) else _read_matrix(text, collector)


def _read_nvlink(text: str, collector: OutputCollector) -> Found:
    found = nvlink.parse_nvlink(text)
    refuse(collector, found.problem)
    refuse_twins(_GPU_HEADING.findall(text), collector)
    if found.problem:
        return {}
    count(collector, "gpus", len(found.gpus))
    if found.links:
        down = (link.total - link.up for link in found.links.values() if link.total is not None)
        count(collector, "links_up", sum(link.up for link in found.links.values()))
        count(collector, "links_down", sum(down))
    for gpu, errors in found.errors.items():
        for name, number in errors.items():
            link, _, metric = name.partition("_")
            count(collector, metric, number, f"gpu{gpu}/{link}")
    return {
        name: {f"gpu{gpu}": values for gpu, values in by_gpu.items()}
        for name, by_gpu in (
            ("links", {gpu: asdict(link) for gpu, link in found.links.items()}),
            ("errors", found.errors),
            ("remotes", found.remotes),
        )
        if by_gpu
    }


def _smi_log(log: nvidia_smi.SmiLog, collector: OutputCollector) -> Found:
    count(collector, "gpus", len(log.gpus))
    complain(collector, log.problem)
    refuse_twins((gpu.get("pci.bus_id") for gpu in log.gpus), collector)
    slow = {gpu["index"]: gpu[nvidia_smi.SLOWED] for gpu in log.gpus if nvidia_smi.SLOWED in gpu}
    if slow:
        count(collector, "gpus_slowed", sum(map(bool, slow.values())))
    for index, reasons in slow.items():
        if reasons:
            collector.warn(ProblemKind.TOOL_WARNING, f"gpu{index} is slowed down: {reasons}")
    summary = {"driver": log.driver, "cuda": log.cuda, "processes": log.processes}
    return {"gpus": list(log.gpus)} | {key: value for key, value in summary.items() if value}


def _read_matrix(text: str, collector: OutputCollector) -> Found:
    """The matrix of distances that ``topo`` prints."""
    if not _MATRIX_CELL.search(text):
        return None
    found = topology.parse_topology(text)
    complain(collector, found.problem)
    refuse_twins(_ROW.findall(text), collector)
    if found.problem:
        return {}
    count(collector, "gpus", sum(name.startswith("gpu") for name in found.distances))
    return {"distances": found.distances, "numa_nodes": found.numa_nodes}


# --- AMD ---


def _read_rocm(text: str, collector: OutputCollector) -> Found:
    """The JSON of any ``--show``, and the table without arguments."""
    if "{" not in text or '"card' not in text:
        if "ROCm System Management Interface" not in text:
            return None
        if "Concise Info" in text:
            return _read_table(text, collector, "rocm-smi --json")
        what = "the text of a --show option; give the output of --json"
        collector.error(ProblemKind.UNPARSABLE, what)
        return None
    log = rocm_smi.parse_json(text)
    count(collector, "gpus", len(log.cards))
    complain(collector, log.problem)
    refuse_twins(re.findall(r'"(card[0-9]{1,4})": ?\{', text), collector)
    return {"gpus": {str(card): dict(raw) for card, raw in log.cards.items()}}


_AMD_GPU = re.compile(r'^GPU: {1,4}[0-9]{1,4}\s*$|^\s{0,40}"gpu": ?[0-9]{1,4}', re.MULTILINE)
_AMD_TEXT = re.compile(r"^GPU: {1,4}([0-9]{1,4})\s*$", re.MULTILINE)
_AMD_JSON = re.compile(r"^(?:\{|\[\s{0,80}\{)", re.MULTILINE)
_AMD_TABLES = ("LINK METRIC TABLE:", "XGMI LINK STATUS:")
_AMD_STATES = re.compile(r"^[ \t]{0,40}GPU(\d{1,4})[ \t]{1,80}[0-9a-f]", re.MULTILINE)
_AMD_LINKS = re.compile(r"LINK (?:METRIC|STATUS)|XGMI L", re.IGNORECASE)
_AMD_TOPOLOGY = re.compile(
    r"^(?:ACCESS|WEIGHT|HOPS|LINK TYPE|NUMA BW|CACHE COHER[AE]NCY|ATOMICS|DMA|BI-DIRECTIONAL)"
    r" TABLE:",
    re.MULTILINE,
)
_AMD_MONITOR = re.compile(r"^\s{0,20}GPU\s{1,20}(?:XCP|[A-Z][A-Z_%]{1,20}\s)", re.MULTILINE)


def _read_amd(text: str, collector: OutputCollector) -> Found:
    """``static``, ``metric``, ``list``, ``bad-pages``, ``xgmi``, ``monitor``, ``topology``."""
    if _AMD_GPU.search(text):
        return _read_amd_values(text, collector)
    if _AMD_TOPOLOGY.search(text):
        return _read_amd_topology(text, collector)
    if "AMD-SMI " in text and "+---" in text:
        return _read_table(text, collector, "amd-smi static")
    if _AMD_LINKS.search(text):
        return _read_xgmi(text, collector)
    return _read_monitor(text, collector) if _AMD_MONITOR.search(text) else None


def _read_amd_values(text: str, collector: OutputCollector) -> Found:
    gpus = amd_smi.parse_gpus(text)
    if not gpus:
        return None
    count(collector, "gpus", len(gpus))
    refuse_twins(_AMD_TEXT.findall(text), collector)
    collector.refuse_several(len(_AMD_JSON.findall(text)))
    return {"gpus": {f"gpu{gpu}": dict(raw) for gpu, raw in gpus.items()}}


def _read_xgmi(text: str, collector: OutputCollector) -> Found:
    links = amd_smi.parse_xgmi(text)
    collector.refuse_several(max(map(text.count, _AMD_TABLES)))
    if not links:
        return None
    count(collector, "gpus", len(links))
    states = _AMD_STATES.findall(text.partition(_AMD_TABLES[1])[2])
    read = [str(gpu) for gpu, link in links.items() if link.up is not None]
    if unread := [gpu for gpu in states if gpu not in read]:
        refuse(collector, f"the states of the links of GPU{unread[0]} cannot be read")
    for gpu, link in links.items():
        if link.up is not None and link.total is not None:
            count(collector, "links_up", link.up, f"gpu{gpu}")
            count(collector, "links_down", link.total - link.up, f"gpu{gpu}")
    return {"xgmi": {f"gpu{gpu}": asdict(link) for gpu, link in links.items()}}


def _read_monitor(text: str, collector: OutputCollector) -> Found:
    found = amd_tables.parse_monitor(text)
    refuse(collector, found.problem)
    if found.problem or not found.gpus:
        return {} if found.problem else None
    count(collector, "gpus", len(found.gpus))
    refuse_twins((gpu.gpu for gpu in found.gpus), collector)
    for gpu in found.gpus:
        for metric, unit, value in gpu.figures:
            collector.add(metric, unit, value, f"gpu{gpu.gpu}", may_be_zero=True)
    return {}


def _read_amd_topology(text: str, collector: OutputCollector) -> Found:
    found = amd_tables.parse_amd_topology(text)
    refuse(collector, found.problem)
    if found.problem or not found.tables:
        return {}
    cells = found.tables.get("ACCESS", {})
    count(collector, "gpus", max(map(len, found.tables.values())))
    if cells:
        off = [one for row in cells.values() for one in row.values() if one != "ENABLED"]
        count(collector, "pairs_disabled", len(off))
    return {"topology": found.tables}


# --- MetaX ---


def _read_metax(text: str, collector: OutputCollector) -> Found:
    """The table without arguments, and ``topo -n``."""
    if "Bus-id" not in text:
        return _read_matrix(text, collector) if _METAX_CELL.search(text) else None
    found = _read_table(text, collector, "mx-smi alone, of a known release")
    gpus = parse_table(text).gpus
    _fail(metax.unusable(gpus), collector)
    if not collector.has_errors:
        complain(collector, metax.gpu_problem(text, metax.parse_gpus(text)))
    return {**(found or {}), "versions": metax.parse_versions(text)}


_RELATIONS = (
    *(AtMost(share, 100.0) for share in ("utilization", "memory_utilization", "memory_share")),
    AtMost("memory_used", "memory_total"),
)
PROGRAMS = (
    ProbedProgram("nvidia-smi", _read_nvidia, _RELATIONS),
    ProbedProgram("rocm-smi", _read_rocm, _RELATIONS),
    ProbedProgram("amd-smi", _read_amd, _RELATIONS),
    ProbedProgram("mx-smi", _read_metax, _RELATIONS),
)
