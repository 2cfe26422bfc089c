"""``gpu_burn`` (gpu-burn): matrix products on all GPUs of a node at once, compared with each other.

Its exit code is always 0, and its closing list says ``OK`` of a GPU that died before it counted an
error, or that never computed anything. Therefore every progress line is read: each GPU must have
kept computing, without an error in any line.

A progress line is printed whenever one GPU reports, and repeats the last rates of the others. A
rate becomes a sample only if its GPU has computed more than in the line before. The first report
of a GPU is no sample, because it includes the GPU's start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from railgauge.core.model import Command, Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools import Setting
from railgauge.tools.collector import OutputCollector
from railgauge.tools.metric import HIGHER, LOWER, Metric
from railgauge.tools.options import on_its_node, program, read_options
from railgauge.tools.output_checks import (
    OutputCheck,
    SideOutput,
    ToolRequest,
    checks_of_gpus,
    equal,
    long_enough,
)
from railgauge.tools.text import clean, is_torn, line_at
from railgauge.tools.torn import complain

METRICS = (
    Metric("gflops", ("GFLOP/s",), HIGHER),
    Metric("errors", ("count",), LOWER, may_be_zero=True),
)

_FLAGS = {"fp32": (), "tf32": ("-tc",), "fp64": ("-d",)}
_DURATION_S = 60
# It looks for these anywhere in every word of its command line, in the name of a file too.
_MISTAKEN = ("-h", "-l", "-d", "-tc")

_LISTED = re.compile(r"GPU ([0-9]{1,3}): (.{1,100}) \(UUID: (GPU-[0-9a-fA-F-]{4,60})\)")
_LENGTH = re.compile(r"Burning for ([0-9]{1,9}) sec(?:ond)?s\.?")
_STARTED = re.compile(
    r"Initialized device ([0-9]{1,3}) with [0-9]{1,9} MB of memory \([0-9]{1,9} MB available, "
    r"using [0-9]{1,9} MB of it\), using (FLOATS|DOUBLES)(, using Tensor Cores)?"
)
_PROGRESS = re.compile(
    r"[0-9]{1,3}\.[0-9]%  proc'd: (.{1,9000}?)  errors: (.{1,9000}?)  temps: .{0,9000}"
)
_RATE = re.compile(r" ?(-?[0-9]{1,12}) \(([0-9]{1,9}) Gflop/s\) ?")
_ERRORS = re.compile(r" ?(-?[0-9]{1,12}) {1,3}(?:\((DIED|WARNING)!\))? ?")
_TESTED = re.compile(r"Tested ([0-9]{1,3}) GPUs:")
_VERDICT = re.compile(r"(?:\t| {1,8})GPU ([0-9]{1,3}): (OK|FAULTY)")
_COMPLAINTS = {
    ProblemKind.GPU_FAILED: re.compile("No clients are alive!"),
    ProblemKind.OUT_OF_MEMORY: re.compile("out of memory|Low mem for result"),
    ProblemKind.TOOL_FAILED: re.compile(
        "Couldn't init|Failure during compute|cuInit returned (?!0 )|No CUDA devices"
        "|Not enough devices|Syntax error near"
    ),
}
_FORMATS = {("FLOATS", ""): "fp32", ("FLOATS", "t"): "tf32", ("DOUBLES", ""): "fp64"}
_NO_CALCULATION = -1
# Texts that only lines of progress and results have.
_PART = re.compile(r"Gflop/s\)|\berrors: |\btemps: |\bproc'd|^\tGPU \d|\bUUID: ")


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return one run on the case's node, with all its GPUs at once.

    The measurement's command is the format: ``fp32``, ``tf32`` (tensor cores) or ``fp64``. Options:
    ``duration_s``, and ``compare``, the file with its compare kernel, for a program that is not
    started in its own folder. Raises ``BadInput`` for other options.
    """
    options = read_options(setting, frozenset({"duration_s", "compare"}), _FLAGS)
    form, compare = setting.measurement.command, options.text("compare")
    if wrong := [sign for sign in _MISTAKEN if sign in compare]:
        options.refuse(
            f"compare is {compare!r}, and gpu_burn takes {wrong[0]} in it for an option",
            "copy the file to a path without it",
        )
    argv = [program(setting, "gpu_burn"), *_FLAGS[form], *(("-c", compare) if compare else ())]
    argv.append(str(options.number("duration_s", _DURATION_S)))
    return on_its_node(setting, argv, {"LC_ALL": "C", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare format, duration, and the number, models and UUIDs of the GPUs.

    Also the time of the command with the duration.
    """
    summary = sides[0].parsed.summary
    burnt_s = summary.get("duration_s")
    return (
        equal("format", asked.measurement.command, summary.get("format")),
        equal("duration_s", asked.option("duration_s", _DURATION_S), summary.get("duration_s")),
        *checks_of_gpus(asked, summary),
        *long_enough(sides[0], burnt_s if isinstance(burnt_s, int) else 0, "of burning"),
    )


@dataclass(slots=True)
class _Burn:
    """The values of the lines read so far."""

    listed: dict[int, tuple[str, str]] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    formats: dict[int, str] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)
    reports: list[int] = field(default_factory=list)
    wrong: dict[int, int] = field(default_factory=dict)
    died: set[int] = field(default_factory=set)
    tested: list[int] = field(default_factory=list)
    verdicts: list[tuple[int, str]] = field(default_factory=list)

    def summary(self) -> dict[str, object]:
        forms = set(self.formats.values())
        return {
            "format": forms.pop() if len(forms) == 1 else None,
            "duration_s": self.lengths[0] if self.lengths else None,
            "measured": tuple(f"gpu{number}" for number, _ in self.verdicts),
            "models": tuple(model for model, _ in self.listed.values()),
            "uuids": tuple(uuid for _, uuid in self.listed.values()),
        }


def parse(text: str) -> Parsed:
    """Read one run. Never raises and takes time linear in the text.

    ``gflops`` (``GFLOP/s``) of each report of each GPU but its first, with the placement ``gpu3``,
    and ``errors`` (``count``) of each GPU over the whole run. A GPU with errors, or that the
    closing list calls faulty, is the error ``data-corruption``; one that died is ``gpu-failed``.
    ``summary``: ``format``, ``duration_s``, ``measured``, ``models``, ``uuids``.
    """
    text = clean(text)
    collector, burn = OutputCollector(), _Burn()
    if collector.check_started(text, "gpu_burn"):
        for line in text.split("\n"):
            _take(line, burn, collector)
        for kind, pattern in _COMPLAINTS.items():
            if match := pattern.search(text):
                collector.error(kind, line_at(text, match.start()))
        _check(text, burn, collector)
    return collector.parsed("gpu-burn", None, burn.summary())


def _take(line: str, burn: _Burn, collector: OutputCollector) -> None:
    if match := _LISTED.fullmatch(line):
        burn.listed[int(match[1])] = match[2], match[3]
    elif match := _LENGTH.match(line):
        burn.lengths.append(int(match[1]))
    elif match := _STARTED.fullmatch(line):
        key = (match[2], "t" if match[3] else "")
        burn.formats[int(match[1])] = _FORMATS.get(key, " ".join(key))
    elif match := _TESTED.fullmatch(line):
        burn.tested.append(int(match[1]))
    elif match := _VERDICT.fullmatch(line):
        burn.verdicts.append((int(match[1]), match[2]))
    elif "proc'd:" in line:
        _take_progress(line, burn, collector)
    elif _PART.search(line):
        complain(line, collector)


def _take_progress(line: str, burn: _Burn, collector: OutputCollector) -> None:
    found = _PROGRESS.search(line)
    rates = [_RATE.fullmatch(cell) for cell in found[1].split("- ")] if found else []
    errors = [_ERRORS.fullmatch(f"{cell} ") for cell in found[2].split("- ")] if found else []
    count = len(burn.done) or len(rates)
    if not rates or None in (*rates, *errors) or {len(rates), len(errors)} != {count}:
        collector.error(ProblemKind.UNPARSABLE, f"a progress line: {line.strip()[:200]}")
        return
    if not burn.done:
        burn.done, burn.reports = [0] * count, [0] * count
    for gpu, (rate, error) in enumerate(zip(rates, errors, strict=True)):
        if rate and error:
            _take_rate(gpu, (int(rate[1]), int(rate[2])), burn, collector)
            _take_errors(gpu, int(error[1]), died=error[2] == "DIED", burn=burn)


def _take_rate(
    gpu: int, reported: tuple[int, int], burn: _Burn, collector: OutputCollector
) -> None:
    done, rate = reported
    if done == _NO_CALCULATION:
        burn.died.add(gpu)
    elif done < burn.done[gpu]:
        collector.error(ProblemKind.INCONSISTENT, f"gpu{gpu} computed {done} after more")
    elif done > burn.done[gpu]:
        if burn.reports[gpu]:
            collector.add("gflops", "GFLOP/s", rate, f"gpu{gpu}")
        burn.reports[gpu] += 1
        burn.done[gpu] = done


def _take_errors(gpu: int, errors: int, *, died: bool, burn: _Burn) -> None:
    """Keep the largest count; that of a GPU that died is whatever was in memory."""
    if died:
        burn.died.add(gpu)
    elif errors and gpu not in burn.died:
        burn.wrong[gpu] = max(burn.wrong.get(gpu, 0), abs(errors))


# --- the whole ---


def _check(text: str, burn: _Burn, collector: OutputCollector) -> None:
    """Report what was wrong, and everything that keeps the run from being complete."""
    for number, verdict in burn.verdicts:
        if verdict == "FAULTY" and number not in burn.died:
            burn.wrong.setdefault(number, 0)
    if burn.wrong:
        counts = (
            f"gpu{gpu}: {n or 'an unknown number of'} errors" for gpu, n in burn.wrong.items()
        )
        collector.error(ProblemKind.DATA_CORRUPTION, ", ".join(counts))
    if burn.died:
        those = ", ".join(f"gpu{gpu}" for gpu in sorted(burn.died))
        collector.error(ProblemKind.GPU_FAILED, f"stopped computing: {those}")
    if max(len(burn.lengths), len(burn.tested)) > 1:
        collector.several_runs()
    elif not burn.done and not collector.has_errors:
        if burn.lengths or burn.tested:
            collector.error(ProblemKind.METRIC_MISSING, "no GPU reported that it computed anything")
        else:
            collector.nothing(text, "no run of gpu_burn in this text")
    elif burn.done:
        _check_end(text, burn, collector)


def _check_end(text: str, burn: _Burn, collector: OutputCollector) -> None:
    count = len(burn.done)
    wanted = list(range(count))
    if burn.tested != [count] or [number for number, _ in burn.verdicts] != wanted:
        found = f"{len(burn.verdicts)} of {count} GPUs are in the closing list"
        collector.error(ProblemKind.TRUNCATED, f"{found}; the run did not finish")
    elif is_torn(text) and not _VERDICT.fullmatch(text.rpartition("\n")[2]):
        collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
    for gpu in _silent(burn.reports):
        collector.error(
            ProblemKind.METRIC_MISSING,
            f"gpu{gpu} reported {burn.reports[gpu]} times, and the first contains its start; burn "
            "longer",
        )
    for gpu in wanted:
        errors = burn.wrong.get(gpu, 0)
        collector.add("errors", "count", errors, f"gpu{gpu}", may_be_zero=True)


def _silent(reports: Sequence[int]) -> Iterator[int]:
    return (gpu for gpu, number in enumerate(reports) if number <= 1)
