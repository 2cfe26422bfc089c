"""Faults of hardware: of nodes, NICs and GPUs, and of the paths between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from railgauge_lab import fault_places, platforms
from railgauge_lab.fault_places import Fault, NodeFile, PlatformFile, bad, inapplicable

SLOW = 0.6
_ENDS = 2
_WITH_ERRORS, _ERRORS_PER_GB = 0.97, 40
# Bytes around the payload of an InfiniBand packet: LRH 8, BTH 12, ICRC 4, VCRC 2. Bytes inside the
# MTU of an Ethernet frame that are no payload: IP 20, TCP with time stamps 32. Bytes around that
# MTU: preamble 8, header 14, FCS 4, gap 12.
_IB_HEADER = 26
_TCP_HEADERS = 52
_FRAME = 38
_ACS_BITS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl")
# The bits that the kernel sets on a bridge when it turns ACS on.
_ACS_OF_LINUX = ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")


def slow_node(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    node["speed"] *= fault.left(SLOW)


def slow_nic(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    fault_places.nic(node, fault)["speed"] *= fault.left(SLOW)


def slow_way(way: str) -> Callable[[NodeFile, Fault, PlatformFile], None]:
    """Return a fault that slows down one direction of NICs: ``sends`` or ``receives``."""

    def apply(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
        one = fault_places.nic(node, fault)
        for nic in [one] if fault.device else fault_places.nics(node).values():
            nic[way] = nic.get(way, 1.0) * fault.left(SLOW)

    return apply


def slow_path(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Slow the path to node DEVICE down.

    Only this node's description holds the path; a simulated measurement combines both nodes' paths.
    """
    paths = node["slow_paths"]
    paths[fault.device] = paths.get(fault.device, 1.0) * fault.left(SLOW)


