"""``gpu-fryer``: matrix products on all GPUs of a node at once, timed and never checked.

It checks no result: a GPU that computes wrongly passes. It finds GPUs that throttle or that are
slower than the fastest one of their node. It counts the products that it started in each second, so
that only its mean over the run, its smallest and its largest second are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from railgauge.core.model import Command, Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools import Setting
from railgauge.tools.collector import OutputCollector
from railgauge.tools.metric import HIGHER, several
from railgauge.tools.options import on_its_node, program, read_options
from railgauge.tools.output_checks import (
    OutputCheck,
    SideOutput,
    ToolRequest,
    checks_of_gpus,
    equal,
)
from railgauge.tools.relations import Statistics
from railgauge.tools.text import clean, is_torn, line_at, with_end

METRICS = several(("gflops", "gflops_min", "gflops_max"), "GFLOP/s", HIGHER)
HEALTH = "GPU health"

# What it calls FP32 are products of the tensor cores in TF32 (373 TFLOPS on an H100, its README).
_FORMATS = {"tf32": "FP32", "bf16": "BF16", "fp8": "FP8"}
_DURATION_S, _SHORTEST_S = 60, 10

_NUMBER = r"[0-9]{1,12}\.[0-9]{2}"
_DETECTED = re.compile(r'Detected GPU #([0-9]{1,3}): "([^"\n]{1,100})" \(([0-9a-f-]{8,60})\)')
_USING = re.compile(r"Using (?:precision\(s\):)?([A-Z0-9 ]{1,30})")
_RESULT = re.compile(
    rf"GPU #([0-9]{{1,3}}): {{1,8}}([0-9]{{1,12}}) Gflops/s "
    rf"\(min: ({_NUMBER}), max: ({_NUMBER}), dev: {_NUMBER}\)"
)
_THROTTLING = re.compile(
    r" {1,12}Throttling HW: (true|false), Thermal SW: (true|false), Thermal HW: (true|false)"
)
_HEALTHY, _UNHEALTHY = "All GPUs seem healthy", "Some GPUs are not healthy. Reasons:"
_REASON = re.compile(r"  - (?:GPU ([0-9]{1,3}) - )?(.{1,200})")
_END = "Freeing GPUs..."
_COMPLAINT = re.compile(
    "^Error: (?!Some GPUs are not healthy)|^error: | panicked at ", re.MULTILINE
)
# A mean is printed without its fraction.
_RELATIONS = (Statistics("(?P<of>gflops)(?:_(?P<as>min|max))?", 1.0),)


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return one run on the case's node, with all its GPUs at once.

    The measurement's command is the format: ``tf32``, ``bf16`` or ``fp8``. Option: ``duration_s``,
    10 or more. Raises ``BadInput`` for other options.
    """
    options = read_options(setting, frozenset({"duration_s"}), _FORMATS)
    form = _FORMATS[setting.measurement.command].lower()
    duration_s = options.number("duration_s", _DURATION_S, _SHORTEST_S)
    argv = (program(setting, "gpu-fryer"), f"--use-{form}", str(duration_s))
    return on_its_node(setting, argv, {"LC_ALL": "C", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare the format, and the number, models and UUIDs of the GPUs; it shows no duration."""
    summary = sides[0].parsed.summary
    wanted = _FORMATS.get(asked.measurement.command, asked.measurement.command)
    return (
        equal("format", wanted, summary.get("format")),
        equal("duration_s", asked.option("duration_s", _DURATION_S), None),
        *checks_of_gpus(asked, summary),
    )


@dataclass(slots=True)
class _Fry:
    """The values of the lines read so far."""

    detected: dict[int, tuple[str, str]] = field(default_factory=dict)
    formats: list[str] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    throttled: list[str] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    reasons: list[tuple[int | None, str]] = field(default_factory=list)
    ends: int = 0

    def summary(self) -> dict[str, object]:
        return {
            "format": self.formats[0] if len(self.formats) == 1 else None,
            "measured": tuple(f"gpu{number}" for number in self.results),
            "models": tuple(model for model, _ in self.detected.values()),
            "uuids": tuple(uuid for _, uuid in self.detected.values()),
            "tests": [*self.tests()],
        }

    def tests(self) -> Iterator[dict[str, object]]:
        """Yield the health of each GPU, as the fields of ``results.NamedResult``."""
        for number in self.results:
            wrong = [says for gpu, says in self.reasons if gpu in (number, None)]
            yield {
                "name": HEALTH,
                "status": "fail" if wrong else "pass",
                "printed": "not healthy" if wrong else "seems healthy",
                "gpus": (number,),
                "says": "; ".join(wrong),
            }


def parse(text: str) -> Parsed:
    """Read one run. Never raises and takes time linear in the text.

    ``gflops`` is the mean of each GPU over the run but its first seconds, ``gflops_min`` and
    ``gflops_max`` its slowest and its fastest second (``GFLOP/s``), with the placement ``gpu3``. A
    GPU that the tool calls unhealthy is the warning ``test-failed``, and ``summary.tests`` has the
    test ``GPU health`` of each GPU.
    ``summary``: ``format`` (as printed: ``FP32``, ``BF16``, ``FP8``), ``measured``, ``models``,
    ``uuids``.
    """
    text = clean(text)
    collector, fry = OutputCollector(relations=_RELATIONS), _Fry()
    if collector.check_started(text, "gpu-fryer"):
        for line in text.split("\n"):
            _take(line, fry, collector)
        if match := _COMPLAINT.search(text):
            collector.error(ProblemKind.TOOL_FAILED, line_at(text, match.start()))
        _check(text, fry, collector)
    return collector.parsed("gpu-fryer", None, fry.summary())


def _take(line: str, fry: _Fry, collector: OutputCollector) -> None:
    if match := _DETECTED.fullmatch(line):
        fry.detected[int(match[1])] = match[2], match[3]
    elif match := _USING.fullmatch(line.rstrip()):
        fry.formats += match[1].split()
    elif line.startswith("GPU #") and "Gflops/s" in line:
        _take_result(line, fry, collector)
    elif match := _THROTTLING.fullmatch(line):
        names = ("HW", "Thermal SW", "Thermal HW")
        reasons = [
            name for name, is_so in zip(names, match.groups(), strict=True) if is_so == "true"
        ]
        fry.throttled.append(", ".join(reasons))
    elif line in (_HEALTHY, _UNHEALTHY):
        fry.verdicts.append(line)
    elif fry.verdicts and (match := _REASON.fullmatch(line)):
        fry.reasons.append((int(match[1]) if match[1] else None, match[2]))
    elif line == _END:
        fry.ends += 1


def _take_result(line: str, fry: _Fry, collector: OutputCollector) -> None:
    match = _RESULT.fullmatch(line)
    if not match:
        collector.error(ProblemKind.UNPARSABLE, f"a result: {line[:200]}")
        return
    number, mean, least, most = int(match[1]), *map(float, match.groups()[1:])
    fry.results.append(number)
    collector.add("gflops", "GFLOP/s", mean, f"gpu{number}")
    collector.add("gflops_min", "GFLOP/s", least, f"gpu{number}")
    collector.add("gflops_max", "GFLOP/s", most, f"gpu{number}")


def _check(text: str, fry: _Fry, collector: OutputCollector) -> None:
    """Report unhealthy GPUs, and everything that keeps the run from being complete."""
    for number, says in fry.reasons:
        who = "a GPU" if number is None else f"gpu{number}"
        collector.warn(ProblemKind.TEST_FAILED, f"{who}: {says}")
    if max(len(fry.verdicts), fry.ends) > 1:
        collector.several_runs()
    elif not fry.results and not collector.has_errors:
        collector.nothing(text, "no results of gpu-fryer in this text")
    elif fry.results:
        _check_end(text, fry, collector)


def _check_end(text: str, fry: _Fry, collector: OutputCollector) -> None:
    if sorted(set(fry.results)) != sorted(fry.results) or (
        fry.detected and sorted(fry.detected) != sorted(fry.results)
    ):
        what = f"results of {len(fry.results)} GPUs, and {len(fry.detected)} were detected"
        collector.error(ProblemKind.METRIC_MISSING, what)
    if len(fry.formats) > 1:
        what = f"one rate for several formats: {', '.join(fry.formats)}"
        collector.error(ProblemKind.SEVERAL_TABLES, what)
    if (
        not fry.ends
        or is_torn(with_end(text, ends=(_END,)))
        or len(fry.throttled) != len(fry.results)
    ):
        collector.error(ProblemKind.TRUNCATED, f"no closing line {_END!r}: it did not finish")
    if (fry.verdicts == [_UNHEALTHY]) != bool(fry.reasons) or not fry.verdicts:
        collector.error(ProblemKind.TRUNCATED, "no verdict on the GPUs, or none of its reasons")
