"""Network devices and their interrupts, parsed from the probe's output."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from railgauge.facts.host import format_cpu_list, parse_cpu_list
from railgauge.facts.infiniband import parse_sysfs
from railgauge.facts.model import IrqFacts, NetdevFacts

_DRIVER_LINK = re.compile(r"l\S+ .* ([\w.\-]+)/device/driver -> (?:\S*/)?([\w\-]+)")
_DRIVER_LINE = re.compile(r"([\w.\-]+)/device/uevent:DRIVER=([\w\-]+)")
_IRQ = re.compile(r"irq ([\w.\-]+)((?: \d{1,7})*)")
_AFFINITY = re.compile(r"proc/irq/(\d{1,7})/(smp|effective)_affinity_list:([\d,\-]+)")
_LONGEST_LINE = 20_000
_MBPS_PER_GBPS = 1000


def _rate_gbps(text: str) -> float | None:
    return int(text) / _MBPS_PER_GBPS if re.fullmatch(r"[1-9]\d{0,8}", text) else None


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,9}", text) else None


_FILES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "numa_node": ("device/numa_node", _whole),
    "state": ("operstate", lambda text: text or None),
    "rate_gbps": ("speed", _rate_gbps),
    "mtu_bytes": ("mtu", _whole),
}


def parse_netdevs(text: str) -> tuple[tuple[NetdevFacts, ...], dict[str, str]]:
    """Return the devices in natural order of their names, and a reason for each missing value."""
    drivers = _drivers(text)
    found: list[NetdevFacts] = []
    missing: dict[str, str] = {}
    for name, device in parse_sysfs(text).items():
        values: dict[str, Any] = {
            fact: reader(device.files[path]) if path in device.files else None
            for fact, (path, reader) in _FILES.items()
        }
        values |= {"pci_address": device.pci_address, "driver": drivers.get(name)}
        found.append(NetdevFacts(name=name, **values))
        missing |= {
            f"netdevs.{name}.{fact}": _why(name, fact, device.files)
            for fact, value in values.items()
            if value is None
        }
    return tuple(found), missing


def _drivers(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if len(line) <= _LONGEST_LINE]
    found = (_DRIVER_LINK.fullmatch(line) or _DRIVER_LINE.fullmatch(line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def _why(name: str, fact: str, files: dict[str, str]) -> str:
    folder = f"/sys/class/net/{name}"
    path = _FILES[fact][0] if fact in _FILES else "device"
    if path in files:
        return f"{folder}/{path}: reads {files[path]!r:.80}"
    return f"{folder}/{path}: {'cannot be read' if fact in _FILES else f'names no {fact}'}"


def parse_irqs(text: str) -> tuple[IrqFacts, ...]:
    """Return the interrupts of every NIC.

    The effective CPUs count; the allowed CPUs count if the kernel does not report them.
    """
    allowed: dict[str, str] = {}
    effective: dict[str, str] = {}
    numbers: dict[str, list[str]] = {}
    for line in text.splitlines():
        if match := _IRQ.fullmatch(line[:_LONGEST_LINE]):
            numbers[match[1]] = match[2].split()
        elif match := _AFFINITY.fullmatch(line[:_LONGEST_LINE]):
            (effective if match[2] == "effective" else allowed)[match[1]] = match[3]
    lists = allowed | effective
    return tuple(IrqFacts(name, len(irqs), _cpus(irqs, lists)) for name, irqs in numbers.items())


def _cpus(irqs: list[str], lists: dict[str, str]) -> str:
    known = (parse_cpu_list(lists[irq]) or () for irq in irqs if irq in lists)
    return format_cpu_list(cpu for cpus in known for cpu in cpus)
