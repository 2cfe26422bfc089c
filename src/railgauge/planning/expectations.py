"""The facts of each expectation, their parts, and the values that they are compared with. Pure.

The tests of rung 0 name an expectation and a part of a node. Only this table maps them to facts, so
that the required checks of a level can be computed without the tests. For example, ``gpu_memory``
of GPU 3 is the fact ``gpus.3.memory_mib``, compared with the declared ``gpus.memory_mib``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from railgauge.config.thresholds.model import Expectation, Platform
from railgauge.core.errors import BadInput
from railgauge.core.question import FactAt

# An adapter is any declared NIC; a NIC here is one of the fabric, which carries the tests' payload.
GPU, NIC, ADAPTER = "gpu", "nic", "adapter"

# The hardware that a node must have for the facts that begin with these names.
GPUS, NICS, RDMA = "gpus", "nics", "rdma"
_FACTS_OF = {
    **dict.fromkeys(("gpus", "gpu_driver", "gpu_software", "gpu_processes"), GPUS),
    **dict.fromkeys(("topology", "peer_memory"), GPUS),
    "nics": RDMA,
    "netdevs": NICS,
}

NodePart = Mapping[str, object]
"""A part of a node, such as ``{"gpu": 3, "nic": "mlx5_0"}``; empty for the node itself."""


@dataclass(frozen=True, slots=True)
class FactPaths:
    """The facts of an expectation, as paths of ``facts.require`` with placeholders.

    ``{gpu}``, ``{nic}`` and ``{adapter}`` are replaced by the part. ``{sign}`` is the key that
    identifies a NIC: ``pci_address`` if one is declared, else ``name``. ``per`` are the kinds of
    parts that have the fact. The other fields are those of ``FactAt``.
    """

    paths: tuple[str, ...]
    per: tuple[str, ...] = ()
    declared: str = ""
    same_as: str = ""
    absent: str = ""


def _node(path: str, declared: str = "") -> FactPaths:
    return FactPaths((path,), declared=declared)


def _gpu(field: str, declared: str = "", same_as: str = "") -> FactPaths:
    same = f"gpus.{{gpu}}.{same_as}" if same_as else ""
    return FactPaths((f"gpus.{{gpu}}.{field}",), (GPU,), declared, same)


def _nic(
    *fields: str, declared: str = "", kind: str = "nics", absent: str = "", part: str = NIC
) -> FactPaths:
    paths = tuple(f"{kind}.{{{part}}}.{field}" for field in fields)
    wanted = f"nics.{{{part}}}.{declared}" if declared else ""
    return FactPaths(paths, (part,), wanted, absent=absent)


def _adapter(field: str, declared: str = "", absent: str = "") -> FactPaths:
    return _nic(field, declared=declared, absent=absent, part=ADAPTER)


EXPECTATIONS: Mapping[str, FactPaths] = {
    # the host
    "cpu_governor": _node("governors"),
    "cpu_boost": _node("cpu_boost"),
    "numa_balancing": _node("numa_balancing"),
    "numa_daemons": _node("numa_daemons"),
    "memlock": _node("memlock"),
    "memlock_config": _node("memlock_config"),
    "kernel_module": _node("modules"),
    "boot_module": _node("boot_modules"),
    "acs": _node("acs_enabled"),
    "boot_id": _node("boot_id"),
    "machine_id": _node("machine_id"),
    "clock": _node("clock_offset_s"),
    "node_login": _node("failed_logins"),
    "cpus": _node("cpus"),
    "cpus_online": FactPaths(("cpus",), same_as="cpus_present"),
    "cpu_model": _node("cpu_model"),
    "memory": _node("memory_mib"),
    "numa_nodes": _node("numa_nodes"),
    "numa_cpus": _node("numa_cpus"),
    "nvme_count": _node("nvmes.#"),
    "nvme_health": _node("disks.faults"),
    "nvme_link": _node("disks.slow_links"),
    "nvme_wear": _node("disks.used_percent"),
    # its versions
    "kernel": _node("kernel"),
    "os": _node("os"),
    "bios": _node("bios"),
    "ofed": _node("ofed"),
    "nic_firmware": _adapter("firmware"),
    "gpu_driver": _node("gpu_driver"),
    "gpu_kernel_module": _node("gpu_software.kernel_module"),
    "gpu_runtime": _node("gpu_software.runtime"),
    "gpu_vbios": _gpu("vbios"),
    "gpu_fabric_manager": FactPaths(("gpu_software.fabric_manager",), same_as="gpu_driver"),
    "collective_library": _node("gpu_software.collective_library"),
    # its GPUs
    "gpu_count": _node("gpus.#", declared="gpus.count"),
    "gpu_model": _gpu("model", declared="gpus.model"),
    "gpu_device_id": _gpu("device_id"),
    "gpu_memory": _gpu("memory_mib", declared="gpus.memory_mib"),
    "gpu_bus_id": _gpu("bus_id", declared="gpus.bus_ids.{gpu}"),
    "gpu_persistence_mode": _gpu("persistence_mode"),
    "gpu_ecc_errors": _gpu("ecc_uncorrected"),
    "gpu_ecc_mode": _gpu("ecc_enabled"),
    "gpu_row_remap": _gpu("remap_pending"),
    "gpu_remap_failure": _gpu("remap_failed"),
    "gpu_remapped_rows": _gpu("remapped_rows"),
    "gpu_retired_pages": _gpu("retired_pages"),
    "gpu_power_limit": _gpu("power_limit_w", same_as="power_default_w"),
    "gpu_clock_max": _gpu("clock_max_mhz"),
    "gpu_clock": _gpu("clock_mhz"),
    "gpu_pcie_generation": _gpu("pcie_gen", same_as="pcie_max_gen"),
    "gpu_pcie_width": _gpu("pcie_width", same_as="pcie_max_width"),
    "gpu_links": _gpu("links_up", same_as="links_total"),
    "gpu_link_count": _gpu("links_total"),
    "gpu_link_rate": _gpu("link_rate_gbps"),
    "gpu_fabric_state": _gpu("fabric"),
    "gpu_mig": _gpu("mig_enabled"),
    "gpu_compute_partition": _gpu("compute_partition"),
    "gpu_memory_partition": _gpu("memory_partition"),
    "gpu_numa": _gpu("numa_node"),
    "gpu_processes": _node("gpu_processes"),
    "peer_memory": _node("peer_memory"),
    "mm_kobj": _node("gpu_software.mm_kobj"),
    "gpu_topology": FactPaths(("gpu_topology.{gpu}",), (GPU,), declared="gpus.topology.{gpu}"),
    "gpu_nic_link": FactPaths(
        ("topology.gpu{gpu}.{nic}",), (GPU, NIC), declared="affinity.{gpu}.{nic}"
    ),
    # its RDMA adapters
    "nic_present": _adapter("{sign}", declared="{sign}", absent="absent"),
    "nic_model": _adapter("hca_type", declared="model"),
    "port_state": _nic("port_state"),
    "physical_state": _nic("physical_state"),
    "link_rate": _nic("rate_gbps", declared="rate_gbps"),
    "link_layer": _nic("link_layer", declared="link_layer"),
    "active_mtu": _nic("active_mtu_bytes"),
    "lid": _nic("lid"),
    "subnet_manager": _nic("sm_lid"),
    "gid": _nic("gids.#"),
    "node_guid": _nic("node_guid"),
    "ipoib": FactPaths(("ipoib.{nic}",), (NIC,)),
    "port_address": _nic("gids"),
    "pcie_link": _nic("pcie_speed_gts", "pcie_width", declared="pcie_link"),
    "nic_numa": _nic("numa_node"),
    # its network devices, where the fabric is Ethernet without RDMA
    "netdev_present": _nic("{sign}", declared="{sign}", kind="netdevs", absent="absent"),
    "netdev": _nic("state", kind="netdevs"),
    "netdev_rate": _nic("rate_gbps", declared="rate_gbps", kind="netdevs"),
    "netdev_mtu": _nic("mtu_bytes", kind="netdevs"),
    "netdev_numa": _nic("numa_node", declared="numa_node", kind="netdevs"),
    "netdev_driver": _nic("driver", kind="netdevs"),
}


def asked(expectation: Expectation) -> FactPaths | None:
    """Return the facts of an expectation, its own or the ladder's; ``None`` if unknown."""
    if expectation.fact:
        return FactPaths((expectation.fact,), (expectation.per,) if expectation.per else ())
    return EXPECTATIONS.get(expectation.name)


