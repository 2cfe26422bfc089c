"""The hardware of one node, as its facts show it and as a platform file declares it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from railgauge.config.thresholds.model import PCIE_GTS
from railgauge.facts import NodeFacts
from railgauge.facts.model import NetdevFacts, NicFacts

INFINIBAND = "InfiniBand"
_DISTANCES = frozenset({"PIX", "PXB", "PHB", "NODE", "SYS"})
_GENERATIONS = {gts: generation for generation, gts in PCIE_GTS.items()}
_UP = frozenset({"ACTIVE", "up"})


@dataclass(frozen=True, slots=True)
class NicFound:
    """A port of a node that can carry payload: an RDMA device, or a network device without RDMA.

    ``pcie`` is (generation, lanes) of its slot; it is not read for network devices. ``rate_gbps``
    is ``None`` if the port reports none, or if it is virtual, so that its rate is not of a wire.
    """

    name: str
    model: str
    rate_gbps: float | None
    link_layer: str
    is_rdma: bool
    is_up: bool
    pcie: tuple[int, int] | None = None
    pci_address: str | None = None
    numa_node: int | None = None
    mtu_bytes: int | None = None

    @property
    def is_virtual(self) -> bool:
        return not self.is_rdma and self.pci_address is None


@dataclass(frozen=True, slots=True)
class GpusFound:
    """The GPUs of a node: their models (each once), the memory of each in MiB, and addresses."""

    models: tuple[str, ...]
    memories_mib: tuple[int, ...]
    bus_ids: tuple[str, ...]
    numa_nodes: tuple[int | None, ...]

    @property
    def count(self) -> int:
        return len(self.numa_nodes)


@dataclass(frozen=True, slots=True)
class Hardware:
    """The hardware of a node. ``distances`` is GPU -> NIC -> ``PIX`` … ``SYS``, where printed."""

    gpus: GpusFound | None
    nics: tuple[NicFound, ...]
    distances: Mapping[int, Mapping[str, str]] = field(default_factory=dict)


def hardware_of(facts: NodeFacts) -> Hardware:
    """Return the hardware that the facts show.

    If the node has an RDMA device with a link, its other network devices are left out.
    """
    rdma = tuple(map(_rdma, facts.nics))
    nics = rdma if any(nic.is_up for nic in rdma) else tuple(map(_netdev, facts.netdevs))
    return Hardware(_gpus(facts), nics, _distances(facts))


def _rdma(nic: NicFacts) -> NicFound:
    return NicFound(
        name=nic.name,
        model=nic.hca_type or "unknown",
        rate_gbps=nic.rate_gbps,
        link_layer=nic.link_layer or "unknown",
        is_rdma=True,
        is_up=nic.port_state in _UP,
        pcie=_slot(nic),
        pci_address=nic.pci_address,
        numa_node=nic.numa_node,
        mtu_bytes=nic.active_mtu_bytes,
    )


def _slot(nic: NicFacts) -> tuple[int, int] | None:
    generation = _GENERATIONS.get(nic.pcie_speed_gts or 0.0)
    return None if generation is None or nic.pcie_width is None else (generation, nic.pcie_width)


def _netdev(nic: NetdevFacts) -> NicFound:
    return NicFound(
        name=nic.name,
        model=nic.driver or "Ethernet",
        rate_gbps=nic.rate_gbps if nic.pci_address else None,
        link_layer="Ethernet",
        is_rdma=False,
        is_up=nic.state in _UP,
        pci_address=nic.pci_address,
        numa_node=nic.numa_node,
        mtu_bytes=nic.mtu_bytes,
    )


def _gpus(facts: NodeFacts) -> GpusFound | None:
    if not facts.gpus:
        return None
    bus_ids = [gpu.bus_id for gpu in facts.gpus if gpu.bus_id]
    memories = dict.fromkeys(gpu.memory_mib for gpu in facts.gpus if gpu.memory_mib)
    return GpusFound(
        models=tuple(dict.fromkeys(gpu.model for gpu in facts.gpus)),
        memories_mib=tuple(memories),
        bus_ids=tuple(bus_ids) if len(bus_ids) == len(facts.gpus) else (),
        numa_nodes=tuple(gpu.numa_node for gpu in facts.gpus),
    )


def _distances(facts: NodeFacts) -> dict[int, dict[str, str]]:
    return {
        gpu.index: {
            name: distance
            for name, distance in facts.topology.get(f"gpu{gpu.index}", {}).items()
            if distance in _DISTANCES
        }
        for gpu in facts.gpus
    }


def affinity(hardware: Hardware, nics: tuple[NicFound, ...]) -> dict[int, dict[str, str]]:
    """Return GPU -> NIC -> distance, as printed, else as ``assumed``."""
    names = [nic.name for nic in nics]
    count = hardware.gpus.count if hardware.gpus else 0
    printed = {gpu: dict(hardware.distances.get(gpu, {})) for gpu in range(count)}
    if all(set(names) <= set(row) for row in printed.values()):
        return {gpu: {name: row[name] for name in names} for gpu, row in printed.items()}
    return {gpu: dict(row) for gpu, row in _assumed(hardware, nics)}


def is_printed(hardware: Hardware, nics: tuple[NicFound, ...]) -> bool:
    """Whether the node's tools print the distance of every GPU to every one of ``nics``."""
    names, gpus = {nic.name for nic in nics}, hardware.gpus
    rows = (hardware.distances.get(gpu, {}) for gpu in range(gpus.count if gpus else 0))
    return all(names <= set(row) for row in rows)


def _assumed(
    hardware: Hardware, nics: tuple[NicFound, ...]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield rows in which GPUs and NICs of the same place in their order are near each other."""
    gpus = hardware.gpus
    for gpu, numa_node in enumerate(gpus.numa_nodes if gpus else ()):
        beside = gpu * len(nics) // (gpus.count if gpus else 1)
        yield (
            gpu,
            {
                nic.name: "PXB"
                if place == beside
                else ("NODE" if numa_node == nic.numa_node else "SYS")
                for place, nic in enumerate(nics)
            },
        )
