"""The samples of a healthy case without what a run has around them.

A run of a tool reads its options, prints a page and is parsed. None of that depends on the noise,
so it is done once; for each seed the lab's own functions are asked for the figures alone, and the
lab's own rows say how they are rounded. ``healthy_seeds.py --played`` shows that it comes to the
same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol
from unittest.mock import patch

from healthy_seeds_lab import Stage, perftest_side

from railgauge.core.model import Case, Sample
from railgauge.judging import assess
from railgauge.judging.evidence import samples_of
from railgauge.lab.sim import collective, collective_layout, nvbandwidth, perftest, transferbench

Key = tuple[str, int | None, str | None]
"""Metric, message size, and link or GPU."""


class Source(Protocol):
    """Where the samples of one case come from."""

    def take(self) -> None:
        """Measure once more, with the seed that the stage has now."""

    def samples(self, key: Key) -> Sequence[Sample]:
        """What was measured, over all repeats."""


def source(stage: Stage, case: Case) -> Source:
    """The shortest way to the case's samples."""
    short = _SHORT.get(stage.platform.measurements[case.measurement].tool)
    return Short(case, short(stage, case)) if short else Played(stage, case)


class Played:
    """Samples of a tool that is played in full and parsed: short enough as it is."""

    def __init__(self, stage: Stage, case: Case) -> None:
        self._stage, self._case = stage, case
        self.measured: assess.Measured | None = None

    def take(self) -> None:
        self.measured = self._stage.measured(self._case)

    def samples(self, key: Key) -> Sequence[Sample]:
        assert self.measured
        return samples_of(self.measured.runs, *key)


Values = Iterable[tuple[Key, str, float]]
"""Of one run, in the order in which they are printed: what, its unit, and the value."""


class Short:
    """Samples of a tool whose figures are asked for alone."""

    def __init__(self, case: Case, measure: Callable[[], Values]) -> None:
        self._repeats, self._measure = case.repeats, measure
        self._found: dict[Key, list[Sample]] = {}

    def take(self) -> None:
        self._found = {}
        for _ in range(self._repeats):
            for key, unit, value in self._measure():
                metric, size, placement = key
                sample = Sample(metric, unit, value, size, 0, placement)
                self._found.setdefault(key, []).append(sample)

    def samples(self, key: Key) -> Sequence[Sample]:
        return self._found[key]


def _perftest(stage: Stage, case: Case) -> Callable[[], Values]:
    """A sweep measures every power of two; the sizes that nobody wants are left out."""
    server, client = stage.commands(case)
    node = stage.nodes[client.node]
    test, mine = perftest_side(client.argv, node, case.sizes)
    _, theirs = perftest_side(server.argv, stage.nodes[server.node], case.sizes)
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


def _collective(stage: Stage, case: Case) -> Callable[[], Values]:
    """The launcher is played up to where it would start the ranks."""
    (command,) = stage.commands(case)
    with patch.object(collective, "play", return_value=0) as play:
        stage.play(command)
    tool, arguments, slots, environment = play.call_args.args
    options = collective.read_options(tool, arguments, slots[0][0]["collectives"]["dialect"])
    job = collective._job(options, arguments, slots, environment)
    collective._start(job)
    key = job["key"].rpartition(" turn ")[0]

    def measure() -> Iterator[tuple[Key, str, float]]:
        job["turn"] = stage.turn(job["nodes"][0], key)
        job["key"] = f"{key} turn {job['turn']}"
        rows = collective._measure(job)
        for row in rows:
            yield from _sides(row["size"], collective_layout.row(job, row).split()[-8:])
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


def _nvbandwidth(stage: Stage, case: Case) -> Callable[[], Values]:
    (command,) = stage.commands(case)
    _, names = nvbandwidth._read(list(command.argv[1:]))

    def measure() -> Iterator[tuple[Key, str, float]]:
        for name in names:
            matrix = nvbandwidth._matrix(name, stage.nodes[command.node])
            for row, column, cell in _cells(matrix):
                place = f"gpu{column}" if len(matrix) == 1 else f"gpu{row}>gpu{column}"
                yield (name, None, place), "GB/s", float(f"{cell:.6g}")

    return measure


def _cells(matrix: Sequence[Sequence[float | None]]) -> Iterator[tuple[int, int, float]]:
    for row, cells in enumerate(matrix):
        for column, cell in enumerate(cells):
            if cell is not None:
                yield row, column, cell


def _transferbench(stage: Stage, case: Case) -> Callable[[], Values]:
    (command,) = stage.commands(case)
    size, units = case.sizes[0], int(command.argv[3])

    def measure() -> Iterator[tuple[Key, str, float]]:
        links = transferbench._links(stage.nodes[command.node], size, units)
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


_SHORT = {
    "perftest": _perftest,
    "ccl-tests": _collective,
    "nvbandwidth": _nvbandwidth,
    "transferbench": _transferbench,
}
