"""Every fault shows where it should, and nowhere else."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Bench, StartLab, cluster, ssh
from railgauge import lab
from railgauge.errors import BadInput
from railgauge.lab import faults, platforms

IB = "sys/class/infiniband"
BIG = ("-F", "--report_gbits", "-s", "8388608")


def gbps(bench: Bench, device: str = "mlx5_0", *more: str) -> float:
    ran, _ = bench.pair(("ib_write_bw", "-d", device, *BIG, *more))
    row = next(line for line in ran.stdout.splitlines() if line.startswith(" 8388608"))
    return float(row.split()[3])


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


def unreachable(bench: Bench) -> None:
    assert b"Connection refused" in ssh(bench.nodes[1], "true").stderr
    assert ssh(bench.nodes[0], "true").returncode == 0


def node_stops(bench: Bench) -> None:
    codes = [ssh(bench.nodes[1], "true").returncode for _ in range(7)]
    assert codes == [0] * 5 + [255] * 2
    assert ssh(bench.nodes[0], "true").returncode == 0


def host_key_changed(bench: Bench) -> None:
    assert b"REMOTE HOST IDENTIFICATION HAS CHANGED" in ssh(bench.nodes[1], "true").stderr
    assert ssh(bench.nodes[0], "true").returncode == 0


def wrong_key(bench: Bench) -> None:
    assert b"Permission denied (publickey)" in ssh(bench.nodes[1], "true").stderr
    assert ssh(bench.nodes[0], "true").returncode == 0


CHECKS: dict[str, Callable[[Bench], None]] = {
    name.replace("_", "-"): check
    for name, check in list(globals().items())
    if name.replace("_", "-") in faults.NAMES
}


def test_every_fault_has_a_check_and_a_description() -> None:
    assert set(CHECKS) == set(faults.NAMES)
    assert all(faults.NAMES.values())


@pytest.mark.parametrize("name", sorted(faults.NAMES))
def test_fault(start_lab: StartLab, name: str) -> None:
    platform = "connectx4-homelab" if name == "peermem-missing" else "metax-c500"
    CHECKS[name](start_lab(platform, name))


def test_a_fault_strikes_the_node_and_device_it_names(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "slow-nic@mx01:mlx5_1", "firmware@mx01:mlx5_1", nodes=2)
    assert gbps(bench, "mlx5_1") == pytest.approx(0.6 * 392.25, rel=0.001)
    assert gbps(bench) == pytest.approx(392.25)
    assert bench.read(0, f"{IB}/mlx5_1/fw_ver") == "28.39.3004\n"
    assert bench.read(1, f"{IB}/mlx5_1/fw_ver") == "28.43.3608\n"


def test_faults_add_up_in_any_order(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "nic-missing@mx02:mlx5_1", "slow-nic", "slow-node", "governor")
    assert gbps(bench) == pytest.approx(0.36 * 392.25, rel=0.001)
    governor(bench)
    assert "mlx5_1" not in bench.run(1, "ibstat", "-l").stdout


def test_memlock_stops_whoever_is_not_root(start_lab: StartLab) -> None:
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
    ("no-such-platform", "slow-node"): "connectx4-homelab, ",
}


@pytest.mark.parametrize(("platform", "fault"), REFUSED)
def test_refused_before_anything_runs(tmp_path: Path, platform: str, fault: str) -> None:
    with pytest.raises(BadInput, match=re.escape(REFUSED[platform, fault])):
        lab.start(cluster(platform), nodes=None, seed=0, faults=(fault,), folder=tmp_path / "lab")
    assert not (tmp_path / "lab").exists()


@pytest.mark.parametrize("platform", platforms.names())
def test_every_figure_has_a_basis(platform: str) -> None:
    data = platforms.load(platform)
    node = platforms.describe(data, "n", 0, 0)
    figures = json.loads(Path(node["figures"]).read_text())
    tables = [
        table
        for kind in ("bandwidth", "latency")
        for places in figures[kind].values()
        for table in places.values()
    ]
    cited = {figures["bidirectional"]["basis"]}
    for table in tables:
        cited |= {row[-1] for row in table["rows"]} if "rows" in table else {table["basis"]}
    assert cited == set(figures["bases"])
