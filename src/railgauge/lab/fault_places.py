"""Where a fault strikes: the NIC, GPU, tool or peer that its text names on a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from railgauge.core.errors import BadInput

NodeFile = dict[str, Any]
PlatformFile = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, asked for. ``device`` is empty where none was named."""

    name: str
    node: str
    device: str

    def __str__(self) -> str:
        return f"{self.name}@{self.node}" + (f":{self.device}" if self.device else "")


def bad(text: object, what: str, remedy: str) -> BadInput:
    """The complaint about a fault as it was written."""
    return BadInput(what, where=f"lab fault {text}", remedy=remedy)


def inapplicable(fault: Fault, why: str) -> BadInput:
    """The complaint about a fault that a platform cannot have."""
    return bad(fault, f"not applicable: {why}", "leave it out for this platform")


def nic(node: NodeFile, fault: Fault) -> dict[str, Any]:
    """The NIC that the fault names, or the first one."""
    found: dict[str, Any] = _nics(node)[nic_name(node, fault)]
    return found


def rdma_nic(node: NodeFile, fault: Fault) -> dict[str, Any]:
    """The NIC, where it has what only an RDMA device has."""
    name = nic_name(node, fault)
    if name not in node["devices"]:
        raise inapplicable(fault, "the platform has no RDMA device")
    found: dict[str, Any] = node["devices"][name]
    return found


def nic_name(node: NodeFile, fault: Fault) -> str:
    """Raises ``BadInput`` for a NIC that the node does not have (any more)."""
    known = _nics(node)
    if not known:
        raise bad(fault, "no NIC is left on the node", "leave out nic-missing or this fault")
    name = fault.device or next(iter(known))
    if name not in known:
        raise bad(fault, f"unknown NIC {name!r}", f"there are: {', '.join(known)}")
    return name


def _nics(node: NodeFile) -> dict[str, dict[str, Any]]:
    """RDMA devices, and the network devices that carry collectives without one."""
    fabric = node["collectives"].get("fabric", ())
    found: dict[str, dict[str, Any]] = dict(node["devices"])
    return found | {name: one for name, one in node["netdevs"].items() if name in fabric}


def gpu(node: NodeFile, fault: Fault, text: str = "") -> dict[str, Any]:
    """The GPU whose number (``3`` or ``gpu3``) the fault names, or the first one."""
    if not node["gpus"]:
        raise inapplicable(fault, "the lab simulates no GPU on this platform")
    place = (text or fault.device).removeprefix("gpu") or "0"
    if not place.isdecimal() or int(place) >= len(node["gpus"]):
        known = f"there are: 0 to {len(node['gpus']) - 1}"
        raise bad(fault, f"unknown GPU {place!r}", known)
    found: dict[str, Any] = node["gpus"][int(place)]
    return found


def tool(node: NodeFile, fault: Fault) -> str:
    """The executable that the fault names, or the first test of the platform's network."""
    first = next(name for name in ("ib_write_bw", "iperf3") if name in node["tools"])
    name = fault.device or first
    if name not in node["tools"]:
        raise bad(fault, f"unknown tool {name!r}", f"there are: {', '.join(node['tools'])}")
    return name


def other_node(fault: Fault, nodes: Sequence[str]) -> str:
    """The node at the far end of a path: the one that DEVICE names, or the first other one."""
    others = [name for name in nodes if name != fault.node]
    if not others:
        raise inapplicable(fault, "a path needs a second node")
    if fault.device and fault.device not in others:
        raise bad(fault, f"unknown peer {fault.device!r}", f"there are: {', '.join(others)}")
    return fault.device or others[0]


def collectives(node: NodeFile, fault: Fault) -> dict[str, Any]:
    """What the node's collective library is like."""
    library: dict[str, Any] = node["collectives"]
    if not library.get("fabric"):
        raise inapplicable(fault, "the lab runs no collectives on this platform")
    return library
