"""Find what a fault affects: the NIC, GPU, tool or peer node that its text names.

For example, ``slow-nic@mx02:mlx5_1`` affects the NIC ``mlx5_1`` of node ``mx02``, and
``slow-nic@mx02`` affects that node's first NIC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from railgauge.core.errors import BadInput

NodeFile = dict[str, Any]
PlatformFile = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault from the command line. ``device`` is empty if the text names none.

    ``severity`` is the share that is lost, for example 0.04; ``None`` is the fault's own default.
    ``chance`` is the probability that one measurement is affected. The fault begins ``after_s``
    seconds after the start of the lab.
    """

    name: str
    node: str
    device: str
    severity: float | None = None
    chance: float = 1.0
    after_s: float = 0.0

    def __str__(self) -> str:
        place = f"{self.name}@{self.node}" + (f":{self.device}" if self.device else "")
        severity = f"={100 * self.severity:g}%" if self.severity is not None else ""
        chance = f",p={self.chance:g}" if self.chance < 1 else ""
        return f"{place}{severity}{chance}" + (f",after={self.after_s:g}s" if self.after_s else "")

    @property
    def always(self) -> bool:
        """Whether the fault acts on every measurement."""
        return self.chance == 1 and not self.after_s

    def left(self, otherwise: float) -> float:
        """Return the share that the fault leaves; ``otherwise`` if no severity is given."""
        return otherwise if self.severity is None else 1.0 - self.severity


def bad(text: object, what: str, remedy: str) -> BadInput:
    """Return the error for a fault; ``text`` is the fault as it was written, ``what`` is wrong."""
    return BadInput(what, where=f"lab fault {text}", remedy=remedy)


def inapplicable(fault: Fault, why: str) -> BadInput:
    """Return the error for a fault that does not exist on the platform."""
    return bad(fault, f"not applicable: {why}", "leave this fault out on this platform")


def nic(node: NodeFile, fault: Fault) -> dict[str, Any]:
    """Return the NIC that the fault names, or the node's first one."""
    found: dict[str, Any] = nics(node)[nic_name(node, fault)]
    return found


def rdma_nic(node: NodeFile, fault: Fault) -> dict[str, Any]:
    """Return the NIC if it is an RDMA device. Raises ``BadInput`` if it is not."""
    name = nic_name(node, fault)
    if name not in node["devices"]:
        raise inapplicable(fault, "the platform has no RDMA device")
    found: dict[str, Any] = node["devices"][name]
    return found


def nic_name(node: NodeFile, fault: Fault) -> str:
    """Return the name of the NIC that the fault names, or of the node's first one.

    Raises ``BadInput`` for a NIC that the node does not have, or that another fault removed.
    """
    known = nics(node)
    if not known:
        raise bad(fault, "the node has no NIC left", "leave out nic-missing or this fault")
    name = fault.device or next(iter(known))
    if name not in known:
        raise bad(fault, f"unknown NIC {name!r}", f"known: {', '.join(known)}")
    return name


def nics(node: NodeFile) -> dict[str, dict[str, Any]]:
    """Return the RDMA devices, and the network devices that carry collectives without RDMA."""
    fabric = node["collectives"].get("fabric", ())
    found: dict[str, dict[str, Any]] = dict(node["devices"])
    return found | {name: one for name, one in node["netdevs"].items() if name in fabric}


def gpu(node: NodeFile, fault: Fault, text: str = "") -> dict[str, Any]:
    """Return the GPU whose number (``3`` or ``gpu3``) the fault names, or GPU 0.

    ``text`` is that number if the fault's device names more than the GPU.
    """
    if not node["gpus"]:
        raise inapplicable(fault, "the lab simulates no GPU on this platform")
    place = (text or fault.device).removeprefix("gpu") or "0"
    if not place.isdecimal() or int(place) >= len(node["gpus"]):
        known = f"known: 0 to {len(node['gpus']) - 1}"
        raise bad(fault, f"unknown GPU {place!r}", known)
    found: dict[str, Any] = node["gpus"][int(place)]
    return found


def tool(node: NodeFile, fault: Fault) -> str:
    """Return the executable that the fault names, or the platform's first network test."""
    first = next(name for name in ("ib_write_bw", "iperf3") if name in node["tools"])
    name = fault.device or first
    if name not in node["tools"]:
        raise bad(fault, f"unknown tool {name!r}", f"known: {', '.join(node['tools'])}")
    return name


def other_node(fault: Fault, nodes: Sequence[str]) -> str:
    """Return the second node of a fault of two: the one that DEVICE names, or the first other."""
    others = [name for name in nodes if name != fault.node]
    if not others:
        raise inapplicable(fault, "it needs a second node")
    if fault.device and fault.device not in others:
        raise bad(fault, f"unknown peer {fault.device!r}", f"known: {', '.join(others)}")
    return fault.device or others[0]


def collectives(node: NodeFile, fault: Fault) -> dict[str, Any]:
    """Return the description of the node's collective library."""
    library: dict[str, Any] = node["collectives"]
    if not library.get("fabric"):
        raise inapplicable(fault, "the lab runs no collectives on this platform")
    return library
