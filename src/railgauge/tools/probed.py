"""Programs that the survey asks on every node: their output in a file is read by the same readers.

They measure nothing: the samples are counts, and counters as printed. ``summary`` holds what the
survey would take from the output.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import NoReturn

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.facts.ibtools import parse_ibstat, parse_ibv_devinfo, parse_rdma_link
from railgauge.facts.pci import parse_lspci
from railgauge.stacks import amd_smi, metax, nvidia_smi, nvlink, rocm_smi, topology
from railgauge.tools import Setting, is_not_run
from railgauge.tools.claims import Claim, SideOutput, ToolRequest
from railgauge.tools.collector import OutputCollector
from railgauge.tools.metric import Metric
from railgauge.tools.text import clean, is_torn

_Found = Mapping[str, object] | None
"""The summary; ``None`` if the text is not this output."""
_Reader = Callable[[str, OutputCollector], _Found]


@dataclass(frozen=True, slots=True)
class ProbedProgram:
    """One program of the survey; ``read`` adds samples and problems, and returns the summary."""

    name: str
    read: _Reader
    METRICS: tuple[Metric, ...] = ()

    def commands(self, setting: Setting, port: int) -> NoReturn:
        is_not_run(setting, port)

    def claims(self, asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[Claim, ...]:  # noqa: ARG002
        return ()

    def payload_bytes(self, parsed: Parsed) -> float:  # noqa: ARG002
        return 0.0

    def parse(self, text: str) -> Parsed:
        """Read the output. Never raises and takes time linear in the text."""
        text = clean(text)
        collector = OutputCollector()
        found: _Found = None
        if collector.check_started(text, self.name.replace("rdma-link", "rdma")):
            found = self.read(text, collector)
        if found is None and not collector.has_errors:
            collector.nothing(text, f"this text is no output of {self.name} that the survey reads")
        elif found is not None and is_torn(text) and not text.rstrip().endswith(_CLOSED):
            collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
        return collector.parsed(self.name, None, found or {})


_CLOSED = ("}", "]", ">", "+")


def _count(collector: OutputCollector, metric: str, number: int) -> None:
    collector.add(metric, "count", number, may_be_zero=True)


def _complain(collector: OutputCollector, problem: str) -> None:
    if problem:
        collector.error(ProblemKind.TRUNCATED, problem)


def _refuse_twins(names: Iterable[Hashable], collector: OutputCollector) -> None:
    twice = [str(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        message = f"{', '.join(twice[:4])} is printed twice; give one output"
        collector.error(ProblemKind.SEVERAL_TABLES, message)


# --- GPUs ---

_MATRIX_CELL = re.compile(r"^[ \t]{0,80}GPU0[ \t]{1,80}(?:GPU1|X|CPU|NIC0)", re.MULTILINE)
_LINK = re.compile(r"^\s{0,40}Link [0-9]{1,3}: ", re.MULTILINE)
_NVLINK_GPU = re.compile(r"^\s{0,40}(GPU [0-9]{1,4}): ", re.MULTILINE)
_ROW = re.compile(r"^[ \t]{0,80}(GPU\d{1,4})[ \t]{1,80}(?!GPU|CPU|NIC|NUMA|Node)\S", re.MULTILINE)


def _read_nvidia(text: str, collector: OutputCollector) -> _Found:
    """``-q``, ``-q -x``, ``--query-gpu`` as CSV, ``topo -m`` and ``nvlink -s``."""
    if "NVSMI LOG" in text or "<nvidia_smi_log>" in text or text.strip() == _NO_GPU:
        return _smi_log(nvidia_smi.parse_log(text), collector)
    if text.lstrip().startswith("index, "):
        return _smi_log(nvidia_smi.parse_query(text), collector)
    if _LINK.search(text):
        links = nvlink.parse_nvlink(text)
        _refuse_twins(_NVLINK_GPU.findall(text), collector)
        _count(collector, "gpus", len(links))
        _count(collector, "links_up", sum(link.up for link in links.values()))
        return {"links": {f"gpu{gpu}": asdict(link) for gpu, link in links.items()}}
    if "NVIDIA-SMI" in text and "+---" in text:
        what = "the table for people; give the output of nvidia-smi -q"
        collector.error(ProblemKind.UNPARSABLE, what)
    return None if _METAX_CELL.search(text) else _read_matrix(text, collector)


_METAX_CELL = re.compile(r"^[ \t]{0,80}GPU[01][^\n]{0,80}\bMX\b", re.MULTILINE)
_NO_GPU = "No devices were found"


def _smi_log(log: nvidia_smi.SmiLog, collector: OutputCollector) -> _Found:
    _count(collector, "gpus", len(log.gpus))
    _complain(collector, log.problem)
    _refuse_twins((gpu.get("pci.bus_id") for gpu in log.gpus), collector)
    summary = {"driver": log.driver, "cuda": log.cuda, "processes": log.processes}
    return {"gpus": list(log.gpus)} | {key: said for key, said in summary.items() if said}


def _read_matrix(text: str, collector: OutputCollector) -> _Found:
    """The matrix of distances that ``topo`` prints."""
    if not _MATRIX_CELL.search(text):
        return None
    found = topology.parse_topology(text)
    _count(collector, "gpus", sum(name.startswith("gpu") for name in found.distances))
    _complain(collector, found.problem)
    _refuse_twins(_ROW.findall(text), collector)
    return {"distances": found.distances, "numa_nodes": found.numa_nodes}


def _read_rocm(text: str, collector: OutputCollector) -> _Found:
    """The JSON of any ``--show``; tables for people are not read."""
    if "{" not in text or '"card' not in text:
        if "ROCm System Management Interface" in text:
            collector.error(ProblemKind.UNPARSABLE, "a table for people; give the output of --json")
        return None
    log = rocm_smi.parse_json(text)
    _count(collector, "gpus", len(log.cards))
    _complain(collector, log.problem)
    _refuse_twins(re.findall(r'"(card[0-9]{1,4})": ?\{', text), collector)
    return {"gpus": {str(card): dict(raw) for card, raw in log.cards.items()}}


_AMD_GPU = re.compile(r'^GPU: {1,4}[0-9]{1,4}\s*$|^\s{0,40}"gpu": ?[0-9]{1,4}', re.MULTILINE)

_AMD_TEXT = re.compile(r"^GPU: {1,4}([0-9]{1,4})\s*$", re.MULTILINE)
_AMD_JSON = re.compile(r"^(?:\{|\[\s{0,80}\{)", re.MULTILINE)
_AMD_TABLES = ("LINK METRIC TABLE:", "XGMI LINK STATUS:")
_AMD_LINKS = re.compile(r"LINK (?:METRIC|STATUS)|XGMI", re.IGNORECASE)


def _read_amd(text: str, collector: OutputCollector) -> _Found:
    """``static``, ``metric``, ``list`` and ``bad-pages`` as text or JSON, and ``xgmi``."""
    gpus = amd_smi.parse_gpus(text) if _AMD_GPU.search(text) else {}
    links = amd_smi.parse_xgmi(text) if not gpus and _AMD_LINKS.search(text) else {}
    if gpus or links:
        _count(collector, "gpus", len(gpus or links))
    if gpus:
        _refuse_twins(_AMD_TEXT.findall(text), collector)
        collector.refuse_several(len(_AMD_JSON.findall(text)))
        return {"gpus": {f"gpu{gpu}": dict(raw) for gpu, raw in gpus.items()}}
    collector.refuse_several(max(map(text.count, _AMD_TABLES)))
    return {"xgmi": {f"gpu{gpu}": asdict(link) for gpu, link in links.items()}} if links else None


def _read_metax(text: str, collector: OutputCollector) -> _Found:
    """The table without arguments, and ``topo -n``."""
    gpus = metax.parse_gpus(text) if "mx-smi" in text or "MetaX" in text else ()
    if not gpus:
        return _read_matrix(text, collector) if _METAX_CELL.search(text) else None
    _count(collector, "gpus", len(gpus))
    _complain(collector, metax.gpu_problem(text, gpus))
    return {"gpus": [asdict(gpu) for gpu in gpus], "versions": metax.parse_versions(text)}


# --- NICs and PCIe ---


def _read_ibstat(text: str, collector: OutputCollector) -> _Found:
    ports = parse_ibstat(text)
    if not ports:
        return None
    _refuse_twins(((port.name, port.port) for port in ports), collector)
    up = sum(port.fields.get("State") == "Active" for port in ports)
    _count(collector, "ports_active", up)
    _count(collector, "ports_not_active", len(ports) - up)
    for port in ports:
        rate = port.number("Rate")
        if "State" not in port.fields or rate is None:
            what = f"{port.name} port {port.port} has no state or no rate"
            collector.error(ProblemKind.TRUNCATED, what)
        elif port.fields["State"] == "Active":
            collector.add("rate", "Gb/s", rate, f"{port.name}/{port.port}")
    return {"ports": [asdict(port) for port in ports]}


def _read_devinfo(text: str, collector: OutputCollector) -> _Found:
    ports = parse_ibv_devinfo(text)
    if not ports:
        return None
    _refuse_twins(((port.name, port.port) for port in ports), collector)
    up = sum(port.fields.get("state", "").startswith("PORT_ACTIVE") for port in ports)
    _count(collector, "ports_active", up)
    _count(collector, "ports_not_active", len(ports) - up)
    for port in ports:
        if "state" not in port.fields or "link_layer" not in port.fields:
            what = f"{port.name} port {port.port} has no state or no link_layer"
            collector.error(ProblemKind.TRUNCATED, what)
    return {"ports": [asdict(port) for port in ports]}


def _read_rdma_link(text: str, collector: OutputCollector) -> _Found:
    links = parse_rdma_link(text)
    if not links:
        return None
    _refuse_twins(((link["name"], link["port"]) for link in links), collector)
    up = sum(link["state"] == "ACTIVE" for link in links)
    _count(collector, "ports_active", up)
    _count(collector, "ports_not_active", len(links) - up)
    return {"ports": list(links)}


_STATISTIC = re.compile(r"\s{1,20}([A-Za-z0-9_\[\]. -]{1,80}): ([0-9]{1,20})\s{0,20}")


def _read_ethtool(text: str, collector: OutputCollector) -> _Found:
    """Every counter of ``ethtool -S``; a line of another kind is an error."""
    lines = [line for line in text.split("\n") if line.strip()]
    begins = bool(lines) and lines[0].strip() == "NIC statistics:"
    rows = [_STATISTIC.fullmatch(line[:200]) for line in lines[begins:]]
    found = [row for row in rows if row]
    if not found or len(found) < max(2, len(rows) - 1):
        return None
    if len(found) < len(rows):
        collector.error(ProblemKind.TRUNCATED, "a line is no counter")
    _refuse_twins((row[1] for row in found), collector)
    for row in found:
        collector.add(row[1].strip(), "count", float(row[2]), may_be_zero=True)
    if not begins:
        collector.warn(ProblemKind.NO_OPENING_LINE, "no heading: the first counters may be missing")
    return {}


_PCI_ADDRESS = re.compile(
    r"^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:\s|$)", re.MULTILINE
)
_DEVICE = re.compile(
    r"^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] "
    r"(?:[A-Z][\w /.()\-]{1,60}(?: \[[0-9a-f]{4}\])?|\"[A-Z]|Class [0-9a-f]{4}): \S",
    re.MULTILINE,
)


def _read_lspci(text: str, collector: OutputCollector) -> _Found:
    """Devices, and with ``-vvv`` what redirects peer traffic, product data and slots."""
    devices = len(_DEVICE.findall(text))
    if not devices:
        return None
    _refuse_twins(_PCI_ADDRESS.findall(text), collector)
    report = parse_lspci(text)
    _count(collector, "devices", devices)
    _count(collector, "redirecting", len(report.acs_enabled))
    if report.problem:
        collector.warn(ProblemKind.TOOL_WARNING, report.problem)
    return asdict(report)


_PROGRAMS = (
    ProbedProgram("nvidia-smi", _read_nvidia),
    ProbedProgram("rocm-smi", _read_rocm),
    ProbedProgram("amd-smi", _read_amd),
    ProbedProgram("mx-smi", _read_metax),
    ProbedProgram("ibstat", _read_ibstat),
    ProbedProgram("ibv_devinfo", _read_devinfo),
    ProbedProgram("rdma-link", _read_rdma_link),
    ProbedProgram("ethtool", _read_ethtool),
    ProbedProgram("lspci", _read_lspci),
)


def named(name: str) -> ProbedProgram:
    """Return the program that the registry calls ``name``."""
    return next(program for program in _PROGRAMS if program.name == name)
