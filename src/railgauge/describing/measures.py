"""What is measured on the hardware of a survey, by templates of ``shared/derived``. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from railgauge.config.thresholds.model import NEAR_LINKS, PCIE_GTS
from railgauge.config.thresholds.physics import pcie_gbps
from railgauge.config.thresholds.reach import is_slot
from railgauge.describing.choice import Chosen
from railgauge.describing.hardware import INFINIBAND, NicFound, affinity
from railgauge.stacks import Stack

_HOST = (
    "host_write_bandwidth,host_write_bandwidth_bidirectional,host_read_bandwidth",
    "host_read_bandwidth_bidirectional,host_send_bandwidth,host_send_bandwidth_bidirectional",
    "host_write_latency,host_read_latency,host_send_latency",
)
_SUBNET = "fabric_manager,fabric_cabling,fabric_links,fabric_errors,fabric_errors_growth"
_NODE = (
    "node_all_reduce",
    "node_all_gather,node_reduce_scatter,node_alltoall",
    "node_sendrecv,node_broadcast,node_reduce",
)
_ALL_REDUCE, _SENDRECV = "all_reduce", "sendrecv"
_OPERATIONS = ("all_gather", "reduce_scatter", "alltoall", _SENDRECV, "broadcast")
# The shares of the templates in shared/derived, for an entry that asks for less.
_SHARES, _OTHERS = {_ALL_REDUCE: 0.6, "alltoall": 0.35}, 0.45
_BITS = 8
_ONE_CORE_GBPS = 10.0
# Open MPI over TCP, as a ring that sends each part whole: what the traffic and the ideal assume.
_RING = (
    *("--mca", "btl", "tcp,self"),
    *("--mca", "mpi_yield_when_idle", "1"),
    *("--mca", "coll_tuned_use_dynamic_rules", "1"),
    *("--mca", "coll_tuned_allreduce_algorithm", "4"),
    *("--mca", "btl_tcp_eager_limit", "33554432"),
    *("--mca", "btl_tcp_max_send_size", "33554432"),
)


@dataclass(frozen=True, slots=True)
class MeasuredHere:
    """The section ``measurements``, tests that the platform leaves out, and notes."""

    entries: dict[str, Any]
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Means:
    """What the nodes have besides their hardware.

    ``link`` is the data sheet's link between GPUs, if known. ``without_peers`` names the nodes on
    which the survey did not find what GPUDirect RDMA needs, and what it found there; empty if there
    are none. ``has_mpi_bench``: every node has mpi-bench.
    """

    link: Mapping[str, Any] | None
    without_peers: str
    has_mpi_bench: bool


def measured(kind: Chosen, stack: Stack | None, means: Means) -> MeasuredHere:
    """Return what is measured."""
    link, has_peer_memory = means.link, not means.without_peers
    entries: dict[str, Any] = {}
    notes: list[str] = []
    gpus, fabric = kind.hardware.gpus, kind.fabric
    rdma = bool(fabric) and fabric[0].is_rdma
    if fabric and not rdma:
        entries["host_tcp_bandwidth"] = _one_stream(fabric)
    entries |= {names: {} for names in (_HOST if rdma else ())}
    if fabric and _is_ib(fabric):
        entries[_SUBNET] = {}
    if gpus and stack and rdma:
        entries["gpu_write_bandwidth"] = {"extends": _reach(kind)}
    if gpus and stack:
        entries |= _inside(gpus.count, stack, link)
    if gpus and fabric:
        entries |= _between(kind, link, has_peer_memory)
    if not gpus and fabric and not rdma and means.has_mpi_bench:
        entries[_key(_ALL_REDUCE)] = _between_hosts(fabric)
    if gpus and rdma and not has_peer_memory:
        notes.append(
            f"GPUDirect RDMA: {means.without_peers}; so collectives may go through host memory; "
            "once it is set up, make the file again: then they must not"
        )
    absent = _OF_ETHERNET if rdma and not _is_ib(fabric) else {}
    return MeasuredHere(entries, absent, tuple(notes))


_OF_ETHERNET = {
    "host_tcp_bandwidth": (
        "RDMA carries the payload of these NICs; TCP over them is limited by cores."
    ),
    "netdev,netdev_present,netdev_rate,netdev_mtu,netdev_numa,netdev_driver": (
        "RDMA carries the payload of these NICs; port_state, link_rate and active_mtu assert them."
    ),
}


def _one_stream(fabric: tuple[NicFound, ...]) -> dict[str, Any]:
    """Return the options of iperf3 where one core fills the link; several threads need 3.16."""
    is_slow = max(nic.rate_gbps or 0.0 for nic in fabric) <= _ONE_CORE_GBPS
    return {"options": {"streams": 1}} if is_slow else {}


def _is_ib(fabric: tuple[NicFound, ...]) -> bool:
    return fabric[0].link_layer == INFINIBAND


def _reach(kind: Chosen) -> str:
    """Return the template for GPUs near the NICs, far from them, or some of each."""
    rows = affinity(kind.hardware, kind.fabric).values()
    near = {distance in NEAR_LINKS for row in rows for distance in row.values()}
    if len(near) > 1:
        return "near_and_far_gpus"
    return "near_gpus" if True in near else "far_gpus"


def _inside(count: int, stack: Stack, link: Mapping[str, Any] | None) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    if stack.name == "nvidia":
        entries["gpu_host_bandwidth"] = {}
    if link is None or count == 1:
        return entries
    over: dict[str, Any] = {"extends": "over_slots"} if _is_slot(link) else {}
    if stack.name == "nvidia":
        entries["gpu_copy_bandwidth"] = over
    if stack.name == "amd":
        entries["gpu_link_bandwidth"] = over
    return {**entries, **dict.fromkeys(_NODE, over)}


def _is_slot(link: Mapping[str, Any]) -> bool:
    """Whether the data sheet's link is the slot of the GPU, which has no other."""
    return link.get("to") == "switch" and is_slot(link["gb_per_s"])


