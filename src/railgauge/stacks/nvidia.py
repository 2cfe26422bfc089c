"""NVIDIA: ``nvidia-smi``, perftest with CUDA memory, NCCL, and ``nvidia_peermem``.

The probe asks for both CSV and XML. A driver that does not know one field of a CSV query rejects
the query, and no query returns remapped rows, processes and the fabric's state together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from railgauge.stacks import readings as read
from railgauge.stacks.counting import GpuCounters
from railgauge.stacks.model import GpuFacts, GpuIdentity, StackFacts, unread
from railgauge.stacks.nvidia_counters import COUNTERS
from railgauge.stacks.nvidia_sampler import SAMPLER
from railgauge.stacks.nvidia_smi import (
    QUERY,
    SmiLog,
    parse_compute_apps,
    parse_log,
    parse_query,
)
from railgauge.stacks.nvlink import Links, NvlinkReading, parse_nvlink
from railgauge.stacks.readings import Raw
from railgauge.stacks.sampling import Sampler
from railgauge.stacks.sections import Section, section
from railgauge.stacks.topology import GpuTopology, parse_topology
from railgauge.stacks.versions import Version, library_files, library_version, versions

_Parser = Callable[[str], SmiLog]
_OPEN_MODULE = re.compile(r"NVRM version:.*\bOpen Kernel Module\b")
_KERNEL = re.compile(r"(\d{1,3})\.(\d{1,3})\b.*", re.DOTALL)
_DMA_BUF_SINCE = (5, 12)
# nv-fabricmanager prints "Fabric Manager version is : 550.90.07".
_MANAGER = re.compile(r"version is\s*:\s*([\w.\-]{1,40})", re.IGNORECASE)
_LONGEST = 1000
_BUS_IN_FRONT = re.compile(r"GPU ([0-9A-Fa-f:.]{12,16}): ")

# The raw value from which each field of GpuFacts is read.
_SOURCES = {
    "model": "name",
    "bus_id": "pci.bus_id",
    "memory_mib": "memory.total",
    "persistence_mode": "persistence_mode",
    "power_limit_w": "power.limit",
    "power_default_w": "power.default_limit",
    "vbios": "vbios_version",
    "clock_max_mhz": "clocks.max.sm",
    "clock_mhz": "clocks.sm",
    "ecc_enabled": "ecc.mode.current",
    "ecc_uncorrected": "ecc.errors.uncorrected.volatile.total",
    "remapped_rows": "remapped.correctable",
    "retired_pages": "retired.count",
    "remap_pending": "remapped.pending",
    "remap_failed": "remapped.failure",
    "pcie_gen": "pcie.link.gen.current",
    "pcie_width": "pcie.link.width.current",
    "pcie_max_gen": "pcie.link.gen.max",
    "pcie_max_width": "pcie.link.width.max",
    "mig_enabled": "mig.mode.current",
    "fabric": "fabric",
    "device_id": "pci.device_id",
}
_DEVICE_ID = re.compile(r"(?:0x)?([0-9A-Fa-f]{4})10[Dd][Ee]")


@dataclass(frozen=True, slots=True)
class Nvidia:
    """The stack of every GPU that ``nvidia-smi`` lists."""

    name: str = "nvidia"
    probe_commands: Mapping[str, str] = field(
        default_factory=lambda: {
            "nvidia-smi-query": f"nvidia-smi --query-gpu={','.join(QUERY)} --format=csv",
            "nvidia-smi-q": "nvidia-smi -q -x",
            "nvidia-smi-apps": "nvidia-smi"
            " --query-compute-apps=gpu_bus_id,pid,process_name,used_gpu_memory --format=csv",
            "nvidia-smi-topo": "nvidia-smi topo -m",
            "nvidia-smi-nvlink": "nvidia-smi nvlink -s",
            "nvidia-module": 'cat "$R/proc/driver/nvidia/version"',
            "nvidia-nccl": library_files("libnccl"),
            "nvidia-fabricmanager": "nv-fabricmanager --version",
        }
    )
    collective_prefix: str = "NCCL"
    pci_vendor: str = "0x10de"
    listing: tuple[str, ...] = ("nvidia-smi",)
    peer_memory: str = "nvidia_peermem"
    perftest_dmabuf: tuple[str, ...] = ("--use_cuda_dmabuf",)
    peer_modules: tuple[str, ...] = ("nvidia_peermem", "nv_peer_mem")
    samplers: tuple[Sampler, ...] = (SAMPLER,)
    counters: GpuCounters = COUNTERS
    # ``dcgmi`` alone may only monitor. Its diagnostic levels start nvvs; specializediag is EUD.
    diagnostics: tuple[str, ...] = ("dcgmi diag", "nvvs", "specializediag", "fieldiag")

    def parse(self, sections: Mapping[str, Section]) -> StackFacts:
        query = _asked(section(sections, "nvidia-smi-query"), parse_query)
        log = _asked(section(sections, "nvidia-smi-q"), parse_log)
        topology = section(sections, "nvidia-smi-topo")
        distances = parse_topology("" if topology.failure else topology.text)
        raws, problem = _merged(query, log)
        gpus = _gpus(raws, distances, _nvlink(sections).links)
        processes = _processes(section(sections, "nvidia-smi-apps"), log, gpus)
        driver = read.value(query.driver) or read.value(log.driver)
        software, unknown = versions(_software(log, sections))
        missing = {
            "gpus": problem,
            "gpu_driver": "" if driver else _silent("driver", query, log),
            "gpu_processes": "" if processes is not None else _silent("processes", log, log),
            "topology": topology.failure
            or (distances.problem and f"nvidia-smi topo -m: {distances.problem}"),
        }
        return StackFacts(
            gpus=gpus,
            driver=driver,
            software=software,
            topology=distances.distances,
            processes=processes or (),
            peer_memory=_dma_buf(sections),
            missing={name: reason for name, reason in missing.items() if reason}
            | unknown
            | unread(gpus, lambda name: _absent(name, sections) or _why(name, raws, query, log)),
            identities={int(raw["index"]): _identity(raw) for raw in raws},
            unidentified=log.problem or "nvidia-smi -q: does not show it",
        )

    def perftest_memory_flags(self, gpu: int) -> tuple[str, ...]:
        return (f"--use_cuda={gpu}",)


def _asked(printed: Section, parser: _Parser) -> SmiLog:
    log = SmiLog(problem=printed.failure) if _is_broken(printed) else parser(printed.text)
    problem = (
        log.problem if _is_broken(printed) else log.problem and f"{printed.name}: {log.problem}"
    )
    return SmiLog(log.gpus, log.driver, log.cuda, log.processes, problem)


def _is_broken(printed: Section) -> bool:
    """Whether the output is no answer.

    "No devices were found" is an answer, although the tool exits with an error.
    """
    none_found = printed.exit_code is not None and printed.text.strip() == "No devices were found"
    return bool(printed.failure) and not none_found


def _merged(query: SmiLog, log: SmiLog) -> tuple[tuple[Raw, ...], str]:
    """Return the GPUs of both outputs, and the problem if neither works or they disagree.

    If one output has a problem, the other is enough.
    """
    if query.problem and log.problem:
        return (query.gpus or log.gpus), query.problem
    if query.problem or log.problem:
        return (log.gpus if query.problem else query.gpus), ""
    rows = {read.bus_id(raw.get("pci.bus_id")): raw for raw in log.gpus}
    if set(rows) != {read.bus_id(raw.get("pci.bus_id")) for raw in query.gpus}:
        return query.gpus, "nvidia-smi: its query and its -q do not list the same GPUs"
    both = ((rows[read.bus_id(raw.get("pci.bus_id"))], raw) for raw in query.gpus)
    return tuple({**queried, **logged, **_values(queried)} for logged, queried in both), ""


def _values(raw: Raw) -> Raw:
    return {name: text for name, text in raw.items() if read.value(text) is not None}


def _gpus(
    raws: tuple[Raw, ...], topology: GpuTopology, links: Mapping[int, Links]
) -> tuple[GpuFacts, ...]:
    gpus = [_gpu(int(raw["index"]), raw, topology, links) for raw in raws]
    return tuple(sorted(gpus, key=lambda gpu: gpu.index))


def _gpu(index: int, raw: Raw, topology: GpuTopology, links: Mapping[int, Links]) -> GpuFacts:
    link = links.get(index)
    pending = [read.switch(raw.get(f"{kind}.pending")) for kind in ("remapped", "retired")]
    known = [flag for flag in pending if flag is not None]
    return GpuFacts(
        index=index,
        model=raw.get("name", ""),
        bus_id=read.bus_id(raw.get("pci.bus_id")),
        memory_mib=read.whole(raw.get("memory.total")),
        numa_node=topology.numa_nodes.get(f"gpu{index}"),
        persistence_mode=read.switch(raw.get("persistence_mode")),
        vbios=read.value(raw.get("vbios_version")),
        power_limit_w=read.number(raw.get("power.limit")),
        power_default_w=read.number(raw.get("power.default_limit")),
        clock_max_mhz=read.whole(raw.get("clocks.max.sm")),
        clock_mhz=read.whole(raw.get("clocks.sm")),
        ecc_enabled=read.switch(raw.get("ecc.mode.current")),
        ecc_uncorrected=read.whole(raw.get("ecc.errors.uncorrected.volatile.total")),
        remapped_rows=_sum(raw, "remapped.correctable", "remapped.uncorrectable"),
        retired_pages=read.whole(raw.get("retired.count")),
        remap_pending=any(known) if known else None,
        remap_failed=read.switch(raw.get("remapped.failure")),
        links_up=link.up if link else None,
        links_total=link.total if link else None,
        link_rate_gbps=link.rate_gbps if link else None,
        pcie_gen=read.whole(raw.get("pcie.link.gen.current")),
        pcie_width=read.width(raw.get("pcie.link.width.current")),
        pcie_max_gen=read.whole(raw.get("pcie.link.gen.max")),
        pcie_max_width=read.width(raw.get("pcie.link.width.max")),
        mig_enabled=read.switch(raw.get("mig.mode.current")),
        fabric=_fabric(raw),
        device_id=_device_id(raw.get("pci.device_id", "")),
    )


def _device_id(text: str) -> str | None:
    """Return ``2335`` for ``0x233510DE``, device and vendor."""
    match = _DEVICE_ID.fullmatch(text)
    return match[1].lower() if match else None


def _identity(raw: Raw) -> GpuIdentity:
    module = read.value(raw.get("module"))
    return GpuIdentity(
        raw.get("serial", ""),
        raw.get("uuid", ""),
        raw.get("part_number", ""),
        f"module {module}" if module else "",
    )


def _fabric(raw: Raw) -> str | None:
    """Return state and status; drivers before 535 show only the state."""
    words = (read.value(raw.get(name)) for name in ("fabric", "fabric.status"))
    return ", ".join(word for word in words if word) or None


def _sum(raw: Raw, *names: str) -> int | None:
    counts = [read.whole(raw.get(name)) for name in names]
    return sum(count for count in counts if count is not None) if None not in counts else None


def _processes(apps: Section, log: SmiLog, gpus: tuple[GpuFacts, ...]) -> tuple[str, ...] | None:
    """Return the processes of the query, by GPU number; those of ``-q`` if the query failed.

    ``None`` if neither lists them.
    """
    listed = None if apps.failure else parse_compute_apps(apps.text)
    if listed is None:
        return None if log.problem else log.processes
    numbers = {gpu.bus_id: gpu.index for gpu in gpus}
    return tuple(_by_number(line, numbers) for line in listed)


def _by_number(line: str, numbers: Mapping[str | None, int]) -> str:
    match = _BUS_IN_FRONT.match(line)
    number = numbers.get(read.bus_id(match[1])) if match else None
    return f"GPU {number}: {line[match.end() :]}" if match and number is not None else line


def _software(log: SmiLog, sections: Mapping[str, Section]) -> dict[str, Version]:
    """Return each version, with the reason to report if it is ``None``."""
    manager = section(sections, "nvidia-fabricmanager")
    version = None if manager.failure else _MANAGER.search(manager.text[:_LONGEST])
    return {
        "runtime": (read.value(log.cuda), _silent("CUDA version", log)),
        "kernel_module": _kind_of_module(section(sections, "nvidia-module")),
        "collective_library": library_version(section(sections, "nvidia-nccl"), "libnccl"),
        "fabric_manager": (
            version[1] if version else None,
            manager.failure or "nv-fabricmanager --version: shows no version",
        ),
    }


def _kind_of_module(module: Section) -> Version:
    if module.failure or "NVRM version:" not in module.text:
        return None, module.failure or "/proc/driver/nvidia/version: shows no NVRM version"
    return ("open" if _has_open_module(module) else "proprietary"), ""


def _has_open_module(module: Section) -> bool:
    return any(_OPEN_MODULE.match(line[:300]) for line in module.text.splitlines())


def _dma_buf(sections: Mapping[str, Section]) -> tuple[str, ...]:
    """Return ``dma-buf`` if the driver exports it: the open module on Linux 5.12 or newer.

    Whether a collective used it is shown by the collective's own log.
    """
    module, kernel = section(sections, "nvidia-module"), section(sections, "kernel")
    release = None if kernel.failure else _KERNEL.fullmatch(kernel.text.strip()[:100])
    if module.failure or not release or not _has_open_module(module):
        return ()
    return ("dma-buf",) if (int(release[1]), int(release[2])) >= _DMA_BUF_SINCE else ()


def _silent(what: str, *logs: SmiLog) -> str:
    return next((log.problem for log in logs if log.problem), f"nvidia-smi: shows no {what}")


def _nvlink(sections: Mapping[str, Section]) -> NvlinkReading:
    links = section(sections, "nvidia-smi-nvlink")
    return parse_nvlink("" if links.failure else links.text)


def _absent(name: str, sections: Mapping[str, Section]) -> str:
    """Return why a value is missing that another subcommand than the inventory prints.

    Empty for values of the inventory.
    """
    if name.startswith("link"):
        why = _nvlink(sections).problem or "shows no such link"
        return section(sections, "nvidia-smi-nvlink").failure or f"nvidia-smi nvlink -s: {why}"
    if name == "numa_node":
        topology = section(sections, "nvidia-smi-topo")
        return topology.failure or "nvidia-smi topo -m: shows no NUMA affinity"
    return ""


def _why(name: str, raws: tuple[Raw, ...], query: SmiLog, log: SmiLog) -> str:
    source = _SOURCES.get(name)
    if source is None:
        return "nvidia-smi: has no such value"
    printed = (raw[source] for raw in raws if source in raw)
    malformed = next((text for text in printed if read.value(text) is None), None)
    if malformed is not None:
        return f"nvidia-smi: {source} reads {malformed!r}"
    return log.problem or query.problem or f"nvidia-smi: shows no {source}"


STACK = Nvidia()
