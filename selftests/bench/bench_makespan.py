"""Makespan: several pairs of nodes measured at once, against rounds of measurements."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from measuring import ROOT, Row, cpu_s, python

from railgauge.planning.work_queue import Unit, WorkQueue

TITLE = "Makespan and overhead of measurements"
ABOUT = """Real runs of pytest with `-n K --at-once K`: every pair of 2 K nodes is measured, in
2 K - 1 rounds of K disjoint pairs, and judged by K workers; and with `--at-once K` alone, a few
rounds of the pairs of 2 K nodes in one process. The tool is a shell script
that sleeps for two seconds (20 with more than 64) and prints the table of a collective test, over
the transport `local`: it costs next to no CPU time, as a tool on a node costs none on the machine
that runs the suite. The script writes down when it began and ended. The makespan is from the first
begin to the last end of any, so without the start of the workers; the lower bound is the number of
rounds times that, and so is the plan's estimate. The processor time of a measurement is that of the
process, without the shells that stand for nodes, and without its start and survey: what a run of
all rounds costs more than one of the first; the memory is its peak. The overhead is what lies
between the end of one measurement and the begin of the next in a run without workers: judging,
writing down, reporting, and starting the next one. Handing out is the choice of the next of eight
units at once, in CPU time. That no node was in two measurements at a time is checked."""

WORKERS = (2, 4, 8)
LASTS_S = 2.0
TARGET = 1.1


@dataclass(frozen=True)
class AtOnce:
    """K measurements at once, how long the tool lasts, and the most of what is measured."""

    many: int
    lasts_s: float
    rounds: int
    of_bound: float
    memory_mib: float | None = None
    cpu_ms: float | None = None
    of_plan: float | None = None


AT_ONCE = (
    AtOnce(8, 2.0, 10, 1.1),
    AtOnce(64, 2.0, 10, 1.1),
    AtOnce(256, 20.0, 3, 1.1, 200.0, 8.0),
    AtOnce(625, 20.0, 3, 1.15, 300.0, 10.0, 1.2),
)
_WHY = """what is above the bound is CPU time of this machine between two measurements (the row
below), which K workers, which judge, share on its cores"""
_SHELLS = """what is above the bound is CPU time of this machine as a round begins and ends: that of
the measurements (the row below), and as much for the shells that stand for the nodes"""
_EACH = """it grows with K: hundreds of threads wait for the interpreter in turn, and each choice of
what is next looks at all that runs"""

_TEST = """
import pytest


@pytest.mark.measures("pair_all_reduce")
def test_all_reduce(pair, size, measure, check):
    \"\"\"The GPUs of two nodes reduce at the rate of the fabric.\"\"\"
    check(measure(pair), size)
"""
# Appended to the project's conftest.py: what the process itself has cost, without its children.
_COSTS = """

def pytest_unconfigure():
    import os, pathlib, resource
    used = resource.getrusage(resource.RUSAGE_SELF)
    words = used.ru_utime + used.ru_stime, used.ru_maxrss
    pathlib.Path("costs").write_text(" ".join(map(str, words)))
