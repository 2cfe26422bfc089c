"""What is judged when a run ends: kernel logs, error counters, samples of the GPUs. Pure.

All of it is written by default. A group of counters that no node shows is left out, with a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from railgauge.config.thresholds import Platform
from railgauge.config.thresholds.model import PCIE_GTS
from railgauge.core.errors import NoEvidence
from railgauge.core.naming import folded, listed
from railgauge.describing.choice import Chosen
from railgauge.describing.hardware import INFINIBAND
from railgauge.facts import NodeFacts
from railgauge.facts.counters import CounterReading
from railgauge.facts.kernel.log import remedy
from railgauge.judging.growth import CountedSpan, NodeCounters, device_names, judged
from railgauge.stacks import Stack

KERNEL_LOG = "kernel_log"
_LOG = {"basis": KERNEL_LOG, "since_boot": {"basis": "since_boot"}}
_A_LINE = 5
# The groups of shared/growth: those of GPUs, of any RDMA, and of a fabric that loses nothing.
_OF_GPUS = (
    "gpu_ecc_uncorrected", "gpu_ecc_corrected", "gpu_remapped_rows", "gpu_retired_pages",
    "gpu_link_errors", "gpu_pcie_replays",
)  # fmt: skip
_REPLAYS, _OF_RDMA = "pcie_corrected", ("port_errors",)
_OF_INFINIBAND = ("rdma_retransmits", "port_discards")
# Heat, and a power supply that asks for less; a power cap is normal under load.
_NEVER = {
    "nvidia": (
        "hardware-slowdown", "hardware-thermal-slowdown", "software-thermal-slowdown",
        "power-brake",
    ),
    "amd": ("socket-thermal", "processor-hot", "regulator-thermal", "memory-thermal"),
    "metax": ("chip-thermal", "regulator-thermal", "memory-thermal", "thermal", "power-brake"),
}  # fmt: skip
_BILLIONS_AN_HOUR, _BIT_ERRORS = 3600 * 1e9, 1e-12
# mx-smi is run anew for each sample.
_INTERVALS_MS = {"metax": 2000}


def sections(
    kind: Chosen, stack: Stack | None, *, one_kernel: bool, unread: frozenset[str]
) -> dict[str, Any]:
    """Return the sections of the file; ``unread`` are groups of counters that no node shows."""
    found: dict[str, Any] = {} if one_kernel else {KERNEL_LOG: _LOG}
    if groups := [name for name in _groups(kind, stack) if name not in unread]:
        own = {_REPLAYS: _of_slots(kind)} if _REPLAYS in groups and stack is None else {}
        plain = [name for name in groups if name not in own]
        found["growth"] = {**{names: {} for names in in_lines(plain)}, **own}
    if stack and stack.name in _NEVER:
        interval = _INTERVALS_MS.get(stack.name)
        throttling = {"never": list(_NEVER[stack.name]), "basis": "throttling"}
        found["telemetry"] = {
            **({"interval_ms": interval} if interval else {}),
            "throttling": throttling,
        }
    return found


def in_lines(names: Sequence[str]) -> list[str]:
    """Return the names of entries without a value of their own, as keys that fit on a line."""
    return [",".join(names[start : start + _A_LINE]) for start in range(0, len(names), _A_LINE)]


def _groups(kind: Chosen, stack: Stack | None) -> Iterator[str]:
    shown = stack.counters.groups if stack and stack.counters else ()
    yield from (name for name in _OF_GPUS if name in shown)
    if stack or any(nic.pcie for nic in kind.fabric):
        yield _REPLAYS
    if stack or kind.fabric:
        yield "pcie_uncorrected"
    if kind.fabric and kind.fabric[0].is_rdma:
        yield from _OF_RDMA
        yield from _OF_INFINIBAND if kind.fabric[0].link_layer == INFINIBAND else ()


def _of_slots(kind: Chosen) -> dict[str, Any]:
    """Return how often a packet may be sent again; for nodes where no GPU has a faster slot."""
    generation, width = max(nic.pcie for nic in kind.fabric if nic.pcie)
    rate = PCIE_GTS[generation]
    basis = (
        "standard: PCI Express Base Specification: a bit error rate of at most 1e-12 on a lane, "
        f"here of {rate:g} GT/s on {width} lanes for an hour; each wrong bit costs one replay."
    )
    return {"per_hour": int(rate * width * _BILLIONS_AN_HOUR * _BIT_ERRORS), "basis": basis}


def unread_counters(
    platform: Platform, facts: Mapping[str, NodeFacts], readings: Mapping[str, CounterReading]
) -> dict[str, str]:
    """Return the groups of counters that no node shows, each with the reason on the first one."""
    found = {}
    for group, limit in (platform.growth or {}).items():
        alone = replace(platform, growth={group: limit})
        whys = [_why_unread(alone, facts[node], readings.get(node)) for node in facts]
        if all(whys):
            found[group] = whys[0]
    return found


def _why_unread(platform: Platform, one: NodeFacts, reading: CounterReading | None) -> str:
    if reading is None:
        return "the counters were not read"
    names = device_names(one.node, platform, one)
    _, error = judged(NodeCounters(one.node, [CountedSpan(reading, reading, 0.0)], names), platform)
    return error.what if isinstance(error, NoEvidence) else ""


def notes_of(unread: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for the groups of counters that are left out."""
    if unread:
        first = next(iter(unread.values()))
        yield f"not shown by these nodes, so not judged: growth of {listed(list(unread))} ({first})"


def unreadable_logs(facts: Mapping[str, NodeFacts]) -> Iterator[str]:
    """Yield a line for nodes whose kernel's log the login may not read; a run has to."""
    whys: dict[str, list[str]] = {}
    for node, one in facts.items():
        if why := one.missing.get(KERNEL_LOG, ""):
            whys.setdefault(why, []).append(node)
    for why, nodes in whys.items():
        yield f"NOT READABLE {KERNEL_LOG} on {folded(nodes)}: {why}; {remedy(why)}"
