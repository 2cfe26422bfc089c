"""Answers of nodes to ``railgauge check``: all good, each to be changed in one place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from railgauge.core.model import Cluster, Node
from railgauge.describing.bus import PciFunction
from railgauge.describing.readiness.model import (
    NodeDisk,
    NodeSeen,
    NodesSeen,
    ProgramPlace,
    SeenByOther,
    SelfReport,
)
from railgauge.describing.readiness.table import cells
from railgauge.facts import NodeFacts
from railgauge.facts.model import NicFacts
from railgauge.leases.holder import Held
from railgauge.stacks import GpuFacts
from railgauge.transport import Entry

GPU = PciFunction("0000:18:00.0", "0x10de", "030200")
NIC = PciFunction("0000:17:00.0", "0x15b3", "020700")
PROGRAMS = (
    *("nvidia-smi", "ibv_devinfo", "mpirun", "all_reduce_perf", "nvbandwidth"),
    *("ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat"),
)
PORT: dict[str, Any] = {
    "link_layer": "InfiniBand",
    "port_state": "ACTIVE",
    "pci_address": "0000:17:00.0",
}
NODES = ("n01", "n02", "n03")


def self_report(**changes: Any) -> SelfReport:
    good = SelfReport(
        shell="/bin/bash",
        user="root",
        root="root",
        has_bash=True,
        programs={name: f"/usr/bin/{name}" for name in PROGRAMS},
        bus=(GPU, NIC),
        disks=(NodeDisk("/tmp", 9000, True, True), NodeDisk("/dev/shm", 9000, True, True)),
        addresses=("10.0.0.1",),
    )
    return replace(good, **changes)


def facts(node: str, **changes: Any) -> NodeFacts:
    gpu = GpuFacts(0, "NVIDIA H200", "0000:18:00.0", 143771)
    nic = NicFacts("mlx5_0", **PORT)
    good = NodeFacts(node, clock_offset_s=0.0, gpus=(gpu,), nics=(nic,), gpu_driver="550.90")
    return replace(good, **changes)


def lacking(*names: str) -> dict[str, str]:
    return {name: f"/usr/bin/{name}" for name in PROGRAMS if name not in names}


def met(address: str, resolved: str | None = "10.0.0.1", **reached: str) -> SeenByOther:
    return SeenByOther(resolved, {address: "open", "10.0.0.1": "open", **reached})


def seen(name: str, **changes: Any) -> NodeSeen:
    node = Node(name, name, name)
    of_others = {other: met(name) for other in NODES if other != name}
    good = NodeSeen(
        node,
        Entry("root by the key ~/.ssh/id_rsa"),
        self_report=self_report(addresses=(f"10.0.0.{int(name[1:])}",)),
        facts=facts(name),
        lease=Held(4711),
        met=of_others,
        listens=True,
    )
    return replace(good, **changes)


def site(*, planned: tuple[str, ...] | None = None, **changes: Any) -> NodesSeen:
    """A site whose node ``n01`` has the changes."""
    nodes = [seen("n01", **changes), seen("n02"), seen("n03")]
    cluster = Cluster("c", "unnamed", "ssh", tuple(one.node for one in nodes), "c.yaml")
    return NodesSeen(cluster, None, planned, {one.node.name: one for one in nodes})


def place(program: str, folder: str) -> ProgramPlace:
    return ProgramPlace(program, f"{folder}/{program}", (f"export PATH={folder}:$PATH",))


def cell(check: str, of: NodesSeen | None = None, **changes: Any) -> Any:
    """The cell of ``n01``."""
    return cells(of or site(**changes))["n01"][check]
