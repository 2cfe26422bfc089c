"""Each fault shows in the outputs and files that it should affect, and in no others."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from testing.fault_bench import (
    ALL_REDUCE,
    BIG,
    H200_TUNING,
    IB,
    OF_ACCESS,
    OF_CLUSTER,
    OF_COUNTERS,
    OF_GPU_TOOLS,
    OF_HOSTS,
    OF_KERNEL,
    OF_LOAD,
    PARTS,
    TCPX_BINDINGS,
    busbw,
    busbw_of,
    data_rows,
    gbps,
    over_both,
    received,
)
from testing.lab_bench import Bench, StartLab, cluster, ssh

from railgauge.core.errors import BadInput
from railgauge_lab import cluster as lab
from railgauge_lab import faults, platforms


def governor(bench: Bench) -> None:
    for cpu in (0, 223):
        path = f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"
        assert bench.read(1, path) == "powersave\n"
        assert bench.read(0, path) == "performance\n"
    assert '"powersave"' in bench.run(1, "cpupower", "frequency-info").stdout


def acs(bench: Bench) -> None:
    assert bench.run(1, "lspci", "-vvv").stdout.count("SrcValid+ TransBlk-") == 1
    assert bench.run(0, "lspci", "-vvv").stdout.count("SrcValid+ TransBlk-") == 0


def memlock(bench: Bench) -> None:
    line = next(x for x in bench.read(1, "proc/self/limits").splitlines() if "locked" in x)
    assert line == "Max locked memory         65536                65536                bytes     "
    assert "* hard memlock 64\n" in bench.read(1, "etc/security/limits.d/99-hpc.conf")
    assert "unlimited" in bench.read(0, "etc/security/limits.d/99-hpc.conf")


def no_sm(bench: Bench) -> None:
    assert bench.read(1, f"{IB}/mlx5_0/ports/1/state") == "2: INIT\n"
    assert bench.read(1, f"{IB}/mlx5_0/ports/1/sm_lid") == "0x0\n"
    assert "State: Initializing" in bench.run(1, "ibstat").stdout
    assert "Port number 1 state is Init\n" in bench.run(1, "ib_write_bw").stderr


def mtu(bench: Bench) -> None:
    assert "active_mtu:\t\t2048 (4)" in bench.run(1, "ibv_devinfo", "-d", "mlx5_0").stdout
    assert "Mtu             : 2048[B]" in bench.pair(("ib_write_bw", *BIG))[0].stdout


def firmware(bench: Bench) -> None:
    assert bench.read(1, f"{IB}/mlx5_0/fw_ver") == "28.39.3004\n"
    assert "fw 28.39.3004 port" in bench.run(1, "ibdev2netdev", "-v").stdout
    assert bench.read(0, f"{IB}/mlx5_0/fw_ver") == "28.43.3608\n"


def port_down(bench: Bench) -> None:
    assert bench.read(1, f"{IB}/mlx5_0/ports/1/state") == "1: DOWN\n"
    assert "ib0 (Down)" in bench.run(1, "ibdev2netdev").stdout
    ran = bench.run(1, "ib_write_bw")
    assert ran.stderr.startswith(" Port number 1 state is Down\n Couldn't set the link layer\n")
    assert ran.returncode == 1


def link_rate(bench: Bench) -> None:
    assert bench.read(1, f"{IB}/mlx5_0/ports/1/rate") == "200 Gb/sec (4X HDR)\n"
    assert "Rate: 200\n" in bench.run(1, "ibstat", "mlx5_0").stdout
    assert gbps(bench) == pytest.approx(196.28)
    assert gbps(bench, "mlx5_1") > 390


def high_ber(bench: Bench) -> None:
    folder = f"{IB}/mlx5_0/ports/1/counters"
    assert bench.read(1, f"{folder}/symbol_error") == "0\n"
    assert gbps(bench) == pytest.approx(0.97 * 392.25, rel=0.001)
    assert int(bench.read(1, f"{folder}/symbol_error")) > 1000
    assert int(bench.read(1, f"{folder}/port_rcv_errors")) > 100
    assert bench.read(0, f"{folder}/symbol_error") == "0\n"


def pcie_width(bench: Bench) -> None:
    assert bench.read(1, f"{IB}/mlx5_0/device/current_link_width") == "8\n"
    assert bench.read(1, f"{IB}/mlx5_0/device/max_link_width") == "16\n"
    assert "Width x8 (downgraded)" in bench.run(1, "lspci", "-vvv", "-s", "12:00.0").stdout
    assert 200 < gbps(bench) < 32 * 8 * 128 / 130


def gpu_missing(bench: Bench) -> None:
    smi = bench.run(1, "mx-smi").stdout
    assert ": 7\n" in smi
    assert "0000:08:00.0" not in smi + bench.run(1, "lspci", "-D").stdout
    assert "[08]--\n" in bench.run(1, "lspci", "-vt").stdout
    assert "GPU7" not in bench.run(1, "mx-smi", "topo", "-n").stdout
    assert "Requested maca device 7" in bench.run(1, "ib_write_bw", "--use_maca=7").stderr
    assert ": 8\n" in bench.run(0, "mx-smi").stdout


def nic_missing(bench: Bench) -> None:
    listings = [("ibstat",), ("ibv_devices",), ("ibv_devinfo",), ("ibdev2netdev",)]
    listings += [("show_gids",), ("lspci", "-D"), ("mx-smi", "topo", "-n")]
    for argv in listings:
        printed = bench.run(1, *argv).stdout
        assert not re.search(r"\bmlx5_0\b|0000:12:00\.0", printed), argv
    assert not (bench.home(1) / "root" / IB / "mlx5_0").exists()
    assert not (bench.home(1) / "root/sys/bus/pci/devices/0000:12:00.0").exists()
    assert "mlx5_0 not found" in bench.run(1, "ib_write_bw", "-d", "mlx5_0").stderr


def gdr_disabled(bench: Bench) -> None:
    peers = "sys/kernel/mm/memory_peers/mxcd/version"
    assert not (bench.home(1) / "root" / peers).exists()
    assert (bench.home(0) / "root" / peers).exists()
    assert re.match(r"5\.14\.0-570\..*el9_6", bench.read(1, "proc/sys/kernel/osrelease"))
    assert gbps(bench, "mlx5_0", "--use_maca=0") == pytest.approx(392.57)
    assert gbps(bench) == pytest.approx(392.25)


def peermem_missing(bench: Bench) -> None:
    assert "nvidia_peermem" not in bench.read(1, "proc/modules")
    assert "nvidia_peermem" in bench.read(0, "proc/modules")


def numa_balancing(bench: Bench) -> None:
    assert bench.read(1, "proc/sys/kernel/numa_balancing") == "1\n"
    assert bench.read(0, "proc/sys/kernel/numa_balancing") == "0\n"


def numad(bench: Bench) -> None:
    assert bench.read(1, "proc/2417/comm") == "numad\n"
    assert not (bench.home(0) / "root/proc/2417").exists()


def modules_by_hand(bench: Bench) -> None:
    listed = "etc/modules-load.d/hpc.conf"
    assert bench.read(1, listed) == ""
    assert bench.read(0, listed).split() == ["ib_ipoib", "ib_umad", "ib_uverbs", "nvidia-peermem"]
    assert "ib_umad" in bench.read(1, "proc/modules")


def slow_node(bench: Bench) -> None:
    assert gbps(bench) == pytest.approx(0.6 * 392.25, rel=0.001)
    assert gbps(bench, "mlx5_1") == pytest.approx(0.6 * 392.25, rel=0.001)


def slow_nic(bench: Bench) -> None:
    assert gbps(bench) == pytest.approx(0.6 * 392.25, rel=0.001)
    assert gbps(bench, "mlx5_1") == pytest.approx(392.25)


def tool_missing(bench: Bench) -> None:
    assert bench.run(1, "sh", "-c", "ib_write_bw").returncode == 127
    assert bench.run(1, "ibstat").returncode == 0
    assert (bench.home(0) / "bin/ib_write_bw").exists()


def tool_silent(bench: Bench) -> None:
    ran = bench.run(1, "ib_write_bw")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def tool_hangs(bench: Bench) -> None:
    child = bench.start(1, "ib_write_bw")
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.5)
    child.terminate()
    assert child.wait(5) == -15


def tool_garbage(bench: Bench) -> None:
    ran = subprocess.run([bench.home(1) / "bin/ib_write_bw"], capture_output=True, check=False)
    assert ran.returncode == 0
    with pytest.raises(UnicodeDecodeError):
        ran.stdout.decode()


def tool_floods(bench: Bench) -> None:
    ran = bench.run(1, "sh", "-c", "ib_write_bw | head -c 20000000 | wc -c")
    assert ran.stdout.strip() == "20000000"


OVER_SSH = frozenset({"unreachable", "node-stops", "host-key-changed", "wrong-key"})


def unreachable(bench: Bench) -> None:
    assert b"Connection refused" in ssh(bench.nodes[1], "true").stderr
    assert ssh(bench.nodes[0], "true").returncode == 0


def node_stops(bench: Bench) -> None:
    codes = [ssh(bench.nodes[1], "true").returncode for _ in range(8)]
    assert codes == [0] * 6 + [255] * 2
    assert ssh(bench.nodes[0], "true").returncode == 0


def host_key_changed(bench: Bench) -> None:
    assert b"REMOTE HOST IDENTIFICATION HAS CHANGED" in ssh(bench.nodes[1], "true").stderr
    assert ssh(bench.nodes[0], "true").returncode == 0


def wrong_key(bench: Bench) -> None:
    assert b"Permission denied (publickey)" in ssh(bench.nodes[1], "true").stderr
    assert ssh(bench.nodes[0], "true").returncode == 0


def slow_xgmi(bench: Bench) -> None:
    rows = [
        line for line in bench.run(1, "TransferBench", "a2a", "64M", "8").stdout.splitlines()
        if line.startswith("GPU 00")
    ]  # fmt: skip
    assert rows[0].split()[9] == "27.126"
    assert rows[0].split()[-1] == "189.881", "seven times the bandwidth of the slowest link"
    assert busbw(bench, 1, 8, "1G") == pytest.approx(0.6 * 314.72, rel=0.001)
    assert busbw(bench, 0, 8, "1G") == pytest.approx(314.72, rel=0.001)


def tcp_fallback(bench: Bench) -> None:
    ran = bench.run(0, *over_both(bench), "-x", "MCCL_DEBUG=INFO", *ALL_REDUCE)
    assert "via NET/Socket/0" in ran.stdout
    assert "NET/IB/" not in ran.stdout.replace("NET/IB : No device", "")
    assert busbw_of(ran.stdout) < 3
    assert bench.read(1, f"{IB}/mlx5_0/ports/1/state") == "4: ACTIVE\n"
    assert int(bench.read(1, f"{IB}/mlx5_0/ports/1/counters/port_rcv_data")) == 0
    assert int(bench.read(1, "sys/class/net/eth0/statistics/rx_bytes")) > 2**30


def nic_idle(bench: Bench) -> None:
    before = [received(bench, f"eth{i}") for i in range(1, 5)]
    ran = bench.run(0, *over_both(bench), *TCPX_BINDINGS, *ALL_REDUCE)
    moved = [received(bench, f"eth{i}") - b for i, b in zip(range(1, 5), before, strict=True)]
    assert moved[0] == 0
    assert min(moved[1:]) == max(moved[1:]) > 2**30
    assert busbw_of(ran.stdout) == pytest.approx(0.75 * 78.35, rel=0.01)


def background_diagnostics(bench: Bench) -> None:
    assert bench.read(1, "proc/48211/cmdline") == "dcgmi\0diag\0-r\0eud\0"
    assert bench.read(1, "proc/48230/comm") == "fieldiag\n"
    apps = ("nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader")
    assert len(bench.run(1, *apps).stdout.splitlines()) == 8
    assert bench.run(0, *apps).stdout == ""
    one_by_one = bench.run(0, *over_both(bench), *H200_TUNING, *ALL_REDUCE[:1],
                           "-b", "8G", "-e", "8G", "-n", "1", "-N", "41").stdout  # fmt: skip
    sides = [float(row[i]) for row in map(str.split, data_rows(one_by_one)) for i in (7, 11)]
    assert min(sides) == pytest.approx(32.77, rel=0.02)
    assert max(sides) == pytest.approx(391, rel=0.02)
    averaged = bench.run(0, *over_both(bench), *H200_TUNING, *ALL_REDUCE[:1],
                         "-b", "8G", "-e", "8G", "-n", "1000").stdout  # fmt: skip
    assert busbw_of(averaged) == pytest.approx(170, rel=0.02)


def ecc(bench: Bench) -> None:
    asked = ("nvidia-smi", "--query-gpu=ecc.errors.uncorrected.volatile.total",
             "--format=csv,noheader,nounits")  # fmt: skip
    assert bench.run(1, *asked).stdout.split() == ["2"] + ["0"] * 7
    assert bench.run(0, *asked).stdout.split() == ["0"] * 8
    assert (
        "Pending                                   : Yes" in bench.run(1, "nvidia-smi", "-q").stdout
    )
    assert "Fail" in bench.run(1, "dcgmi", "diag", "-r", "2").stdout


def irq_affinity(bench: Bench) -> None:
    assert bench.read(1, "proc/irq/79/smp_affinity_list") == "52\n"
    assert bench.read(0, "proc/irq/79/smp_affinity_list") == "1\n"
    ran = bench.run(0, *over_both(bench), *TCPX_BINDINGS, *ALL_REDUCE)
    assert busbw_of(ran.stdout) == pytest.approx(78.35, rel=0.001), "the bandwidth is not affected"


CHECKS: dict[str, Callable[[Bench], None]] = {
    name.replace("_", "-"): check
    for name, check in list(globals().items())
    if name.replace("_", "-") in faults.NAMES
}


ELSEWHERE = {
    "memlock": "connectx4-homelab",
    "numa-balancing": "mi300x",
    "numad": "mi300x",
    "modules-by-hand": "connectx4-homelab",
    "peermem-missing": "connectx4-homelab",
    "slow-xgmi": "mi300x",
    "ecc": "h200",
    "background-diagnostics": "h200",
    "irq-affinity": "h100-tcpx",
    "nic-idle": "h100-tcpx",
}


def test_each_fault_has_a_check_and_a_description() -> None:
    elsewhere = {*PARTS, *OF_GPU_TOOLS, *OF_CLUSTER, *OF_HOSTS, *OF_ACCESS, *OF_KERNEL, *OF_LOAD}
    elsewhere |= {*OF_COUNTERS}
    assert sorted([*CHECKS, *elsewhere]) == sorted(faults.NAMES)
    assert all(faults.NAMES.values())


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_the_fault_has_its_effect(start_lab: StartLab, name: str) -> None:
    platform = ELSEWHERE.get(name, "metax-c500")
    CHECKS[name](start_lab(platform, name, served=name in OVER_SSH))


def test_a_fault_affects_the_node_and_device_that_it_names(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "slow-nic@mx01:mlx5_1", "firmware@mx01:mlx5_1", nodes=2)
    assert gbps(bench, "mlx5_1") == pytest.approx(0.6 * 392.25, rel=0.001)
    assert gbps(bench) == pytest.approx(392.25)
    assert bench.read(0, f"{IB}/mlx5_1/fw_ver") == "28.39.3004\n"
    assert bench.read(1, f"{IB}/mlx5_1/fw_ver") == "28.43.3608\n"


def test_faults_combine_in_any_order(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "nic-missing@mx02:mlx5_1", "slow-nic", "slow-node", "governor")
    assert gbps(bench) == pytest.approx(0.36 * 392.25, rel=0.001)
    governor(bench)
    assert "mlx5_1" not in bench.run(1, "ibstat", "-l").stdout


def test_memlock_stops_users_other_than_root(start_lab: StartLab) -> None:
    bench = start_lab("connectx4-homelab", "memlock")
    assert bench.run(1, "ib_write_bw", "-a").stderr.startswith("Couldn't allocate MR\n")


REFUSED = {
    ("metax-c500", "slow-noed"): "unknown fault 'slow-noed'",
    ("metax-c500", "slow-node@mx99"): "unknown node 'mx99'",
    ("metax-c500", "slow-nic@mx01:mlx5_7"): "unknown NIC 'mlx5_7'",
    ("metax-c500", "tool-hangs@mx01:iperf"): "unknown tool 'iperf'",
    ("metax-c500", "node-stops@mx01:soon"): "number of commands",
    ("metax-c500", "no-sm@mx01:mlx5_2"): "not applicable",
    ("metax-c500", "peermem-missing"): "not applicable",
    ("connectx4-homelab", "gdr-disabled"): "not applicable",
    ("connectx4-homelab", "gpu-missing"): "not applicable",
    ("metax-c500", "gpu-missing@mx01:8"): "unknown GPU '8'",
    ("metax-c500", "acs@mx01:0000:ff:00.0"): "unknown bridge '0000:ff:00.0'",
    ("metax-c500", "acs@mx01:0000:ff:00.0+ReqRedir"): "unknown bridge '0000:ff:00.0'",
    ("metax-c500", "acs@mx01:+Redirect"): "unknown bit 'Redirect'",
    ("no-such-platform", "slow-node"): "connectx4-homelab, ",
}


def test_acs_can_be_enabled_by_a_single_bit(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "acs@mx02:+EgressCtrl")
    printed = bench.run(1, "lspci", "-vvv").stdout
    assert printed.count("UpstreamFwd- EgressCtrl+ DirectTrans-") == 1
    assert "SrcValid+ TransBlk-" not in printed


@pytest.mark.parametrize(("platform", "fault"), REFUSED)
def test_a_bad_fault_is_refused_before_the_lab_starts(
    tmp_path: Path, platform: str, fault: str
) -> None:
    with pytest.raises(BadInput, match=re.escape(REFUSED[platform, fault])):
        lab.start(cluster(platform), nodes=None, seed=0, faults=(fault,), folder=tmp_path / "lab")
    assert not (tmp_path / "lab").exists()


def cited(value: object) -> set[str]:
    """All bases that the figures name: as the value of a key, or as the last item of a row."""
    if isinstance(value, dict):
        own = {item for key, item in value.items() if key.endswith("basis")}
        return own.union(*(cited(item) for item in value.values()))
    if isinstance(value, list):
        last = {value[-1]} if value and isinstance(value[0], int | float) else set()
        names = {item for item in last if isinstance(item, str)}
        return names.union(*(cited(item) for item in value))
    return set()


@pytest.mark.parametrize("platform", platforms.names())
def test_each_figure_has_a_basis(platform: str) -> None:
    data = platforms.load(platform)
    node = platforms.describe(data, "n", 0, 0)
    figures = json.loads(Path(node["figures"]).read_text())
    bases = figures.pop("bases")
    assert cited(figures) == set(bases)
    assert all(basis["source"] and basis["says"] for basis in bases.values())
    for table in figures.get("collectives", {}).get("tables", ()):
        assert all(row[-1] in bases for row in table["rows"])