"""
_INI = "[pytest]\ntestpaths = tests\naddopts = -p no:cacheprovider\n"
_TOOL = """#!/bin/bash
begun=$EPOCHREALTIME
sleep {lasts_s}
echo '# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     8388608       2097152     float     sum      -1    200.0   41.94   41.94      0    200.0   41.94   41.94      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 41.94'
while [ "$1" != --host ]; do shift; done
echo "$begun $EPOCHREALTIME $2" >>{log}
"""  # noqa: E501
_BASIS = {"source": "derived", "says": "made up: the tool always prints the same"}


@dataclass(frozen=True)
class Span:
    """One measurement: begin and end of its tool, and its nodes."""

    begun_s: float
    ended_s: float
    nodes: frozenset[str]


@dataclass(frozen=True)
class Ran:
    """Spans in the order of their begins, and what the process itself has cost."""

    spans: tuple[Span, ...]
    cpu_s: float
    peak_mib: float

    @property
    def makespan_s(self) -> float:
        return max(span.ended_s for span in self.spans) - self.spans[0].begun_s


def platform(lasts_s: float) -> dict[str, object]:
    nic = {
        "name": "mlx5_0", "model": "MT4129", "rate_gbps": 400, "link_layer": "InfiniBand",
        "pcie": {"generation": 5, "width": 16}, "basis": _BASIS,
    }  # fmt: skip
    return {
        "schema_version": 1,
        "platform": "sleeper",
        "title": "nodes whose tool sleeps",
        "hardware": {
            "gpus": {"vendor": "nvidia", "model": "NVIDIA X1", "count": 1, "memory_mib": 65536},
            "nics": [nic],
            "affinity": {"0": {"mlx5_0": "PIX"}},
        },
        "expected": {},
        "levels": {level: {"scheme": "all"} for level in ("smoke", "nightly", "signoff")},
        "measurements": {
            "pair_all_reduce": {
                "rung": 4, "tool": "ccl-tests", "command": "all_reduce_perf", "scope": "pair",
                "asserts": ["busbw"], "time_limit_s": 60, "typical_s": max(1, round(lasts_s)),
                "levels": {name: {"sizes": ["8MiB"]} for name in ("smoke", "nightly", "signoff")},
                "limits": [{"metric": "busbw", "unit": "GB/s", "floor": 40, "basis": _BASIS}],
            }
        },
    }  # fmt: skip


def project(folder: Path, nodes: int, lasts_s: float) -> None:
    """A user's folder with one test, which runs the script as its tool."""
    for name in ("thresholds", "hostfiles", "tests/collective", "bin"):
        (folder / name).mkdir(parents=True)
    for name in ("thresholds", "hostfiles"):
        schema = (ROOT / name / "schema.json").read_text(encoding="utf-8")
        (folder / name / "schema.json").write_text(schema, encoding="utf-8")
    (folder / "thresholds" / "sleeper.json").write_text(
        json.dumps(platform(lasts_s)), encoding="utf-8"
    )
    # All nodes are this machine, which can be leased only once, so there is no folder for leases.
    hostfile = (
        "cluster: sleepers\nplatform: sleeper\ntransport: local\n"
        f"nodes: n[0001-{nodes:04}]\nrootfs: {folder}/none\n"
    )
    (folder / "hostfiles" / "sleepers.yaml").write_text(hostfile, encoding="utf-8")
    (folder / "tests" / "collective" / "test_pairs.py").write_text(_TEST, encoding="utf-8")
    loads = (ROOT / "conftest.py").read_text(encoding="utf-8")
    (folder / "conftest.py").write_text(loads + _COSTS, encoding="utf-8")
    (folder / "tox.ini").write_text(_INI, encoding="utf-8")
    tool = folder / "bin" / "mpirun"
    tool.write_text(_TOOL.format(lasts_s=lasts_s, log=folder / "spans"), encoding="utf-8")
    tool.chmod(0o755)


def measured(nodes: int, lasts_s: float, *options: str) -> Ran:
    """A run of pairs of this many nodes: all rounds unless the options say otherwise."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        project(folder, nodes, lasts_s)
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        # A run of fewer rounds than its level has is incomplete at best.
        codes = (10,) if "--rounds" in options else (0,)
        run = ("-m", "pytest", "--hostfile=hostfiles/sleepers.yaml", *options)
        python(*run, cwd=folder, codes=codes, PATH=path)
        lines = (folder / "spans").read_text(encoding="utf-8").splitlines()
        cpu_s, peak_kib = map(float, (folder / "costs").read_text().split())
    spans = sorted((_span(line) for line in lines), key=lambda span: span.begun_s)
    assert not list(clashes(spans))
    return Ran(tuple(spans), cpu_s, peak_kib / 1024)


def planned_s(case: AtOnce) -> float:
    """The plan's estimate of a run of these."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        project(folder, 2 * case.many, case.lasts_s)
        options = ("--at-once", str(case.many), "--rounds", str(case.rounds), "--json")
        suite = str(Path(sys.executable).with_name("railgauge"))
        reported = python(suite, "plan", "--hostfile=hostfiles/sleepers.yaml", *options, cwd=folder)
    return float(json.loads(reported.stdout)["workers"][str(case.many)]["estimate_s"])