def hardware_of(found: FactPaths) -> tuple[str, ...]:
    """Return the needs (``needs.KNOWN``) without which no node has these facts.

    An adapter may be any NIC, also one that is not of the fabric.
    """
    if ADAPTER in found.per:
        return ()
    roots = (path.partition(".")[0] for path in found.paths)
    return tuple(dict.fromkeys(_FACTS_OF[root] for root in roots if root in _FACTS_OF))


def fact_at(platform: Platform, name: str, node: str, part: NodePart) -> FactAt:
    """Return the fact of a part of a node that the expectation ``name`` is about.

    Raises ``BadInput`` if the expectation is about other kinds of parts than ``part`` has.
    """
    found = asked(platform.expected[name])
    if found is None or set(found.per) != set(part):
        about = "nothing known" if found is None else " and ".join(["node", *found.per])
        named = ", ".join(["node", *part])
        raise BadInput(f"expectation {name} is about {about}, the test asks for {named}")
    words = _words(platform, part)
    return FactAt(
        node=node,
        paths=tuple(path.format(**words) for path in found.paths),
        declared=found.declared.format(**words),
        same_as=found.same_as.format(**words),
        absent=found.absent,
    )


def _words(platform: Platform, part: NodePart) -> dict[str, object]:
    name = part.get(NIC, part.get(ADAPTER))
    if name is None:
        return dict(part)
    return {**part, "sign": "pci_address" if platform.nic(str(name)).pci_address else "name"}


def parts(platform: Platform, expectation: Expectation) -> Iterator[NodePart]:
    """Yield every declared part of a node that an expectation is about."""
    found = asked(expectation)
    if found is not None:
        choices = [choices_of(platform, name) for name in found.per]
        yield from (dict(zip(found.per, row, strict=True)) for row in product(*choices))


def choices_of(platform: Platform, part: str) -> list[object]:
    """Return all declared parts of one kind: GPU indices, or names of NICs."""
    if part == GPU:
        return list(range(platform.gpus.count)) if platform.gpus else []
    return [nic.name for nic in (platform.fabric_nics if part == NIC else platform.nics)]
