"""Faults that the kernel of a node logs while the lab runs, and logs that cannot be read.

They change no figure of the lab. The lines are those of the drivers, at their level.
"""

from __future__ import annotations

from railgauge_lab import fault_places
from railgauge_lab.fault_places import Fault, NodeFile, PlatformFile, bad, inapplicable

_ERROR, _WARNING, _INFO = 3, 4, 6
_XID = 79
_SAYS = {_XID: "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."}
_OTHERWISE = "pid=4711, name=all_reduce_perf"


def _log(node: NodeFile, *lines: tuple[int, str]) -> None:
    node["kernel_log"]["faults"] += [list(line) for line in lines]


def gpu_xid(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Log an Xid of a GPU. DEVICE is its number, and after a plus the code: ``3+48``."""
    if node["smi"].get("vendor") != "nvidia":
        raise inapplicable(fault, "the platform has no GPU whose driver logs Xids")
    number, _, given = fault.device.partition("+")
    if given and not given.isdecimal():
        raise bad(fault, f"{given!r} is no Xid", f"write, for example, {fault.name}@NODE:0+48")
    code = int(given or _XID)
    slot = fault_places.gpu(node, fault, number or "0")["bus"].rpartition(".")[0]
    _log(node, (_ERROR, f"NVRM: Xid (PCI:{slot}): {code}, {_SAYS.get(code, _OTHERWISE)}"))
    if code == _XID:
        _log(node, (_ERROR, f"NVRM: GPU {slot}.0: GPU has fallen off the bus."))


def logged_before(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    """Move what another fault logs to the time before the run: an Xid, or errors of a slot."""
    log = node["kernel_log"]
    was, log["faults"] = log["faults"], []
    if node["smi"].get("vendor") == "nvidia":
        gpu_xid(node, fault, platform)
    else:
        pcie_errors(node, fault, platform)
    log["before"] += log["faults"]
    log["faults"] = was


def gpu_ras(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    if node["smi"].get("vendor") != "amd":
        raise inapplicable(fault, "the platform has no GPU whose driver logs RAS errors")
    gpu = f"amdgpu {fault_places.gpu(node, fault)['bus']}: amdgpu: "
    _log(node, (_INFO, f"{gpu}2 uncorrectable hardware errors detected in umc block"))


def pcie_errors(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Log uncorrected errors of a slot. DEVICE is a NIC, or a GPU such as ``gpu3``."""
    if fault.device.startswith("gpu"):
        address = fault_places.gpu(node, fault)["bus"]
    else:
        address = fault_places.nic(node, fault)["pci"]
    port = "pcieport 0000:00:01.0"
    kind = "Uncorrectable (Non-Fatal)"
    _log(
        node,
        (_WARNING, f"{port}: AER: {kind} error message received from {address}"),
        (
            _ERROR,
            f"pci {address}: PCIe Bus Error: severity={kind}, type=Transaction Layer, (Receiver"
            " ID)",
        ),
    )


def link_flap(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    name = fault_places.nic_name(node, fault)
    nic = fault_places.nics(node)[name]
    if name in node["devices"]:
        port = f"mlx5_core {nic['pci']} {name}: Port: 1 Link"
        _log(node, (_INFO, f"{port} DOWN"), (_INFO, f"{port} ACTIVE"))
    else:
        port = f"{nic['driver']} {nic['pci']} {name}: Device link is"
        _log(node, (_INFO, f"{port} down."), (_INFO, f"{port} up."))


def out_of_memory(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    says = "Killed process 4711 (python3) total-vm:20812800kB, anon-rss:16777216kB"
    _log(node, (_ERROR, f"Out of memory: {says}"))


def denied(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    """Let only root read the log, as with ``kernel.dmesg_restrict``."""
    node["kernel_log"]["denied"] = True


def lost(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    """Let the log be too small for what the kernel says during the run."""
    node["kernel_log"]["lost"] = True
