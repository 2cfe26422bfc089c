"""Parsers for ``nvidia-smi``: CSV queries, and ``-q`` as text and as XML.

Each returns, for each GPU, the raw texts under the names of ``--query-gpu``:
``<current_power_limit>700.00 W</current_power_limit>`` becomes ``power.limit``: ``700.00 W``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree

from railgauge.stacks.readings import Raw

_LONGEST_LINE = 2000
_DRIVER, _CUDA = "driver_version", "cuda_version"

QUERY = (
    "index", "name", "pci.bus_id", "memory.total", "driver_version", "persistence_mode",
    "power.limit", "clocks.max.sm", "clocks.current.sm", "ecc.mode.current",
    "ecc.errors.uncorrected.volatile.total", "pcie.link.gen.current", "pcie.link.gen.max",
    "pcie.link.width.current", "pcie.link.width.max", "mig.mode.current",
)  # fmt: skip
_CSV_NAMES = {"clocks.current.sm": "clocks.sm", "pcie.link.gen.gpucurrent": "pcie.link.gen.current"}

# For each name of --query-gpu (or our own name, if no query returns the value): its places in
# -q -x, for all versions of the schema, then in -q. The first one present counts.
_PLACES: dict[str, tuple[str, ...]] = {
    "name": ("product_name", "Product Name"),
    "pci.bus_id": ("pci/pci_bus_id", "PCI/Bus Id"),
    "pci.device_id": ("pci/pci_device_id", "PCI/Device Id"),
    "memory.total": ("fb_memory_usage/total", "FB Memory Usage/Total"),
    "persistence_mode": ("persistence_mode", "Persistence Mode"),
    "power.limit": (
        "gpu_power_readings/current_power_limit", "power_readings/power_limit",
        "power_readings/current_power_limit", "GPU Power Readings/Current Power Limit",
        "Power Readings/Power Limit",
    ),
    "power.default_limit": (
        "gpu_power_readings/default_power_limit", "power_readings/default_power_limit",
        "GPU Power Readings/Default Power Limit", "Power Readings/Default Power Limit",
    ),
    "vbios_version": ("vbios_version", "VBIOS Version"),
    "serial": ("serial", "Serial Number"),
    "uuid": ("uuid", "GPU UUID"),
    "part_number": ("board_part_number", "Board Part Number", "gpu_part_number", "GPU Part Number"),
    "module": (
        "platformInfo/module_id", "gpu_module_id", "module_id", "Platform Info/Module Id",
        "GPU Module Id", "Module ID", "Module Id",
    ),
    "clocks.max.sm": ("max_clocks/sm_clock", "Max Clocks/SM"),
    "clocks.sm": ("clocks/sm_clock", "Clocks/SM"),
    "ecc.mode.current": ("ecc_mode/current_ecc", "ECC Mode/Current", "Ecc Mode/Current"),
    "pcie.link.gen.current": (
        "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
        "PCI/GPU Link Info/PCIe Generation/Current",
    ),
    "pcie.link.gen.max": (
        "pci/pci_gpu_link_info/pcie_gen/max_link_gen", "PCI/GPU Link Info/PCIe Generation/Max",
    ),
    "pcie.link.width.current": (
        "pci/pci_gpu_link_info/link_widths/current_link_width",
        "PCI/GPU Link Info/Link Width/Current",
    ),
    "pcie.link.width.max": (
        "pci/pci_gpu_link_info/link_widths/max_link_width", "PCI/GPU Link Info/Link Width/Max",
    ),
    "mig.mode.current": ("mig_mode/current_mig", "MIG Mode/Current"),
    "remapped.pending": ("remapped_rows/remapped_row_pending", "Remapped Rows/Pending"),
    "remapped.failure": (
        "remapped_rows/remapped_row_failure", "Remapped Rows/Remapping Failure Occurred",
    ),
    "retired.pending": (
        "retired_pages/pending_retirement", "retired_pages/pending_blacklist",
        "Retired Pages/Pending Page Blacklist",
    ),
    "pcie.replays": ("pci/replay_counter", "PCI/Replays Since Reset", "PCI/Replays since reset"),
    "fabric": ("fabric/state", "Fabric/State"),
    "fabric.status": ("fabric/status", "Fabric/Status"),
}  # fmt: skip
# Sums of several values. A value that reads N/A is skipped if another is a number.
_SUMS: dict[str, re.Pattern[str]] = {
    "ecc.errors.uncorrected.volatile.total": re.compile(
        r"ecc_errors/volatile/(?:[sd]ram_uncorrectable\w*|double_bit/total)"
        r"|ECC Errors/Volatile/(?:[SD]RAM Uncorrectable.*|Double Bit/Total)"
    ),
    "ecc.errors.corrected.volatile.total": re.compile(
        r"ecc_errors/volatile/(?:[sd]ram_correctable|single_bit/total)"
        r"|ECC Errors/Volatile/(?:[SD]RAM Correctable|Single Bit/Total)"
    ),
    "dram.corrected.aggregate": re.compile(
        r"ecc_errors/aggregate/dram_correctable|ECC Errors/Aggregate/DRAM Correctable"
    ),
    "remapped.correctable": re.compile(
        r"remapped_rows/remapped_row_corr|Remapped Rows/Correctable Error"
    ),
    "remapped.uncorrectable": re.compile(
        r"remapped_rows/remapped_row_unc|Remapped Rows/Uncorrectable Error"
    ),
    "retired.count": re.compile(
        r"retired_pages/\w+/retired_count|Retired Pages/(?:Single|Double) Bit ECC"
    ),
}
# Reasons for a lower clock that are no choice of the user; ``slowed`` names those that are active.
SLOWED = "slowed"
_SLOWDOWN = re.compile(
    r"(?:[\w ]{1,60}/){1,4}(?:clocks_(?:event|throttle)_reason_)?"
    r"([HS]W (?:Thermal |Power Brake )?Slowdown|[hs]w_(?:thermal_|power_brake_)?slowdown)"
)


@dataclass(frozen=True, slots=True)
class SmiLog:
    """The output of one run of nvidia-smi; ``problem`` is why it is not reliable.

    ``processes`` is ``None`` if this kind of output does not list them.
    """

    gpus: tuple[Raw, ...] = ()
    driver: str | None = None
    cuda: str | None = None
    processes: tuple[str, ...] | None = None
    problem: str = ""


@dataclass(slots=True)
class _Gpu:
    """One GPU of ``-q``, with its values by the path of their labels."""

    bus_id: str
    values: dict[str, str] = field(default_factory=dict)


# --- CSV ---


def parse_query(text: str) -> SmiLog:
    """Parse ``--query-gpu=… --format=csv``; values keep their units."""
    rows = _csv(text)
    gpus = tuple(row for row in rows if row and row.get("index", "").isdigit())
    complete = bool(gpus) and len(gpus) == len(rows)
    problem = "" if complete else _not_this(text, "the table of GPUs is missing or incomplete")
    driver = gpus[0].get(_DRIVER) if gpus else None
    return SmiLog(gpus, driver, problem="" if _has_no_gpu(text) else problem)


def parse_compute_apps(text: str) -> tuple[str, ...] | None:
    """Parse ``--query-compute-apps`` to ``GPU 00000000:8F:00.0: python3 (pid 4711, 63000 MiB)``.

    ``None`` if the text is not its output.
    """
    rows = _csv(text)
    if not text.lstrip().startswith("gpu_bus_id, ") or any("pid" not in row for row in rows):
        return None
    return tuple(
        f"GPU {row['gpu_bus_id']}: {row.get('process_name', '?')} "
        f"(pid {row['pid']}, {_memory(row)})"
        for row in rows
    )


def _memory(row: Raw) -> str:
    """Return the used memory; its heading depends on the driver."""
    return row.get("used_gpu_memory", row.get("used_memory", "?"))


def _csv(text: str) -> list[dict[str, str]]:
    """Return each row by heading without unit; a row of the wrong length is empty."""
    lines = [line[:_LONGEST_LINE] for line in text.splitlines() if ", " in line]
    rows = list(csv.reader(lines, skipinitialspace=True, quoting=csv.QUOTE_NONE))
    heading = [_csv_name(cell) for cell in rows[0]] if rows else []
    fits = [len(row) == len(heading) for row in rows[1:]]
    return [
        dict(zip(heading, row, strict=True)) if fit else {}
        for row, fit in zip(rows[1:], fits, strict=True)
    ]


def _csv_name(heading: str) -> str:
    name = heading.partition(" [")[0].strip()
    return _CSV_NAMES.get(name, name)


# --- nvidia-smi -q, text or XML ---


def parse_log(text: str) -> SmiLog:
    """Parse ``nvidia-smi -q`` or ``-q -x``, complete or reduced to some of its sections."""
    if _has_no_gpu(text):
        return SmiLog()
    return _xml_log(text) if "<nvidia_smi_log>" in text else _text_log(text)


def _xml_log(text: str) -> SmiLog:
    start = text.find("<nvidia_smi_log>")
    try:
        # The DOCTYPE, the only place that could define entities, is skipped.
        root = ElementTree.fromstring(text[start:])  # noqa: S314
    except ElementTree.ParseError as error:
        return SmiLog(problem=f"the XML is malformed: {error}")
    gpus = [_Gpu(item.get("id", ""), _flat(item)) for item in root.findall("gpu")]
    top = {child.tag: (child.text or "").strip() for child in root}
    log = _log(gpus, top.get(_DRIVER), top.get(_CUDA), top.get("attached_gpus"))
    processes = tuple(_xml_processes(root))
    return SmiLog(log.gpus, log.driver, log.cuda, processes, log.problem)


def _flat(root: ElementTree.Element) -> dict[str, str]:
    """Return values by path. Not recursive: a node may print arbitrarily deep nesting."""
    found: dict[str, str] = {}
    waiting = [("", child) for child in root]
    while waiting:
        path, item = waiting.pop()
        place = f"{path}{item.tag}"
        if len(item):
            waiting += [(f"{place[:_LONGEST_LINE]}/", child) for child in item]
        else:
            found[place] = (item.text or "").strip()
    return found


def _xml_processes(root: ElementTree.Element) -> Iterator[str]:
    for index, gpu in enumerate(root.findall("gpu")):
        for item in gpu.iterfind("processes/process_info"):
            # Type G is graphics only and does not compute.
            if "C" in (item.findtext("type") or "C"):
                name, memory = item.findtext("process_name"), item.findtext("used_memory")
                yield f"GPU {index}: {name} (pid {item.findtext('pid')}, {memory})"


def _text_log(text: str) -> SmiLog:
    top: dict[str, str] = {}
    gpus: list[_Gpu] = []
    labels: list[tuple[int, str]] = []
    for line in text.splitlines():
        label, colon, value = (part.strip() for part in line[:_LONGEST_LINE].partition(" : "))
        indent = len(line) - len(line.lstrip())
        if start := re.fullmatch(r"GPU ([0-9A-Fa-f]{4,8}:\S{1,20})", line.rstrip()[:_LONGEST_LINE]):
            gpus.append(_Gpu(start[1]))
            labels = []
        elif label and not gpus:
            top[label] = value
        elif label:
            labels = [item for item in labels if item[0] < indent][-8:]
            labels.append((indent, label))
            if colon:
                gpus[-1].values["/".join(name for _, name in labels)] = value
    return _log(gpus, top.get("Driver Version"), top.get("CUDA Version"), top.get("Attached GPUs"))


def _log(gpus: list[_Gpu], driver: str | None, cuda: str | None, attached: str | None) -> SmiLog:
    raws = tuple({"index": str(index)} | _raw(gpu) for index, gpu in enumerate(gpus))
    if attached is None:
        problem = "does not report how many GPUs are attached"
    else:
        problem = f"reports {attached} attached GPUs but lists {len(gpus)}"
        problem = "" if attached == str(len(gpus)) else problem
    return SmiLog(raws, driver, cuda, problem=problem)


def _raw(gpu: _Gpu) -> dict[str, str]:
    found = {
        name: next(gpu.values[place] for place in places if place in gpu.values)
        for name, places in _PLACES.items()
        if any(place in gpu.values for place in places)
    }
    found.setdefault("pci.bus_id", gpu.bus_id)
    return found | _sums(gpu) | _slowed(gpu)


def _slowed(gpu: _Gpu) -> dict[str, str]:
    states = {m[1]: gpu.values[m[0]] for m in map(_SLOWDOWN.fullmatch, gpu.values) if m}
    active = sorted({name.replace("_", " ") for name, state in states.items() if state == "Active"})
    return {SLOWED: ", ".join(active)} if states else {}


def _sums(gpu: _Gpu) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, pattern in _SUMS.items():
        parts = [value for place, value in gpu.values.items() if pattern.fullmatch(place)]
        counts = [int(part) for part in parts if re.fullmatch(r"\d{1,18}", part)]
        if parts:
            found[name] = str(sum(counts)) if counts else parts[0]
    return found


def _has_no_gpu(text: str) -> bool:
    return text.strip() == "No devices were found"


def _not_this(text: str, otherwise: str) -> str:
    first = text.strip().partition("\n")[0][:80]
    return f"{otherwise}: {first!r}" if first else otherwise
