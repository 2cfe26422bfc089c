"""What can be wrong with a lab: modifiers on a node's figures, files and outputs.

A fault is written ``NAME[@NODE[:DEVICE]]``. Without a node it strikes the second one, without a
device the first; what DEVICE means is said with each fault. Several may strike one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from railgauge.errors import BadInput
from railgauge.lab import platforms

Node = dict[str, Any]
Platform = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, asked for. ``device`` is empty where none was named."""

    name: str
    node: str
    device: str

    def __str__(self) -> str:
        return f"{self.name}@{self.node}" + (f":{self.device}" if self.device else "")


def parse(text: str, nodes: Sequence[str]) -> Fault:
    """Raises ``BadInput`` for a fault or a node that does not exist, naming those that do."""
    name, _, place = text.partition("@")
    node, _, device = place.partition(":")
    if name not in NAMES:
        raise _bad(text, f"unknown fault {name!r}", f"there are: {', '.join(sorted(NAMES))}")
    node = node or nodes[min(1, len(nodes) - 1)]
    if node not in nodes:
        raise _bad(text, f"unknown node {node!r}", f"there are: {', '.join(nodes)}")
    return Fault(name, node, device)


def apply(fault: Fault, node: Node, platform: Platform) -> None:
    """Change the node's description. Raises ``BadInput`` where the platform has no such thing."""
    _FAULTS[fault.name].strike(node, fault, platform)


def _bad(text: str, what: str, remedy: str) -> BadInput:
    return BadInput(what, where=f"lab fault {text}", remedy=remedy)


def _inapplicable(fault: Fault, why: str) -> BadInput:
    return _bad(str(fault), f"not applicable: {why}", "leave it out for this platform")


def _nic(node: Node, fault: Fault) -> dict[str, Any]:
    nic: dict[str, Any] = _nics(node)[_nic_name(node, fault)]
    return nic


def _nics(node: Node) -> dict[str, dict[str, Any]]:
    """RDMA devices, and the network devices that carry collectives without one."""
    fabric = node["collectives"].get("fabric", ())
    found: dict[str, dict[str, Any]] = dict(node["devices"])
    return found | {name: one for name, one in node["netdevs"].items() if name in fabric}


def _rdma_device(node: Node, fault: Fault) -> dict[str, Any]:
    """The NIC, where it has what only an RDMA device has."""
    name = _nic_name(node, fault)
    if name not in node["devices"]:
        raise _inapplicable(fault, "the platform has no RDMA device")
    nic: dict[str, Any] = node["devices"][name]
    return nic


def _nic_name(node: Node, fault: Fault) -> str:
    devices = _nics(node)
    if not devices:
        raise _bad(str(fault), "no NIC is left on the node", "leave out nic-missing or this fault")
    name = fault.device or next(iter(devices))
    if name not in devices:
        raise _bad(str(fault), f"unknown NIC {name!r}", f"there are: {', '.join(devices)}")
    return name


def _tool(node: Node, fault: Fault) -> str:
    tool = fault.device or "ib_write_bw"
    if tool not in node["tools"]:
        raise _bad(str(fault), f"unknown tool {tool!r}", f"there are: {', '.join(node['tools'])}")
    return tool


def _unreachable(node: Node, _fault: Fault, _platform: Platform) -> None:
    node["ssh"]["listens"] = False


def _node_stops(node: Node, fault: Fault, _platform: Platform) -> None:
    if fault.device and not fault.device.isdecimal():
        raise _bad(str(fault), "the device is a number of commands", "write node-stops@NODE:5")
    node["ssh"]["stops_after"] = int(fault.device or 5)


def _host_key_changed(node: Node, _fault: Fault, _platform: Platform) -> None:
    node["ssh"]["other_host_key"] = True


def _wrong_key(node: Node, _fault: Fault, _platform: Platform) -> None:
    node["ssh"]["refuses"] = True


def _tool_missing(node: Node, fault: Fault, _platform: Platform) -> None:
    del node["tools"][_tool(node, fault)]


