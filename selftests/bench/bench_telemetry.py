"""Telemetry: the cost of sampling the GPUs of a node while it is measured, on and off in turn."""

from __future__ import annotations

import contextlib
import json
import resource
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_preflight import lab_of, sessions_of
from measuring import ROOT, Row, compare, cpu_s
from testing.run_folder import store_in

from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.model import Case, Cluster, Transcript
from railgauge.core.terms import Role
from railgauge.judging.telemetry import watched
from railgauge.planning import plan, telemetry
from railgauge.run.runner import Runner
from railgauge.run.sampling import GpuSampling
from railgauge.stacks import stack
from railgauge.stacks.sampling import parse_samples, sampling_argv

TITLE = "Telemetry"
ABOUT = """All-reduces of eight GPUs in one node of the lab, with the GPUs sampled and without, in
turn: CPU seconds of the suite's process, which also stores the samples. One sampler watches all of
them, as in a run; its start is not in it. Then what a sampler costs its node: the suite's own
script beside a stand-in that prints the lines of eight GPUs each second, without the vendor's tool.
Then what a long measurement costs when it is judged: its samples of eight GPUs, one a second."""

REPEATS = 20
TURNS = 7
# The lab's all-reduce takes a tenth of a second; a longer one costs 0.4 ms for each second more.
PER_REPEAT = 1.1
ON_A_NODE_PER_CENT = 1.0
WATCHED_S = 10
HOURS = (0.25, 0.5, 1.0)
_S_PER_HOUR = 3600
_STAND_IN = """#!/bin/sh
echo "index, clocks.current.sm [MHz], temperature.gpu, temperature.memory, power.draw [W]"
for second in 1 2 3 4 5 6 7 8 9 10; do
  for gpu in 0 1 2 3 4 5 6 7; do
    echo "$gpu, 1755, 61, N/A, 690.10, 700.00, 100, 0x0000000000000004"
  done
  sleep 1
done
"""


def rows() -> Iterator[Row]:
    platform = thresholds.load("h200", ROOT / "thresholds")
    plain = replace(platform, telemetry=None)
    with TemporaryDirectory() as folder, lab_of(Path(folder), "h200", 1) as cluster:
        cost = compare(
            lambda: measured_ms(platform, cluster), lambda: measured_ms(plain, cluster), turns=TURNS
        )
        text = _one_round(platform, cluster)
    yield Row(
        "a repeat of a collective, sampled", REPEATS, "repeats", cost.measured, "ms CPU",
        compared_with="not sampled", baseline=cost.baseline, ratio=cost.ratio, target=PER_REPEAT,
        why="lines of eight GPUs that arrive, and the samples once more as a file of columns",
    )  # fmt: skip
    yield _on_a_node()
    for hours in HOURS:
        yield _judged(platform, text, hours)


def _on_a_node() -> Row:
    """Per cent of a core that the sampling script takes, with its stand-in for the tool."""
    with TemporaryDirectory() as folder:
        tool = Path(folder) / "nvidia-smi"
        tool.write_text(_STAND_IN, encoding="utf-8")
        tool.chmod(0o755)
        (sampler,) = stack("nvidia").samplers
        command = sampling_argv("/", str(tool), replace(sampler, arguments=lambda _: ()), 1000)
        before = _children_s()
        printed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        took = _children_s() - before
    assert printed.count(b"\n") == 2 + 8 * WATCHED_S
    per_cent = took / WATCHED_S * 100
    return Row(
        "a sampler on its node", 8, "GPUs", per_cent, "% of a core", target=ON_A_NODE_PER_CENT
    )


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured_ms(platform: Platform, cluster: Cluster) -> float:
    """CPU milliseconds of this process for one repeat, connection and parsing not included."""
    node = cluster.nodes[0].name
    case = plan.case_at(platform.measurements["node_all_reduce"], "smoke", node)
    case = replace(case, repeats=REPEATS)
    with TemporaryDirectory() as folder, contextlib.closing(sessions_of(cluster)) as sessions:
        runner = Runner(
            sessions,
            store_in(Path(folder)),
            lambda one, port: plan.commands(one, platform, cluster, port),
            sampling=GpuSampling(
                sessions,
                lambda one: telemetry.samplers(one, platform, cluster),
                last_samples=lambda text: telemetry.last_samples(text, platform),
            ),
        )
        runner.measure(replace(case, repeats=1))  # connects
        took = cpu_s(lambda: _all(runner, case))
    return took / REPEATS * 1e3


def _all(runner: Runner, case: Case) -> None:
    result = runner.measure(case)
    assert len(result.runs) == REPEATS, result.error


def _one_round(platform: Platform, cluster: Cluster) -> str:
    """The rows of one sample of all GPUs, as a node of the lab prints them."""
    node = cluster.nodes[0].name
    case = plan.case_at(platform.measurements["node_all_reduce"], "smoke", node)
    (command,) = telemetry.samplers(case, platform, cluster)
    with contextlib.closing(sessions_of(cluster)) as sessions:
        running = sessions[node].start(command)
        running.line(9, 20.0)
        return running.stop().stdout


def _judged(platform: Platform, text: str, hours: float) -> Row:
    """Seconds to read and judge the samples of a measurement of some hours."""
    start, heading, *first = text.splitlines()[:10]
    cells = [line.partition(",")[2] for line in first]
    seconds = int(hours * _S_PER_HOUR)
    up_s = float(start.partition(",")[0])
    lines = (f"{up_s + 1 + second:.2f},{row}" for second in range(seconds) for row in cells)
    whole = "\n".join([start, heading, *lines, ""])
    (sampler,) = stack("nvidia").samplers
    boot = parse_samples(text, sampler).boot_id
    moment = "2026-11-23T12:00:00.000+00:00"
    run = (
        Transcript("n1", ("x",), 0, "", "", float(seconds - 1), moment),
        Transcript("n1", ("x",), None, whole, "", seconds, moment, role=Role.TELEMETRY),
    )
    took = cpu_s(lambda: watched("n1", "a measurement", run, platform, {boot}))
    shown = f"{len(json.dumps(whole)) / 1e6:.1f} MB"
    return Row("samples, judged", hours, "hours", took, "s", shown=shown)
