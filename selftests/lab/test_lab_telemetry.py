"""The loop modes of the lab's GPU tools: what the suite's own samplers read from them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable

import pytest
from testing.core_values import ROOT
from testing.fault_bench import OF_LOAD
from testing.gpu_samples import client, telemetry
from testing.lab_bench import NAMES, Bench, StartLab

from railgauge.config import thresholds
from railgauge.core.model import Outcome
from railgauge.judging.telemetry import judged, watched
from railgauge.stacks import stack
from railgauge.stacks.sampling import (
    CLOCK,
    HEAT,
    LOAD,
    POWER,
    GpuSample,
    Sampler,
    parse_samples,
    sampling_argv,
)
from railgauge_lab import faults

PLATFORMS = {"h200": "nvidia", "h100-tcpx": "nvidia", "mi300x": "amd", "metax-c500": "metax"}
# The line of the node, and those above the first sample.
HEADINGS = {"nvidia": 2, "amd": 2, "metax": 2}
HOT = {
    "nvidia": {"hardware-slowdown", "hardware-thermal-slowdown"},
    "amd": {"socket-thermal", "power-cap"},
    "metax": {"chip-thermal"},
}


def sampled(bench: Bench, index: int, vendor: str) -> list[GpuSample]:
    """The first sample of each GPU."""
    most = HEADINGS[vendor] + 8
    text = output(bench, index, vendor, lambda lines: len(lines) == most)
    return list(parse_samples(text, sampler_of(vendor)).samples)


def sampler_of(vendor: str) -> Sampler:
    """The one that shows all that can be limited at once."""
    return stack(vendor).samplers[-1]


def output(bench: Bench, index: int, vendor: str, is_enough: Callable[[list[str]], bool]) -> str:
    """What a sampler printed until it is enough; then it is ended by its group, as in a run."""
    sampler = sampler_of(vendor)
    argv = sampling_argv("root", sampler.program, sampler, 100)
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
    lines: list[str] = []
    with running:
        assert running.stdout
        while not is_enough(lines):
            lines.append(running.stdout.readline())
            assert lines[-1], "the sampler ended by itself"
        os.killpg(running.pid, signal.SIGKILL)
    return "".join(lines)


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
    assert found[5].values[CLOCK] == found[4].values[CLOCK] // 2


def test_throttling_that_begins_later_is_found_and_timed(start_lab: StartLab) -> None:
    """The sampler runs on while the fault begins, and the judgement tells the second."""
    bench = start_lab("h200", "throttle@h200-02:5,after=4s")

    def is_hot_for_a_second(lines: list[str]) -> bool:
        hot = [line for line in lines if line.rstrip().endswith("48")]
        return bool(hot) and at_s(lines[-1]) > at_s(hot[0]) + 1

    text = output(bench, 1, "nvidia", is_hot_for_a_second)
    boot = bench.read(1, "proc/sys/kernel/random/boot_id").strip()
    lasted_s = at_s(text.splitlines()[-1]) - at_s(text)
    run = (client("n1", lasted_s), telemetry("n1", text, duration_s=lasted_s))
    platform = thresholds.load("h200", ROOT / "thresholds")
    found = watched("n1", "node_all_reduce[n1]", run, platform, {boot})
    judgements, _ = judged("n1", [found], platform)
    missed = {one.metric: one for one in judgements if one.outcome is Outcome.FAILED}
    assert {one.points_at for one in missed.values()} == {(("n1", "gpu5"),)}
    (spell,) = found.gpus[5].spells
    assert 0 < spell.start_s <= 4
    assert spell.end_s is None
    assert f"from {spell.start_s:.0f} s to its end of" in missed["throttling"].reason


def at_s(line: str) -> float:
    return float(line.partition(",")[0])


def test_the_fault_is_one_of_the_lab() -> None:
    assert set(OF_LOAD) <= set(faults.NAMES)
