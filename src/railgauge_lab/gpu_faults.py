"""Faults that a GPU's own tools report: memory, power, clocks, slot, links, partitions, firmware.

They change no figure of the lab, because no document measured their effect, but for a lower maximum
clock: a data sheet's rates are those at the maximum clock. The suite finds the others only in the
output of the tools.
"""

from __future__ import annotations

from typing import Any

from railgauge_lab import fault_places
from railgauge_lab.fault_places import Fault, NodeFile, PlatformFile, bad, inapplicable

Gpu = dict[str, Any]
_LOST_MHZ = 210


def _gpu(node: NodeFile, fault: Fault, *vendors: str) -> Gpu:
    """Return the GPU. Raises ``BadInput`` if its vendor's tool does not report this fault."""
    found = fault_places.gpu(node, fault)
    if vendors and node["smi"]["vendor"] not in vendors:
        raise inapplicable(fault, "the tool of the platform's GPUs does not report it")
    return found


def remap_failed(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Use up all spare rows of a bank, so that the next bad row cannot be remapped."""
    gpu = _gpu(node, fault, "nvidia", "amd")
    gpu["remapped"] |= {"uncorrectable": 512, "failure": 1}


def power_cap(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    gpu = _gpu(node, fault)
    gpu["power_default_w"] = gpu["power_cap_w"]
    gpu["power_cap_w"] = int(gpu["power_cap_w"] * fault.left(0.5))


def gpu_clock(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    gpu = _gpu(node, fault, "nvidia", "amd")
    fastest = gpu["max_clock_mhz"]
    gpu["max_clock_mhz"] = int(fastest * fault.left(1 - _LOST_MHZ / fastest))
    gpu["clock_share"] = gpu.get("clock_share", 1.0) * gpu["max_clock_mhz"] / fastest


def throttle(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Let the GPU be hot under load: by NVML's documentation it then halves its clock, or more."""
    gpu = _gpu(node, fault)
    gpu["throttled"] = True
    gpu["clock_share"] = gpu.get("clock_share", 1.0) * fault.left(0.5)


def gpu_pcie(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Train one generation lower and with half the lanes; the device's maxima stay."""
    link = _gpu(node, fault, "nvidia", "amd")["pci"]["link"]
    link[0], link[1] = "16GT/s", link[1] // 2


def gpu_link(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    _gpu(node, fault, "nvidia", "amd")["nvlinks_down"] = [3]


def gpu_fabric(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    _gpu(node, fault, "nvidia")["fabric"] = {"state": "In Progress", "status": "N/A"}


def gpu_partition(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Turn on MIG (NVIDIA), or partition the accelerator (AMD)."""
    gpu = _gpu(node, fault, "nvidia", "amd")
    gpu["mig"], gpu["partition"] = True, ["CPX", "NPS4"]


def gpu_diagnostics(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    if "dcgmi" not in node["tools"]:
        raise inapplicable(fault, "the platform has no diagnostics tool for its GPUs")
    _gpu(node, fault)["fails_diagnostics"] = True


def clocks_unlocked(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    if not node.get("smi", {}).get("locked_mhz"):
        raise inapplicable(fault, "the platform does not lock the clocks of its GPUs")
    node["smi"]["locked_mhz"] = 0


def ecc_off(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    _gpu(node, fault, "nvidia", "amd")["ecc_off"] = True


def vbios(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    gpu = _gpu(node, fault)
    gpu["vbios"] = platform["faults"][fault.name]["version"]


def version(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    """Give the node an older version of DEVICE, for example ``kernel``, than the other nodes."""
    older = platform["faults"][fault.name]
    name = fault.device or next(iter(older))
    if name not in older:
        raise bad(fault, f"the lab has no version of {name!r}", f"known: {', '.join(older)}")
    for place, value in older[name].items():
        section, key = place.split(".")
        node[section][key] = value
