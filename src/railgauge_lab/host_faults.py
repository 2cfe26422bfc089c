"""Faults of what a node is: its identity, its clock, its processors and its memory.

Stolen CPU time makes the node slower. The others change no figure of the lab, because no document
measured their effect: the suite can find them only in the node's files, and in the time that it
prints.
"""

from __future__ import annotations

from railgauge_lab.fault_places import Fault, NodeFile, PlatformFile, bad

_AHEAD_S = 7200
_MODULES = 16  # of memory, on each of these machines
_STEAL_LEAVES = 0.6
_SLOW_STORAGE_LEAVES = 0.5
_OTHER_CPU = {
    "Intel": "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
    "AMD": "AMD EPYC 7742 64-Core Processor",
}


def one_machine(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    """Let the node be a second container of node DEVICE's machine, with NICs of its own."""
    node["kernel_of"] = fault.device
    cloned_image(node, fault, platform)


def cloned_image(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    node["image_of"] = fault.device


def clock(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    seconds = fault.device or str(_AHEAD_S)
    if not seconds.removeprefix("-").isdecimal():
        what = "DEVICE of this fault must be a number of seconds"
        raise bad(fault, what, f"write, for example, clock@{fault.node}:-600")
    node["clock_ahead_s"] = int(seconds)
    node["tools"]["date"] = "clock"


def cpus_offline(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    node["host"]["online"] = node["host"]["cpus"] // 2


def cpu_steal(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Make the node a virtual machine, whose hypervisor gives its CPU time to others."""
    left = fault.left(_STEAL_LEAVES)
    node["host"]["guest"] = True
    node["stolen"] = 1 - left
    node["speed"] *= left


def cpu_model(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    maker = "AMD" if "AMD" in node["host"]["cpu_model"] else "Intel"
    node["host"]["cpu_model"] = _OTHER_CPU[maker]


def slow_storage(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    node["storage_speed"] = node.get("storage_speed", 1.0) * fault.left(_SLOW_STORAGE_LEAVES)


def slow_client(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Slow the node down where all nodes use shared storage at once; alone it is as fast."""
    node["client_speed"] = node.get("client_speed", 1.0) * fault.left(_SLOW_STORAGE_LEAVES)


def storage_corruption(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    node["storage_corrupts"] = True


def memory_missing(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    node["host"]["memory_gib"] -= node["host"]["memory_gib"] // _MODULES
