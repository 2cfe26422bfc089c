"""Faults of single parts, and the exact effect of the documents' faults on the figures."""

from __future__ import annotations

import json
import statistics

import pytest
from testing import fault_bench as rig
from testing.lab_bench import NAMES, Bench, StartLab

from railgauge.core.errors import BadInput
from railgauge.stacks.metax import parse_processes
from railgauge_lab import faults, platforms
from railgauge_lab.sim import stored

NEAR = 392.57
HOST = 392.25


def files(bench: Bench) -> dict[str, str]:
    root = bench.home(1) / "root"
    found = {str(p.relative_to(root)): p for p in root.rglob("*") if p.is_file()}
    return {name: path.read_text() for name, path in found.items() if not path.is_symlink()}


def average(text: str) -> float:
    return float(next(line for line in text.splitlines() if "Avg bus" in line).split()[-1])


def test_a_slow_gpu_is_slow_with_each_nic_and_other_gpus_are_not(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "slow-gpu@mx02:3")
    for nic in ("mlx5_0", "mlx5_1"):
        assert rig.gbps(bench, nic, "--use_maca=3") == pytest.approx(0.6 * NEAR, rel=0.001)
        assert rig.gbps(bench, nic, "--use_maca=2") == pytest.approx(NEAR, rel=0.001)
        assert rig.gbps(bench, nic) == pytest.approx(HOST, rel=0.001), "host memory is not affected"


def test_a_slow_gpu_slows_collectives_that_include_it(start_lab: StartLab) -> None:
    bench = start_lab("mi300x", "slow-gpu@mi02:3")
    assert rig.busbw(bench, 1, 8, "1G") == pytest.approx(0.6 * 314.72, rel=0.001)
    assert rig.busbw(bench, 0, 8, "1G") == pytest.approx(314.72, rel=0.001)
    two = ("mpirun", "-np", "2", *rig.ALL_REDUCE)
    healthy = rig.busbw_of(bench.run(0, *two).stdout)
    assert rig.busbw_of(bench.run(1, *two).stdout) == pytest.approx(healthy), (
        "uses GPUs 0 and 1 only"
    )
    copies = bench.run(1, "TransferBench", "p2p").stdout.splitlines()
    to_gpus = next(line for line in copies if line.startswith("  CPU 00  ->")).split()[-8:]
    assert [float(cell) for cell in to_gpus] == [45.0] * 3 + [27.0] + [45.0] * 4


def test_a_slow_gpu_slows_copies_from_the_host_and_not_over_nvlink(start_lab: StartLab) -> None:
    bench = start_lab("h200", "slow-gpu@h200-02:3")
    asked = (
        "nvbandwidth",
        "-j",
        "-t",
        "host_to_device_memcpy_ce",
        "device_to_device_memcpy_read_ce",
    )
    cases = json.loads(bench.run(1, *asked).stdout)["nvbandwidth"]["testcases"]
    to_gpus = [float(cell) for cell in cases[0]["bandwidth_matrix"][0]]
    assert to_gpus == pytest.approx([55.4] * 3 + [0.6 * 55.4] + [55.4] * 4)
    cells = [float(x) for row in cases[1]["bandwidth_matrix"] for x in row if x != "N/A"]
    assert min(cells) == max(cells)


def test_a_slow_path_is_slow_between_its_two_nodes_only(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "slow-path@mx02:mx01", nodes=3)
    assert rig.gbps(bench) == pytest.approx(0.6 * HOST, rel=0.001)
    assert rig.gbps(bench, "mlx5_1", "--use_maca=0") == pytest.approx(0.6 * NEAR, rel=0.001)
    assert rig.gbps(bench, server=2) == pytest.approx(HOST, rel=0.001)
    one, two, three = (f"{node.name}:8" for node in bench.nodes)
    pairs = {(one, two): 0.6, (two, one): 0.6, (one, three): 1.0, (two, three): 1.0}
    for hosts, share in pairs.items():
        ran = bench.run(0, "mpirun", "-np", "16", "--host", ",".join(hosts), *rig.ALL_REDUCE)
        assert rig.busbw_of(ran.stdout) == pytest.approx(share * 73.24, rel=0.001), hosts
    assert rig.busbw(bench, 1, 8, "1G") == pytest.approx(65.08, rel=0.001), (
        "collectives within a node are not affected"
    )


