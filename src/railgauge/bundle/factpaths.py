"""Which facts an expectation is about, so that no item stands on the fact of another one. Pure.

In a pattern ``{gpu}`` and ``{nic}`` stand for the item's own device, ``{fact}`` for the fact that
it is named after.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from railgauge.question import FactAt

_OWN = re.compile(r"(?:gpu(?P<gpu>\d+))?-?(?P<nic>.*)")


def _about(*paths: str, declared: str = "", same_as: str = "", absent: str = "") -> FactAt:
    return FactAt("", paths, declared, same_as, absent)


def _slot(device: str) -> tuple[FactAt, ...]:
    """By its slot where the platform file declares one, else by its name."""
    return tuple(
        _about(f"{device}.{sign}", declared=f"nics.{{nic}}.{sign}", absent="absent")
        for sign in ("pci_address", "name")
    )


def _declared(path: str, declared: str) -> tuple[FactAt, ...]:
    return (_about(path, declared=declared),)


_GPU, _NIC, _NETDEV = "gpus.{gpu}", "nics.{nic}", "netdevs.{nic}"
# The expectations of the ladder's own tests; those of others must be alike among themselves.
KNOWN: dict[str, tuple[FactAt, ...]] = {
    "nodes_alike": (_about("{fact}"), _about("nics.*.firmware")),
    "cpu_governor": (_about("governors"),),
    "numa_balancing": (_about("numa_balancing"),),
    "memlock": (_about("memlock"),),
    "kernel_module": (_about("modules"),),
    "acs": (_about("acs_enabled"),),
    "gpu_count": _declared("gpus.#", "gpus.count"),
    "gpu_model": _declared(f"{_GPU}.model", "gpus.model"),
    "gpu_memory": _declared(f"{_GPU}.memory_mib", "gpus.memory_mib"),
    "gpu_bus_id": _declared(f"{_GPU}.bus_id", "gpus.bus_ids.{gpu}"),
    "gpu_persistence_mode": (_about(f"{_GPU}.persistence_mode"),),
    "gpu_ecc_errors": (_about(f"{_GPU}.ecc_uncorrected"),),
    "gpu_row_remap": (_about(f"{_GPU}.remap_pending"),),
    "gpu_pcie_width": (_about(f"{_GPU}.pcie_width", same_as=f"{_GPU}.pcie_max_width"),),
    "gpu_links": (_about(f"{_GPU}.links_up", same_as=f"{_GPU}.links_total"),),
    "gpu_processes": (_about("gpu_processes"),),
    "peer_memory": (_about("peer_memory"),),
    "gpu_nic_link": _declared("topology.gpu{gpu}.{nic}", "affinity.{gpu}.{nic}"),
    "netdev_present": _slot(_NETDEV),
    "netdev": (_about(f"{_NETDEV}.state"),),
    "netdev_rate": _declared(f"{_NETDEV}.rate_gbps", f"{_NIC}.rate_gbps"),
    "netdev_mtu": (_about(f"{_NETDEV}.mtu_bytes"),),
    "netdev_numa": _declared(f"{_NETDEV}.numa_node", f"{_NIC}.numa_node"),
    "nic_present": _slot(_NIC),
    "nic_model": _declared(f"{_NIC}.hca_type", f"{_NIC}.model"),
    "port_state": (_about(f"{_NIC}.port_state"),),
    "physical_state": (_about(f"{_NIC}.physical_state"),),
    "link_rate": _declared(f"{_NIC}.rate_gbps", f"{_NIC}.rate_gbps"),
    "link_layer": _declared(f"{_NIC}.link_layer", f"{_NIC}.link_layer"),
    "active_mtu": (_about(f"{_NIC}.active_mtu_bytes"),),
    "lid": (_about(f"{_NIC}.lid"),),
    "subnet_manager": (_about(f"{_NIC}.sm_lid"),),
    "gid": (_about(f"{_NIC}.gids.#"),),
    "pcie_link": (
        _about(f"{_NIC}.pcie_speed_gts", f"{_NIC}.pcie_width", declared=f"{_NIC}.pcie_link"),
    ),
}


def are_of(fact: FactAt, pairing: str) -> bool:
    """Whether every path leads to the item's own device, or to the fact that it is named after."""
    paths = [*fact.paths, *filter(None, [fact.same_as])]
    return bool(fact.paths) and all(
        "-".join(_devices(path)) == pairing or pairing in (path, _name(path)) for path in paths
    )


def _devices(path: str) -> Iterator[str]:
    """The devices that a path names: ``gpu3`` and ``mlx5_0`` of ``topology.gpu3.mlx5_0``."""
    first, *rest = path.split(".")
    if first == "topology":
        yield from rest[:2]
    elif first in ("nics", "netdevs", "irqs", "gpus") and rest and rest[0] not in ("*", "#"):
        yield f"gpu{rest[0]}" if first == "gpus" else rest[0]


def _name(path: str) -> str:
    """What a fact over all devices of a kind is called: ``nic_firmware`` of ``nics.*.firmware``."""
    return path.replace("s.*.", "_")


def pattern(fact: FactAt, pairing: str) -> FactAt:
    """The fact with its own device left open: alike for all items of one test."""
    own = _OWN.fullmatch(pairing)
    gpu, nic = (own["gpu"], own["nic"]) if own else (None, "")

    def opened(path: str) -> str:
        if nic and path == nic:
            return "{fact}"
        return ".".join(_opened(part, gpu, nic) for part in path.split("."))

    paths = tuple(map(opened, fact.paths))
    return FactAt("", paths, opened(fact.declared), opened(fact.same_as), fact.absent)


def _opened(part: str, gpu: str | None, nic: str) -> str:
    if gpu is not None and part in (gpu, f"gpu{gpu}"):
        return part.replace(gpu, "{gpu}")
    return "{nic}" if nic and part == nic else part
