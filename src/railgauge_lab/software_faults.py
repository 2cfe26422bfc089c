"""Faults of a node's software: access, tools, settings, drivers, and other users' jobs."""

from __future__ import annotations

from collections.abc import Callable

from railgauge_lab import fault_places
from railgauge_lab.fault_places import Fault, NodeFile, PlatformFile, bad, inapplicable

FaultEffect = Callable[[NodeFile, Fault, PlatformFile], None]

_DIAGNOSTICS = {
    "nvidia": "/usr/share/nvidia/diagnostic/fieldiag eud --gpus all",
    "amd": "/opt/rocm/bin/rvs -c /opt/rocm/share/rocm-validation-suite/conf/gst_single.conf",
    "metax": "/opt/maca/bin/mxvs -r stress",
}

_VISIBLE = {
    "nvidia": "CUDA_VISIBLE_DEVICES",
    "amd": "HIP_VISIBLE_DEVICES",
    "metax": "MACA_VISIBLE_DEVICES",
}


def unreachable(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    node["ssh"]["listens"] = False


def node_stops(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    if fault.device and not fault.device.isdecimal():
        raise bad(
            fault,
            "DEVICE of this fault must be a number of commands",
            "write, for example, node-stops@NODE:6",
        )
    node["ssh"]["stops_after"] = int(fault.device or 6)


def host_key_changed(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    node["ssh"]["other_host_key"] = True


def wrong_key(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    node["ssh"]["refuses"] = True


def become_refused(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    """Without ``become`` in the hostfile nothing runs by sudo, and the fault changes nothing."""
    node["sudo_asks"] = True


def name_unresolved(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    """The other nodes do not know the node's address; whoever has it by number reaches it."""
    node["ssh"]["resolves"] = False


def node_login(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """With ``launch: through-suite`` no node logs in to another, and the fault changes nothing."""
    if "ssh" not in node["tools"]:
        raise inapplicable(fault, "the platform has no collectives, for which nodes log in")
    node["logs_in"] = False


def gpu_hidden(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    name = _VISIBLE.get(node["smi"].get("vendor", ""))
    if name is None or not node["gpus"]:
        raise inapplicable(fault, "the platform has no GPU")
    node["environment"][name] = ",".join(map(str, range(len(node["gpus"]) - 1)))


def tool_missing(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    del node["tools"][fault_places.tool(node, fault)]


def broken(how: str) -> FaultEffect:
    """Return the fault of an installed but broken tool; ``how`` is a key of ``sim.main.BROKEN``."""

    def apply(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
        node["broken_tools"][fault_places.tool(node, fault)] = how

    return apply


def governor(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    """Set the CPU governor to powersave.

    No figure changes: document 004 found the throughput almost identical before and after it set
    the governor, and it measured its latency of 1.15 us before.
    """
    node["host"]["governor"] = "powersave"


def boost_off(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    """Switch CPU boost off; no document gives a figure of what that costs."""
    node["host"]["boost"] = False


def numa_balancing(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    node["host"]["numa_balancing"] = 1


def numad(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    """Run numad, which moves pages as the kernel's own NUMA balancing does."""
    node["processes"]["2417"] = "/usr/bin/numad -i 15"


def modules_by_hand(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    if not node["host"].get("boot_modules"):
        raise inapplicable(fault, "the platform's document lists no modules to load at boot")
    node["host"]["boot_modules"] = []


def memlock(node: NodeFile, _fault: Fault, _platform: PlatformFile) -> None:
    node["host"]["memlock"] = "65536"


_OF_KERNEL = ("kernel", "os_release", "symbols")


def gdr_disabled(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    change = platform["faults"].get(fault.name)
    if change is None:
        raise inapplicable(fault, "the platform's GPU driver has no file under memory_peers")
    node["peer_memory"].pop(change["peer_memory"], None)
    node["host"].update({key: change[key] for key in _OF_KERNEL if key in change})


def peermem_missing(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    change = platform["faults"].get(fault.name)
    if change is None:
        raise inapplicable(fault, "the platform's GPU driver has no peer memory module of its own")
    node["host"]["modules"] = [
        module for module in node["host"]["modules"] if module != change["module"]
    ]


def tcp_fallback(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    fault_places.collectives(node, fault)["plugin_loads"] = False


def nic_idle(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    fault_places.collectives(node, fault)["idle_nics"].append(_carrier(node, fault))


def nic_idle_in_training(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    idle = fault_places.collectives(node, fault).setdefault("idle_in_training", [])
    idle.append(_carrier(node, fault))


def _carrier(node: NodeFile, fault: Fault) -> str:
    """Return the NIC of a fault. Raises ``BadInput`` if collectives do not use it."""
    library = fault_places.collectives(node, fault)
    name = fault_places.nic_name(node, fault)
    if name not in library["fabric"]:
        carriers = ", ".join(library["fabric"])
        raise bad(fault, f"{name} carries no collectives", f"name one that does: {carriers}")
    return name


def starved_loader(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    """Let the host take a hundred times as long for the data of a step."""
    fault_places.gpu(node, fault, "0")
    node["loader_share"] = 0.01


def background_diagnostics(node: NodeFile, fault: Fault, _platform: PlatformFile) -> None:
    command = _DIAGNOSTICS.get(node["smi"].get("vendor", ""))
    if command is None or not node["gpus"]:
        raise inapplicable(fault, "the lab has no diagnostics for the platform's GPUs")
    node["diagnostics"]["48230"] = command
    if node["smi"]["vendor"] == "nvidia":
        node["processes"]["48211"] = "dcgmi diag -r eud"


def irq_affinity(node: NodeFile, fault: Fault, platform: PlatformFile) -> None:
    """Serve a NIC's interrupts on the other NUMA node; in document 003 that costs no bandwidth."""
    change = platform["faults"].get(fault.name)
    if change is None:
        raise inapplicable(fault, "the lab shows no interrupts on this platform")
    name = fault.device or change["netdev"]
    wanted = [one for one in node["interrupts"] if one["netdev"] == name]
    if not wanted:
        known = ", ".join(one["netdev"] for one in node["interrupts"])
        raise bad(fault, f"unknown NIC {name!r}", f"known: {known}")
    wanted[0]["first_cpu"] = change["first_cpu"][name]
