"""The kernel's log of a lab node: its lines, its clock, and the faults that show in it."""

from __future__ import annotations

import pytest
from testing.fault_bench import OF_KERNEL
from testing.lab_bench import Bench, StartLab

from railgauge.core.errors import BadInput
from railgauge.facts.kernel.before import parse_faults
from railgauge_lab import faults, platforms
from railgauge_lab.sim import kernel_log as log

PLATFORMS = ("h200", "h100-tcpx", "metax-c500", "mi300x", "connectx4-homelab")
DD = ("dd", "if=root/dev/kmsg", "iflag=nonblock", "bs=8192")
END = "dd: error reading 'root/dev/kmsg': Resource temporarily unavailable"


def texts(bench: Bench, index: int) -> list[str]:
    """What the log holds after its first reading."""
    before = bench.run(index, *DD).stdout.splitlines()
    after = bench.run(index, *DD).stdout.splitlines()
    assert after[: len(before)] == before
    return [line.partition(";")[2] for line in after[len(before) :]]


def test_a_healthy_node_logs_a_few_lines_while_the_lab_runs(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500")
    first, second, third = (bench.run(0, *DD) for _ in range(3))
    assert {one.returncode for one in (first, second, third)} == {1}
    assert END in first.stderr.splitlines()
    numbers = [int(line.split(",")[1]) for line in second.stdout.splitlines()]
    assert numbers == list(range(len(numbers)))
    assert len(first.stdout.splitlines()) + 3 == len(numbers)
    assert second.stdout == third.stdout


def test_the_uptime_is_that_of_the_last_reading(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500")
    bench.run(0, *DD)
    last = bench.run(0, *DD).stdout.splitlines()[-1]
    up_s = float(bench.read(0, "proc/uptime").split()[0])
    assert 86400 <= int(last.split(",")[2]) / 1e6 <= up_s + 0.01


@pytest.mark.parametrize(
    ("platform", "fault", "says"),
    [
        ("h200", "logged-before@h200-01:3", "Xid (PCI:0000:5d:00): 79"),
        ("metax-c500", "logged-before@mx01:mlx5_1", "0000:33:00.0: PCIe Bus Error"),
    ],
)
def test_a_fault_of_before_is_in_the_first_reading(
    start_lab: StartLab, platform: str, fault: str, says: str
) -> None:
    bench = start_lab(platform, fault)
    assert says in bench.run(0, *DD).stdout
    assert not any("PCIe Bus Error" in text or ": 79" in text for text in texts(bench, 0))


@pytest.mark.parametrize("platform", sorted(PLATFORMS))
def test_the_boot_of_a_healthy_node_names_no_fault(platform: str) -> None:
    node = platforms.describe(platforms.load(platform), "n1", 0, seed=1)
    lines = [f"{level},{at},{at},-;{text}" for at, (level, text) in enumerate(log._boot(node))]
    assert len(lines) > 5
    assert parse_faults("\n".join(lines)) == ()


def test_any_other_dd_is_the_real_one(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500")
    assert bench.run(0, "dd", "if=root/proc/sys/kernel/hostname", "bs=1", "count=2").stdout == "mx"


@pytest.mark.parametrize(
    ("platform", "fault", "lines"),
    [
        (
            "h200",
            "gpu-xid@h200-02:3",
            [
                "NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen"
                " off the bus.",
                "NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus.",
            ],
        ),
        (
            "h200",
            "gpu-xid@h200-02:gpu3+48",
            ["NVRM: Xid (PCI:0000:5d:00): 48, pid=4711, name=all_reduce_perf"],
        ),
        (
            "mi300x",
            "gpu-ras@mi02",
            ["amdgpu 0000:0c:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block"],
        ),
        (
            "metax-c500",
            "link-flap@mx02:mlx5_1",
            [
                "mlx5_core 0000:33:00.0 mlx5_1: Port: 1 Link DOWN",
                "mlx5_core 0000:33:00.0 mlx5_1: Port: 1 Link ACTIVE",
            ],
        ),
        (
            "h100-tcpx",
            "link-flap@tcpx02:eth2",
            [
                "gve 0000:0c:00.0 eth2: Device link is down.",
                "gve 0000:0c:00.0 eth2: Device link is up.",
            ],
        ),
        (
            "metax-c500",
            "pcie-errors@mx02:gpu1",
            [
                "pcieport 0000:00:01.0: AER: Uncorrectable (Non-Fatal) error message received from"
                " 0000:09:00.0",
                "pci 0000:09:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal),"
                " type=Transaction Layer, (Receiver ID)",
            ],
        ),
        (
            "metax-c500",
            "out-of-memory@mx02",
            [
                "Out of memory: Killed process 4711 (python3) total-vm:20812800kB,"
                " anon-rss:16777216kB"
            ],
        ),
    ],
)  # fmt: skip
def test_the_kernel_logs_the_fault_on_its_node(
    start_lab: StartLab, platform: str, fault: str, lines: list[str]
) -> None:
    bench = start_lab(platform, fault, nodes=2)
    assert texts(bench, 1)[3:] == lines
    assert texts(bench, 0)[3:] == []


def test_only_root_reads_a_log_that_is_denied(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "kernel-log-denied@mx02", nodes=2)
    denied = bench.run(1, *DD)
    assert (denied.returncode, denied.stdout) == (1, "")
    assert denied.stderr == "dd: failed to open 'root/dev/kmsg': Operation not permitted\n"
    assert bench.run(1, "sudo", "-n", *DD).stdout
    assert bench.run(0, *DD).stdout


def test_a_log_that_is_too_small_loses_what_the_first_reading_saw(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "kernel-log-lost@mx02", nodes=2)
    before = bench.run(1, *DD).stdout.splitlines()
    after = bench.run(1, *DD).stdout.splitlines()
    last, first = (int(line.split(",")[1]) for line in (before[-1], after[0]))
    assert first > last + 1


@pytest.mark.parametrize(
    ("platform", "fault", "words"),
    [
        ("metax-c500", "gpu-xid", "no GPU whose driver logs Xids"),
        ("h200", "gpu-ras", "no GPU whose driver logs RAS"),
        ("h200", "gpu-xid@n1:0+bus", "is no Xid"),
        ("h200", "gpu-xid@n1:8", "unknown GPU"),
        ("h200", "link-flap@n1:mlx5_9", "unknown NIC"),
        ("h200", "pcie-errors@n1:gpu8", "unknown GPU"),
    ],
)
def test_a_fault_that_the_platform_cannot_have_is_refused(
    platform: str, fault: str, words: str
) -> None:
    data = platforms.load(platform)
    node = platforms.describe(data, "n1", 0, seed=1)
    with pytest.raises(BadInput, match=words):
        faults.apply(faults.parse(fault, ["n1", "n2"]), node, data)


def test_each_of_these_faults_has_a_check_here() -> None:
    assert set(OF_KERNEL) <= set(faults.NAMES)
