"""The samples of a case, computed without complete runs of the tools.

A run of a tool reads options, prints a page and is parsed. None of that depends on the noise, so it
is done once. For each seed, the lab's own functions give the figures only, rounded as in the lab's
rows. ``healthy_seeds.py`` checks that complete runs give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol
from unittest.mock import patch

from healthy_seeds_lab import InProcessLab, perftest_side

from railgauge.core.model import Case, Parsed, Sample
from railgauge.judging import assess
from railgauge.judging.evidence import samples_of
from railgauge_lab.sim import (
    collective,
    collective_layout,
    gemm,
    nvbandwidth,
    perftest,
    transferbench,
)

Key = tuple[str, int | None, str | None]
"""Metric, message size, and link or GPU."""


class Source(Protocol):
    """A source of the samples of one case."""

    def take(self) -> None:
        """Measure again with the current seed of the lab."""

    def samples(self, key: Key) -> Sequence[Sample]:
        """The measured samples of all repeats."""

    @property
    def measured(self) -> assess.Measured:
        """The case with these samples."""


def source(lab: InProcessLab, case: Case) -> Source:
    """The fastest source of the case's samples."""
    short = _SHORT.get(lab.platform.measurements[case.measurement].tool)
    return Short(lab, case, short(lab, case)) if short else Played(lab, case)


class Played:
    """Samples from the parsed output of a tool that runs completely; it is fast enough."""

    def __init__(self, lab: InProcessLab, case: Case) -> None:
        self._stage, self._case = lab, case
        self._measured: assess.Measured | None = None

    def take(self) -> None:
        self._measured = self._stage.measured(self._case)

    @property
    def measured(self) -> assess.Measured:
        assert self._measured
        return self._measured

    def samples(self, key: Key) -> Sequence[Sample]:
        return samples_of(self.measured.runs, *key)


Values = Iterable[tuple[Key, str, float]]
"""Key, unit and value of each sample of one run, in the printed order."""


class Short:
    """Samples from the functions of a tool that give the figures only."""

    def __init__(self, lab: InProcessLab, case: Case, measure: Callable[[], Values]) -> None:
        self._case, self._measure = case, measure
        self._of = lab.platform.measurements[case.measurement]
        self._found: dict[Key, list[Sample]] = {}

    def take(self) -> None:
        self._found = {}
        for _ in range(self._case.repeats):
            for key, unit, value in self._measure():
                metric, size, placement = key
                sample = Sample(metric, unit, value, size, 0, placement)
                self._found.setdefault(key, []).append(sample)

    @property
    def measured(self) -> assess.Measured:
        every = tuple(sample for samples in self._found.values() for sample in samples)
        return assess.Measured(self._case, self._of, (Parsed(self._of.tool, None, every),), ())

    def samples(self, key: Key) -> Sequence[Sample]:
        return self._found[key]


def _perftest(lab: InProcessLab, case: Case) -> Callable[[], Values]:
    """A sweep measures all powers of two; sizes that the level does not need are left out."""
    server, client = lab.commands(case)
    node = lab.nodes[client.node]
    assert case.pairing is not None
    own, other = case.pairing.ends
    test, mine = perftest_side(client.argv, node, case.sizes, other.nic)
    _, theirs = perftest_side(server.argv, lab.nodes[server.node], case.sizes, own.nic)
    test["sizes"] = list(case.sizes)
    read = _latencies if test["kind"] == "lat" else _bandwidths

    def measure() -> Iterator[tuple[Key, str, float]]:
        rows, _ = perftest._measure(test, node, mine, theirs)
        for row in rows:
            yield from read(test, row["size"], perftest._print(test, row).split())

    return measure


def _bandwidths(test: Mapping[str, Any], size: int, printed: Sequence[str]) -> Values:
    unit = "Gb/s" if test["gbits"] else "MiB/s"
    yield ("bw_average", size, None), unit, float(printed[3])


def _latencies(_test: Mapping[str, Any], size: int, printed: Sequence[str]) -> Values:
    for metric, index in (("lat_max", 3), ("lat_typical", 4), ("lat_avg", 5)):
        yield (metric, size, None), "us", float(printed[index])