def _between(kind: Chosen, link: Mapping[str, Any] | None, has_peer_memory: bool) -> dict[str, Any]:
    """Return the collectives between nodes.

    Where the links between the GPUs of a node are slower than its NICs, they decide, and the
    floors are shares of them. Where they are not known, only all_reduce is limited.
    """
    gpus, fabric = kind.hardware.gpus, kind.fabric
    assert gpus is not None
    rdma = fabric[0].is_rdma
    over = ("over_gpudirect" if has_peer_memory else "over_rdma") if rdma else "over_sockets"
    if gpus.count > 1 and link is None:
        return {_key(_ALL_REDUCE): {"extends": ["unknown_links", over]}}
    entries: dict[str, Any] = {_key(_ALL_REDUCE): {"extends": over}}
    entries |= {_key(name): {} if rdma else {"extends": "over_sockets"} for name in _OPERATIONS}
    for name in (_ALL_REDUCE, *_OPERATIONS):
        factor = _factor(gpus.count, fabric, link, one_link=name == _SENDRECV)
        if factor < 1:
            entries[_key(name)] |= _slower_inside(_SHARES.get(name, _OTHERS), factor)
    return {**entries, **({"pair_all_reduce_one_gpu": {}} if rdma else {})}


def _key(operation: str) -> str:
    return f"pair_{operation},group_{operation}"


def _between_hosts(fabric: tuple[NicFound, ...]) -> dict[str, Any]:
    own = ("--mca", "btl_tcp_if_include", ",".join(nic.name for nic in fabric))
    arguments = {"launcher_args": {"openmpi": [*_RING, *own]}}
    return {"extends": "between_hosts", "options": arguments}


def _factor(
    count: int, fabric: tuple[NicFound, ...], link: Mapping[str, Any] | None, *, one_link: bool
) -> float:
    """Return what the GPUs' links carry as a share of what the NICs carry, at most 1.

    ``one_link``: of a sendrecv, which goes over one link and one NIC.
    """
    if link is None or count == 1:
        return 1.0
    links = 1 if one_link or link.get("to") == "switch" else count - 1
    rates = [_gbps(nic) / _BITS for nic in fabric]
    nics = max(rates) if one_link else sum(rates)
    return min(1.0, links * float(link["gb_per_s"]) / nics) if nics else 1.0


def _gbps(nic: NicFound) -> float:
    rate = nic.rate_gbps or 0.0
    known = nic.pcie is not None and nic.pcie[0] in PCIE_GTS
    return min(rate, pcie_gbps(*nic.pcie)) if known and nic.pcie else rate


def _slower_inside(share: float, factor: float) -> dict[str, Any]:
    floor = float(f"{share * factor:.4g}")
    basis = (
        f"derived: {floor * 100:.4g} % of the ideal (railgauge docs calibration): "
        f"{share * 100:.0f} % of what "
        "the links between the GPUs of a node carry, which is "
        f"{factor * 100:.4g} % of what its NICs carry. Not yet calibrated."
    )
    return {"limits": [{"floor": floor, "of": "ideal", "basis": basis}]}
