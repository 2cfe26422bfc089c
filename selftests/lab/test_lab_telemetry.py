"""The loop modes of the lab's GPU tools: what the suite's own samplers read from them."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from testing.fault_bench import OF_LOAD
from testing.lab_bench import NAMES, Bench, StartLab

from railgauge.lab import faults
from railgauge.stacks import stack
from railgauge.stacks.sampling import (
    CLOCK,
    HEAT,
    LOAD,
    POWER,
    GpuSample,
    parse_samples,
    sampling_argv,
)

PLATFORMS = {"h200": "nvidia", "h100-tcpx": "nvidia", "mi300x": "amd", "metax-c500": "metax"}
# The line of the node, and those above the first sample.
HEADINGS = {"nvidia": 2, "amd": 2, "metax": 3}
HOT = {
    "nvidia": {"hardware-slowdown", "hardware-thermal-slowdown"},
    "amd": {"socket-thermal", "power-cap"},
    "metax": None,
}


def sampled(bench: Bench, index: int, vendor: str) -> list[GpuSample]:
    """The first sample of each GPU; the sampler is ended like those of the suite, by its group."""
    sampler = stack(vendor).sampler
    argv = sampling_argv("root", sampler.program, sampler.arguments(1000))
    home = bench.home(index)
    running = subprocess.Popen(
        [home / "bin" / argv[0], *argv[1:]],
        cwd=home,
        env={"PATH": f"{home}/bin"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with running:
        assert running.stdout
        lines = [running.stdout.readline() for _ in range(HEADINGS[vendor] + 8)]
        os.killpg(running.pid, signal.SIGKILL)
    return list(parse_samples("".join(lines), sampler).samples)


@pytest.mark.parametrize(("platform", "vendor"), PLATFORMS.items())
def test_all_gpus_are_sampled_under_load(start_lab: StartLab, platform: str, vendor: str) -> None:
    found = sampled(start_lab(platform), 0, vendor)
    assert {one.gpu for one in found} == set(range(8))
    assert {one.values[LOAD] for one in found} == {100}
    assert all(one.values[HEAT] < 87 for one in found)
    assert all(one.values[POWER] > 300 for one in found)


@pytest.mark.parametrize(("platform", "vendor"), PLATFORMS.items())
def test_a_throttled_gpu_is_hot_and_slow(start_lab: StartLab, platform: str, vendor: str) -> None:
    bench = start_lab(platform, f"throttle@{NAMES[platform][1]}:5")
    found = {one.gpu: one for one in sampled(bench, 1, vendor)}
    assert found[5].values[HEAT] > 100
    assert found[5].reasons == HOT[vendor]
    assert found[4].values[HEAT] < 87
    if vendor != "metax":
        assert found[5].values[CLOCK] == found[4].values[CLOCK] / 2


def test_the_fault_is_one_of_the_lab() -> None:
    assert set(OF_LOAD) <= set(faults.NAMES)
