"""GPUs and NICs on the PCI bus of a node that its tools and drivers do not show. Pure.

The kernel lists every device on the bus, whatever is installed: a survey that finds eight devices
of NVIDIA and no nvidia-smi has not found a node without GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from railgauge.core.naming import folded, listed
from railgauge.facts import NodeFacts
from railgauge.facts.model import NetdevFacts, NicFacts
from railgauge.stacks import stack, vendors

# Virtual functions (SR-IOV) are not listed.
SCRIPT = r"""cd "$1/sys/bus/pci/devices" 2>/dev/null || exit 0
for one in *; do
  [ ! -e "$one/physfn" ] && read -r vendor <"$one/vendor" && read -r class <"$one/class" &&
    echo "$one $vendor $class"
done
exit 0"""
_LINE = re.compile(
    r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (0x[0-9a-f]{4}) 0x([0-9a-f]{6})"
)
# PCI Code and ID Assignment: display controllers and processing accelerators; network controllers.
_GPU_CLASSES, _NIC_CLASS = ("03", "12"), "02"
NONE = "none"
"""The answer that nodes have no GPUs, in place of a vendor."""
# The driver of a network device -> the module that makes RDMA devices of the same cards.
_RDMA = {
    "mlx5_core": "mlx5_ib", "mlx4_core": "mlx4_ib", "mlx4_en": "mlx4_ib", "bnxt_en": "bnxt_re",
    "ice": "irdma", "cxgb4": "iw_cxgb4", "qede": "qedr", "hns3": "hns_roce_hw_v2",
    "mana": "mana_ib", "ionic": "ionic_rdma",
}  # fmt: skip
_MOST = 4


@dataclass(frozen=True, slots=True)
class PciFunction:
    """A function on the PCI bus: ``vendor`` is ``0x10de``, ``kind`` the class in hexadecimal."""

    address: str
    vendor: str
    kind: str

    @property
    def is_gpu(self) -> bool:
        return self.kind.startswith(_GPU_CLASSES)

    @property
    def is_nic(self) -> bool:
        return self.kind.startswith(_NIC_CLASS)


Bus = Mapping[str, Sequence[PciFunction]]
"""Node -> what is on its PCI bus."""


@dataclass(frozen=True, slots=True)
class DeviceListing:
    """Which devices the tools and the buses of the nodes list, besides the facts.

    ``vendor`` is that of the tools that list the GPUs, empty if none do. ``silent`` maps the
    vendors whose tools were asked to node -> why they list no GPU there. ``bus`` lacks the nodes
    whose bus could not be read.
    """

    vendor: str = ""
    silent: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    bus: Bus = field(default_factory=dict)


def argv(rootfs: str) -> tuple[str, ...]:
    """Return the command that prints the functions on the bus of a node."""
    return ("sh", "-c", SCRIPT, "railgauge", rootfs.rstrip("/"))


def parsed(text: str) -> tuple[PciFunction, ...]:
    """Read the output of ``argv``'s command; other lines are skipped."""
    found = map(_LINE.fullmatch, text.splitlines())
    return tuple(PciFunction(one[1], one[2], one[3]) for one in found if one)


def likely_vendors(bus: Bus) -> tuple[str, ...]:
    """Return all vendors of GPUs, those with the most devices on the bus first."""
    functions = [one for each in bus.values() for one in each]
    return tuple(sorted(vendors(), key=lambda name: -_gpus_of(name, functions)))


def unread(facts: Mapping[str, NodeFacts], bus: Bus) -> Iterator[str]:
    """Yield a question for nodes whose bus could not be read."""
    if nodes := [node for node in facts if node not in bus]:
        yield f"the PCI bus of {folded(nodes)} could not be read; run the command again"


# --- GPUs ---

_NOT_INSTALLED = "command not found"


