"""What is known about a node, as plain data that can be stored and handed to workers.

A value that could not be read is ``None`` (or empty) *and* named in ``NodeFacts.missing`` with the
reason: a default is never put in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from railgauge.core.errors import BadInput, FactMissing, NoEvidence
from railgauge.core.plain import from_plain, to_plain
from railgauge.stacks import GpuFacts

__all__ = [
    "GidFacts",
    "GpuFacts",
    "IrqFacts",
    "NetdevFacts",
    "NicFacts",
    "NodeFacts",
    "from_json",
    "require",
]


@dataclass(frozen=True, slots=True)
class GidFacts:
    """One entry of a port's GID table. ``roce_version`` is ``v1`` or ``v2``.

    The kernel calls the GIDs of an InfiniBand port ``v1`` too.
    """

    index: int
    gid: str
    ipv4: str | None
    roce_version: str | None


@dataclass(frozen=True, slots=True)
class NicFacts:
    """Port 1 of one HCA and the PCIe link under it.

    ``port_state`` is ``ACTIVE``, ``DOWN``, …, ``physical_state`` ``LinkUp``, ``Disabled``, …,
    ``link_layer`` ``InfiniBand`` or ``Ethernet``; ``rate_gbps`` is decimal Gb/s over all lanes.
    """

    name: str
    pci_address: str | None = None
    hca_type: str | None = None
    part_number: str | None = None
    firmware: str | None = None
    numa_node: int | None = None
    netdev: str | None = None
    port_state: str | None = None
    physical_state: str | None = None
    rate_gbps: float | None = None
    link_layer: str | None = None
    active_mtu_bytes: int | None = None
    lid: int | None = None
    sm_lid: int | None = None
    pcie_speed_gts: float | None = None
    pcie_width: int | None = None
    gids: tuple[GidFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class NetdevFacts:
    """One network device with hardware behind it, such as a gVNIC that no HCA belongs to.

    ``state`` is the kernel's ``operstate``: ``up``, ``down``, …; ``rate_gbps`` is decimal Gb/s,
    which a port that is down does not tell.
    """

    name: str
    pci_address: str | None = None
    driver: str | None = None
    numa_node: int | None = None
    state: str | None = None
    rate_gbps: float | None = None
    mtu_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class IrqFacts:
    """Where the interrupts of one NIC are served: how many there are, on which CPUs in all.

    Worth knowing and worth nothing as an explanation: interrupts on the far NUMA node were found
    beside full bandwidth.
    """

    name: str
    count: int
    cpus: str


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Everything one probe found out about a node.

    ``ofed`` is the release of the RDMA drivers where they are not the kernel's own.
    ``boot_id`` is random and new at each start of the node: nothing to judge, but what tells that
    it was rebooted. ``product`` is what the machine's firmware calls it: which machine
    it is, nothing to judge. ``nvmes`` are its NVMe disks, ``nvme0n1``. ``governors`` are the
    distinct ones, sorted. ``memlock`` is ``unlimited`` or bytes as digits. ``numa_daemons`` run or
    start at boot; ``boot_modules`` are those that each boot loads, whether or not they are loaded
    now.
    ``acs_enabled`` names the PCI devices whose access control redirects peer traffic by address,
    or ``bridge #n`` (from 1, in the order of lspci) where none was printed. ``topology`` maps
    ``gpu0`` to the distances of the other devices. ``numa_cpus`` maps ``0`` to the CPUs of that
    NUMA node, ``0-51,104-155``.
    ``gpu_processes`` are the processes that hold GPU memory and the diagnostics that run.
    ``peer_memory`` is what shows that NICs reach GPU memory: directories under ``memory_peers``
    with a ``version`` file, modules such as ``nvidia_peermem``, and ``dma-buf`` where kernel and
    driver have it. ``missing`` maps a field, ``nics.mlx5_0.lid`` or, where no GPU has it,
    ``gpus.*.fabric`` to why it was not read.
    """

    node: str
    hostname: str | None = None
    kernel: str | None = None
    boot_id: str | None = None
    os: str | None = None
    ofed: str | None = None
    product: str | None = None
    cpus: int | None = None
    numa_nodes: int | None = None
    numa_cpus: Mapping[str, str] = field(default_factory=dict)
    nvmes: tuple[str, ...] = ()
    governors: tuple[str, ...] = ()
    numa_balancing: int | None = None
    memlock: str | None = None
    numa_daemons: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    boot_modules: tuple[str, ...] = ()
    acs_enabled: tuple[str, ...] = ()
    gpus: tuple[GpuFacts, ...] = ()
    gpu_driver: str | None = None
    gpu_software: Mapping[str, str] = field(default_factory=dict)
    gpu_processes: tuple[str, ...] = ()
    nics: tuple[NicFacts, ...] = ()
    netdevs: tuple[NetdevFacts, ...] = ()
    irqs: tuple[IrqFacts, ...] = ()
    topology: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    peer_memory: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)


