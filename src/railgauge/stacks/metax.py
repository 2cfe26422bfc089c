"""MetaX: ``mx-smi``, perftest with MACA memory, MCCL, and the peer memory driver ``mxcd``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from railgauge.stacks import readings as read
from railgauge.stacks.counting import GpuCounters
from railgauge.stacks.metax_counters import COUNTERS
from railgauge.stacks.metax_sampler import SAMPLERS
from railgauge.stacks.model import GpuFacts, GpuIdentity, StackFacts, unread
from railgauge.stacks.readings import Raw
from railgauge.stacks.sampling import Sampler
from railgauge.stacks.sections import Section, section
from railgauge.stacks.smi_table import parse_table
from railgauge.stacks.topology import GpuTopology, parse_topology
from railgauge.stacks.versions import library_build, library_builds, versions

_MEMORY = re.compile(r"/ {0,9}(\d{1,9}) ?MiB")
_CAP = re.compile(r"/ {0,4}(\d{1,5})W")
# What a GPU that can be used reads; 2.2.3 and older print no state.
_USABLE = "Available"
_ATTACHED = re.compile(r"^Attached GPUs\s*:\s*(\d{1,4})", re.MULTILINE)
_PROCESS = re.compile(r"\|\s+(\d{1,4})\s+(\d{1,10})\s+(\S.*?)\s+(\d{1,9})\s*(?:MiB)?\s*\|")
# A line of -L: GPU#0  MXC500  0000:08:00.0  Available (UUID: GPU-...)
_LISTED = re.compile(r"GPU ?#?(\d{1,4})\b.*\(UUID: ([^()\s]{1,80})\)\s*")
_LONGEST_LINE = 300
# The kernel exports mm_kobj, or the RDMA stack is built without memory_peers (000, 5.2). kfree,
# which every kernel exports, shows that the list names exported symbols at all.
_ASK_MM_KOBJ = (
    "grep -oE '__ksymtab_(mm_kobj|kfree)$' \"$R/proc/kallsyms\""
    ' || grep -E "[[:space:]](mm_kobj|kfree)[[:space:]]"'
    ' "$R/usr/src/kernels/$(cat "$R/proc/sys/kernel/osrelease")/Module.symvers"'
)
_EXPORTED = re.compile(r"(?:__ksymtab_|\s)(mm_kobj|kfree)\b")
_NO_SYMBOLS = "neither /proc/kallsyms nor Module.symvers lists what the kernel exports"
_VERSIONS = {
    "driver": re.compile(r"Kernel Mode Driver Version:\s*([\w.\-]+)"),
    "mx-smi": re.compile(r"MX-SMI\s+([\w.\-]+)"),
    "maca": re.compile(r"MACA Version:\s*([\w.\-]+)"),
    "bios": re.compile(r"BIOS Version:\s*([\w.\-]+)"),
}


@dataclass(frozen=True, slots=True)
class MetaX:
    """The stack of the MetaX C500 and related GPUs."""

    name: str = "metax"
    probe_commands: Mapping[str, str] = field(
        default_factory=lambda: {
            "mx-smi": "mx-smi",
            "mx-smi-topo": "mx-smi topo -n",
            "mx-smi-list": "mx-smi -L",
            "metax-mccl": library_builds("libmccl"),
            "mm-kobj": _ASK_MM_KOBJ,
        }
    )
    collective_prefix: str = "MCCL"
    pci_vendor: str = "0x9999"
    listing: tuple[str, ...] = ("mx-smi",)
    peer_memory: str = "mxcd"
    perftest_dmabuf: tuple[str, ...] = ()
    peer_modules: tuple[str, ...] = ()
    samplers: tuple[Sampler, ...] = SAMPLERS
    counters: GpuCounters = COUNTERS
    diagnostics: tuple[str, ...] = ()

    def parse(self, sections: Mapping[str, Section]) -> StackFacts:
        table = section(sections, "mx-smi")
        text = "" if table.failure else table.text
        found = parse_versions(text)
        driver = found.get("driver")
        maca = (found.get("maca"), table.failure or _silent("MACA version"))
        mccl = library_build(section(sections, "metax-mccl"), "libmccl")
        symbols = section(sections, "mm-kobj")
        mm_kobj = (parse_mm_kobj(symbols.text), symbols.failure or _NO_SYMBOLS)
        software, unknown = versions(
            {"runtime": maca, "collective_library": mccl, "mm_kobj": mm_kobj}
        )
        topology = parse_topology(section(sections, "mx-smi-topo").text)
        gpus = _placed(parse_gpus(text), topology, found.get("bios"))
        processes = parse_processes(text)
        missing = {
            "gpus": table.failure or gpu_problem(text, gpus),
            "gpu_driver": table.failure or ("" if driver else _silent("driver")),
            "gpu_processes": table.failure or ("" if processes is not None else _silent("process")),
            "topology": section(sections, "mx-smi-topo").failure
            or (topology.problem and f"mx-smi topo -n: {topology.problem}"),
        }
        return StackFacts(
            gpus=gpus,
            driver=driver,
            software=software,
            topology=topology.distances,
            processes=processes or (),
            missing={fact: reason for fact, reason in missing.items() if reason}
            | unknown
            | unread(gpus, lambda name: f"mx-smi: shows no {name}"),
            identities=parse_list(section(sections, "mx-smi-list")),
            unidentified="mx-smi: does not show it",
        )

    def perftest_memory_flags(self, gpu: int) -> tuple[str, ...]:
        return (f"--use_maca={gpu}",)


def parse_mm_kobj(text: str) -> str | None:
    """Return ``exported`` or ``not exported``; ``None`` if no list of exported symbols is there."""
    found = set(_EXPORTED.findall(text))
    return ("exported" if "mm_kobj" in found else "not exported") if found else None


def parse_versions(text: str) -> dict[str, str]:
    """Return the versions of ``driver``, ``mx-smi``, ``maca`` and ``bios`` in the heading."""
    found = {name: pattern.search(text) for name, pattern in _VERSIONS.items()}
    return {name: match[1] for name, match in found.items() if match}


def parse_gpus(text: str) -> tuple[GpuFacts, ...]:
    """Parse the GPUs of the default table; none if it is of an unknown release."""
    return tuple(sorted(map(_gpu, parse_table(text).gpus), key=lambda gpu: gpu.index))


def parse_list(listed: Section) -> dict[int, GpuIdentity]:
    """Return the UUID of each GPU in ``mx-smi -L``; the tool shows no serial number."""
    lines = () if listed.failure else listed.text.splitlines()
    found = (_LISTED.fullmatch(line[:_LONGEST_LINE].strip()) for line in lines)
    return {int(match[1]): GpuIdentity(uuid=match[2]) for match in found if match}


def _gpu(raw: Raw) -> GpuFacts:
    memory, cap = _MEMORY.search(raw.get("memory", "")), _CAP.search(raw.get("power", ""))
    return GpuFacts(
        index=int(raw["gpu"]),
        model=raw.get("name", ""),
        bus_id=read.bus_id(raw.get("bus_id")),
        memory_mib=int(memory[1]) if memory else None,
        power_limit_w=float(cap[1]) if cap else None,
        persistence_mode=read.switch(raw.get("persistence")),
        mig_enabled=read.switch(raw.get("sliced")),
    )


def _placed(
    gpus: tuple[GpuFacts, ...], topology: GpuTopology, bios: str | None
) -> tuple[GpuFacts, ...]:
    """Add the NUMA node of each GPU, and the BIOS version, which the heading gives once for all."""
    nodes = topology.numa_nodes
    return tuple(replace(gpu, numa_node=nodes.get(f"gpu{gpu.index}"), vbios=bios) for gpu in gpus)


def parse_processes(text: str) -> tuple[str, ...] | None:
    """Return lines ``GPU 0: python3 (pid 4711, 63000 MiB)``; ``None`` if the table is missing."""
    _, heading, table = text.partition("| Process:")
    found = tuple(_processes(table))
    if not heading or not (found or "no process found" in table):
        return None
    return found


def _processes(table: str) -> Iterator[str]:
    for line in table.splitlines():
        if match := _PROCESS.fullmatch(line[:_LONGEST_LINE].strip()):
            yield f"GPU {match[1]}: {match[3]} (pid {match[2]}, {match[4]} MiB)"


def gpu_problem(text: str, gpus: tuple[GpuFacts, ...]) -> str:
    """Return why the list of GPUs is not complete; empty if it is."""
    attached = _ATTACHED.search(text)
    if not attached:
        return "mx-smi: does not report how many GPUs are attached"
    table = parse_table(text)
    if int(attached[1]) != len(gpus):
        why = f": {table.problem}" if table.problem else ""
        return f"mx-smi: reports {attached[1]} attached GPUs but lists {len(gpus)}{why}"
    bad = [*table.failed, *unusable(table.gpus)]
    return f"mx-smi: {bad[0]}" if bad else ""


def unusable(gpus: Iterable[Raw]) -> Iterator[str]:
    """Yield each GPU whose state is not that of one that can be used."""
    for raw in gpus:
        if raw.get("state", _USABLE) != _USABLE:
            yield f"GPU {raw['gpu']} is {raw['state']}"


def _silent(what: str) -> str:
    return f"mx-smi: shows no {what} information"


STACK = MetaX()
