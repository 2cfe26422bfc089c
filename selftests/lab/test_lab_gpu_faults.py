"""Faults that the GPUs' tools report, for one GPU of one node."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from testing.fault_bench import OF_GPU_TOOLS
from testing.lab_bench import Bench, StartLab, laid_out

from railgauge.core.errors import BadInput
from railgauge.facts.nvme import read_smart
from railgauge.stacks import GpuFacts, Section, StackFacts, stack
from railgauge.tools import tool

H200, MI300X = "h200", "mi300x"


def stack_facts(bench: Bench, index: int, vendor: str) -> StackFacts:
    """The facts that the suite reads from the tools of a node."""
    vendor_stack = stack(vendor)
    sections = {}
    for name, text in vendor_stack.probe_commands.items():
        ran = bench.run(index, "sh", "-c", f"R=root; {text}")
        sections[name] = Section(name, ran.stdout + ran.stderr, ran.returncode)
    return vendor_stack.parse(sections)


def gpu_facts(bench: Bench, index: int, vendor: str) -> tuple[GpuFacts, ...]:
    return stack_facts(bench, index, vendor).gpus


Reading = Callable[[GpuFacts], object]
WRONG: dict[str, tuple[Reading, Any, Any]] = {
    "remap-failed": (lambda gpu: gpu.remap_failed, False, True),
    "ecc-off": (lambda gpu: gpu.ecc_enabled, True, False),
    "gpu-clock": (lambda gpu: gpu.clock_max_mhz, None, None),
    "gpu-pcie": (lambda gpu: (gpu.pcie_gen, gpu.pcie_width), (5, 16), (4, 8)),
    "gpu-link": (lambda gpu: gpu.links_total and gpu.links_up == gpu.links_total, True, False),
    "vbios": (lambda gpu: gpu.vbios, None, None),
}
NVIDIA_ONLY: dict[str, tuple[Reading, Any, Any]] = {
    "gpu-fabric": (lambda gpu: gpu.fabric, "Completed, Success", "In Progress"),
    "gpu-partition": (lambda gpu: gpu.mig_enabled, False, True),
    "power-cap": (lambda gpu: (gpu.power_limit_w, gpu.power_default_w), (700, 700), (350, 700)),
    "remap-failed": (lambda gpu: gpu.remapped_rows, 0, 512),
}
AMD_ONLY: dict[str, tuple[Reading, Any, Any]] = {
    "gpu-partition": (
        lambda gpu: (gpu.compute_partition, gpu.memory_partition),
        ("SPX", "NPS1"),
        ("CPX", "NPS4"),
    ),
    "power-cap": (lambda gpu: gpu.power_limit_w, 750, 375),
}
CASES = [
    *((H200, "nvidia", name, *case) for name, case in [*WRONG.items(), *NVIDIA_ONLY.items()]),
    *((MI300X, "amd", name, *case) for name, case in [*WRONG.items(), *AMD_ONLY.items()]),
]


VERSIONS = {
    "kernel": {"kernel"},
    "ofed": {"ofed"},
    "gpu_driver": {"gpu_driver", "fabric_manager"},  # both belong to one release
    "gpu_runtime": {"runtime"},
    "gpu_fabric_manager": {"fabric_manager"},
    "collective_library": {"collective_library"},
}
FAULTS = {
    platform: (
        *sorted({f"{name}:gpu3" for of, _, name, *_ in CASES if of == platform}),
        *(f"version:{what}" for what in VERSIONS if platform == H200),
    )
    for platform in (H200, MI300X)
}


@dataclass(frozen=True)
class FaultyNodes:
    """A lab whose first node is healthy; each of the others has one fault."""

    bench: Bench
    vendor: str
    faults: tuple[str, ...]

    @cached_property
    def healthy(self) -> StackFacts:
        return stack_facts(self.bench, 0, self.vendor)

    def at(self, fault: str) -> int:
        return 1 + self.faults.index(fault)


def _started(platform: str, vendor: str, prefix: str, folder: Path) -> Iterator[FaultyNodes]:
    faults = FAULTS[platform]
    faulty = [
        f"{name}@{prefix}{at:02d}:{device}"
        for at, (name, _, device) in enumerate((fault.partition(":") for fault in faults), 2)
    ]
    with laid_out(folder / "lab", platform, *faulty, nodes=1 + len(faults)) as bench:
        yield FaultyNodes(bench, vendor, faults)


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, FaultyNodes]]:
    with contextlib.ExitStack() as stack:
        yield {
            platform: stack.enter_context(contextlib.contextmanager(_started)(platform, *of))
            for platform, *of in (
                (H200, "nvidia", "h200-", tmp_path_factory.mktemp(H200)),
                (MI300X, "amd", "mi", tmp_path_factory.mktemp(MI300X)),
            )
        }


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_the_tools_report_the_fault_of_one_gpu_only(
    labs: dict[str, FaultyNodes], case: tuple[Any, ...]
) -> None:
    platform, vendor, name, reading, good, bad = case
    lab = labs[platform]
    healthy = [reading(gpu) for gpu in lab.healthy.gpus]
    faulty = [reading(gpu) for gpu in gpu_facts(lab.bench, lab.at(f"{name}:gpu3"), vendor)]
    assert healthy == [healthy[0] if good is None else good] * 8
    assert faulty[:3] + faulty[4:] == healthy[1:]
    assert faulty[3] != healthy[3]
    assert bad is None or faulty[3] == bad


def versions(bench: Bench, index: int, facts: StackFacts) -> dict[str, str | None]:
    return {
        "kernel": bench.read(index, "proc/sys/kernel/osrelease"),
        "ofed": bench.run(index, "ofed_info", "-s").stdout,
        "gpu_driver": facts.driver,
        **facts.software,
    }


@pytest.mark.parametrize(("what", "differ"), VERSIONS.items())
def test_only_the_versions_of_the_fault_differ(
    labs: dict[str, FaultyNodes], what: str, differ: set[str]
) -> None:
    lab = labs[H200]
    index = lab.at(f"version:{what}")
    here = versions(lab.bench, 0, lab.healthy)
    other = versions(lab.bench, index, stack_facts(lab.bench, index, lab.vendor))
    assert all(here.values())
    assert {name for name in here if here[name] != other[name]} == differ


def test_an_unknown_version_is_refused(start_lab: StartLab) -> None:
    with pytest.raises(BadInput, match="no version of 'cuda'"):
        start_lab(H200, "version@h200-02:cuda", nodes=2)


def test_each_fault_that_gpu_tools_report_has_a_case() -> None:
    assert {name for _, _, name, *_ in CASES} | {*OTHERS} == set(OF_GPU_TOOLS)


OTHERS = (
    *("version", "clocks-unlocked", "gpu-diagnostics"),
    *("nvme-missing", "nvme-degraded"),
)


def test_unlocked_clocks_are_reported_for_all_gpus(start_lab: StartLab) -> None:
    bench = start_lab(H200, "clocks-unlocked@h200-02", nodes=2)
    assert {gpu.clock_mhz for gpu in gpu_facts(bench, 0, "nvidia")} == {1980}
    assert {gpu.clock_mhz for gpu in gpu_facts(bench, 1, "nvidia")} == {345}
    assert {gpu.clock_max_mhz for gpu in gpu_facts(bench, 1, "nvidia")} == {1980}


def test_a_missing_disk_is_not_in_sysfs(start_lab: StartLab) -> None:
    bench = start_lab(H200, "nvme-missing@h200-02", nodes=2)
    count = [len(list((bench.home(i) / "root/sys/block").glob("nvme*n1"))) for i in (0, 1)]
    assert count == [8, 7]


def test_a_degraded_disk_says_so_in_its_log_and_in_sysfs(start_lab: StartLab) -> None:
    bench = start_lab(H200, "nvme-degraded@h200-02:nvme3", nodes=2)
    logs = [
        read_smart(bench.run(1, "nvme", "smart-log", "-o", "json", f"/dev/nvme{at}").stdout)
        for at in range(8)
    ]
    assert [log is not None and list(log.faults()) for log in logs] == [
        *([] for _ in range(3)),
        ["available spare below its threshold", "12 media errors"],
        *([] for _ in range(4)),
    ]
    widths = [
        bench.read(1, f"sys/class/nvme/nvme{at}/device/current_link_width").strip()
        for at in range(8)
    ]
    assert widths == ["4", "4", "4", "2", "4", "4", "4", "4"]
    assert bench.run(1, "nvme", "smart-log", "-o", "json", "/dev/nvme8").returncode == 1


def test_a_gpu_that_fails_diagnostics_has_no_ecc_errors(start_lab: StartLab) -> None:
    bench = start_lab(H200, "gpu-diagnostics@h200-02:gpu3", nodes=2)
    assert [gpu.ecc_uncorrected for gpu in gpu_facts(bench, 1, "nvidia")] == [0] * 8
    for run in ("4", "eud"):
        ran = bench.run(1, "dcgmi", "diag", "-r", run)
        assert (ran.returncode, "Fail - GPU: 3 " in ran.stdout) == (226, True)
        parsed = tool("dcgmi-diag").parse(ran.stdout)
        failed = {t["name"]: t["gpus"] for t in parsed.summary["tests"] if t["status"] == "fail"}
        assert set(failed.values()) == {(3,)}
        assert (parsed.summary["run"], bench.run(0, "dcgmi", "diag", "-r", run).returncode) == (
            run,
            0,
        )
    assert bench.run(1, "dcgmi", "diag", "-r", "1").returncode == 0
