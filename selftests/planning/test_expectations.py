"""Which facts an expectation needs, of which parts of a node, and what each is compared with."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT

from railgauge.config import thresholds
from railgauge.config.thresholds.model import Expectation
from railgauge.core.errors import BadInput
from railgauge.core.limits import Basis
from railgauge.core.question import FactAt
from railgauge.planning import expectations
from railgauge.planning.expectations import EXPECTATIONS, FactPaths, choices_of, fact_at, parts

C500 = thresholds.load("metax-c500", ROOT / "thresholds")
GPU, NIC, ADAPTER = {"gpu": 3}, {"nic": "mlx5_0"}, {"adapter": "mlx5_2"}
PARTS = {"": {}, "gpu": GPU, "nic": NIC, "adapter": ADAPTER, "gpu nic": {**GPU, **NIC}}


def expecting(name, on=C500, **changes):
    """The platform with this expectation only."""
    one = Expectation(name, "equals", 1, Basis("derived", "made up"), f"/expected/{name}")
    return replace(on, expected={name: replace(one, **changes)})


def at(name, on=C500, **part):
    return fact_at(expecting(name, on), name, "n1", part)


# Part, fact, and what the fact is compared with if the platform file says "as declared".
AS_DECLARED = {
    "gpu_fabric_manager": ("", "gpu_software.fabric_manager", "", "gpu_driver"),
    "cpus_online": ("", "cpus", "", "cpus_present"),
    "gpu_count": ("", "gpus.#", "gpus.count", ""),
    "gpu_model": ("gpu", "gpus.3.model", "gpus.model", ""),
    "gpu_memory": ("gpu", "gpus.3.memory_mib", "gpus.memory_mib", ""),
    "gpu_bus_id": ("gpu", "gpus.3.bus_id", "gpus.bus_ids.3", ""),
    "gpu_power_limit": ("gpu", "gpus.3.power_limit_w", "", "gpus.3.power_default_w"),
    "gpu_pcie_generation": ("gpu", "gpus.3.pcie_gen", "", "gpus.3.pcie_max_gen"),
    "gpu_pcie_width": ("gpu", "gpus.3.pcie_width", "", "gpus.3.pcie_max_width"),
    "gpu_topology": ("gpu", "gpu_topology.3", "gpus.topology.3", ""),
    "gpu_links": ("gpu", "gpus.3.links_up", "", "gpus.3.links_total"),
    "gpu_nic_link": ("gpu nic", "topology.gpu3.mlx5_0", "affinity.3.mlx5_0", ""),
    "nic_model": ("adapter", "nics.mlx5_2.hca_type", "nics.mlx5_2.model", ""),
    "link_rate": ("nic", "nics.mlx5_0.rate_gbps", "nics.mlx5_0.rate_gbps", ""),
    "link_layer": ("nic", "nics.mlx5_0.link_layer", "nics.mlx5_0.link_layer", ""),
    "netdev_rate": ("nic", "netdevs.mlx5_0.rate_gbps", "nics.mlx5_0.rate_gbps", ""),
    "netdev_numa": ("nic", "netdevs.mlx5_0.numa_node", "nics.mlx5_0.numa_node", ""),
}
# Facts whose value the platform file gives itself.
BY_VALUE = {
    "": {
        "cpu_governor": "governors", "cpu_boost": "cpu_boost", "mm_kobj": "gpu_software.mm_kobj",
        "numa_balancing": "numa_balancing", "memlock": "memlock",
        "memlock_config": "memlock_config",
        "numa_daemons": "numa_daemons", "boot_module": "boot_modules",
        "kernel_module": "modules", "acs": "acs_enabled", "cpus": "cpus",
        "numa_nodes": "numa_nodes", "numa_cpus": "numa_cpus", "kernel": "kernel", "os": "os",
        "ofed": "ofed", "gpu_driver": "gpu_driver",
        "gpu_kernel_module": "gpu_software.kernel_module",
        "gpu_runtime": "gpu_software.runtime",
        "collective_library": "gpu_software.collective_library",
        "gpu_processes": "gpu_processes", "peer_memory": "peer_memory",
        "nvme_count": "nvmes.#", "nvme_health": "disks.faults",
        "nvme_link": "disks.slow_links", "nvme_wear": "disks.used_percent",
        "boot_id": "boot_id", "machine_id": "machine_id",
        "clock": "clock_offset_s", "cpu_model": "cpu_model", "memory": "memory_mib",
        "bios": "bios", "node_login": "failed_logins",
    },
    "gpu": {
        "gpu_device_id": "gpus.3.device_id",
        "gpu_vbios": "gpus.3.vbios", "gpu_persistence_mode": "gpus.3.persistence_mode",
        "gpu_ecc_errors": "gpus.3.ecc_uncorrected", "gpu_ecc_mode": "gpus.3.ecc_enabled",
        "gpu_row_remap": "gpus.3.remap_pending", "gpu_remap_failure": "gpus.3.remap_failed",
        "gpu_remapped_rows": "gpus.3.remapped_rows", "gpu_retired_pages": "gpus.3.retired_pages",
        "gpu_clock_max": "gpus.3.clock_max_mhz", "gpu_clock": "gpus.3.clock_mhz",
        "gpu_link_count": "gpus.3.links_total",
        "gpu_link_rate": "gpus.3.link_rate_gbps", "gpu_fabric_state": "gpus.3.fabric",
        "gpu_mig": "gpus.3.mig_enabled", "gpu_compute_partition": "gpus.3.compute_partition",
        "gpu_memory_partition": "gpus.3.memory_partition", "gpu_numa": "gpus.3.numa_node",
    },
    "nic": {
        "port_state": "nics.mlx5_0.port_state", "physical_state": "nics.mlx5_0.physical_state",
        "active_mtu": "nics.mlx5_0.active_mtu_bytes", "lid": "nics.mlx5_0.lid",
        "subnet_manager": "nics.mlx5_0.sm_lid", "gid": "nics.mlx5_0.gids.#",
        "port_address": "nics.mlx5_0.gids", "ipoib": "ipoib.mlx5_0",
        "node_guid": "nics.mlx5_0.node_guid",
        "nic_numa": "nics.mlx5_0.numa_node", "netdev": "netdevs.mlx5_0.state",
        "netdev_mtu": "netdevs.mlx5_0.mtu_bytes", "netdev_driver": "netdevs.mlx5_0.driver",
    },
    "adapter": {"nic_firmware": "nics.mlx5_2.firmware"},
}  # fmt: skip
OF_SEVERAL = {"pcie_link", "nic_present", "netdev_present"}


@pytest.mark.parametrize("name", AS_DECLARED)
def test_a_declared_fact_is_compared_with_its_declaration(name):
    part, path, declared, same_as = AS_DECLARED[name]
    assert at(name, **PARTS[part]) == FactAt("n1", (path,), declared, same_as)


@pytest.mark.parametrize(
    ("part", "name"), [(p, name) for p, found in BY_VALUE.items() for name in found]
)
def test_a_fact_without_a_declaration_is_compared_with_the_expected_value(part, name):
    assert at(name, **PARTS[part]) == FactAt("n1", (BY_VALUE[part][name],))


def test_these_tables_hold_every_expectation():
    by_value = {name for found in BY_VALUE.values() for name in found}
    assert {*AS_DECLARED, *by_value, *OF_SEVERAL} == set(EXPECTATIONS)


def test_a_pcie_link_is_compared_by_speed_and_width():
    paths = ("nics.mlx5_0.pcie_speed_gts", "nics.mlx5_0.pcie_width")
    assert at("pcie_link", **NIC) == FactAt("n1", paths, "nics.mlx5_0.pcie_link")


def test_a_device_is_identified_by_its_declared_address_or_else_by_its_name():
    assert C500.nic("mlx5_2").pci_address
    assert at("nic_present", **ADAPTER) == FactAt(
        "n1", ("nics.mlx5_2.pci_address",), "nics.mlx5_2.pci_address", absent="absent"
    )
    nics = tuple(replace(nic, pci_address=None) for nic in C500.nics)
    nameless = replace(C500, nics=nics)
    assert at("nic_present", nameless, **ADAPTER) == FactAt(
        "n1", ("nics.mlx5_2.name",), "nics.mlx5_2.name", absent="absent"
    )
    assert at("netdev_present", nameless, nic="mlx5_0") == FactAt(
        "n1", ("netdevs.mlx5_0.name",), "nics.mlx5_0.name", absent="absent"
    )


@pytest.mark.parametrize(
    ("name", "part", "says"),
    [
        ("memlock", GPU, "memlock is about node, the test asks for node, gpu"),
        ("gpu_model", {}, "gpu_model is about node and gpu, the test asks for node"),
        ("gpu_model", NIC, "asks for node, nic"),
        ("gpu_nic_link", GPU, "is about node and gpu and nic, "),
        ("link_rate", ADAPTER, "is about node and nic, the test asks for node, adapter"),
        ("colour", {}, "colour is about nothing known"),
    ],
)
def test_a_test_with_other_parts_is_refused(name, part, says):
    with pytest.raises(BadInput, match=says):
        at(name, **part)


def test_a_sites_own_fact_is_taken_from_the_platform_file():
    own = expecting("colour", fact="gpus.{gpu}.colour", per="gpu")
    assert fact_at(own, "colour", "n1", GPU) == FactAt("n1", ("gpus.3.colour",))
    assert expectations.asked(own.expected["colour"]) == FactPaths(("gpus.{gpu}.colour",), ("gpu",))
    plain = expecting("memlock", fact="colour")
    assert expectations.asked(plain.expected["memlock"]) == FactPaths(("colour",))
    assert fact_at(plain, "memlock", "n1", {}) == FactAt("n1", ("colour",))


def parts_of(name, on=C500):
    return list(parts(on, expecting(name, on).expected[name]))


def test_an_expectation_covers_each_declared_part():
    assert parts_of("memlock") == [{}]
    assert parts_of("gpu_model") == [{"gpu": gpu} for gpu in range(8)]
    assert parts_of("link_rate") == [{"nic": nic.name} for nic in C500.fabric_nics]
    assert parts_of("nic_model") == [{"adapter": nic.name} for nic in C500.nics]
    assert len(C500.nics) > len(C500.fabric_nics)
    both = [{"gpu": gpu, "nic": nic.name} for gpu in range(8) for nic in C500.fabric_nics]
    assert parts_of("gpu_nic_link") == both
    assert parts_of("colour") == []


def test_a_platform_without_gpus_has_no_gpu_parts():
    bare = replace(C500, gpus=None)
    assert parts_of("gpu_model", bare) == parts_of("gpu_nic_link", bare) == []
    assert choices_of(bare, "gpu") == []
