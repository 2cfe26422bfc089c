"""Each fault, on one platform, alone or with others, gives the right cause and no other.

``make matrix`` makes the whole matrix. Here each fault is in one run on the platform where that
takes the least time. A fault that must be measured has its own run with as few nodes as possible;
faults that facts show share a run, each on its own node, and so do faults of different parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from expected_causes import CAUSES, LEFT_OUT, TUNING
from fault_matrix import page, run_with_faults
from injections import (
    NODES,
    PLATFORMS,
    Injection,
    injections,
    moved,
    on_few_nodes,
    pairs_of,
)
from testing.places import ROOT

from railgauge.diagnosis import CATALOGUE
from railgauge_lab import faults

SEED = 8
PAGE_SEED = 1  # of make matrix
VERDICTS = ("rejected", "incomplete", "accepted")
# PLATFORMS is in the order of the duration of a run.
INJECTIONS = {name: list(injections(name, SEED)) for name in PLATFORMS}
SHORTEST = {
    injection.name: injection for name in reversed(PLATFORMS) for injection in INJECTIONS[name]
}
# Faults that the GPUs' own tools report.
GPU_TOOL_FAULTS = (
    "remap-failed", "ecc-off", "power-cap", "gpu-clock", "gpu-pcie", "gpu-link", "gpu-fabric",
    "gpu-partition", "vbios", "version", "clocks-unlocked", "nvme-missing",
    "nvme-degraded",
)  # fmt: skip
NVME = ("nvme-missing", "nvme-degraded")
# Faults that these platforms' GPU tools or documents do not cover.
NOT_REPORTED = {"h200": set(), "mi300x": {"gpu-fabric", "clocks-unlocked", *NVME}}
# Platform, number of nodes (some of them healthy) and faults of each shared run.
SHARED_RUNS = {
    "facts": ("connectx4-homelab", 12,
              ("firmware", "governor", "link-rate", "memlock", "modules-by-hand", "mtu",
               "nic-missing", "no-sm", "pcie-width", "peermem-missing", "port-down")),
    "hosts": ("connectx4-homelab", 6, ("clock", "cpus-offline", "guid-unset")),
    "no-way": ("connectx4-homelab", 6,
               ("host-key-changed", "node-stops", "unreachable", "wrong-key")),
    "tools": ("connectx4-homelab", 6, ("tool-missing", "tool-garbage", "tool-silent")),
    "kernel": ("connectx4-homelab", 6,
               ("link-flap", "out-of-memory", "pcie-errors", "kernel-log-lost", "logged-before")),
    "path": ("metax-c500", 4, ("acs", "gdr-disabled", "boost-off")),
}  # fmt: skip
# Faults of different parts, by their node: platform, number of nodes and faults of each shared run.
PARTS_RUNS = {
    "facts-and-gpus": ("h100-tcpx", 5,
                       {"tcpx01": ("ecc", "mtu", "numad", "memory-missing"),
                        "tcpx02": ("gpu-missing", "link-rate", "cpu-model"),
                        "tcpx03": ("numa-balancing", "governor"), "tcpx04": ("unreachable",)}),
    "gpus": ("h100-tcpx", 2,
             {"tcpx01": ("gpu-xid", "gpu-link-errors"),
              "tcpx02": ("throttle", "ecc-growth", "slow-gpu")}),
    "gpus-of-amd": ("mi300x", 2, {"mi01": ("gpu-ras",), "mi02": ("slow-xgmi",)}),
    "counters": ("connectx4-homelab", 3,
                 {"viper": ("kernel-log-denied",), "columbia": ("pcie-replays",),
                  "prometheus": ("congestion",)}),
}  # fmt: skip


def on_own_nodes(platform: str, names: Iterable[str]) -> Iterator[Injection]:
    """The faults, each on its own node, in the order of the nodes."""
    found = {injection.name: injection for injection in INJECTIONS[platform]}
    return (moved(found[name], node) for name, node in zip(names, _nodes(platform), strict=False))


def _nodes(platform: str) -> Iterator[str]:
    """Up to 12 node names, also beyond the hostfile's list."""
    *_, last = known = NODES[platform]
    stem = last.rstrip("0123456789") if last[-1].isdecimal() else "node"
    yield from known
    yield from (f"{stem}{number:02d}" for number in range(len(known) + 1, 13))


