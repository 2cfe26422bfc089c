"""Telemetry: the cost of sampling the GPUs of a node while it is measured, on and off in turn."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_preflight import lab_of, sessions_of
from measuring import ROOT, Row, compare, cpu_s

from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.model import Case, Cluster, Transcript
from railgauge.core.terms import Role
from railgauge.judging.telemetry import watched
from railgauge.leases.files import Leases
from railgauge.planning import plan, telemetry
from railgauge.run.runner import Runner
from railgauge.run.sampling import GpuSampling
from railgauge.run.store import Store
from railgauge.stacks import stack
from railgauge.stacks.sampling import parse_samples

TITLE = "Telemetry"
ABOUT = """An all-reduce of eight GPUs in one node of the lab, four repeats, with the GPUs sampled
and without, in turn: CPU seconds of the suite's process, which also stores the samples. Then what a
long measurement costs when it is judged: its samples of eight GPUs, one a second."""

REPEATS = 4
# A sampler is one command more beside the measurement's own, so that the cost of a measurement of
# a fraction of a second, as in the lab, may double; it does not grow with its duration.
PER_REPEAT = 2.5
HOURS = (0.25, 0.5, 1.0)
_S_PER_HOUR = 3600


def rows() -> Iterator[Row]:
    platform = thresholds.load("h200", ROOT / "thresholds")
    plain = replace(platform, telemetry=None)
    with TemporaryDirectory() as folder, lab_of(Path(folder), "h200", 1) as cluster:
        cost = compare(
            lambda: measured_ms(platform, cluster), lambda: measured_ms(plain, cluster), turns=3
        )
        text = _one_round(platform, cluster)
    yield Row(
        "a repeat of a collective, sampled", REPEATS, "repeats", cost.measured, "ms CPU",
        compared_with="not sampled", baseline=cost.baseline, ratio=cost.ratio, target=PER_REPEAT,
    )  # fmt: skip
    for hours in HOURS:
        yield _judged(platform, text, hours)


def measured_ms(platform: Platform, cluster: Cluster) -> float:
    """CPU milliseconds of this process for one repeat, connection and parsing not included."""
    node = cluster.nodes[0].name
    case = plan.case_at(platform.measurements["node_all_reduce"], "smoke", node)
    case = replace(case, repeats=REPEATS)
    with TemporaryDirectory() as folder, contextlib.closing(sessions_of(cluster)) as sessions:
        runner = Runner(
            sessions,
            Leases(Path(folder) / "leases"),
            Store(Path(folder)),
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
    sampler = stack("nvidia").sampler
    assert sampler is not None
    boot = parse_samples(text, sampler).boot_id
    moment = "2026-11-23T12:00:00.000+00:00"
    run = (
        Transcript("n1", ("x",), 0, "", "", float(seconds - 1), moment),
        Transcript("n1", ("x",), None, whole, "", seconds, moment, role=Role.TELEMETRY),
    )
    took = cpu_s(lambda: watched("n1", "a measurement", run, platform, {boot}))
    shown = f"{len(json.dumps(whole)) / 1e6:.1f} MB"
    return Row("samples, judged", hours, "hours", took, "s", shown=shown)