def slow_gpu(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    gpu = fault_places.gpu(node, fault)
    gpu["speed"] = gpu.get("speed", 1.0) * fault.left(SLOW)


def slow_pcie_path(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    number, _, name = fault.device.partition("-")
    gpu = fault_places.gpu(node, fault, number or "0")
    if not node["devices"]:
        raise inapplicable(fault, "the platform has no RDMA device")
    name = name or next(iter(node["devices"]))
    if name not in gpu["links"]:
        raise bad(fault, f"unknown NIC {name!r}", f"write {fault.name}@{node['name']}:gpu0-mlx5_0")
    slow = gpu.setdefault("slow_to", {})
    slow[name] = slow.get(name, 1.0) * fault.left(SLOW)


def corrupt(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    fault_places.collectives(node, fault)
    fault_places.gpu(node, fault)["computes_wrong"] = True


def wrong_bit(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    fault_places.gpu(node, fault)["flips_a_bit"] = True


def late_rank(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    gpu = fault_places.gpu(node, fault)
    gpu["rank_share"] = gpu.get("rank_share", 1.0) * fault.left(0.5)


def slow_xgmi(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    change = platform["faults"].get(fault.name)
    if change is None:
        raise inapplicable(fault, "the platform's GPUs are not joined by xGMI links")
    link = fault.device or change["link"]
    ends = link.split(">")
    count = len(node["gpus"])
    is_link = len(ends) == _ENDS and all(x.isdecimal() and int(x) < count for x in ends)
    if not is_link or ends[0] == ends[1]:
        raise bad(fault, f"unknown link {link!r}", "write slow-xgmi@NODE:0>7")
    slow = node["collectives"]["slow_links"]
    slow[link] = slow.get(link, 1.0) * fault.left(change["factor"])


def acs(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Turn ACS bits on at one PCI bridge.

    No figure changes: in document 000 the detour through the root complex costs nothing. There, a
    GPU and a NIC on different NUMA nodes, whose traffic always takes that path, reach 392.51 Gb/s;
    behind one switch they reach 392.57 Gb/s.
    """
    bridges = [function for function in node["pci"] if "acs" in function]
    place, _, bit = fault.device.partition("+")
    wanted = [one for one in bridges if one["address"] == (place or one["address"])]
    if not wanted:
        addresses = ", ".join(one["address"] for one in bridges)
        raise bad(fault, f"unknown bridge {place!r}", f"known: {addresses}")
    if bit and bit not in _ACS_BITS:
        raise bad(fault, f"unknown bit {bit!r}", f"known: {', '.join(_ACS_BITS)}")
    wanted[0]["acs"] = [*wanted[0]["acs"], bit] if bit else list(_ACS_OF_LINUX)


def no_sm(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    nic = fault_places.rdma_nic(node, fault)
    if nic["link_layer"] != "InfiniBand":
        raise inapplicable(fault, "only InfiniBand has a subnet manager")
    nic.update(sm_lid=0, lid=0)
    if nic["state"] == "4: ACTIVE":
        nic["state"] = "2: INIT"


def duplicate_lid(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    """Give the NIC the LID of another node's NIC of that name. No figure changes."""
    nic = fault_places.rdma_nic(node, fault)
    if nic["link_layer"] != "InfiniBand":
        raise inapplicable(fault, "only InfiniBand has LIDs")
    nic["lid"] = _twin(node, fault, platform)["lid"]


def duplicate_gid(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    """Give the NIC the GUID, and so the GIDs, of another node's. No figure changes."""
    nic = fault_places.rdma_nic(node, fault)
    twin = _twin(node, fault, platform)
    nic.update(node_guid=twin["node_guid"], gids=twin["gids"])


def guid_unset(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Take the NIC's node GUID away; its port keeps its own, so no figure changes."""
    nic = fault_places.rdma_nic(node, fault)
    if nic["link_layer"] != "InfiniBand":
        raise inapplicable(fault, "the GUIDs of Ethernet adapters are not judged")
    nic["node_guid"] = "0" * 16


def _twin(node: NodeFile, fault: Fault, platform: PlatformFile) -> dict[str, Any]:
    """Return the NIC of that name of the first node, or of the second if this is the first."""
    name = fault_places.nic_name(node, fault)
    first, second = (
        platforms.describe(dict(platform), "twin", index, seed=0)["devices"][name]
        for index in (0, 1)
    )
    own = node["devices"][name]["node_guid"]
    found: dict[str, Any] = second if first["node_guid"] == own else first
    return found


def nic_numa(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Attach the NIC to the next NUMA node. No figure changes."""
    nic, count = fault_places.nic(node, fault), len(node["host"]["numa_nodes"])
    if count == 1:
        raise inapplicable(fault, "the nodes have one NUMA node each")
    nic["numa"] = (nic["numa"] + 1) % count
    for function in node["pci"]:
        if function["address"] == nic["pci"]:
            function["numa"] = nic["numa"]


def mtu(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Halve the MTU of an RDMA device; set that of an Ethernet NIC to 1460 bytes.

    Smaller packets carry the same headers, so the payload's share of the line rate shrinks.
    """
    nic = fault_places.nic(node, fault)
    healthy = nic.setdefault("healthy_mtu", nic["mtu"])
    if "node_guid" in nic:
        nic["mtu"] = healthy // 2
        nic["wire_share"] = _ib_share(nic["mtu"]) / _ib_share(healthy)
        return
    nic["mtu"] = 1460
    nic["wire_share"] = _tcp_share(nic["mtu"]) / _tcp_share(healthy)


def _ib_share(mtu_bytes: int) -> float:
    return mtu_bytes / (mtu_bytes + _IB_HEADER)


def _tcp_share(mtu_bytes: int) -> float:
    return (mtu_bytes - _TCP_HEADERS) / (mtu_bytes + _FRAME)


def nvme_missing(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    if not node["host"].get("nvmes"):
        raise inapplicable(fault, "the platform declares no NVMe disks")
    node["host"]["nvmes"] -= 1


def nvme_degraded(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Let the disk report media errors and less spare than its threshold, over half its lanes."""
    count = node["host"].get("nvmes", 0)
    if not count:
        raise inapplicable(fault, "the platform declares no NVMe disks")
    name = fault.device or "nvme0"
    if name not in (known := [f"nvme{number}" for number in range(count)]):
        raise bad(fault, f"unknown disk {name!r}", f"known: {', '.join(known)}")
    worn = {"critical_warning": 1, "avail_spare": 4, "percent_used": 97, "media_errors": 12}
    node.setdefault("nvme_smart", {})[name] = worn
    node.setdefault("nvme_widths", {})[name] = 2


def firmware(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    nic = fault_places.rdma_nic(node, fault)
    nic["firmware"] = platform["faults"][fault.name][fault_places.nic_name(node, fault)]


def port_down(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    nic = fault_places.nic(node, fault)
    if "node_guid" not in nic:
        nic["state"] = "down"
        return
    nic.update(state="1: DOWN", phys_state="2: Polling", rate="10 Gb/sec (4X SDR)", lid=0, sm_lid=0)


def link_rate(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    nic = fault_places.nic(node, fault)
    slower = platform["faults"][fault.name][fault_places.nic_name(node, fault)]
    if "node_guid" not in nic:
        nic.update(speed_mbps=slower["speed_mbps"], speed=nic["speed"] * slower["speed"])
        return
    nic["cap_gbps"] = min(slower["cap_gbps"], nic["cap_gbps"] or slower["cap_gbps"])
    if nic["state"] != "1: DOWN":
        nic["rate"] = slower["rate"]


def high_ber(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Make the NIC count errors with its traffic; hardware retransmission costs some bandwidth.

    Document 001 isolates links with a high bit error rate and gives no figure for the loss. The
    loss of 3 % here is within every limit, so only the error counters show the fault. A severity
    is the loss; each retransmission costs the same, so the errors are in proportion to it.
    """
    nic = fault_places.rdma_nic(node, fault)
    share = fault.left(_WITH_ERRORS)
    nic["errors_per_gb"] = _ERRORS_PER_GB * (1.0 - share) / (1.0 - _WITH_ERRORS)
    nic["speed"] *= share


def pcie_width(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    fault_places.rdma_nic(node, fault)
    platforms.narrow(node, fault_places.nic_name(node, fault))


def gpu_missing(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    if not platform["gpus"]:
        raise inapplicable(fault, "the lab simulates no GPU on this platform")
    buses = [gpu["bus"] for gpu in platform["gpus"]]
    place = fault.device.removeprefix("gpu") or "0"
    if not place.isdecimal() or int(place) >= len(buses):
        raise bad(fault, f"unknown GPU {fault.device!r}", f"known: 0 to {len(buses) - 1}")
    _remove(node, buses[int(place)])
    node["gpus"] = [gpu for gpu in node["gpus"] if gpu["bus"] != buses[int(place)]]


def nic_missing(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    name = fault_places.nic_name(node, fault)
    lost = node["devices" if name in node["devices"] else "netdevs"].pop(name)["pci"]
    node["interrupts"] = [one for one in node["interrupts"] if one["pci"] != lost]
    _remove(node, lost)


def _remove(node: NodeFile, address: str) -> None:
    node["pci"] = [function for function in node["pci"] if function["address"] != address]


def ecc(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    gpu: dict[str, Any] = fault_places.gpu(node, fault)
    if "ecc" not in gpu:
        raise inapplicable(fault, "the platform's GPUs count no memory errors")
    gpu["ecc"] |= {"dram_uncorrectable": 2, "dram_correctable": 177}
    gpu["remapped"] |= {"uncorrectable": 1, "pending": 1}