def by_node(name: str) -> list[Injection]:
    """The faults of one of ``PARTS_RUNS``."""
    platform, _, placed = PARTS_RUNS[name]
    found = {injection.name: injection for injection in INJECTIONS[platform]}
    return [moved(found[one], node) for node, names in placed.items() for one in names]


SHARED = {name for _, _, names in SHARED_RUNS.values() for name in names}
SHARED |= {injection.name for name in PARTS_RUNS for injection in by_node(name)}
MEASURED = [
    on_few_nodes(one) for name, one in SHORTEST.items() if name not in SHARED | set(GPU_TOOL_FAULTS)
]


@pytest.mark.parametrize(
    ("injection", "nodes"), MEASURED, ids=[f"{one.platform}-{one.name}" for one, _ in MEASURED]
)
def test_only_the_right_cause_is_named(injection: Injection, nodes: int, tmp_path: Path) -> None:
    result = run_with_faults((injection,), SEED, tmp_path / "project", nodes=nodes)
    assert not result.complaint, result.complaint + result.output[-4000:]


@pytest.mark.parametrize("name", SHARED_RUNS)
def test_each_of_several_faults_gives_one_cause(name: str, tmp_path: Path) -> None:
    platform, nodes, names = SHARED_RUNS[name]
    injected = tuple(on_own_nodes(platform, names))
    assert len({injection.node for injection in injected}) == len(names) < nodes
    result = run_with_faults(injected, SEED, tmp_path / "project", nodes=nodes)
    assert not result.complaint, result.complaint + result.output[-4000:]


@pytest.mark.parametrize("name", PARTS_RUNS)
def test_each_of_several_faults_of_different_parts_gives_one_cause(
    name: str, tmp_path: Path
) -> None:
    injected = tuple(by_node(name))
    assert len({(one.node, one.device) for one in injected if one.device}) == sum(
        bool(one.device) for one in injected
    )
    nodes = PARTS_RUNS[name][1]
    result = run_with_faults(injected, SEED, tmp_path / "project", nodes=nodes)
    assert not result.complaint, result.complaint + result.output[-4000:]


@pytest.mark.parametrize("name", ["h200", "mi300x"])
def test_all_faults_that_gpu_tools_report_are_named_in_one_run(name: str, tmp_path: Path) -> None:
    injected = tuple(
        injection for injection in INJECTIONS[name] if injection.name in GPU_TOOL_FAULTS
    )
    assert {injection.name for injection in injected} == set(GPU_TOOL_FAULTS) - NOT_REPORTED[name]
    # A GPU with another clock would be missing from a node whose clocks are all unlocked.
    (limited,) = (one.node for one in injected if one.name == "gpu-clock")
    free = next(node for node in _nodes(name) if node != limited)
    injected = tuple(moved(i, free) if i.name == "clocks-unlocked" else i for i in injected)
    result = run_with_faults(injected, SEED, tmp_path / "project", "-k", "preflight")
    assert not result.complaint, result.output[-4000:]


def test_each_fault_of_the_lab_is_in_the_matrix() -> None:
    assert set(faults.NAMES) == set(CAUSES) | LEFT_OUT
    assert set(SHORTEST) == {*CAUSES, TUNING}
    assert {injection.name for injection, _ in MEASURED} | SHARED | set(GPU_TOOL_FAULTS) == set(
        SHORTEST
    )


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_published_count_of_runs_is_that_of_all_faults_and_their_verdicts(
    platform: str,
) -> None:
    text = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    section = text.partition("\n## Every fault by itself\n")[2].partition("\n## ")[0]
    runs = [(one,) for one in injections(platform, PAGE_SEED)]
    runs += pairs_of(platform, PAGE_SEED, 2)
    worst = Counter(
        next(v for v in VERDICTS if v in {one.verdict for one in injected}) for injected in runs
    )
    counts = [len(runs), *(worst[verdict] for verdict in VERDICTS), 0]
    row = " | ".join((platform, *map(str, counts)))
    assert f"\n| {row} |\n" in section, "make matrix"


def test_each_expected_cause_is_in_the_catalogue() -> None:
    assert {injection.cause for injection in SHORTEST.values()} - {""} <= set(CATALOGUE)


def test_the_page_marks_wrong_results() -> None:
    injection = INJECTIONS["h200"][0]
    from fault_matrix import Result  # noqa: PLC0415

    wrong = Result((injection,), "accepted", (), {}, "")
    assert wrong.complaint
    assert "**wrong**" in page([wrong], SEED)