def unlisted_gpus(facts: Mapping[str, NodeFacts], seen: DeviceListing, gpus: str) -> Iterator[str]:
    """Yield a question for each way in which the tools list fewer GPUs than there are.

    ``gpus`` is the user's answer: a vendor, ``none``, or empty.
    """
    asked = () if gpus == NONE else (gpus,) if gpus else vendors()
    for vendor in asked:
        found: dict[str, list[str]] = {}
        for one in facts.values():
            if says := _unlisted(one, vendor, seen, is_answered=bool(gpus)):
                found.setdefault(says, []).append(one.node)
        for says, nodes in found.items():
            yield f"GPUs of {folded(nodes)} are not listed: {says}"


def _unlisted(one: NodeFacts, vendor: str, seen: DeviceListing, *, is_answered: bool) -> str:
    on_bus = _gpus_of(vendor, seen.bus.get(one.node, ()))
    are = f"{on_bus} of {vendor} {'is' if on_bus == 1 else 'are'} on the PCI bus"
    if seen.vendor == vendor and one.gpus:
        fewer = len(one.gpus) < on_bus and not is_answered
        mend = f"mend it, or say that the listed ones count: --gpus {vendor}"
        return f"{are}, and its tools list {len(one.gpus)}; {mend}" if fewer else ""
    why = seen.silent.get(vendor, {}).get(one.node, "")
    if on_bus and not why:
        others = f"those of {seen.vendor} list GPUs; say that these count: --gpus {seen.vendor}"
        return f"{are}, and its tools were not asked, as {others}"
    if on_bus or (why and _NOT_INSTALLED not in why):
        mend = "mend it, give its folder under tools in the hostfile, or say --no-gpus"
        return f"{are}, and {why}; {mend}" if on_bus else f"{why}; {mend}"
    return ""


def _gpus_of(vendor: str, functions: Sequence[PciFunction]) -> int:
    return sum(one.is_gpu and one.vendor == stack(vendor).pci_vendor for one in functions)


# --- NICs ---


def unlisted_nics(facts: Mapping[str, NodeFacts], bus: Bus) -> Iterator[str]:
    """Yield a question for NICs without a driver, and for those that lack their RDMA device."""
    found: dict[str, list[str]] = {}
    for one in facts.values():
        for says in (*_without_driver(one, bus.get(one.node, ())), *_without_rdma(one)):
            found.setdefault(says, []).append(one.node)
    for says, nodes in found.items():
        yield f"NICs of {folded(nodes)} are not listed: {says}"


def _without_driver(one: NodeFacts, functions: Sequence[PciFunction]) -> Iterator[str]:
    every: tuple[NicFacts | NetdevFacts, ...] = (*one.nics, *one.netdevs)
    shown = {_slot(nic.pci_address) for nic in every}
    lost = [
        f"{f.address} ({f.vendor})" for f in functions if f.is_nic and _slot(f.address) not in shown
    ]
    if lost:
        yield (
            f"no driver shows {listed(lost, _MOST)} on the PCI bus; load it (lspci -nnk names it), "
            "or name the NICs that carry the payload: --fabric NICS"
        )


def _without_rdma(one: NodeFacts) -> Iterator[str]:
    """Cards that could be the fabric and have only a network device."""
    shown = {_slot(nic.pci_address) for nic in one.nics}
    best = max(
        (nic.rate_gbps or 0.0 for nic in one.nics if nic.port_state == "ACTIVE"), default=0.0
    )
    by_driver: dict[str, list[NetdevFacts]] = {}
    for port in one.netdevs:
        is_fast = port.rate_gbps is None or port.rate_gbps >= best
        is_candidate = port.pci_address and port.state == "up" and is_fast
        if port.driver in _RDMA and is_candidate and _slot(port.pci_address) not in shown:
            by_driver.setdefault(port.driver, []).append(port)
    for driver, ports in by_driver.items():
        names = folded(port.name for port in ports)
        yield (
            f"{names} ({driver}) can do RDMA and has no RDMA device; load {_RDMA[driver]} "
            f"(rdma-core), or say that it carries the payload without: --fabric {names}"
        )


def _slot(address: str | None) -> str:
    """The device of a function: a bond of two ports has the address of the first."""
    return (address or "").rpartition(".")[0]