def _collective(lab: InProcessLab, case: Case) -> Callable[[], Values]:
    """The launcher runs up to the point where it would start the ranks."""
    (command,) = lab.commands(case)
    with patch.object(collective, "run_job", return_value=0) as run_job:
        lab.run_tool(command)
    tool, arguments, slots, environment = run_job.call_args.args
    options = collective.read_options(tool, arguments, slots[0][0]["collectives"]["dialect"])
    job = collective.job_of(options, arguments, slots, environment)
    collective._start(job)
    key = job["key"].rpartition(" turn ")[0]

    def measure() -> Iterator[tuple[Key, str, float]]:
        job["turn"] = lab.turn(job["nodes"][0], key)
        job["key"] = f"{key} turn {job['turn']}"
        rows = collective._measure(job)
        for row in rows:
            yield from _sides(row["size"], "".join(collective_layout.row(job, row)).split()[-8:])
        each = [side[2] for row in rows for side in row["sides"]]
        yield ("avg_busbw", None, None), "GB/s", float(f"{sum(each) / len(each):g}")

    return measure


def _sides(size: int, printed: Sequence[str]) -> Values:
    for placement, (time_us, _, busbw, _) in (
        ("out_of_place", printed[:4]),
        ("in_place", printed[4:]),
    ):
        yield ("time_us", size, None), "us", float(time_us)
        yield ("busbw", size, None), "GB/s", float(busbw)
        yield (f"busbw/{placement}", size, None), "GB/s", float(busbw)


def _nvbandwidth(lab: InProcessLab, case: Case) -> Callable[[], Values]:
    (command,) = lab.commands(case)
    _, names = nvbandwidth._read(list(command.argv[1:]))

    def measure() -> Iterator[tuple[Key, str, float]]:
        for name in names:
            matrix = nvbandwidth._matrix(name, lab.nodes[command.node])
            for row, column, cell in _cells(matrix):
                place = f"gpu{column}" if len(matrix) == 1 else f"gpu{row}>gpu{column}"
                yield (name, None, place), "GB/s", float(f"{cell:.6g}")

    return measure


def _cells(matrix: Sequence[Sequence[float | None]]) -> Iterator[tuple[int, int, float]]:
    for row, cells in enumerate(matrix):
        for column, cell in enumerate(cells):
            if cell is not None:
                yield row, column, cell


def _transferbench(lab: InProcessLab, case: Case) -> Callable[[], Values]:
    (command,) = lab.commands(case)
    size, units = case.sizes[0], int(command.argv[3])

    def measure() -> Iterator[tuple[Key, str, float]]:
        links = transferbench._links(lab.nodes[command.node], size, units)
        for row, column, cell in _cells(links):
            place = f"gpu{row}>gpu{column}"
            yield ("link_bw", None, place), "GB/s", float(f"{cell:.3f}")
        lines = transferbench._summary(links, size, 0.0)
        for gpu in range(len(links)):
            actual = float(lines[3 + gpu].split()[-1])
            yield ("gpu_actual", None, f"gpu{gpu}"), "GB/s", actual
        average = next(line for line in lines if line.startswith("Average"))
        yield ("average_bw", None, None), "GB/s", float(average.split()[-2])

    return measure


def _gemm_bench(lab: InProcessLab, case: Case) -> Callable[[], Values]:
    (command,) = lab.commands(case)
    asked, node = gemm._read(list(command.argv[1:])), lab.nodes[command.node]
    metric, unit = ("copy_bandwidth", "GB/s") if asked["form"] == "copy" else ("tflops", "TFLOP/s")

    def measure() -> Iterator[tuple[Key, str, float]]:
        for number in range(len(node["gpus"])):
            for rate in gemm._rates(asked, node, number):
                yield (metric, None, f"gpu{number}"), unit, float(f"{rate:.6f}")

    return measure


_SHORT = {
    "perftest": _perftest,
    "ccl-tests": _collective,
    "nvbandwidth": _nvbandwidth,
    "transferbench": _transferbench,
    "gemm-bench": _gemm_bench,
}
