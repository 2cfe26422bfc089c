"""Faults that a GPU's own tools tell of: memory, power, clocks, slot, links, partitions, firmware.

No figure of the lab changes with them: the documents measured none of it. What the tools say is
what has to give them away.
"""

from __future__ import annotations

from typing import Any

from railgauge.lab import fault_places
from railgauge.lab.fault_places import Fault, NodeFile, PlatformFile, bad, inapplicable

Gpu = dict[str, Any]


def _gpu(node: NodeFile, fault: Fault, *vendors: str) -> Gpu:
    """The GPU, where the tools of its vendor show what is wrong with it."""
    found = fault_places.gpu(node, fault)
    if vendors and node["smi"]["vendor"] not in vendors:
        raise inapplicable(fault, "the tool of its GPUs does not show it")
    return found


def remap_failed(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """All spare rows of a bank are used up, and the next bad row stays where it is."""
    gpu = _gpu(node, fault, "nvidia", "amd")
    gpu["remapped"] |= {"uncorrectable": 512, "failure": 1}


def power_cap(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    gpu = _gpu(node, fault)
    gpu["power_default_w"] = gpu["power_cap_w"]
    gpu["power_cap_w"] //= 2


def gpu_clock(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    _gpu(node, fault, "nvidia", "amd")["max_clock_mhz"] -= 210


def gpu_pcie(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """One generation lower and half the lanes; the device itself could still do more."""
    link = _gpu(node, fault, "nvidia", "amd")["pci"]["link"]
    link[0], link[1] = "16GT/s", link[1] // 2


def gpu_link(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    _gpu(node, fault, "nvidia", "amd")["nvlinks_down"] = [3]


def gpu_fabric(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    _gpu(node, fault, "nvidia")["fabric"] = {"state": "In Progress", "status": "N/A"}


def gpu_partition(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """MIG, or the accelerator's own partitions."""
    gpu = _gpu(node, fault, "nvidia", "amd")
    gpu["mig"], gpu["partition"] = True, ["CPX", "NPS4"]


def gpu_diagnostics(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    if "dcgmi" not in node["tools"]:
        raise inapplicable(fault, "nobody runs diagnostics on its GPUs")
    _gpu(node, fault)["fails_diagnostics"] = True


def clocks_unlocked(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    if not node.get("smi", {}).get("locked_mhz"):
        raise inapplicable(fault, "nobody locks the clocks of its GPUs")
    node["smi"]["locked_mhz"] = 0


def ecc_off(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    _gpu(node, fault, "nvidia", "amd")["ecc_off"] = True


def vbios(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    gpu = _gpu(node, fault)
    gpu["vbios"] = platform["faults"][fault.name]["version"]


def version(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    """One of what the node runs, DEVICE, is older than on the others."""
    older = platform["faults"][fault.name]
    name = fault.device or next(iter(older))
    if name not in older:
        raise bad(fault, f"no version of {name!r}", f"there are: {', '.join(older)}")
    for place, value in older[name].items():
        section, key = place.split(".")
        node[section][key] = value