def _broken(how: str) -> Callable[[Node, Fault, Platform], None]:
    def strike(node: Node, fault: Fault, _platform: Platform) -> None:
        node["broken_tools"][_tool(node, fault)] = how

    return strike


def _slow_node(node: Node, _fault: Fault, _platform: Platform) -> None:
    node["speed"] *= 0.6


def _slow_nic(node: Node, fault: Fault, _platform: Platform) -> None:
    _nic(node, fault)["speed"] *= 0.6


def _host(key: str, value: object) -> Callable[[Node, Fault, Platform], None]:
    def strike(node: Node, _fault: Fault, _platform: Platform) -> None:
        node["host"][key] = value

    return strike


def _acs(node: Node, fault: Fault, _platform: Platform) -> None:
    bridges = [function for function in node["pci"] if "acs" in function]
    wanted = [one for one in bridges if one["address"] == (fault.device or one["address"])]
    if not wanted:
        addresses = ", ".join(one["address"] for one in bridges)
        raise _bad(str(fault), f"unknown bridge {fault.device!r}", f"there are: {addresses}")
    wanted[0]["acs"] = True


def _no_sm(node: Node, fault: Fault, _platform: Platform) -> None:
    nic = _rdma_device(node, fault)
    if nic["link_layer"] != "InfiniBand":
        raise _inapplicable(fault, "only InfiniBand has a subnet manager")
    nic.update(sm_lid=0, lid=0, state="2: INIT")


def _mtu(node: Node, fault: Fault, _platform: Platform) -> None:
    nic = _nic(node, fault)
    nic["mtu"] = 2048 if "node_guid" in nic else 1460


def _firmware(node: Node, fault: Fault, platform: Platform) -> None:
    _rdma_device(node, fault)["firmware"] = platform["faults"]["firmware"][_nic_name(node, fault)]


def _port_down(node: Node, fault: Fault, _platform: Platform) -> None:
    nic = _nic(node, fault)
    if "node_guid" not in nic:
        nic["state"] = "down"
        return
    nic.update(state="1: DOWN", phys_state="2: Polling", rate="10 Gb/sec (4X SDR)", lid=0, sm_lid=0)


def _link_rate(node: Node, fault: Fault, platform: Platform) -> None:
    nic = _nic(node, fault)
    slower = platform["faults"]["link-rate"][_nic_name(node, fault)]
    if "node_guid" not in nic:
        nic.update(speed_mbps=slower["speed_mbps"], speed=nic["speed"] * slower["speed"])
        return
    ceiling = min(slower["cap_gbps"], nic["cap_gbps"] or slower["cap_gbps"])
    nic.update(rate=slower["rate"], cap_gbps=ceiling)


def _high_ber(node: Node, fault: Fault, _platform: Platform) -> None:
    """Errors come with the traffic; what the link repeats in hardware costs a little of it."""
    nic = _rdma_device(node, fault)
    nic["errors_per_gb"] = 40
    nic["speed"] *= 0.97


def _pcie_width(node: Node, fault: Fault, _platform: Platform) -> None:
    _rdma_device(node, fault)
    platforms.narrow(node, _nic_name(node, fault))


def _gpu_missing(node: Node, fault: Fault, platform: Platform) -> None:
    if not platform["gpus"]:
        raise _inapplicable(fault, "the lab simulates no GPU on this platform")
    buses = [gpu["bus"] for gpu in platform["gpus"]]
    place = fault.device.removeprefix("gpu") or "0"
    if not place.isdecimal() or int(place) >= len(buses):
        raise _bad(str(fault), f"unknown GPU {fault.device!r}", f"there are: 0 to {len(buses) - 1}")
    lost = buses[int(place)]
    node["gpus"] = [gpu for gpu in node["gpus"] if gpu["bus"] != lost]
    node["pci"] = [function for function in node["pci"] if function["address"] != lost]


