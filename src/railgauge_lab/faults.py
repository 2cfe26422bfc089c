"""The faults of the lab: each one changes a node's figures, files or tool outputs.

A fault is written ``NAME[@NODE[:DEVICE]][=SEVERITY][,p=P][,after=TIME]``. Without NODE it affects
the second node, without DEVICE the first device; the text of each fault tells what DEVICE means.
One node, and one device, may have several faults: their factors multiply. For example,
``slow-nic@mx02:mlx5_1`` multiplies the bandwidth of NIC ``mlx5_1`` of node ``mx02`` by 0.6.
``fault_timing`` tells what SEVERITY, P and TIME mean.

The factor 0.6 of the slow parts comes from no document. It is well below every limit, and above the
next lower link rate or PCIe width, so it cannot be mistaken for either.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railgauge_lab import (
    fabric_faults,
    fault_places,
    fault_timing,
    gpu_faults,
    growth_faults,
    host_faults,
    kernel_faults,
)
from railgauge_lab import hardware_faults as hard
from railgauge_lab import software_faults as soft
from railgauge_lab.fault_places import Fault, NodeFile, PlatformFile, bad, inapplicable
from railgauge_lab.sim.directions import RECEIVES, SENDS

_WHOLE_NODE = frozenset(
    [
        *("unreachable", "host-key-changed", "wrong-key", "slow-node", "governor", "memlock"),
        *("boost-off", "starved-loader", "slow-client", "storage-corruption"),
        *("numa-balancing", "gdr-disabled", "peermem-missing", "tcp-fallback"),
        *("background-diagnostics", "numad", "modules-by-hand", "clocks-unlocked", "nvme-missing"),
        *("cpus-offline", "cpu-model", "slow-storage", "cpu-steal", "memory-missing"),
        *("become-refused", "node-login", "gpu-hidden", "name-unresolved"),
        *("out-of-memory", "kernel-log-denied", "kernel-log-lost"),
        *fabric_faults.NAMES,
    ]
)
# DEVICE is another node.
_OF_TWO_NODES = frozenset({"slow-path", "one-machine", "cloned-image"})
# Besides every ``slow-…``: the faults whose severity is a share that is lost.
_GRADED = frozenset(
    ["high-ber", "power-cap", "gpu-clock", "retransmits", "cpu-steal", *fabric_faults.GRADED]
)


@dataclass(frozen=True, slots=True)
class _Kind:
    text: str
    apply: soft.FaultEffect


_FAULTS = {
    "unreachable": _Kind("nothing listens on the node's SSH port", soft.unreachable),
    "node-stops": _Kind("the node goes down after DEVICE commands (6)", soft.node_stops),
    "host-key-changed": _Kind(
        "the node's SSH host key is not the one in known_hosts", soft.host_key_changed
    ),
    "wrong-key": _Kind("the node refuses the client's key", soft.wrong_key),
    "become-refused": _Kind(
        "sudo asks for a password; shows with become: sudo -n in the hostfile", soft.become_refused
    ),
    "node-login": _Kind(
        "the node cannot log in to other nodes; shows with launch: ssh in the hostfile",
        soft.node_login,
    ),
    "name-unresolved": _Kind(
        "the other nodes cannot resolve the node's name", soft.name_unresolved
    ),
    "gpu-hidden": _Kind(
        "a variable of the login (CUDA_VISIBLE_DEVICES) hides the last GPU", soft.gpu_hidden
    ),
    "tool-missing": _Kind("tool DEVICE (ib_write_bw) is not installed", soft.tool_missing),
    "tool-silent": _Kind("tool DEVICE prints nothing and exits 0", soft.broken("silent")),
    "tool-hangs": _Kind("tool DEVICE never ends", soft.broken("hangs")),
    "tool-garbage": _Kind("tool DEVICE prints binary noise and exits 0", soft.broken("garbage")),
    "tool-floods": _Kind("tool DEVICE prints without end", soft.broken("floods")),
    "slow-node": _Kind("every bandwidth of the node is 0.6 of the healthy one", hard.slow_node),
    "slow-nic": _Kind("the bandwidth of NIC DEVICE is 0.6 of the healthy one", hard.slow_nic),
    "slow-send": _Kind(
        "what NIC DEVICE (all of the node) sends is 0.6 of the healthy bandwidth",
        hard.slow_way(SENDS),
    ),
    "slow-receive": _Kind(
        "what NIC DEVICE (all of the node) receives is 0.6 of the healthy bandwidth",
        hard.slow_way(RECEIVES),
    ),
    "slow-gpu": _Kind(
        "the bandwidth of GPU number DEVICE to NICs, host, memory and other GPUs, and its rate of "
        "matrix products, are 0.6 of the healthy ones",
        hard.slow_gpu,
    ),
    "slow-path": _Kind(
        "the bandwidth between the node and node DEVICE is 0.6 of the healthy one", hard.slow_path
    ),
    "slow-pcie-path": _Kind(
        "the bandwidth between a GPU and a NIC, DEVICE (gpu0-mlx5_0), is 0.6 of the healthy one",
        hard.slow_pcie_path,
    ),
    "corrupt": _Kind("GPU number DEVICE computes wrong results", hard.corrupt),
    "wrong-bit": _Kind(
        "GPU number DEVICE computes one wrong bit in hundreds of training steps", hard.wrong_bit
    ),
    "late-rank": _Kind(
        "the rank of GPU number DEVICE computes training steps at half of the healthy rate; the GPU"
        " alone is not slow",
        hard.late_rank,
    ),
    "starved-loader": _Kind(
        "the host takes a hundred times as long to load the data of a training step",
        soft.starved_loader,
    ),
    "governor": _Kind("the CPU governor is powersave", soft.governor),
    "boost-off": _Kind("the CPUs do not run above their base frequency", soft.boost_off),
    "numa-balancing": _Kind("automatic NUMA balancing is on", soft.numa_balancing),
    "numad": _Kind("numad runs and moves pages between NUMA nodes", soft.numad),
    "modules-by-hand": _Kind(
        "the kernel modules were loaded by hand; the next boot does not load them",
        soft.modules_by_hand,
    ),
    "acs": _Kind(
        "Access Control Services are on at PCI bridge DEVICE; ADDRESS+ReqRedir sets that bit only",
        hard.acs,
    ),
    "memlock": _Kind("the limit on locked memory is 64 KiB", soft.memlock),
    "no-sm": _Kind("no subnet manager has configured NIC DEVICE", hard.no_sm),
    "mtu": _Kind("the active MTU of NIC DEVICE is too small", hard.mtu),
    "firmware": _Kind("NIC DEVICE has older firmware than on the other nodes", hard.firmware),
    "port-down": _Kind("the port of NIC DEVICE is down", hard.port_down),
    "link-rate": _Kind("the link of NIC DEVICE trained at the next lower rate", hard.link_rate),
    "high-ber": _Kind("the link of NIC DEVICE has bit errors", hard.high_ber),
    "pcie-width": _Kind(
        "NIC DEVICE trained with fewer PCIe lanes than its rate needs", hard.pcie_width
    ),
    "gpu-missing": _Kind("GPU number DEVICE is missing", hard.gpu_missing),
    "nic-missing": _Kind("NIC DEVICE is missing", hard.nic_missing),
    "gdr-disabled": _Kind(
        "the GPU driver's peer memory file is missing, as under a kernel that does not make it",
        soft.gdr_disabled,
    ),
    "peermem-missing": _Kind("nvidia_peermem is not loaded", soft.peermem_missing),
    "slow-xgmi": _Kind("one link between two GPUs, DEVICE (0>7), is slow", hard.slow_xgmi),
    "tcp-fallback": _Kind("the collective library falls back to sockets", soft.tcp_fallback),
    "nic-idle": _Kind("collectives do not use NIC DEVICE", soft.nic_idle),
    "nic-idle-in-training": _Kind(
        "training does not use NIC DEVICE; the tests of collectives do", soft.nic_idle_in_training
    ),
    "background-diagnostics": _Kind(
        "GPU diagnostics run all the time and disturb every collective",
        soft.background_diagnostics,
    ),
    "ecc": _Kind("GPU DEVICE has uncorrectable memory errors", hard.ecc),
    "remap-failed": _Kind(
        "GPU DEVICE has a bad memory row that could not be remapped", gpu_faults.remap_failed
    ),
    "ecc-off": _Kind("GPU DEVICE runs without ECC", gpu_faults.ecc_off),
    "power-cap": _Kind("the power cap of GPU DEVICE is half its default", gpu_faults.power_cap),
    "gpu-clock": _Kind(
        "the maximum clock of GPU DEVICE is lower than that of the others", gpu_faults.gpu_clock
    ),
    "throttle": _Kind("GPU DEVICE is too hot under load and halves its clock", gpu_faults.throttle),
    "gpu-pcie": _Kind(
        "the PCIe link of GPU DEVICE is one generation lower and half as wide", gpu_faults.gpu_pcie
    ),
    "gpu-link": _Kind("one link of GPU DEVICE to the other GPUs is down", gpu_faults.gpu_link),
    "gpu-fabric": _Kind(
        "GPU DEVICE is not registered with the NVLink fabric", gpu_faults.gpu_fabric
    ),
    "gpu-partition": _Kind("GPU DEVICE is partitioned", gpu_faults.gpu_partition),
    "gpu-diagnostics": _Kind(
        "GPU DEVICE fails the memory tests of its diagnostics, but counts no memory error",
        gpu_faults.gpu_diagnostics,
    ),
    "clocks-unlocked": _Kind("the clocks of the GPUs are not locked", gpu_faults.clocks_unlocked),
    "nvme-missing": _Kind("one NVMe disk is missing", hard.nvme_missing),
    "slow-storage": _Kind(
        "storage is slow for the node alone; shows with storage in the hostfile",
        host_faults.slow_storage,
    ),
    "slow-client": _Kind(
        "the node is slow while all use shared storage; shows with storage in the hostfile",
        host_faults.slow_client,
    ),
    "storage-corruption": _Kind(
        "what the node writes to shared storage is wrong; shows with storage in the hostfile",
        host_faults.storage_corruption,
    ),
    "nvme-degraded": _Kind(
        "NVMe disk DEVICE has media errors, little spare and half its lanes", hard.nvme_degraded
    ),
    "vbios": _Kind("GPU DEVICE has another VBIOS version", gpu_faults.vbios),
    "version": _Kind(
        "DEVICE (kernel, ofed, gpu_driver, …) is older than on the other nodes", gpu_faults.version
    ),
    "one-machine": _Kind(
        "the node is a second container of node DEVICE's machine: boot id and machine id are equal",
        host_faults.one_machine,
    ),
    "cloned-image": _Kind(
        "the node's image was cloned from node DEVICE with its machine id", host_faults.cloned_image
    ),
    "duplicate-lid": _Kind(
        "NIC DEVICE has the LID of another node's NIC of that name", hard.duplicate_lid
    ),
    "duplicate-gid": _Kind(
        "NIC DEVICE has the GUID and the GIDs of another node's NIC of that name",
        hard.duplicate_gid,
    ),
    "guid-unset": _Kind("the node GUID of NIC DEVICE is zero", hard.guid_unset),
    "clock": _Kind("the node's clock is DEVICE (7200) seconds ahead", host_faults.clock),
    "cpus-offline": _Kind("half of the node's CPUs are offline", host_faults.cpus_offline),
    "cpu-model": _Kind(
        "the node has another processor than the other nodes", host_faults.cpu_model
    ),
    "cpu-steal": _Kind(
        "the node is a virtual machine, and its hypervisor gives 0.4 of its CPU time to others; "
        "every bandwidth is 0.6 of the healthy one",
        host_faults.cpu_steal,
    ),
    "memory-missing": _Kind("one of 16 memory modules is missing", host_faults.memory_missing),
    "nic-numa": _Kind("NIC DEVICE is attached to another NUMA node", hard.nic_numa),
    "gpu-xid": _Kind(
        "the driver of GPU DEVICE logs an Xid, 79 or CODE of DEVICE+CODE, while the lab runs",
        kernel_faults.gpu_xid,
    ),
    "logged-before": _Kind(
        "before the run the driver of an NVIDIA GPU, DEVICE or DEVICE+CODE, logged an Xid (79), or "
        "the slot of NIC DEVICE, or of a GPU (gpu0), uncorrected errors",
        kernel_faults.logged_before,
    ),
    "gpu-ras": _Kind(
        "the driver of GPU DEVICE logs uncorrectable errors while the lab runs",
        kernel_faults.gpu_ras,
    ),
    "pcie-errors": _Kind(
        "the slot of NIC DEVICE, or of a GPU (gpu0), logs uncorrected errors while the lab runs",
        kernel_faults.pcie_errors,
    ),
    "link-flap": _Kind(
        "the link of NIC DEVICE goes down and comes back while the lab runs, as the kernel logs it",
        kernel_faults.link_flap,
    ),
    "out-of-memory": _Kind(
        "the kernel kills a process while the lab runs, as memory runs out",
        kernel_faults.out_of_memory,
    ),
    "kernel-log-denied": _Kind("only root can read the kernel's log", kernel_faults.denied),
    "kernel-log-lost": _Kind(
        "the kernel's log is too small, so that the lines of the run are lost", kernel_faults.lost
    ),
    "ecc-growth": _Kind(
        "the memory of GPU DEVICE has errors while the GPU is measured", growth_faults.ecc_growth
    ),
    "gpu-link-errors": _Kind(
        "a link of GPU DEVICE to the other GPUs has errors while it is measured",
        growth_faults.gpu_link_errors,
    ),
    "pcie-replays": _Kind(
        "the PCIe link of NIC DEVICE, or of a GPU (gpu0), has corrected errors while the node is "
        "measured",
        growth_faults.pcie_replays,
    ),
    "retransmits": _Kind(
        "NIC DEVICE loses packets, so that its bandwidth is 0.6 of the healthy one",
        growth_faults.retransmits,
    ),
    "congestion": _Kind(
        "packets are discarded at NIC DEVICE because the network is congested",
        growth_faults.congestion,
    ),
    "slow-leaf": _Kind(
        "the uplinks of the node's leaf carry 0.6 of what its nodes send",
        fabric_faults.slow_uplinks,
    ),
    "oversubscribed-uplinks": _Kind(
        "the uplinks of every leaf carry 0.6 of what its nodes send", fabric_faults.slow_uplinks
    ),
    "poor-scaling": _Kind(
        "all spines together carry 0.6 of what all nodes send", fabric_faults.slow_spines
    ),
    "no-adaptive-routing": _Kind(
        "the leaves hash each flow onto one of their uplinks, which some share while others idle",
        fabric_faults.hash_flows,
    ),
    "no-congestion-control": _Kind(
        "the switch of the node's leaf lets the traffic of other nodes fill its queues",
        fabric_faults.no_congestion_control,
    ),
    "irq-affinity": _Kind(
        "the interrupts of NIC DEVICE are served on the other NUMA node, which costs no bandwidth",
        soft.irq_affinity,
    ),
}

NAMES: Mapping[str, str] = {name: kind.text for name, kind in _FAULTS.items()}


def parse(text: str, nodes: Sequence[str]) -> Fault:
    """Read the text of a fault; ``nodes`` are the names of the lab's nodes.

    Raises ``BadInput`` for an unknown fault or node, naming the known ones, for a device where the
    fault affects a whole node, and for a severity where the fault has none.
    """
    what, *timing = text.split(",")
    what, equals, severity = what.partition("=")
    name, _, place = what.partition("@")
    node, _, device = place.partition(":")
    if name not in NAMES:
        raise bad(text, f"unknown fault {name!r}", f"known: {', '.join(sorted(NAMES))}")
    node = node or nodes[min(1, len(nodes) - 1)]
    if node not in nodes:
        raise bad(text, f"unknown node {node!r}", f"known: {', '.join(nodes)}")
    if device and name in _WHOLE_NODE:
        raise bad(text, f"{name} affects a whole node, not a device", f"write {name}@{node}")
    if equals and not graded(name):
        raise bad(text, f"{name} has no severity", f"write {what}")
    fault = Fault(
        name,
        node,
        device,
        fault_timing.severity(text, severity) if equals else None,
        **fault_timing.timing(text, timing),
    )
    if name not in _OF_TWO_NODES:
        return fault
    return dataclasses.replace(fault, device=fault_places.other_node(fault, nodes))


def graded(name: str) -> bool:
    """Return whether the fault takes a severity."""
    return name.startswith("slow-") or name in _GRADED


def apply(fault: Fault, node: NodeFile, platform: PlatformFile) -> None:
    """Apply the fault to the node's description. Raises ``BadInput`` if the platform lacks it."""
    if why := platform["faults"].get(fault.name, {}).get("not_applicable"):
        raise inapplicable(fault, why)
    _FAULTS[fault.name].apply(node, fault, platform)


def listed() -> list[str]:
    """Return the lines of ``--lab-fault list``."""
    return [
        "faults of the lab, NAME[@NODE[:DEVICE]][=SEVERITY][,p=P][,after=TIME]:",
        *(f"  {name:<22} {what}" for name, what in sorted(_with_severity().items())),
        "SEVERITY (after the names with =): the share that is lost, for example 4%",
        "P: the probability that the fault affects a measurement, for example p=0.3",
        "TIME: when the fault begins, from the start of the lab, for example after=60s",
    ]


def _with_severity() -> dict[str, str]:
    return {f"{name} =" if graded(name) else name: what for name, what in NAMES.items()}