def test_a_slow_path_without_a_peer_leads_to_the_first_other_node(start_lab: StartLab) -> None:
    bench = start_lab("h100-tcpx", "slow-path")
    ran, _ = bench.pair(
        ("iperf3", "-J", "-P", "1", "-B", bench.nodes[0].data_address, "-c"),
        ("iperf3", "-s", "-1", "-p", "5201"),
    )
    moved = json.loads(ran.stdout)["end"]["sum_received"]["bits_per_second"]
    assert moved / 1e9 == pytest.approx(0.6 * 40, rel=0.001)
    ran = bench.run(0, *rig.over_both(bench), *rig.TCPX_BINDINGS, *rig.ALL_REDUCE)
    assert rig.busbw_of(ran.stdout) == pytest.approx(0.6 * 78.35, rel=0.005)


# The remaining share of bandwidth per test, with mx01 as client and mx02 as server.
_OF_MX02 = {
    "slow-receive@mx02": {"write": 0.6, "send": 0.6, "read": 1.0, "both": 0.8},
    "slow-send@mx02": {"write": 1.0, "send": 1.0, "read": 0.6, "both": 0.8},
    "slow-receive@mx01": {"write": 1.0, "send": 1.0, "read": 0.6, "both": 0.8},
    "slow-send@mx01": {"write": 0.6, "send": 0.6, "read": 1.0, "both": 0.8},
}


@pytest.mark.parametrize("fault", _OF_MX02)
def test_a_slow_direction_slows_payload_in_that_direction_only(
    start_lab: StartLab, fault: str
) -> None:
    """Writes and sends move payload to the server, reads to the client, and -b both ways."""
    bench = start_lab("metax-c500", f"{fault}:mlx5_1")
    for test, share in _OF_MX02[fault].items():
        tool, more = ("ib_write_bw", ["-b"]) if test == "both" else (f"ib_{test}_bw", [])
        slow, fine = (rig.perftest(bench, tool, nic, *more) for nic in ("mlx5_1", "mlx5_0"))
        assert slow == pytest.approx(share * fine, rel=0.002), test
    ran = bench.run(0, *rig.over_both(bench), *rig.ALL_REDUCE)
    assert rig.busbw_of(ran.stdout) == pytest.approx(0.6 * 73.24, rel=0.001), (
        "a collective uses both directions"
    )


def test_a_slow_direction_without_a_nic_applies_to_all_nics(start_lab: StartLab) -> None:
    given = ("slow-receive@mx02", "slow-receive@mx02:mlx5_1=50%")
    bench = start_lab("metax-c500", *given, nodes=3)
    assert rig.gbps(bench) == pytest.approx(0.6 * HOST, rel=0.001)
    assert rig.gbps(bench, "mlx5_1") == pytest.approx(0.3 * HOST, rel=0.001)
    assert rig.gbps(bench, server=2) == pytest.approx(HOST, rel=0.001)
    with pytest.raises(BadInput, match="unknown NIC 'mlx5_9'"):
        start_lab("metax-c500", "slow-send@mx02:mlx5_9")


@pytest.mark.parametrize(
    ("fault", "shares"),
    [("slow-receive", (0.6, 1.0)), ("slow-send", (1.0, 0.6)), ("slow-send@tcpx01", (0.6, 1.0))],
)
def test_reversed_iperf3_moves_the_payload_to_the_client(
    start_lab: StartLab, fault: str, shares: tuple[float, float]
) -> None:
    bench = start_lab("h100-tcpx", fault)
    own = bench.nodes[0].data_address
    for way, share in zip([(), ("-R",)], shares, strict=True):
        client = ("iperf3", "-J", "-P", "1", *way, "-B", own, "-c")
        ran, _ = bench.pair(client, ("iperf3", "-s", "-1", "-p", "5201"))
        moved = json.loads(ran.stdout)["end"]["sum_received"]["bits_per_second"]
        assert moved / 1e9 == pytest.approx(share * 40, rel=0.001)