NodeAnswer = NodeFacts | NoEvidence
FactsByNode = Mapping[str, NodeAnswer]
"""What the survey found on each node: its facts, or why there are none."""


def require(facts: NodeFacts, path: str) -> Any:
    """The value at ``governors``, ``nics.mlx5_0.lid``, ``gpus.0.bus_id``, ``topology.gpu0.mlx5_0``.

    ``gpus.#`` is how many there are.

    Raises ``FactMissing`` with the node, the path, the reason and a remedy if it was not read.
    A field that does not exist at all is a mistake of the caller and an ``AttributeError``.
    """
    value: Any = facts
    walked: list[str] = []
    for name in path.split("."):
        value = _step(value, name)
        walked.append(name)
        reason = _reason(facts.missing, walked)
        if value is None or reason:
            raise _fact_missing(facts, path, reason)
    return value


def _reason(missing: Mapping[str, str], walked: list[str]) -> str:
    """Of that one item, or of this field in all items of its list."""
    everywhere = [*walked[:1], "*", *walked[2:]] if len(walked) > 2 else walked  # noqa: PLR2004
    return missing.get(".".join(walked)) or missing.get(".".join(everywhere), "")


def _step(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name)
    if isinstance(value, tuple):
        if name == "#":
            return len(value)
        return next((item for item in value if _called(item) == name), None)
    return getattr(value, name)


def _called(item: Any) -> str:
    if isinstance(item, NicFacts | NetdevFacts | IrqFacts):
        return item.name
    return str(item.index if isinstance(item, GpuFacts | GidFacts) else item)


def _fact_missing(facts: NodeFacts, path: str, reason: str) -> FactMissing:
    reason = reason or "the node did not report it"
    return FactMissing(f"{path} is not known: {reason}", where=facts.node, remedy=_remedy(reason))


def _remedy(reason: str) -> str:
    remedies = {
        "command not found": "install it, or put it on the PATH of a non-interactive login",
        "access denied": "log in as root",
        "no such file": "check that the driver is loaded and that rootfs is right",
        "time limit": "run it on the node by hand: the driver or the device hangs",
    }
    hints = (remedy for words, remedy in remedies.items() if words in reason)
    return next(hints, "read what the probe printed on this node")


def from_json(data: object) -> NodeFacts:
    """The facts that ``to_plain`` wrote. Raises ``BadInput`` for anything else.

    Every field must be given: a default would pass for something that was read. Numbers may be as
    large as a node prints them: what they mean is judged, not read.
    """
    try:
        facts = from_plain(NodeFacts, data, any_number=True)
        if to_plain(facts) != data:
            raise BadInput("some fields are not given")
    except BadInput as error:
        raise BadInput(
            f"these are not the facts of a node: {error}",
            remedy="use the environment.json of a run of this version",
        ) from error
    return facts