def _span(line: str) -> Span:
    begun, ended, hosts = line.split()
    names = frozenset(host.partition(":")[0] for host in hosts.split(","))
    return Span(float(begun), float(ended), names)


def clashes(spans: Sequence[Span]) -> Iterator[tuple[Span, Span]]:
    """Measurements that shared a node at the same time."""
    for place, one in enumerate(spans):
        for other in spans[place + 1 :]:
            if other.begun_s < one.ended_s and one.nodes & other.nodes:
                yield one, other


def hand_out(units: int) -> None:
    """This many units of 1,250 nodes in rounds of pairs, eight at once."""
    pairs = [(f"n{2 * i:04}", f"n{2 * i + 1:04}") for i in range(625)]
    handout = WorkQueue(Unit((i,), 1, pairs[i % 625], f"m[{i}]") for i in range(units))
    running: deque[Unit] = deque()
    for _ in range(units):
        if len(running) == 8:
            ended = running.popleft()
            handout.measured(ended)
            handout.judged(ended)
        running.extend(handout.start(1))
    assert handout.following() is None


def at_once_rows(case: AtOnce) -> Iterator[Row]:
    ran, first = _ran(case, case.rounds), _ran(case, 1)
    assert len(ran.spans) == case.rounds * case.many
    of = (case.many, "at once")
    bound_s = case.rounds * case.lasts_s
    yield Row(
        f"{case.rounds} rounds of K pairs in one process", *of, ran.makespan_s, "s",
        target=case.of_bound, why=_SHELLS, compared_with=f"rounds x {case.lasts_s:g} s",
        baseline=bound_s, ratio=ran.makespan_s / bound_s,
    )  # fmt: skip
    each_ms = 1000 * (ran.cpu_s - first.cpu_s) / (len(ran.spans) - len(first.spans))
    yield Row("processor time of a measurement", *of, each_ms, "ms", target=case.cpu_ms, why=_EACH)
    yield Row("peak memory", *of, ran.peak_mib, "MiB", target=case.memory_mib)
    if case.of_plan:
        plan_s = planned_s(case)
        yield Row(
            "makespan", *of, ran.makespan_s, "s", target=case.of_plan, why=_SHELLS,
            compared_with="the plan's estimate", baseline=plan_s, ratio=ran.makespan_s / plan_s,
        )  # fmt: skip


def _ran(case: AtOnce, rounds: int) -> Ran:
    options = ("--at-once", str(case.many), "--rounds", str(rounds))
    return measured(2 * case.many, case.lasts_s, *options)


def rows() -> Iterator[Row]:
    for units in (7_500, 15_000, 30_000):
        cost_s = cpu_s(lambda units=units: hand_out(units))
        each = f"{cost_s / units * 1e6:.0f} us each"
        yield Row("handing out units", units, "units", cost_s, "s", target=10.0, shown=each)
    for workers in WORKERS:
        nodes = 2 * workers
        bound_s = (nodes - 1) * LASTS_S
        ran = measured(nodes, LASTS_S, f"-n{workers}", "--at-once", str(workers))
        assert len(ran.spans) == nodes * (nodes - 1) // 2
        yield Row(
            "all pairs of 2 K nodes", workers, "workers", ran.makespan_s, "s",
            target=TARGET, why=_WHY, compared_with="rounds x 2 s", baseline=bound_s,
            ratio=ran.makespan_s / bound_s,
        )  # fmt: skip
    for case in AT_ONCE:
        yield from at_once_rows(case)
    spans = measured(8, 0.1).spans
    between_s = median(after.begun_s - one.ended_s for one, after in pairwise(spans))
    yield Row("overhead of a measurement", len(spans), "measurements", between_s, "s", target=0.1)