def test_a_slow_pcie_path_slows_one_pairing_only(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "slow-pcie-path@mx02:gpu3-mlx5_0")
    assert rig.gbps(bench, "mlx5_0", "--use_maca=3") == pytest.approx(0.6 * NEAR, rel=0.001)
    assert rig.gbps(bench, "mlx5_1", "--use_maca=3") == pytest.approx(NEAR, rel=0.001)
    assert rig.gbps(bench, "mlx5_0", "--use_maca=2") == pytest.approx(NEAR, rel=0.001)
    assert rig.gbps(bench) == pytest.approx(HOST, rel=0.001)
    ran = bench.run(0, *rig.over_both(bench), *rig.ALL_REDUCE)
    assert rig.busbw_of(ran.stdout) == pytest.approx(0.6 * 73.24, rel=0.001), "GPU 3 uses that NIC"


@pytest.mark.parametrize("platform", ["metax-c500", "mi300x", "h200"])
def test_corrupt_data_is_reported_in_the_tools_own_format(
    start_lab: StartLab, platform: str
) -> None:
    bench = start_lab(platform, "corrupt")
    argv = ("mpirun", "-np", "8", "all_reduce_perf", "-b", "1M", "-e", "4M", "-f", "2", "-g", "1")
    ran = bench.run(1, *argv)
    assert ran.returncode == 1
    wrong = [(row.split()[8], row.split()[12]) for row in rig.data_rows(ran.stdout)]
    assert wrong == [("256", "256"), ("512", "512"), ("1024", "1024")]
    assert "# Out of bounds values : 48 FAILED\n" in ran.stdout
    healthy = bench.run(0, *argv)
    assert healthy.returncode == 0
    assert "# Out of bounds values : 0 OK\n" in healthy.stdout
    assert [row.split()[7] for row in rig.data_rows(healthy.stdout)] == [
        row.split()[7] for row in rig.data_rows(ran.stdout)
    ], "bandwidths do not change"


def test_a_corrupt_gpu_gives_wrong_results_only_in_reductions_that_use_it(
    start_lab: StartLab,
) -> None:
    bench = start_lab("h200", "corrupt@h200-02:5")
    for argv in (("all_gather_perf", "-g", "8"), ("all_reduce_perf", "-g", "5")):
        ran = bench.run(1, *argv, "-b", "8M", "-e", "8M")
        assert ran.returncode == 0
        assert "# Out of bounds values : 0 OK\n" in ran.stdout
    path = bench.home(1) / "result.json"
    ran = bench.run(1, "all_reduce_perf", "-b", "8G", "-e", "8G", "-g", "8", "-J", str(path))
    assert rig.data_rows(ran.stdout)[0].split()[8] == "2.09715e+06"
    document = json.loads(path.read_text())
    assert document["out_of_bounds"] == {"count": 16, "okay": "false"}
    assert document["results"][0]["out_of_place"]["nwrong"] == 2097152


def test_collectives_without_gpudirect_agree_with_document_000(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "gdr-disabled")
    sweep = ("all_reduce_perf", "-b", "1K", "-e", "1G", "-f", "2", "-g", "1", "-n", "10")
    assert average(bench.run(0, *rig.over_both(bench), *sweep).stdout) == pytest.approx(
        4.57, abs=0.01
    )
    one_each = ("mpirun", "-np", "2", "--host", "mx01:1,mx02:1")
    assert average(bench.run(0, *one_each, *sweep).stdout) == pytest.approx(6.98, abs=0.01)
    assert rig.busbw(bench, 1, 8, "1G") == pytest.approx(65.08, rel=0.001), (
        "within one node no NIC is used"
    )


def test_missing_tuning_variables_have_the_effect_of_document_001(start_lab: StartLab) -> None:
    bench = start_lab("h200")
    big = ("all_reduce_perf", "-b", "8G", "-e", "8G", "-g", "1")
    assert rig.busbw_of(bench.run(0, *rig.over_both(bench), *big).stdout) == pytest.approx(
        337.05, abs=0.01
    )
    tuned = rig.busbw_of(bench.run(0, *rig.over_both(bench), *rig.H200_TUNING, *big).stdout)
    assert tuned == pytest.approx(392, rel=0.01)


