"""Faults that the tools of GPUs tell of: of one GPU on one node, and in each of their outputs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from testing.fault_bench import TOLD
from testing.lab_bench import Bench, StartLab, laid_out

from railgauge.core.errors import BadInput
from railgauge.stacks import GpuFacts, Section, StackFacts, stack
from railgauge.tools import tool

H200, MI300X = "h200", "mi300x"


def answers(bench: Bench, index: int, vendor: str) -> StackFacts:
    """What the suite reads from the tools of a node."""
    asked = stack(vendor)
    sections = {}
    for name, text in asked.probe_commands.items():
        ran = bench.run(index, "sh", "-c", f"R=root; {text}")
        sections[name] = Section(name, ran.stdout + ran.stderr, ran.returncode)
    return asked.parse(sections)


def seen(bench: Bench, index: int, vendor: str) -> tuple[GpuFacts, ...]:
    return answers(bench, index, vendor).gpus


Told = Callable[[GpuFacts], object]
WRONG: dict[str, tuple[Told, Any, Any]] = {
    "remap-failed": (lambda gpu: gpu.remap_failed, False, True),
    "ecc-off": (lambda gpu: gpu.ecc_enabled, True, False),
    "gpu-clock": (lambda gpu: gpu.clock_max_mhz, None, None),
    "gpu-pcie": (lambda gpu: (gpu.pcie_gen, gpu.pcie_width), (5, 16), (4, 8)),
    "gpu-link": (lambda gpu: gpu.links_total and gpu.links_up == gpu.links_total, True, False),
    "vbios": (lambda gpu: gpu.vbios, None, None),
}
NVIDIA_ONLY: dict[str, tuple[Told, Any, Any]] = {
    "gpu-fabric": (lambda gpu: gpu.fabric, "Completed, Success", "In Progress"),
    "gpu-partition": (lambda gpu: gpu.mig_enabled, False, True),
    "power-cap": (lambda gpu: (gpu.power_limit_w, gpu.power_default_w), (700, 700), (350, 700)),
    "remap-failed": (lambda gpu: gpu.remapped_rows, 0, 512),
}
AMD_ONLY: dict[str, tuple[Told, Any, Any]] = {
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
    "gpu_driver": {"gpu_driver", "fabric_manager"},  # both are of one release
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
class Ward:
    """A lab whose first node is healthy; each of the others has one fault."""

    bench: Bench
    vendor: str
    faults: tuple[str, ...]

    @cached_property
    def healthy(self) -> StackFacts:
        return answers(self.bench, 0, self.vendor)

    def at(self, fault: str) -> int:
        return 1 + self.faults.index(fault)


def _ward(platform: str, vendor: str, prefix: str, folder: Path) -> Iterator[Ward]:
    faults = FAULTS[platform]
    struck = [
        f"{name}@{prefix}{at:02d}:{device}"
        for at, (name, _, device) in enumerate((fault.partition(":") for fault in faults), 2)
    ]
    with laid_out(folder / "lab", platform, *struck, nodes=1 + len(faults)) as bench:
        yield Ward(bench, vendor, faults)


@pytest.fixture(scope="module")
def wards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Ward]]:
    with contextlib.ExitStack() as stack:
        yield {
            platform: stack.enter_context(contextlib.contextmanager(_ward)(platform, *of))
            for platform, *of in (
                (H200, "nvidia", "h200-", tmp_path_factory.mktemp(H200)),
                (MI300X, "amd", "mi", tmp_path_factory.mktemp(MI300X)),
            )
        }


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_one_gpu_of_one_node_tells_of_it(wards: dict[str, Ward], case: tuple[Any, ...]) -> None:
    platform, vendor, name, told, good, bad = case
    ward = wards[platform]
    healthy = [told(gpu) for gpu in ward.healthy.gpus]
    struck = [told(gpu) for gpu in seen(ward.bench, ward.at(f"{name}:gpu3"), vendor)]
    assert healthy == [healthy[0] if good is None else good] * 8
    assert struck[:3] + struck[4:] == healthy[1:]
    assert struck[3] != healthy[3]
    assert bad is None or struck[3] == bad


def versions(bench: Bench, index: int, facts: StackFacts) -> dict[str, str | None]:
    return {
        "kernel": bench.read(index, "proc/sys/kernel/osrelease"),
        "ofed": bench.run(index, "ofed_info", "-s").stdout,
        "gpu_driver": facts.driver,
        **facts.software,
    }


@pytest.mark.parametrize(("what", "differ"), VERSIONS.items())
def test_one_version_is_older(wards: dict[str, Ward], what: str, differ: set[str]) -> None:
    ward = wards[H200]
    there = ward.at(f"version:{what}")
    here = versions(ward.bench, 0, ward.healthy)
    other = versions(ward.bench, there, answers(ward.bench, there, ward.vendor))
    assert all(here.values())
    assert {name for name in here if here[name] != other[name]} == differ


def test_a_version_that_the_lab_does_not_have_is_refused(start_lab: StartLab) -> None:
    with pytest.raises(BadInput, match="no version of 'cuda'"):
        start_lab(H200, "version@h200-02:cuda", nodes=2)


def test_the_faults_that_are_told_are_all_here() -> None:
    assert {name for _, _, name, *_ in CASES} | {*OTHERS} == set(TOLD)


OTHERS = ("version", "clocks-unlocked", "nvme-missing", "gpu-diagnostics")


def test_clocks_that_are_not_locked_are_seen_on_all_gpus(start_lab: StartLab) -> None:
    bench = start_lab(H200, "clocks-unlocked@h200-02", nodes=2)
    assert {gpu.clock_mhz for gpu in seen(bench, 0, "nvidia")} == {1980}
    assert {gpu.clock_mhz for gpu in seen(bench, 1, "nvidia")} == {345}
    assert {gpu.clock_max_mhz for gpu in seen(bench, 1, "nvidia")} == {1980}


def test_a_disk_is_gone(start_lab: StartLab) -> None:
    bench = start_lab(H200, "nvme-missing@h200-02", nodes=2)
    count = [len(list((bench.home(i) / "root/sys/block").glob("nvme*n1"))) for i in (0, 1)]
    assert count == [8, 7]


def test_a_gpu_that_fails_its_diagnostics_counts_no_error(start_lab: StartLab) -> None:
    bench = start_lab(H200, "gpu-diagnostics@h200-02:gpu3", nodes=2)
    assert [gpu.ecc_uncorrected for gpu in seen(bench, 1, "nvidia")] == [0] * 8
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
