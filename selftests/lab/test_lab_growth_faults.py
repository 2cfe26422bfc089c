"""The error counters of lab nodes: what grows with the measurements of a faulty part, and where."""

from __future__ import annotations

import subprocess

import pytest
from testing.core_values import ROOT
from testing.fault_bench import OF_COUNTERS
from testing.lab_bench import Bench, StartLab

from railgauge.config import thresholds
from railgauge.config.thresholds.counter_groups import GROUPS
from railgauge.core.errors import BadInput
from railgauge.facts.counters import CounterReading, parse_reading
from railgauge.judging.growth import devices
from railgauge.planning import counters
from railgauge_lab import faults, platforms

WRITE = ("ib_write_bw", "-d", "mlx5_1", "-F", "--report_gbits", "-s", "8388608", "-n", "1000")
GEMM = ("gemm-bench",)


def reading(bench: Bench, platform: str, index: int) -> CounterReading:
    """What the suite's own command reads from the node."""
    limits = thresholds.load(platform, ROOT / "thresholds")
    cluster = bench.lab.cluster
    argv = counters.reading(cluster.nodes[index].name, limits, cluster).argv
    home = bench.home(index)
    printed = subprocess.run(
        [argv[0], *argv[1:3], argv[3], "root", *argv[5:]],
        cwd=home,
        env={"PATH": f"{home}/bin"},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return parse_reading(printed.stdout, counters.stack_of(limits))


def grown(before: CounterReading, after: CounterReading) -> dict[str, dict[str, int]]:
    found = {
        device: {name: value - before.counts[device][name] for name, value in counts.items()}
        for device, counts in after.counts.items()
    }
    moved = {device: {k: v for k, v in one.items() if v} for device, one in found.items()}
    return {device: one for device, one in moved.items() if one}


@pytest.mark.parametrize("platform", platforms.names())
def test_a_healthy_lab_shows_every_counter_that_its_platform_limits(
    start_lab: StartLab, platform: str
) -> None:
    bench = start_lab(platform)
    found = reading(bench, platform, 0)
    limits = thresholds.load(platform, ROOT / "thresholds")
    assert (bool(found.boot_id), found.failures) == (True, ())
    buses = [gpu["bus"] for gpu in platforms.load(platform)["gpus"]]
    for name in limits.growth or ():
        for device in devices(GROUPS[name], limits):
            number = device.removeprefix("gpu")
            names = (device, buses[int(number)]) if device.startswith("gpu") else (device,)
            shown = [one for one in found.of(*names) if GROUPS[name].has(one)]
            assert set(GROUPS[name].needed) <= set(shown), (name, device)
            assert shown, (name, device)


def test_nothing_grows_in_a_healthy_lab(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500")
    before = reading(bench, "metax-c500", 0)
    bench.pair(WRITE)
    assert grown(before, reading(bench, "metax-c500", 0)) == {}


def test_packets_that_a_nic_loses_count_at_both_ends(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "retransmits@mx02:mlx5_1")
    before = [reading(bench, "metax-c500", index) for index in (0, 1)]
    bench.pair(WRITE)
    sender, receiver = (grown(before[i], reading(bench, "metax-c500", i)) for i in (0, 1))
    lost = sender["mlx5_1"]["packet_seq_err"]
    assert lost > 0
    assert sender == {"mlx5_1": {"packet_seq_err": lost, "local_ack_timeout_err": lost // 10}}
    assert receiver == {"mlx5_1": {"out_of_sequence": lost}}


def test_a_nic_beside_it_loses_nothing(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "retransmits@mx02:mlx5_0")
    before = reading(bench, "metax-c500", 1)
    bench.pair(WRITE)
    assert grown(before, reading(bench, "metax-c500", 1)) == {}


def test_a_congested_port_discards_what_it_sends(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "congestion@mx01:mlx5_1")
    before = reading(bench, "metax-c500", 0)
    bench.pair(WRITE)
    (only,) = grown(before, reading(bench, "metax-c500", 0))["mlx5_1"]
    assert only == "port_xmit_discards"


def test_errors_of_a_slot_grow_with_every_measurement(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "pcie-replays@mx01:mlx5_1", "pcie-replays@mx01:gpu2")
    before = reading(bench, "metax-c500", 0)
    bench.pair(WRITE)
    once = grown(before, reading(bench, "metax-c500", 0))
    assert set(once) == {"mlx5_1", "0000:0e:00.0", "ib1"}  # the network device is the NIC's
    bench.pair(WRITE)
    twice = grown(before, reading(bench, "metax-c500", 0))
    name = "aer_dev_correctable"
    assert twice["mlx5_1"][name] == 2 * once["mlx5_1"][name] > 0


@pytest.mark.parametrize(
    ("platform", "node", "fault", "due"),
    [
        ("h200", "h200-01", "ecc-growth", {"ecc_uncorrected", "ecc_corrected"}),
        ("h200", "h200-01", "gpu-link-errors", {"link3_crc_errors", "link3_replay_errors"}),
        ("h100-tcpx", "tcpx01", "pcie-replays", {"pcie_replays"}),
        ("mi300x", "mi01", "ecc-growth", {"ecc_uncorrected", "ecc_corrected"}),
        ("mi300x", "mi01", "gpu-link-errors", {"xgmi_corrected"}),
        ("mi300x", "mi01", "pcie-replays", {"pcie_replays"}),
        ("metax-c500", "mx01", "ecc-growth", {"ecc_uncorrected", "ecc_corrected"}),
    ],
)
def test_errors_of_a_gpu_grow_when_the_node_is_measured(
    start_lab: StartLab, platform: str, node: str, fault: str, due: set[str]
) -> None:
    bench = start_lab(platform, f"{fault}@{node}:gpu3")
    before = reading(bench, platform, 0)
    bench.run(0, *GEMM)
    found = grown(before, reading(bench, platform, 0))
    assert set(found["gpu3"]) == due
    assert set(found) <= {"gpu3", platforms.load(platform)["gpus"][3]["bus"]}


def test_a_fault_that_comes_and_goes_never_goes_back(start_lab: StartLab) -> None:
    bench = start_lab("mi300x", "ecc-growth@mi01:gpu3,p=0.5")
    last, seen = reading(bench, "mi300x", 0), set()
    for _ in range(8):
        bench.run(0, *GEMM)
        now = reading(bench, "mi300x", 0)
        grew = grown(last, now).get("gpu3", {}).get("ecc_uncorrected", 0)
        assert grew >= 0
        seen.add(grew)
        last = now
    assert seen == {0, 1}


@pytest.mark.parametrize(
    ("platform", "fault"),
    [
        ("metax-c500", "gpu-link-errors@mx01:gpu0"),
        ("connectx4-homelab", "ecc-growth@viper"),
        ("h100-tcpx", "retransmits@tcpx01:eth1"),
        ("h200", "pcie-replays@h200-01:mlx5_0"),
    ],
)
def test_a_fault_that_the_platform_cannot_show_is_refused(
    start_lab: StartLab, platform: str, fault: str
) -> None:
    with pytest.raises(BadInput, match="not applicable"):
        start_lab(platform, fault)


def test_each_of_them_is_a_fault_of_the_lab() -> None:
    assert set(OF_COUNTERS) <= set(faults.NAMES)