def test_background_diagnostics_appear_in_the_process_table(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "background-diagnostics")
    assert parse_processes(bench.run(0, "mx-smi").stdout) == ()
    found = parse_processes(bench.run(1, "mx-smi").stdout) or ()
    assert found == tuple(f"GPU {gpu}: mxvs (pid 48230, 3108 MiB)" for gpu in range(8))


@pytest.mark.parametrize("fault", ["numa-balancing", "numad"])
def test_page_migration_spreads_the_figures(start_lab: StartLab, fault: str) -> None:
    bench = start_lab("mi300x", fault)
    argv = ("mpirun", "-np", "8", "all_reduce_perf", "-b", "1G", "-e", "1G", "-g", "1", "-n", "1",
            "-N", "16")  # fmt: skip
    spread = []
    for index in (0, 1):
        values = [float(row.split()[7]) for row in rig.data_rows(bench.run(index, *argv).stdout)]
        spread.append(statistics.pstdev(values) / statistics.mean(values))
    assert spread[0] < 0.001
    assert spread[1] > 0.02


def test_irq_affinity_changes_only_files_of_interrupts(start_lab: StartLab) -> None:
    healthy, faulty = start_lab("h100-tcpx"), start_lab("h100-tcpx", "irq-affinity")
    before, after = files(healthy), files(faulty)
    assert before.keys() == after.keys()
    changed = {name for name in before if before[name] != after[name]}
    assert changed
    assert all(name.startswith(("proc/irq/", "proc/interrupts")) for name in changed)
    nodes = [stored.read(str(bench.home(1) / "node")) for bench in (healthy, faulty)]
    for node in nodes:
        node["figures"] = stored.read(node["figures"])
    same = {key for key in nodes[0] if nodes[0][key] == nodes[1][key]}
    assert nodes[0].keys() - same <= {"interrupts", "root", "address"}


def test_the_other_nics_carry_the_share_of_an_idle_nic(start_lab: StartLab) -> None:
    healthy, faulty = start_lab("h100-tcpx"), start_lab("h100-tcpx", "nic-idle@tcpx02:eth3")
    moved = []
    for bench in (healthy, faulty):
        before = [rig.received(bench, f"eth{i}") for i in range(1, 5)]
        bench.run(0, *rig.over_both(bench), *rig.TCPX_BINDINGS, *rig.ALL_REDUCE)
        after = [rig.received(bench, f"eth{i}") for i in range(1, 5)]
        moved.append([now - then for then, now in zip(before, after, strict=True)])
    assert max(moved[0]) == min(moved[0])
    assert moved[1][2] == 0
    assert sum(moved[1]) == pytest.approx(sum(moved[0]), rel=0.001)


def test_a_memlock_limit_stops_collectives_over_rdma(start_lab: StartLab) -> None:
    bench = start_lab("h200", "memlock")
    ran = bench.run(0, *rig.over_both(bench), "-x", "NCCL_DEBUG=WARN", *rig.ALL_REDUCE)
    assert ran.returncode == 3
    wanted = "NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory"
    assert wanted in ran.stdout
    assert "h200-02: Test NCCL failure" in ran.stdout
    assert not rig.data_rows(ran.stdout)
    assert rig.busbw(bench, 1, 8, "1G") > 400, "within one node no memory is pinned for RDMA"


def test_a_smaller_mtu_costs_the_share_of_the_headers(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "mtu")
    share = (2048 / 2074) / (4096 / 4122)
    assert rig.gbps(bench) == pytest.approx(share * HOST, rel=0.0001)
    assert rig.gbps(bench, "mlx5_1") == pytest.approx(HOST, rel=0.0001)
    ran, _ = bench.pair(("ib_write_bw", "-F", "--report_gbits", "-s", "2048"))
    row = next(line for line in ran.stdout.splitlines() if line.startswith(" 2048"))
    assert float(row.split()[3]) == pytest.approx(56.63, abs=0.02), (
        "2048 bytes are one packet with either MTU"
    )


def test_half_of_the_pcie_lanes_give_half_of_the_ceiling(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "pcie-width@mx02:mlx5_1")
    eight_lanes = 32 * 8 * 128 / 130 * 256 / 282
    assert rig.gbps(bench, "mlx5_1") == pytest.approx(eight_lanes, rel=0.001)
    ran = bench.run(0, *rig.over_both(bench), *rig.ALL_REDUCE)
    assert rig.busbw_of(ran.stdout) == pytest.approx(eight_lanes / HOST * 73.24, rel=0.001)


