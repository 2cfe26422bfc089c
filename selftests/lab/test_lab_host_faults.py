"""Faults of a node's identity and hardware: files of this node change; of figures, few."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from testing.fault_bench import IB, gbps
from testing.lab_bench import NAMES, Bench, StartLab

from railgauge.core.errors import BadInput
from railgauge.facts.steal import parse
from railgauge_lab import faults, platforms

BOOT = "proc/sys/kernel/random/boot_id"
IMAGE = "etc/machine-id"
CPU = "sys/devices/system/cpu"
PORT = f"{IB}/mlx5_0/ports/1"


def shared(bench: Bench, path: str) -> bool:
    return bench.read(0, path) == bench.read(1, path)


def test_one_machine_gives_two_nodes_one_boot_id(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "one-machine@mx02", nodes=3)
    assert shared(bench, BOOT)
    assert shared(bench, IMAGE)
    assert not shared(bench, f"{PORT}/gids/0")
    assert bench.read(1, "proc/sys/kernel/hostname") == "mx02\n"
    assert bench.read(2, BOOT) != bench.read(0, BOOT)


def test_a_cloned_image_has_the_same_machine_id(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "cloned-image@mx01:mx03", nodes=3)
    assert bench.read(0, IMAGE) == bench.read(2, IMAGE) != bench.read(1, IMAGE)
    assert len(bench.read(0, IMAGE)) == 33
    assert not shared(bench, BOOT)


def test_a_duplicate_lid_is_on_two_ports(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "duplicate-lid@mx02:mlx5_0")
    assert shared(bench, f"{PORT}/lid")
    assert not shared(bench, f"{PORT}/gids/0")
    assert not shared(bench, f"{IB}/mlx5_1/ports/1/lid")
    assert gbps(bench) == pytest.approx(392.25)


def test_a_duplicate_gid_is_on_two_ports(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "duplicate-gid@mx01:mlx5_0")
    assert shared(bench, f"{PORT}/gids/0")
    assert shared(bench, f"{IB}/mlx5_0/node_guid")
    assert not shared(bench, f"{PORT}/lid")


def test_a_wrong_clock_differs_by_the_given_seconds(start_lab: StartLab) -> None:
    bench = start_lab("connectx4-homelab", "clock", "clock@viper:-600", nodes=3)
    before = int(time.time())
    shown = [int(bench.run(index, "date", "+%s").stdout) for index in range(3)]
    assert [round((one - before) / 60) for one in shown] == [-10, 120, 0]
    assert bench.run(1, "date", "-u").stdout.endswith(f" {time.gmtime().tm_year}\n")
    assert bench.run(1, "date", "-Q").returncode == 1


@pytest.mark.parametrize("device", ["soon", "--5", "1.5"])
def test_a_clock_offset_must_be_a_number_of_seconds(device: str) -> None:
    with pytest.raises(BadInput, match="number of seconds"):
        with_fault("connectx4-homelab", f"clock@columbia:{device}")


def with_fault(platform: str, fault: str) -> dict[str, object]:
    data, nodes = platforms.load(platform), NAMES[platform]
    node = platforms.describe(data, nodes[1], 1, 0)
    faults.apply(faults.parse(fault, nodes), node, data)
    return node


def test_half_of_the_cpus_are_offline(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "cpus-offline")
    assert bench.read(1, f"{CPU}/online") == "0-111\n"
    assert bench.read(1, f"{CPU}/present") == bench.read(0, f"{CPU}/online") == "0-223\n"
    assert bench.read(1, "sys/devices/system/node/node1/cpulist") == "56-111\n"
    assert bench.read(0, "sys/devices/system/node/node1/cpulist") == "56-111,168-223\n"
    assert not (bench.home(1) / "root" / CPU / "cpu112/cpufreq").exists()


def test_cpu_model_changes_the_model_name_only(start_lab: StartLab) -> None:
    for platform in ("connectx4-homelab", "mi300x"):
        bench = start_lab(platform, "cpu-model")
        one, other = (bench.read(index, "proc/cpuinfo").splitlines() for index in (0, 1))
        (differ,) = [i for i, line in enumerate(one) if line != other[i]]
        assert one[differ].startswith("model name\t: ")


def test_stolen_time_is_counted_and_makes_a_virtual_node_slow(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "cpu-steal=30%")
    one, other = (" hypervisor " in bench.read(index, "proc/cpuinfo") for index in (0, 1))
    assert (one, other) == (False, True)
    before = [bench.read(index, "proc/stat") for index in (0, 1)]
    assert gbps(bench) == pytest.approx(0.7 * 392.25, rel=0.01)
    after = [bench.read(index, "proc/stat") for index in (0, 1)]
    load = parse(before[1], after[1])
    assert load is not None
    assert (load.share, load.is_busy) == (0.3, True)
    assert before[0] == after[0]


def test_a_missing_memory_module_reduces_the_total(start_lab: StartLab) -> None:
    bench = start_lab("connectx4-homelab", "memory-missing")
    total = [int(bench.read(index, "proc/meminfo").split()[1]) for index in (0, 1)]
    assert total == [129024 * 1024, 120960 * 1024]


def test_nic_numa_changes_the_nics_numa_node(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "nic-numa@mx02:mlx5_1")
    path = f"{IB}/mlx5_1/device/numa_node"
    assert bench.read(0, path) != bench.read(1, path)
    assert shared(bench, f"{IB}/mlx5_0/device/numa_node")
    tcpx = start_lab("h100-tcpx", "nic-numa@tcpx02:eth3")
    files = [tcpx.read(index, "sys/class/net/eth3/device/numa_node") for index in (0, 1)]
    assert files == ["1\n", "0\n"]
    with pytest.raises(BadInput, match="one NUMA node each"):
        with_fault("connectx4-homelab", "nic-numa")


@pytest.mark.parametrize("platform", platforms.names())
def test_healthy_nodes_share_no_address(platform: str) -> None:
    data = platforms.load(platform)
    nodes = [platforms.describe(data, f"n{index}", index, 0) for index in range(64)]
    ports = [device for node in nodes for device in node["devices"].values()]
    lids = Counter(port["lid"] for port in ports if port["lid"])
    guids = Counter(port["node_guid"] for port in ports)
    assert {**lids, **guids} == dict.fromkeys((*lids, *guids), 1)


def test_a_guid_that_is_not_set_is_one_of_zeros(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "guid-unset@mx02:mlx5_1", nodes=2)
    assert bench.read(1, f"{IB}/mlx5_1/node_guid") == "0000:0000:0000:0000\n"
    listed = bench.run(1, "ibv_devices").stdout
    assert listed.count("0" * 16) == 1
    gids = [bench.read(node, f"{IB}/mlx5_1/ports/1/gids/0") for node in (0, 1)]
    assert len(set(gids)) == 2
    assert not gids[1].endswith("0000:0000\n")


@pytest.mark.parametrize("fault", ["duplicate-lid", "duplicate-gid", "guid-unset"])
def test_a_platform_without_rdma_has_no_duplicate_addresses(fault: str) -> None:
    with pytest.raises(BadInput, match="not applicable"):
        with_fault("h100-tcpx", fault)


def test_boost_that_is_off_shows_in_sysfs_and_in_cpupower(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "boost-off", nodes=2)
    for node, digit, word in ((0, "1", "yes"), (1, "0", "no")):
        assert bench.read(node, "sys/devices/system/cpu/cpufreq/boost") == f"{digit}\n"
        assert f"Active: {word}\n" in bench.run(node, "cpupower", "frequency-info").stdout
