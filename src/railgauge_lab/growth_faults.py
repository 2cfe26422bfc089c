"""Faults that only error counters show: they grow while GPUs and NICs are measured.

The counts are far above what a limit allows, because no document gives figures of a faulty part.
Only packets that are lost change a figure of the lab.
"""

from __future__ import annotations

from railgauge_lab import fault_places
from railgauge_lab.fault_places import Fault, NodeFile, PlatformFile, inapplicable

# Of one measurement, and of a gigabyte.
_UNCORRECTED, _CORRECTED, _LINK_ERRORS, _REPLAYS = 1, 400, 60, 50_000
_LOST_PER_GB, _DISCARDS_PER_GB = 40.0, 25.0


def _count(node: NodeFile, fault: Fault, counts: dict[str, int]) -> None:
    own = fault_places.gpu(node, fault).setdefault("counts", {})
    for name, amount in counts.items():
        own[name] = own.get(name, 0) + amount


def ecc_growth(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    _count(node, fault, {"ecc_uncorrected": _UNCORRECTED, "ecc_corrected": _CORRECTED})


def gpu_link_errors(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    fault_places.gpu(node, fault)
    if node["smi"].get("vendor") not in ("nvidia", "amd"):
        raise inapplicable(fault, "no public output of mx-smi shows the errors of MetaXLink")
    _count(node, fault, {"link_crc": _LINK_ERRORS, "link_replay": _LINK_ERRORS})


def pcie_replays(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    """Let a PCIe link have errors. DEVICE is a NIC, or a GPU such as ``gpu3``."""
    if not fault.device.startswith("gpu"):
        if why := platform["faults"].get(fault.name, {}).get("no_nics"):
            raise inapplicable(fault, why)
        address = fault_places.rdma_nic(node, fault)["pci"]
    else:
        address = fault_places.gpu(node, fault)["bus"]
        if node["smi"].get("vendor") in ("nvidia", "amd"):
            _count(node, fault, {"pcie_replays": _REPLAYS})
    node.setdefault("pcie_errors", {})[address] = _REPLAYS


def retransmits(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Lose packets at the NIC. A severity is the share of its bandwidth that this costs."""
    nic = fault_places.rdma_nic(node, fault)
    nic["lost_per_gb"] = nic.get("lost_per_gb", 0.0) + _LOST_PER_GB
    nic["speed"] *= fault.left(0.6)


def congestion(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    nic = fault_places.nic(node, fault)
    nic["discards_per_gb"] = nic.get("discards_per_gb", 0.0) + _DISCARDS_PER_GB
