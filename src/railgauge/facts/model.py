"""The facts of a node, as plain data that can be stored and passed to workers.

A value that could not be read is ``None`` (or empty) *and* listed in ``NodeFacts.missing`` with the
reason. It is never replaced by a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from railgauge.core.codec import from_plain, to_plain
from railgauge.core.errors import BadInput, FactMissing, NoEvidence
from railgauge.facts.nvme import NvmeDisks
from railgauge.facts.parts import InventoryPart
from railgauge.facts.visible import HIDES
from railgauge.stacks import GpuFacts

__all__ = [
    "GidFacts",
    "GpuFacts",
    "IrqFacts",
    "LoggedFault",
    "NetdevFacts",
    "NicFacts",
    "NodeFacts",
    "from_json",
    "require",
]


@dataclass(frozen=True, slots=True)
class GidFacts:
    """One entry of a port's GID table. ``roce_version`` is ``v1`` or ``v2``.

    The kernel reports ``v1`` for the GIDs of an InfiniBand port too.
    """

    index: int
    gid: str
    ipv4: str | None
    roce_version: str | None


@dataclass(frozen=True, slots=True)
class NicFacts:
    """Port 1 of one HCA, and its PCIe link.

    ``port_state`` is ``ACTIVE``, ``DOWN``, …, ``physical_state`` ``LinkUp``, ``Disabled``, …,
    ``link_layer`` ``InfiniBand`` or ``Ethernet``; ``rate_gbps`` is decimal Gb/s over all lanes.
    ``node_guid`` is the HCA's GUID, ``0x`` and 16 digits, which sysfs and ibv_devices give alike.
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
    node_guid: str | None = None


@dataclass(frozen=True, slots=True)
class NetdevFacts:
    """One network device backed by hardware, such as a gVNIC without an HCA.

    ``state`` is the kernel's ``operstate``: ``up``, ``down``, …; ``rate_gbps`` is decimal Gb/s;
    a port that is down does not report it.
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
    """The number of interrupts of one NIC, and the CPUs that serve them.

    For information only, not as the cause of a low bandwidth: full bandwidth was measured with
    interrupts on the remote NUMA node.
    """

    name: str
    count: int
    cpus: str


@dataclass(frozen=True, slots=True)
class LoggedFault:
    """A fault that the kernel logged before the survey: its first line and their number.

    ``line`` is a record as ``/dev/kmsg`` gives it. Lines of one kind and device are one fault.
    ``last`` is the last of them, empty if there is only one or if an earlier version read the log.
    """

    line: str
    count: int
    last: str = ""

    @property
    def latest(self) -> str:
        return self.last or self.line


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """All facts that one probe collected on a node.

    ``clock_offset_s`` is the least time by which the node's clock is ahead of the controller's: 0
    if the time that the node printed is between the start and the end of the probe. ``boot_id`` is
    new at each boot. It shows that the node was rebooted, and two names of one running kernel.
    ``kernel_log`` is the number of the last record of the kernel's log, and ``kernel_faults`` are
    the faults in it since boot. ``machine_id`` is a digest of the id of the installation. ``cpus``
    are online, ``cpus_present`` are in the machine. ``bios`` is its firmware's version. ``ofed`` is
    the release of the RDMA drivers if they are not the kernel's own. ``product`` is the machine's
    name in its firmware; it is not judged. ``virtual`` is whether the machine is a guest of a
    hypervisor, whose load is read with each measurement then. ``numa_cpus`` maps ``0`` to the CPUs
    of that NUMA node, ``0-51,104-155``. ``nvmes`` are the NVMe disks, ``nvme0n1``; ``disks`` are
    those on the node's own PCIe bus, with their health. ``governors`` are the distinct ones,
    sorted. ``cpu_boost`` is whether the CPUs may run above their base frequency. ``memlock`` is
    ``unlimited`` or a number of bytes in digits; ``memlock_config`` is the limit for every login in
    the files of /etc/security: ``hard unlimited``. ``numa_daemons`` run now or start at boot.
    ``boot_modules`` are loaded at each boot, whether or not they are loaded now. ``acs_enabled``
    lists the PCI addresses of the devices whose access control redirects peer traffic, or ``bridge
    #n`` (from 1, in the order of lspci) if no address was printed. ``gpu_processes`` are the
    processes that hold GPU memory, and running diagnostics. ``topology`` maps ``gpu0`` to the
    distances of the other devices. ``peer_memory`` is the evidence that NICs can access GPU memory:
    directories under ``memory_peers`` with a ``version`` file, modules such as ``nvidia_peermem``,
    and ``dma-buf`` if kernel and driver support it. ``failed_logins`` are the nodes to which a
    launcher on this node could not log in by ssh, each with the output of ssh; ``None`` if it was
    not tried. ``parts`` are the parts that can be exchanged: the node itself, its BMC, GPUs, NICs
    and disks. ``missing`` maps a field (``nics.mlx5_0.lid``, or ``gpus.*.fabric`` if no GPU has it)
    to the reason why it was not read.
    """

    node: str
    hostname: str | None = None
    kernel: str | None = None
    boot_id: str | None = None
    kernel_log: str | None = None
    kernel_faults: tuple[LoggedFault, ...] = ()
    machine_id: str | None = None
    clock_offset_s: float | None = None
    os: str | None = None
    ofed: str | None = None
    product: str | None = None
    virtual: bool | None = None
    bios: str | None = None
    cpus: int | None = None
    cpus_present: int | None = None
    cpu_model: str | None = None
    memory_mib: int | None = None
    numa_nodes: int | None = None
    numa_cpus: Mapping[str, str] = field(default_factory=dict)
    nvmes: tuple[str, ...] = ()
    disks: NvmeDisks | None = None
    governors: tuple[str, ...] = ()
    cpu_boost: bool | None = None
    numa_balancing: int | None = None
    memlock: str | None = None
    memlock_config: tuple[str, ...] = ()
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
    failed_logins: tuple[str, ...] | None = None
    parts: tuple[InventoryPart, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def ipoib(self) -> Mapping[str, str]:
        """The state of the network device of each NIC that has one: ``{"mlx5_0": "up"}``."""
        states = {netdev.name: netdev.state for netdev in self.netdevs}
        found = ((nic.name, states.get(nic.netdev or "")) for nic in self.nics)
        return {name: state for name, state in found if state}

    @property
    def gpu_topology(self) -> Mapping[str, str]:
        """The row of each GPU in the matrix of GPUs: ``{"0": "X MX NODE NODE", …}``."""
        names = [f"gpu{gpu.index}" for gpu in self.gpus]
        rows = {name: {name: "X", **self.topology.get(name, {})} for name in names}
        return {
            name.removeprefix("gpu"): " ".join(row[other] for other in names)
            for name, row in rows.items()
            if row.keys() >= set(names)
        }


NodeAnswer = NodeFacts | NoEvidence
FactsByNode = Mapping[str, NodeAnswer]
"""The result of the survey for each node: its facts, or why there are none."""


def require(facts: NodeFacts, path: str) -> Any:
    """Return the value at a path such as ``governors``, ``nics.mlx5_0.lid``, ``gpus.0.bus_id`` or
    ``topology.gpu0.mlx5_0``.

    ``gpus.#`` is the number of GPUs.

    Raises ``FactMissing`` with the node, the path, the reason and a remedy if it was not read.
    Raises ``AttributeError`` for a field that no facts have, which is an error of the caller.
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
    """Return the reason for this item, or the one for this field in all items of its list."""
    everywhere = [*walked[:1], "*", *walked[2:]] if len(walked) > 2 else walked  # noqa: PLR2004
    return missing.get(".".join(walked)) or missing.get(".".join(everywhere), "")


