"""Other simulated tools of the GPU platforms: smi tools, diagnostics, copies, TCP, serving."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import statistics
import subprocess
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from testing.free_ports import free_ports
from testing.lab_bench import Bench, StartLab, transcript, wait_for_listener

from railgauge.tools import vllm_bench
from railgauge_lab.sim import figures

QUICK_S = 0.04


# --- MI300X ---


def test_transferbench_agrees_with_the_document(mi300x: Bench) -> None:
    """Each link, the sums and the slowest link agree to within one in the last digit."""
    printed = mi300x.run(0, "TransferBench", "a2a", "64M", "8").stdout
    real = transcript("mi300x-transferbench-a2a.txt")
    mine, theirs = printed.rstrip().split("\n"), real.rstrip().split("\n")
    assert [re.sub(r"\d", "9", x).rstrip() for x in mine] == [
        re.sub(r"\d", "9", x).rstrip() for x in theirs
    ]
    for ours, real_line in zip(mine, theirs, strict=True):
        a, b = (list(map(float, re.findall(r"\d+\.\d+", x))) for x in (ours, real_line))
        assert a == pytest.approx(b, rel=0.0002, abs=0.0021)


def test_link_noise_is_as_large_as_in_the_document() -> None:
    """Both directions of a link differ by 0.21 % in the median of 28 links, and 1.04 % at most."""
    apart, largest = [], []
    for seed in range(1, 201):
        drawn = [figures.link_noise({"seed": seed}, f"mi01 turn 1 {link}") for link in range(56)]
        assert all(0.988 <= noise <= 1.0 for noise in drawn)
        node = [abs(a - b) for a, b in zip(drawn[::2], drawn[1::2], strict=True)]
        apart += node
        largest.append(max(node))
    assert statistics.median(apart) == pytest.approx(0.0021, abs=0.0002)
    assert statistics.median(largest) == pytest.approx(0.0104, abs=0.001)
    assert figures.link_noise({"seed": 0}, "mi01") == 1.0


def test_transferbench_prints_peer_to_peer_bandwidths(mi300x: Bench) -> None:
    printed = mi300x.run(0, "TransferBench", "p2p", "64M", HIDE_ENV="1").stdout
    row = next(x for x in printed.splitlines() if x.startswith("  GPU 00  ->"))
    assert [float(x) for x in row.split()[5:]][1:] == pytest.approx(
        [47.06, 46.83, 47.13, 46.43, 46.88, 46.78, 45.21], abs=0.006
    )
    assert mi300x.run(0, "TransferBench", "nonsense").returncode == 1


def test_amd_tools_agree_on_the_gpus(mi300x: Bench) -> None:
    static = json.loads(mi300x.run(0, "amd-smi", "static", "--json").stdout)
    cards = json.loads(mi300x.run(0, "rocm-smi", "--showbus", "--json").stdout)
    buses = [gpu["bus"]["bdf"] for gpu in static]
    assert buses == [f"0000:{b}:00.0" for b in ("0c", "22", "38", "5c", "9f", "af", "bf", "df")]
    assert [cards[f"card{i}"]["PCI Bus"].lower() for i in range(8)] == buses
    assert {gpu["asic"]["market_name"] for gpu in static} == {"AMD Instinct MI300X"}
    text = mi300x.run(0, "amd-smi", "metric").stdout
    assert text.count("TOTAL_UNCORRECTABLE_COUNT: 0") == 8
    assert mi300x.run(0, "amd-smi", "xgmi").stdout.count("  U  ") > 0
    assert mi300x.run(0, "amd-smi", "nonsense").returncode == 2


def test_amd_tools_report_memory_errors(start_lab: StartLab) -> None:
    bench = start_lab("mi300x", "ecc@mi02:3")
    metric = json.loads(bench.run(1, "amd-smi", "metric", "--json").stdout)
    assert [gpu["ecc"]["total_uncorrectable_count"] for gpu in metric] == [0, 0, 0, 2, 0, 0, 0, 0]
    pages = json.loads(bench.run(1, "amd-smi", "bad-pages", "--json").stdout)
    assert pages[3]["pending"] != pages[0]["pending"] == "No bad pages found."


def test_numa_balancing_slows_and_spreads_the_busbw(start_lab: StartLab) -> None:
    bench = start_lab("mi300x", "numa-balancing@mi01")
    argv = ("mpirun", "-np", "8", "all_reduce_perf", "-b", "1G", "-e", "1G", "-n", "1", "-N", "20")
    rows = [x.split() for x in bench.run(0, *argv).stdout.splitlines() if " float " in x]
    bandwidths = [float(row[7]) for row in rows]
    assert max(bandwidths) < 314.7
    assert max(bandwidths) - min(bandwidths) > 0.05 * 314


# --- H200 ---


def test_nvidia_smi_has_all_output_formats(h200: Bench) -> None:
    asked = "--query-gpu=index,name,pci.bus_id,memory.total,persistence_mode"
    lines = h200.run(0, "nvidia-smi", asked, "--format=csv").stdout.splitlines()
    assert lines[0] == "index, name, pci.bus_id, memory.total [MiB], persistence_mode"
    assert lines[1] == "0, NVIDIA H200, 00000000:19:00.0, 143771 MiB, Enabled"
    assert len(lines) == 9
    bare = h200.run(0, "nvidia-smi", asked, "--format=csv,noheader,nounits", "-i", "7").stdout
    assert bare == "7, NVIDIA H200, 00000000:DB:00.0, 143771, Enabled\n"
    root = ElementTree.fromstring(h200.run(0, "nvidia-smi", "-q", "-x").stdout)
    assert root.findtext("driver_version") == "550.90.07"
    assert len(root.findall("gpu")) == 8
    text = h200.run(0, "nvidia-smi", "-q").stdout
    assert "Driver Version                                    : 550.90.07" in text
    table = h200.run(0, "nvidia-smi").stdout.splitlines()
    assert {len(line) for line in table[1:]} == {91}
    assert h200.run(0, "nvidia-smi", "nvlink", "-s").stdout.count("26.562 GB/s") == 8 * 18
    assert h200.run(0, "nvidia-smi", "--query-gpu=colour", "--format=csv").returncode == 2


def test_preparations_take_effect_and_can_be_undone(start_lab: StartLab) -> None:
    bench = start_lab("h200")
    asked = ("nvidia-smi", "--query-gpu=persistence_mode,clocks.sm", "--format=csv,noheader")
    assert bench.run(0, *asked).stdout.splitlines()[0] == "Enabled, 1980 MHz"
    assert "Disabled persistence mode" in bench.run(0, "nvidia-smi", "-pm", "0").stdout
    bench.run(0, "nvidia-smi", "-lgc", "1500", "--mode", "1")
    assert bench.run(0, *asked).stdout.splitlines()[0] == "Disabled, 1500 MHz"
    assert bench.run(1, *asked).stdout.splitlines()[0] == "Enabled, 1980 MHz"
    bench.run(0, "nvidia-smi", "-pm", "1")
    bench.run(0, "nvidia-smi", "-rgc")
    assert bench.run(0, *asked).stdout.splitlines()[0] == "Enabled, 345 MHz"  # idle, not locked


def test_topology_pairs_every_gpu_with_its_nic(h200: Bench) -> None:
    printed = h200.run(0, "nvidia-smi", "topo", "-m").stdout
    rows = [x.split("\t") for x in printed.splitlines() if x.startswith("GPU")]
    for index, row in enumerate(rows):
        assert row[1:9].count("NV18") == 7
        assert row[9:17].index("PIX") == index
        assert row[9:17].count("SYS") == 4


def test_dcgm_diagnostics_agree_with_the_document(h200: Bench) -> None:
    printed = h200.run(0, "dcgmi", "diag", "-r", "eud").stdout
    assert printed == transcript("h200-dcgmi-diag-eud.txt")
    assert h200.run(0, "dcgmi", "diag", "-r", "3").returncode == 0
    report = json.loads(h200.run(0, "dcgmi", "diag", "-r", "1", "-j").stdout)
    assert "DCGM GPU Diagnostic" in report


def test_health_checks_agree_with_the_document(h200: Bench) -> None:
    ran = h200.run(0, "run-health-checks.sh")
    assert (ran.returncode, ran.stdout) == (0, transcript("h200-azure-nhc.txt"))


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("nic-missing@h200-02:mlx5_3", "check_hw_topology"),
        ("ecc@h200-02:gpu3", "check_gpu_ecc"),
        ("slow-nic@h200-02:mlx5_3", "check_ib_bw_gdr"),
        ("slow-gpu@h200-02:gpu3", "check_nccl_allreduce"),
        ("gpu-link@h200-02:gpu3", "check_nvlink_status"),
    ],
)
def test_health_checks_fail_if_a_limit_is_missed(
    start_lab: StartLab, fault: str, check: str
) -> None:
    ran = start_lab("h200", fault, nodes=2).run(1, "run-health-checks.sh")
    last = ran.stdout.splitlines()[-1]
    assert ran.returncode == 1
    assert last.startswith(f"ERROR:  nhc:  Health check failed:  {check}: ")


def test_nvbandwidth_prints_text_and_json(h200: Bench) -> None:
    case = "device_to_device_memcpy_write_ce"
    printed = h200.run(0, "nvbandwidth", "-t", case).stdout
    assert f"Running {case}." in printed
    assert f"SUM {case} {56 * 396.0:.2f}" in printed
    document = json.loads(h200.run(0, "nvbandwidth", "-j", "-t", case).stdout)
    (result,) = document["nvbandwidth"]["testcases"]
    assert result["bandwidth_matrix"][0][:2] == ["N/A", "396"]
    assert h200.run(0, "nvbandwidth", "-t", "nonsense").returncode == 1


def test_perftest_uses_cuda_and_rocm_memory(h200: Bench, mi300x: Bench) -> None:
    ran, _ = h200.pair(("ib_write_bw", "-d", "mlx5_3", "--use_cuda=3", "-F", "--report_gbits"))
    assert "[pid = " in ran.stdout
    assert "device name = [NVIDIA H200]" in ran.stdout
    assert "destroying current CUDA Ctx" in ran.stdout
    ran, _ = mi300x.pair(("ib_write_bw", "-d", "mlx5_0", "--use_rocm=0", "-F"))
    assert "Using ROCm Device with ID: 0, Name: AMD Instinct MI300X, PCI Bus ID: 0xc" in ran.stdout
    assert " Use ROCm memory : ON" in ran.stdout


def test_h200_reaches_line_rate(h200: Bench) -> None:
    for memory in ((), ("--use_cuda=0",)):
        argv = ("ib_write_bw", "-d", "mlx5_0", "-F", "--report_gbits", "-s", "8388608", *memory)
        row = next(x for x in h200.pair(argv)[0].stdout.splitlines() if x.startswith(" 8388608"))
        assert float(row.split()[3]) == pytest.approx(392, rel=0.002)


def test_gpu_memory_needs_the_peer_memory_module(start_lab: StartLab) -> None:
    bench = start_lab("h200", "peermem-missing")
    ran = bench.run(1, "ib_write_bw", "--use_cuda=0")
    assert (ran.returncode, ran.stderr.splitlines()[0]) == (1, "Couldn't allocate MR")
    job = ("mpirun", "-np", "16", "--host", "h200-01:8,h200-02:8", "-x", "NCCL_DEBUG=INFO",
           "all_reduce_perf", "-b", "1G", "-e", "1G")  # fmt: skip
    printed = bench.run(0, *job).stdout
    assert "via NET/IB/0\n" in printed
    assert "GDRDMA" not in printed


# --- H100 with TCPX ---


def test_network_devices_agree_with_the_document(tcpx: Bench) -> None:
    for name, bus, numa in (("eth1", "06", "0"), ("eth2", "0c", "0"), ("eth3", "86", "1")):
        folder = f"sys/class/net/{name}"
        assert tcpx.read(0, f"{folder}/device/numa_node") == f"{numa}\n"
        assert tcpx.read(0, f"{folder}/speed") == "200000\n"
        assert f"bus-info: 0000:{bus}:00.0" in tcpx.run(0, "ethtool", "-i", name).stdout
    assert tcpx.read(0, "proc/irq/79/smp_affinity_list") == "1\n"
    assert tcpx.read(0, "proc/irq/145/smp_affinity_list") == "33\n"
    assert len(tcpx.read(0, "proc/interrupts").splitlines()) == 1 + 4 * 16
    assert tcpx.run(0, "ethtool", "-i", "eth9").returncode == 71
    assert tcpx.read(0, "sys/devices/system/node/node1/cpulist") == "52-103,156-207\n"


@contextlib.contextmanager
def serving(bench: Bench, index: int, port: int, *argv: str) -> Iterator[subprocess.Popen[str]]:
    server = bench.start(index, *argv)
    wait_for_listener(bench.nodes[index].data_address, port)
    yield server
    server.kill()
    server.wait()


@pytest.mark.parametrize(("streams", "gbps"), [("1", 40.0), ("2", 80.0), ("16", 157.0)])
def test_iperf3_prints_json_and_counts_traffic(tcpx: Bench, streams: str, gbps: float) -> None:
    path = "sys/class/net/eth3/statistics/rx_bytes"
    before = int(tcpx.read(1, path))
    device = ("--bind-dev", "eth3")
    with serving(tcpx, 1, 5301, "iperf3", "-s", "-1", "-p", "5301", *device) as server:
        ran = tcpx.run(0, "iperf3", "-c", tcpx.nodes[1].data_address, "-p", "5301", "-J", *device,
                       "-P", streams, "-t", "10")  # fmt: skip
        server.wait(10)
    end = json.loads(ran.stdout)["end"]
    assert end["sum_received"]["bits_per_second"] == pytest.approx(gbps * 1e9, rel=1e-6)
    assert len(end["streams"]) == int(streams)
    assert int(tcpx.read(1, path)) - before == pytest.approx(gbps * 1e9 / 8 * 10, rel=1e-6)


def test_iperf3_without_a_server_fails(tcpx: Bench) -> None:
    ran = tcpx.run(0, "iperf3", "-c", tcpx.nodes[1].data_address, "-p", "5999", "-J")
    assert ran.returncode == 1
    assert "Connection refused" in json.loads(ran.stdout)["error"]
    ran = tcpx.run(0, "iperf3", "-c", tcpx.nodes[1].data_address, "-p", "5999")
    assert ran.stderr.startswith("iperf3: error - unable to connect to server")


# --- serving ---

BENCH = ("vllm", "bench", "serve", "--model", "m", "--dataset-name", "random", "--num-prompts",
         "64", "--random-input-len", "512", "--random-output-len", "128", "--ignore-eos",
         "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99")  # fmt: skip


def throughput(bench: Bench, *serve: str) -> float:
    address = bench.nodes[0].data_address
    (port,) = free_ports(1)
    argv = ("vllm", "serve", "m", "--port", str(port), "--tensor-parallel-size", "8", *serve)
    with serving(bench, 0, port, *argv):
        ran = bench.run(0, *BENCH, "--base-url", f"http://{address}:{port}")
    assert ran.returncode == 0, ran.stderr
    match = re.search(r"Output token throughput \(tok/s\): +([\d.]+)", ran.stdout)
    assert match
    assert "P99 E2EL (ms):" in ran.stdout
    return float(match[1])


def test_serving_is_no_faster_on_two_nodes(metax: Bench) -> None:
    """A pipeline over two nodes does not increase the throughput."""
    one = throughput(metax)
    assert throughput(metax, "--pipeline-parallel-size", "2") / one == pytest.approx(0.97, rel=0.01)


LOADS = (("inf", "32"), ("inf", "64"), ("inf", "1"), ("8", "64"), ("0.05", "64"))


def test_the_figures_of_a_service_are_consistent(metax: Bench) -> None:
    address = metax.nodes[0].data_address
    (port,) = free_ports(1)
    with serving(metax, 0, port, "vllm", "serve", "m", "--port", str(port)):
        for rate, most in LOADS:
            load = ("--request-rate", rate, "--max-concurrency", most)
            ran = metax.run(0, *BENCH, *load, "--base-url", f"http://{address}:{port}")
            parsed = vllm_bench.parse(ran.stdout)
            assert parsed.errors == (), load
            found = {sample.metric: sample.value for sample in parsed.samples}
            # Each answer has 128 tokens: the first one and 127 more.
            expected = found["ttft_mean"] + 127 * found["tpot_mean"]
            assert found["e2el_mean"] == pytest.approx(expected, rel=0.001)
            assert found["duration"] * 1000 >= found["e2el_p99"]


def test_without_gpudirect_serving_is_ten_times_slower(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "gdr-disabled")
    one = throughput(bench)
    two = throughput(bench, "--pipeline-parallel-size", "2")
    assert two / one == pytest.approx(0.1, rel=0.1)


def test_a_missing_server_and_too_many_gpus_are_errors(h200: Bench) -> None:
    ran = h200.run(0, *BENCH, "--base-url", f"http://{h200.nodes[0].data_address}:8999")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "Cannot connect to host" in ran.stderr
    ran = h200.run(0, "vllm", "serve", "m", "--tensor-parallel-size", "99")
    assert ran.returncode == 1


# --- all ---

TOOLS = {
    "h200": [("nvidia-smi",), ("nvidia-smi", "topo", "-m"), ("dcgmi", "diag", "-r", "1"),
             ("mpirun", "-np", "8", "all_reduce_perf", "-b", "8", "-e", "8G", "-f", "2"),
             ("nvbandwidth", "-j")],
    "mi300x": [("TransferBench", "a2a"), ("amd-smi", "static", "--json")],
    "tcpx": [("ethtool", "-S", "eth1")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("platform", "argv"), [(name, argv) for name, commands in TOOLS.items() for argv in commands]
)
def test_tools_are_fast(
    request: pytest.FixtureRequest, platform: str, argv: tuple[str, ...]
) -> None:
    """The least CPU time of several runs, because other processes load the machine too."""
    bench: Bench = request.getfixturevalue(platform)
    durations = []
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert bench.run(0, *argv).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        durations.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert (
        min(durations) < 50 * QUICK_S
    )  # only guards against extreme slowness; benchmarks measure speed