TOGETHER = {
    ("slow-nic", "slow-nic"): 0.36,
    ("slow-path@mx02:mx01", "slow-path@mx01:mx02"): 0.36,
    ("slow-node@mx02=20%", "slow-path"): 0.6,
    ("slow-node", "slow-path=20%"): 0.6,
    ("high-ber", "slow-nic"): 0.97 * 0.6,
}


@pytest.mark.parametrize("together", TOGETHER)
def test_factors_of_a_part_multiply_and_the_worst_part_limits_a_pair(
    start_lab: StartLab, together: tuple[str, ...]
) -> None:
    """A path carries its share of what a healthy pair reaches, whatever its ends can do."""
    bench = start_lab("metax-c500", *together)
    assert rig.gbps(bench) == pytest.approx(TOGETHER[together] * HOST, rel=0.001)


def test_factors_of_a_gpu_multiply(start_lab: StartLab) -> None:
    given = ("slow-gpu@mx02:0", "slow-pcie-path@mx02:gpu0-mlx5_0", "slow-nic@mx02:mlx5_0")
    bench = start_lab("metax-c500", *given)
    assert rig.gbps(bench, "mlx5_0", "--use_maca=0") == pytest.approx(0.6**3 * NEAR, rel=0.001)
    assert rig.gbps(bench, "mlx5_1", "--use_maca=0") == pytest.approx(0.6 * NEAR, rel=0.001)


@pytest.mark.parametrize("turned", [False, True])
def test_other_faults_do_not_bring_a_port_up(start_lab: StartLab, turned: bool) -> None:
    given = ["port-down", "link-rate", "no-sm", "mtu", "firmware"]
    bench = start_lab("metax-c500", *(reversed(given) if turned else given))
    port = f"{rig.IB}/mlx5_0/ports/1"
    assert bench.read(1, f"{port}/state") == "1: DOWN\n"
    assert bench.read(1, f"{port}/rate") == "10 Gb/sec (4X SDR)\n"
    assert bench.read(1, f"{rig.IB}/mlx5_0/fw_ver") == "28.39.3004\n"
    assert "2048 (4)" in bench.run(1, "ibv_devinfo", "-d", "mlx5_0").stdout


def test_slow_links_multiply(start_lab: StartLab) -> None:
    bench = start_lab("mi300x", "slow-xgmi@mi02:0>7", "slow-xgmi@mi02:0>7", "slow-xgmi@mi02:1>2")
    assert rig.busbw(bench, 1, 8, "1G") == pytest.approx(0.36 * 314.72, rel=0.005)


def test_missing_and_down_nics_reduce_the_busbw(start_lab: StartLab) -> None:
    bench = start_lab("h100-tcpx", "nic-missing@tcpx02:eth2", "port-down@tcpx02:eth3")
    assert not (bench.home(1) / "root/sys/class/net/eth2").exists()
    assert bench.read(1, "sys/class/net/eth3/operstate") == "down\n"
    ran = bench.run(0, *rig.over_both(bench), *rig.TCPX_BINDINGS, *rig.ALL_REDUCE)
    assert rig.busbw_of(ran.stdout) == pytest.approx(0.5 * 78.35, rel=0.005)


@pytest.mark.parametrize("platform", platforms.names())
def test_each_fault_changes_a_node_or_is_refused_with_a_reason(platform: str) -> None:
    data = platforms.load(platform)
    nodes = NAMES[platform]
    healthy = platforms.describe(data, nodes[1], 1, 0)
    faulty: dict[str, object] = {}
    refused: dict[str, str] = {}
    for name in faults.NAMES:
        node = faulty[name] = platforms.describe(data, nodes[1], 1, 0)
        try:
            faults.apply(faults.parse(name, nodes), node, data)
        except BadInput as error:
            refused[name] = str(error)
    assert all("not applicable: " in reason for reason in refused.values())
    assert not [name for name in faulty if faulty[name] == healthy and name not in refused]
    without_gpus = [reason for reason in refused.values() if "simulates no GPU" in reason]
    assert len(refused) - len(without_gpus) < 0.4 * len(faults.NAMES)