def _step(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name)
    if isinstance(value, tuple):
        if name == "#":
            return len(value)
        return next((item for item in value if _key(item) == name), None)
    return getattr(value, name)


def _key(item: Any) -> str:
    if isinstance(item, NicFacts | NetdevFacts | IrqFacts):
        return item.name
    return str(item.index if isinstance(item, GpuFacts | GidFacts) else item)


def _fact_missing(facts: NodeFacts, path: str, reason: str) -> FactMissing:
    reason = reason or "the node did not report it"
    return FactMissing(f"{path} is not known: {reason}", where=facts.node, remedy=_remedy(reason))


def _remedy(reason: str) -> str:
    remedies = {
        HIDES: "remove the variable from the login's start-up files, or from setup or environment "
        "in the hostfile; fewer GPUs need a platform file of their own",
        "command not found": "install it, or give its path under 'tools' in the hostfile",
        "access denied": "log in as root, or add become: sudo -n to the hostfile",
        "no such file": "check that the driver is loaded and that rootfs is right",
        "time limit": "run it on the node by hand: the driver or the device hangs",
    }
    hints = (remedy for words, remedy in remedies.items() if words in reason)
    return next(hints, "read the output of the probe on this node")


# Fields that the facts of earlier versions do not have.
_LATER = (
    "machine_id", "clock_offset_s", "bios", "cpus_present", "cpu_model", "memory_mib",
    "failed_logins", "kernel_log", "kernel_faults", "parts", "virtual", "cpu_boost",
    "memlock_config", "disks",
)  # fmt: skip
_NOT_ASKED = "the version that collected these facts did not collect this one"


def from_json(data: object) -> NodeFacts:
    """Return the facts that ``to_plain`` wrote. Raises ``BadInput`` for any other data.

    Every field must be given: a default would look like a value that was read. A field that an
    earlier version did not collect is listed in ``missing``. Numbers have no upper limit here; the
    judges decide whether a value is plausible.
    """
    try:
        return as_saved(from_plain(NodeFacts, data, any_number=True), data)
    except BadInput as error:
        raise BadInput(
            f"the data are not the facts of a node: {error}",
            remedy="use the environment.json of a run of this version",
        ) from error


# Fields of devices that earlier versions do not have; they are None, like any field that was not
# read.
_LATER_OF_DEVICES = {"gpus": "device_id", "nics": "node_guid"}


def _given(saved: dict[str, Any], data: object) -> dict[str, Any]:
    """``saved`` without the later fields of devices that ``data`` does not have."""
    for kind, later in _LATER_OF_DEVICES.items():
        listed = data.get(kind) if isinstance(data, Mapping) else None
        if isinstance(listed, list):
            devices = [
                {name: value for name, value in device.items() if name in was or name != later}
                for device, was in zip(saved[kind], listed, strict=True)
            ]
            saved = {**saved, kind: devices}
    return saved


def as_saved(facts: NodeFacts, data: object) -> NodeFacts:
    """Return facts that were read from ``data``, with a reason for each fact that it lacks.

    Raises ``BadInput`` if a field is missing that its version collected.
    """
    absent = [name for name in _LATER if isinstance(data, Mapping) and name not in data]
    saved = {name: value for name, value in to_plain(facts).items() if name not in absent}
    if _given(saved, data) != data:
        raise BadInput("some fields are not given")
    return replace(facts, missing={**facts.missing, **dict.fromkeys(absent, _NOT_ASKED)})