def _nic_missing(node: Node, fault: Fault, _platform: Platform) -> None:
    name = _nic_name(node, fault)
    lost = node["devices" if name in node["devices"] else "netdevs"].pop(name)["pci"]
    node["interrupts"] = [one for one in node["interrupts"] if one["pci"] != lost]
    node["pci"] = [function for function in node["pci"] if function["address"] != lost]


def _gdr_disabled(node: Node, fault: Fault, platform: Platform) -> None:
    change = platform["faults"].get(fault.name)
    if change is None:
        raise _inapplicable(fault, "its GPU driver has no file under memory_peers")
    node["peer_memory"].pop(change["peer_memory"], None)
    node["host"].update({key: change[key] for key in ("kernel", "os_release") if key in change})


def _peermem_missing(node: Node, fault: Fault, platform: Platform) -> None:
    change = platform["faults"].get(fault.name)
    if change is None:
        raise _inapplicable(fault, "its GPU driver has no peer memory module of its own")
    node["host"]["modules"] = [
        module for module in node["host"]["modules"] if module != change["module"]
    ]


def _collectives(node: Node, fault: Fault) -> dict[str, Any]:
    library: dict[str, Any] = node["collectives"]
    if not library.get("fabric"):
        raise _inapplicable(fault, "the lab runs no collectives on this platform")
    return library


def _tcp_fallback(node: Node, fault: Fault, _platform: Platform) -> None:
    _collectives(node, fault)["plugin_loads"] = False


def _nic_idle(node: Node, fault: Fault, _platform: Platform) -> None:
    library = _collectives(node, fault)
    name = _nic_name(node, fault)
    if name not in library["fabric"]:
        raise _bad(
            str(fault), f"{name} carries no collectives", f"{', '.join(library['fabric'])} do"
        )
    library["idle_nics"].append(name)


def _slow_xgmi(node: Node, fault: Fault, platform: Platform) -> None:
    change = platform["faults"].get(fault.name)
    if change is None:
        raise _inapplicable(fault, "its GPUs are not joined link by link")
    link = fault.device or change["link"]
    ends = link.split(">")
    if len(ends) != _ENDS or not all(x.isdecimal() and int(x) < len(node["gpus"]) for x in ends):
        raise _bad(str(fault), f"unknown link {link!r}", "write slow-xgmi@NODE:0>7")
    node["collectives"]["slow_links"][link] = change["factor"]


def _background_diagnostics(node: Node, fault: Fault, _platform: Platform) -> None:
    command = _DIAGNOSTICS.get(node["smi"].get("vendor", ""))
    if command is None or not node["gpus"]:
        raise _inapplicable(fault, "the lab has no diagnostics for its GPUs")
    node["diagnostics"]["48230"] = command
    if node["smi"]["vendor"] == "nvidia":
        node["processes"]["48211"] = "dcgmi diag -r eud"


def _ecc(node: Node, fault: Fault, _platform: Platform) -> None:
    place = fault.device.removeprefix("gpu") or "0"
    counted = [gpu for gpu in node["gpus"] if "ecc" in gpu]
    if not counted:
        raise _inapplicable(fault, "its GPUs count no memory errors")
    if not place.isdecimal() or int(place) >= len(counted):
        raise _bad(str(fault), f"unknown GPU {place!r}", f"there are: 0 to {len(counted) - 1}")
    counted[int(place)]["ecc"] |= {"dram_uncorrectable": 2, "dram_correctable": 177}
    counted[int(place)]["remapped"] |= {"uncorrectable": 1, "pending": 1}


def _irq_affinity(node: Node, fault: Fault, platform: Platform) -> None:
    """A NIC's interrupts go to the other NUMA node; document 003 shows that it does not matter."""
    change = platform["faults"].get(fault.name)
    if change is None:
        raise _inapplicable(fault, "the lab shows no interrupts on this platform")
    name = fault.device or change["netdev"]
    wanted = [one for one in node["interrupts"] if one["netdev"] == name]
    if not wanted:
        known = ", ".join(one["netdev"] for one in node["interrupts"])
        raise _bad(str(fault), f"unknown NIC {name!r}", f"there are: {known}")
    wanted[0]["first_cpu"] = change["first_cpu"][name]


