"""Readers of ``numactl -H``, ``lscpu``, ``cpupower frequency-info`` and ``/proc/interrupts``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

_LONGEST_LINE = 20_000
_NODE = re.compile(r"node (\d{1,4}) (cpus|size): ?([\d ]*)(?: MB)?")
_DISTANCE = re.compile(r"\s*(\d{1,4}): ((?: *\d{1,4})+) *")
_NUMA_CPUS = re.compile(r"NUMA node(\d{1,4}) CPU\(s\)")
_ANALYZING = re.compile(r"analyzing CPU (\d{1,5}):")
_CLOCK = re.compile(r"(\d{1,5}(?:\.\d{1,4})?) (MHz|GHz)")
_IRQ = re.compile(r" *([A-Za-z\d]{1,8}): *(.*)")
_CHIP = re.compile(r"(.*?(?:-(?:edge|fasteoi|level)| (?:Edge|Level)))(?:\s+(.*))?")
_PCI = re.compile(r"(?:@pci:|MSIX?-)([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")


@dataclass(frozen=True, slots=True)
class NumaNode:
    """One node of ``numactl -H``; one without CPUs has only memory."""

    cpus: tuple[int, ...] = ()
    size_mb: int | None = None
    distances: tuple[int, ...] = ()


def parse_numactl(text: str) -> dict[int, NumaNode]:
    """Nodes by number; empty where the output is not that of ``numactl -H``."""
    nodes: dict[int, NumaNode] = {}
    for line in (line[:_LONGEST_LINE] for line in text.splitlines()):
        if match := _NODE.fullmatch(line.rstrip()):
            number, words = int(match[1]), match[3].split()
            known = nodes.get(number, NumaNode())
            if match[2] == "cpus":
                nodes[number] = replace(known, cpus=tuple(map(int, words)))
            elif words:
                nodes[number] = replace(known, size_mb=int(words[0]))
        elif (match := _DISTANCE.fullmatch(line)) and int(match[1]) in nodes:
            distances = tuple(map(int, match[2].split()))
            nodes[int(match[1])] = replace(nodes[int(match[1])], distances=distances)
    return nodes


@dataclass(frozen=True, slots=True)
class CpuFacts:
    """What ``lscpu`` says; ``numa_cpus`` are the kernel's lists by node."""

    model: str | None = None
    cpus: int | None = None
    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    numa_nodes: int | None = None
    numa_cpus: Mapping[str, str] = field(default_factory=dict)


def parse_lscpu(text: str) -> CpuFacts:
    """``lscpu`` plain, cut to some of its lines, or ``-J``, flat or nested."""
    fields = _lscpu_json(text) if text.lstrip().startswith("{") else _lscpu_lines(text)
    lists = {m[1]: fields[m[0]] for m in map(_NUMA_CPUS.fullmatch, fields) if m}
    return CpuFacts(
        model=fields.get("Model name"),
        cpus=_count(fields.get("CPU(s)")),
        sockets=_count(fields.get("Socket(s)")),
        cores_per_socket=_count(fields.get("Core(s) per socket")),
        threads_per_core=_count(fields.get("Thread(s) per core")),
        numa_nodes=_count(fields.get("NUMA node(s)")),
        numa_cpus=lists,
    )


def _count(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"\d{1,6}", text) else None


def _lscpu_lines(text: str) -> dict[str, str]:
    pairs = (line[:_LONGEST_LINE].partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def _lscpu_json(text: str) -> dict[str, str]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    waiting: list[Any] = [data.get("lscpu")] if isinstance(data, dict) else []
    found: dict[str, str] = {}
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            found.setdefault(str(item.get("field", "")).rstrip(":"), str(item.get("data", "")))
            waiting.append(item.get("children"))
    return found


@dataclass(frozen=True, slots=True)
class CpuFrequency:
    """One CPU of ``cpupower frequency-info``; ``current_by`` is ``hardware`` or ``kernel``."""

    cpu: int
    driver: str | None = None
    governor: str | None = None
    min_mhz: float | None = None
    max_mhz: float | None = None
    current_mhz: float | None = None
    current_by: str | None = None
    boost_active: bool | None = None


def parse_cpupower(text: str) -> tuple[CpuFrequency, ...]:
    """Every CPU that was analysed; a clock that could not be asked for is ``None``."""
    found: list[CpuFrequency] = []
    for line in (line[:_LONGEST_LINE].strip() for line in text.splitlines()):
        if start := _ANALYZING.fullmatch(line):
            found.append(CpuFrequency(int(start[1])))
        elif found:
            found[-1] = replace(found[-1], **_frequency(line))
    return tuple(found)


def _frequency(line: str) -> dict[str, Any]:
    name, _, value = line.partition(": ")
    clocks = [_mhz(match) for match in _CLOCK.finditer(value)]
    if name == "driver":
        return {"driver": value.strip()}
    if name == "hardware limits" and len(clocks) > 1:
        return {"min_mhz": clocks[0], "max_mhz": clocks[1]}
    if name == "current CPU frequency" and clocks:
        return {"current_mhz": clocks[0], "current_by": value.rpartition(" ")[2].strip(")")}
    if name == "Active":
        return {"boost_active": value.strip() == "yes"}
    governor = re.match(r'The governor "(\w{1,40})"', line)
    return {"governor": governor[1]} if governor else {}


def _mhz(match: re.Match[str]) -> float:
    return round(float(match[1]) * (1000 if match[2] == "GHz" else 1), 3)


@dataclass(frozen=True, slots=True)
class Interrupt:
    """One row of ``/proc/interrupts``: ``counts`` by CPU, ``action`` is what it is for.

    ``pci_address`` is of the device, where the chip or the action names it.
    """

    irq: str
    counts: tuple[int, ...]
    chip: str = ""
    action: str = ""
    pci_address: str | None = None

    @property
    def total(self) -> int:
        return sum(self.counts)


def parse_interrupts(text: str) -> dict[str, Interrupt]:
    """Rows by number or name, with the heading or, after a grep, without it."""
    lines = [line[:_LONGEST_LINE] for line in text.splitlines()]
    heading = next((line.split() for line in lines if line.split()[:1] == ["CPU0"]), [])
    return {row.irq: row for row in _interrupts(lines, len(heading))}


def _interrupts(lines: list[str], cpus: int) -> Iterator[Interrupt]:
    for line in lines:
        if not (match := _IRQ.fullmatch(line.rstrip())):
            continue
        words = match[2].split()
        most = min(cpus or len(words), len(words))
        count = next((i for i in range(most) if not words[i].isdigit()), most)
        if count:
            rest = " ".join(words[count:])
            chip = _CHIP.fullmatch(rest) if match[1].isdigit() else None
            pci = _PCI.search(rest)
            yield Interrupt(
                match[1],
                tuple(map(int, words[:count])),
                chip[1] if chip else "",
                ((chip[2] or "") if chip else rest),
                pci[1] if pci else None,
            )
