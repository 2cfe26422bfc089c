"""The parser of gemm-bench: from its lines to samples and problems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.own_bench import complaints
from railgauge.tools.text import clean

_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_DEVICE = r"cpu|gpu(?:0|[1-9][0-9]{0,3})"
_LINE = re.compile(r"gemm-bench (version|run|library|host|device|row|end)\b([^\n]{0,300})")
_RUN = re.compile(
    r" format=([a-z0-9]{1,10}) devices=(gpu|cpu) size=([0-9]{1,7}) iterations=([0-9]{1,9})"
    r" warmup_s=([0-9]{1,7}) cycles=([0-9]{1,9}) seed=([0-9]{1,12})"
)
_LISTED = re.compile(rf" ({_DEVICE}) uuid=(\S{{1,80}}) name=([^\n]{{1,120}})")
_ROW = re.compile(
    rf" device=({_DEVICE}) format=([a-z0-9]{{1,10}}) size=([0-9]{{1,7}}) cycle=([0-9]{{1,9}})"
    rf" seconds=({_NUMBER}) (tflops|copy_gb_s)=({_NUMBER})"
    r" clock_mhz=(-|[0-9]{1,6}):(-|[0-9]{1,6}) checked=([0-9]{1,9}) wrong=([0-9]{1,15})"
)
_END = re.compile(r" rows=([0-9]{1,9}) wrong=([0-9]{1,15})")
COPY = "copy"
# A rate has six decimals, the seconds have nine.
_STEP, _STEP_S = 0.0000005, 0.0000000005
_EDGE = 1e-6


@dataclass(slots=True)
class _Run:
    """The values of the lines around the rows, and what the rows counted."""

    asked: dict[str, object] = field(default_factory=dict)
    version: str | None = None
    library: str = ""
    host: str = ""
    listed: dict[str, tuple[str, str]] = field(default_factory=dict)
    runs: int = 0
    cycles: list[tuple[str, int]] = field(default_factory=list)
    clocks: dict[str, list[str]] = field(default_factory=dict)
    wrong: Counter[str] = field(default_factory=Counter)
    end: tuple[int, int] | None = None

    def count(self, name: str) -> int:
        return int(str(self.asked.get(name, 0)))

    def summary(self) -> dict[str, object]:
        return {
            **self.asked,
            "library": self.library,
            "host": self.host,
            "measured": tuple(self.listed),
            "uuids": tuple(uuid for uuid, _ in self.listed.values()),
            "models": tuple(model for _, model in self.listed.values() if model != "-"),
            "clocks_mhz": {device: tuple(each) for device, each in self.clocks.items()},
            "wrong": self.wrong.total(),
        }


def parse(text: str) -> Parsed:
    """Read one run. Never raises and takes time linear in the text.

    Samples of each row, with the placement ``gpu3`` (none for the CPU): ``tflops`` (``TFLOP/s``) or
    ``copy_bandwidth`` (``GB/s``), and ``wrong`` (``count``). Every rate must follow from size,
    iterations and seconds, every output must have been checked, and every listed device must have
    one row for each cycle. ``summary``: ``format``, ``devices`` (``gpu`` or ``cpu``), ``size``,
    ``iterations``, ``warmup_s``, ``cycles``, ``seed``, ``library``, ``host``, ``measured`` (names
    of the devices), ``uuids``, ``models``, ``clocks_mhz`` (``before:after`` by device), ``wrong``.
    """
    text = clean(text)
    collector, run = OutputCollector(), _Run()
    for line in text.split("\n"):
        if match := _LINE.fullmatch(line):
            _take(match[1], match[2].rstrip(), run, collector)
    collector.problems[:0] = complaints(text, "gemm-bench", ("python3",))
    _check_whole(text, run, collector)
    return collector.parsed("gemm-bench", run.version, run.summary() if run.runs else {})


# --- the lines ---


def _take(kind: str, rest: str, run: _Run, collector: OutputCollector) -> None:
    if kind == "version":
        run.version = rest.strip()[:20]
    elif kind in ("library", "host"):
        setattr(run, kind, rest.strip())
    else:
        pattern, take = _READERS[kind]
        if match := pattern.fullmatch(rest):
            take(match, run, collector)
        else:
            collector.error(ProblemKind.UNPARSABLE, f"gemm-bench {kind}{rest}")


def _take_run(match: re.Match[str], run: _Run, _: OutputCollector) -> None:
    counts = ("size", "iterations", "warmup_s", "cycles", "seed")
    run.runs += 1
    run.asked = {"format": match[1], "devices": match[2]}
    run.asked |= {name: int(match[at]) for at, name in enumerate(counts, 3)}


def _take_device(match: re.Match[str], run: _Run, collector: OutputCollector) -> None:
    if match[1] in run.listed or not match[1].startswith(str(run.asked.get("devices"))):
        collector.error(ProblemKind.INCONSISTENT, f"a device that cannot be there:{match[0]}")
    run.listed[match[1]] = match[2], match[3].strip()


def _take_end(match: re.Match[str], run: _Run, _: OutputCollector) -> None:
    run.end = int(match[1]), int(match[2])


def _take_row(match: re.Match[str], run: _Run, collector: OutputCollector) -> None:
    device, wrong = match[1], int(match[11])
    placement = None if device == "cpu" else device
    run.cycles.append((device, int(match[4])))
    run.clocks.setdefault(device, []).append(f"{match[8]}:{match[9]}")
    run.wrong[device] += wrong
    if match[6] == "tflops":
        collector.add("tflops", "TFLOP/s", float(match[7]), placement)
    else:
        collector.add("copy_bandwidth", "GB/s", float(match[7]), placement)
    collector.add("wrong", "count", wrong, placement, may_be_zero=True)
    for complaint in _contradictions(match, run):
        collector.error(ProblemKind.INCONSISTENT, f"{complaint}:{match[0]}")


def _contradictions(row: re.Match[str], run: _Run) -> Iterator[str]:
    if (row[2], int(row[3])) != (run.asked.get("format"), run.asked.get("size")):
        yield "a row of another run"
    if int(row[10]) != run.count("iterations"):
        yield "not every result was checked"
    if not _follows(run, row[6], float(row[5]), float(row[7])):
        yield "seconds and rate do not agree"


_Take = Callable[["re.Match[str]", _Run, OutputCollector], None]
_READERS: Mapping[str, tuple[re.Pattern[str], _Take]] = {
    "run": (_RUN, _take_run),
    "device": (_LISTED, _take_device),
    "row": (_ROW, _take_row),
    "end": (_END, _take_end),
}


def _follows(run: _Run, name: str, seconds: float, rate: float) -> bool:
    """Return whether the rate is work over time within the printed digits."""
    n, is_copy = run.count("size"), run.asked.get("format") == COPY
    if seconds <= _STEP_S or is_copy != (name == "copy_gb_s"):
        return False
    work = (2 * 4 * n**2 / 1e9 if is_copy else 2 * n**3 / 1e12) * run.count("iterations")
    low, high = (work / (seconds + way * _STEP_S) for way in (1, -1))
    return low * (1 - _EDGE) - _STEP <= rate <= high * (1 + _EDGE) + _STEP


# --- the whole ---


def _check_whole(text: str, run: _Run, collector: OutputCollector) -> None:
    """Report wrong results, no run, several runs, and a run that is not complete."""
    if wrong := [f"{device}: {count} wrong values" for device, count in run.wrong.items() if count]:
        collector.error(ProblemKind.DATA_CORRUPTION, ", ".join(wrong))
    if run.runs > 1:
        collector.several_runs()
    elif not run.runs and not collector.has_errors:
        collector.nothing(text, "no run of gemm-bench in this text")
    elif run.runs:
        _check_rows(run, collector)
        _check_end(run, collector)


def _check_rows(run: _Run, collector: OutputCollector) -> None:
    """Report devices without all their rows, and rows of devices that are not listed."""
    wanted = [(device, cycle) for device in run.listed for cycle in range(run.count("cycles"))]
    if not wanted:
        collector.error(ProblemKind.METRIC_MISSING, "no device is listed, or no cycle was asked")
    elif run.cycles != wanted:
        rows = Counter(device for device, _ in run.cycles)
        found = ", ".join(f"{device} {rows[device]}" for device in {**run.listed, **rows})
        collector.error(
            ProblemKind.METRIC_MISSING,
            f"each of {len(run.listed)} devices must have cycles 0 to {run.count('cycles') - 1} "
            f"in this order; rows: {found}",
        )


def _check_end(run: _Run, collector: OutputCollector) -> None:
    if run.end is None:
        collector.error(ProblemKind.TRUNCATED, "no closing line: the run did not finish")
    elif run.end != (len(run.cycles), run.wrong.total()):
        collector.error(
            ProblemKind.TRUNCATED,
            f"{len(run.cycles)} rows with {run.wrong.total()} wrong values, but the closing line "
            f"counts {run.end[0]} with {run.end[1]}",
        )