_ENDS = 2
_DIAGNOSTICS = {
    "nvidia": "/usr/share/nvidia/diagnostic/fieldiag eud --gpus all",
    "amd": "/opt/rocm/bin/rvs -c /opt/rocm/share/rocm-validation-suite/conf/gst_single.conf",
    "metax": "/opt/maca/bin/mxvs -r stress",
}


@dataclass(frozen=True, slots=True)
class _Kind:
    says: str
    strike: Callable[[Node, Fault, Platform], None]


_FAULTS = {
    "unreachable": _Kind("nothing listens on the node's SSH port", _unreachable),
    "node-stops": _Kind("the node dies after DEVICE commands (5)", _node_stops),
    "host-key-changed": _Kind("the node shows a key other than the known one", _host_key_changed),
    "wrong-key": _Kind("the node refuses the client's key", _wrong_key),
    "tool-missing": _Kind("tool DEVICE (ib_write_bw) is not installed", _tool_missing),
    "tool-silent": _Kind("tool DEVICE prints nothing and exits 0", _broken("silent")),
    "tool-hangs": _Kind("tool DEVICE never ends", _broken("hangs")),
    "tool-garbage": _Kind("tool DEVICE prints binary noise and exits 0", _broken("garbage")),
    "tool-floods": _Kind("tool DEVICE prints without end", _broken("floods")),
    "slow-node": _Kind("all bandwidth of the node is 0.6 of what it should be", _slow_node),
    "slow-nic": _Kind("the bandwidth of NIC DEVICE is 0.6 of what it should be", _slow_nic),
    "governor": _Kind("the CPU governor is powersave", _host("governor", "powersave")),
    "numa-balancing": _Kind("automatic NUMA balancing is on", _host("numa_balancing", 1)),
    "acs": _Kind("Access Control Services are on at PCI bridge DEVICE", _acs),
    "memlock": _Kind("the limit on locked memory is 64 KiB", _host("memlock", "65536")),
    "no-sm": _Kind("no subnet manager has configured NIC DEVICE", _no_sm),
    "mtu": _Kind("the active MTU of NIC DEVICE is 2048", _mtu),
    "firmware": _Kind("NIC DEVICE has older firmware than on the other nodes", _firmware),
    "port-down": _Kind("the port of NIC DEVICE is down", _port_down),
    "link-rate": _Kind("NIC DEVICE has trained one rate lower", _link_rate),
    "high-ber": _Kind("the link of NIC DEVICE has bit errors", _high_ber),
    "pcie-width": _Kind("NIC DEVICE has trained at half its PCIe lanes", _pcie_width),
    "gpu-missing": _Kind("GPU number DEVICE is gone", _gpu_missing),
    "nic-missing": _Kind("NIC DEVICE is gone", _nic_missing),
    "gdr-disabled": _Kind("the GPU's peer memory file is missing, with its kernel", _gdr_disabled),
    "peermem-missing": _Kind("nvidia_peermem is not loaded", _peermem_missing),
    "slow-xgmi": _Kind("one link between two GPUs, DEVICE (0>7), is slow", _slow_xgmi),
    "tcp-fallback": _Kind("the collective library falls back to sockets", _tcp_fallback),
    "nic-idle": _Kind("collectives leave NIC DEVICE out", _nic_idle),
    "background-diagnostics": _Kind(
        "GPU diagnostics run all the time and swing every collective", _background_diagnostics
    ),
    "ecc": _Kind("GPU DEVICE has uncorrectable memory errors", _ecc),
    "irq-affinity": _Kind(
        "the interrupts of NIC DEVICE are on the far NUMA node, which does not matter",
        _irq_affinity,
    ),
}

NAMES: Mapping[str, str] = {name: kind.says for name, kind in _FAULTS.items()}
