"""Azure's node health checks, run on the node that they check.

The checks start collectives and RDMA transfers of their own; the lease of the node prevents other
measurements on it at the same time.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from itertools import groupby

from railgauge.core.model import Command, Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools import Setting
from railgauge.tools.collector import OutputCollector
from railgauge.tools.form import FigureForm, ToolFigure, inside_node, of_slowest_nic
from railgauge.tools.metric import HIGHER, LOWER, Metric
from railgauge.tools.options import on_its_node, program, read_options
from railgauge.tools.output_checks import checks_nothing as output_checks
from railgauge.tools.text import clean

__all__ = ["METRICS", "commands", "form", "output_checks", "parse"]

METRICS = (
    Metric("check_nccl_allreduce", ("GB/s",), HIGHER),
    Metric("check_ib_bw_gdr", ("Gb/s",), HIGHER),
    Metric("checks_passed", ("count",), HIGHER, may_be_zero=True),
    Metric("checks_failed", ("count",), LOWER, may_be_zero=True),
)
_SCRIPT = "run-health-checks.sh"
_NHC = re.compile(
    r"(SUCCESS|ERROR):[ \t]{1,9}nhc:[ \t]{1,9}Health check (passed|failed):"
    r"[ \t]{0,9}([^\n]{0,2000})"
)
_BEGUN = tuple(
    re.compile(part, re.MULTILINE)
    for part in (r"nhc:", r"Health check", r"[Cc]heck (?:passed|failed):", r"^(?:SUCCESS|ERROR):")
)
_CHECK = re.compile(r"([A-Za-z_][\w.-]{0,80}):(?:[ \t]{1,9}|$)(.{0,2000})")
_FAULT = re.compile(r"\.?[ \t]{0,4}FaultCode: (\w{1,40})[ \t]{0,9}$")
_FIGURE = re.compile(r"(~?)(?<![\w.,-])(\d{1,9}(?:\.\d{1,9})?) ?(GB/s|GBps|Gb/s|Gbps)(?!\w)")
_END_OF_FIGURE = re.compile(
    r"^[^\n]{0,200}\d ?(?:GB/s|GBps|Gb/s|Gbps)(?!\w)|^\s*(?:GB/s|GBps|Gb/s|Gbps|ps|s)\b"
)
_UNITS = {"GBps": "GB/s", "Gbps": "Gb/s"}


def form(figure: ToolFigure) -> FigureForm | None:
    """Return the form of the all-reduce inside the node, or of the slowest of its NICs."""
    if figure.metric == "check_nccl_allreduce":
        gpus = figure.layout.gpus
        return inside_node(figure, gpus, figure.layout.links(gpus))
    return of_slowest_nic(figure) if figure.metric == "check_ib_bw_gdr" else None


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return one run of all checks on the case's node; its script selects them by machine type.

    The hostfile gives the script's path under ``tools`` as ``azure-nhc``. Raises ``BadInput`` for
    options: there are none.
    """
    read_options(setting, frozenset())
    return on_its_node(setting, (program(setting, _SCRIPT),), {"LC_ALL": "C"})


def parse(text: str) -> Parsed:
    """Count the checks that passed and failed, and read their bandwidths; never raises.

    ``checks_passed`` and ``checks_failed`` are counts. A bandwidth in a message is a sample with
    the name of its check (``check_nccl_allreduce``), also if it is printed with a ``~``. A failed
    check is a measured value and the warning ``check-failed``. The script prints no closing line:
    the platform file names the checks that must be in ``summary.tests``. An incomplete last line
    is ``truncated``, and a success in it does not count. The output of two runs in one text is
    ``several-tables``.
    """
    text = clean(text)
    whole, _, torn = text.rpartition("\n")
    failed = tuple(result for result in parse_nhc(torn) if not result.has_passed)
    results = (*parse_nhc(whole), *failed)
    collector = OutputCollector()
    if collector.check_started(text, _SCRIPT) and torn.strip():
        collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
    _collect(results, collector)
    _complain_of_parts(whole, results, collector)
    if _begins_anew(results):
        collector.several_runs()
    _collect_nothing(text, results, collector)
    summary = {
        "results": [asdict(result) for result in results],
        "tests": [_test(result) for result in results],
    }
    return collector.parsed("azure-nhc", None, summary)


def _test(result: NhcResult) -> dict[str, object]:
    """Return the fields of ``results.NamedResult``; a failure without a name counts too."""
    message = f"{result.message} {result.fault_code}".strip()
    status = "pass" if result.has_passed else "fail"
    return {
        "name": result.check or "unnamed check",
        "status": status,
        "printed": f"{status}ed",
        "gpus": (),
        "says": message,
    }


def _complain_of_parts(
    text: str, results: tuple[NhcResult, ...], collector: OutputCollector
) -> None:
    """Add an error for the line of a check that is no result of a named one."""
    whole = sum(1 for _ in _NHC.finditer(text))
    loose = (line for line in text.split("\n") if "nhc:" not in line)
    parts = max(len(pattern.findall(text)) for pattern in _BEGUN)
    if parts > whole or whole > len(results) or any(map(_END_OF_FIGURE.search, loose)):
        what = "a check's line is interrupted by another text, or names no check"
        collector.error(ProblemKind.UNPARSABLE, what)


def _begins_anew(results: tuple[NhcResult, ...]) -> bool:
    """Return whether a check comes back after another one, or a line is printed twice.

    A check may have lines of its own for each device, one after another.
    """
    named = [name for name, _ in groupby(result.check for result in results if result.check)]
    return len(set(named)) < len(named) or len(set(results)) < len(results)


def _collect(results: tuple[NhcResult, ...], collector: OutputCollector) -> None:
    if not results:
        return
    passed = sum(result.has_passed for result in results)
    collector.add("checks_passed", "count", passed, may_be_zero=True)
    collector.add("checks_failed", "count", len(results) - passed, may_be_zero=True)
    for result in results:
        for figure in result.figures:
            collector.add(result.check or "unnamed", figure.unit, figure.value)
        if not result.has_passed:
            message = f"{result.check}: {result.message} {result.fault_code}"
            collector.warn(ProblemKind.CHECK_FAILED, message)


def _collect_nothing(text: str, results: tuple[NhcResult, ...], collector: OutputCollector) -> None:
    if results or collector.has_errors:
        return
    collector.nothing(text, "no result line of a node health check in this text")


# --- the result lines ---


@dataclass(frozen=True, slots=True)
class BandwidthFigure:
    """A bandwidth in a check's message, printed with or without a ``~``."""

    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class NhcResult:
    """One result line. ``check`` is empty for a failure that names none."""

    check: str
    has_passed: bool
    message: str
    fault_code: str = ""
    figures: tuple[BandwidthFigure, ...] = ()


def parse_nhc(text: str) -> tuple[NhcResult, ...]:
    """Return the result lines in printed order and skip all other lines. Never raises.

    A success counts only if it names its check; a failure always counts. ``Gbps`` and ``GBps``
    become ``Gb/s`` and ``GB/s``.
    """
    found = (_nhc_result(match) for match in _NHC.finditer(clean(text)))
    return tuple(result for result in found if result)


def _nhc_result(match: re.Match[str]) -> NhcResult | None:
    has_passed = (match[1], match[2]) == ("SUCCESS", "passed")
    check = _CHECK.fullmatch(match[3].strip())
    name, message = (check[1], check[2]) if check else ("", match[3].strip())
    if has_passed and not name:
        return None
    fault = _FAULT.search(message)
    if fault:
        message = message[: fault.start()]
    return NhcResult(name, has_passed, message, fault[1] if fault else "", _figures(message))


def _figures(message: str) -> tuple[BandwidthFigure, ...]:
    return tuple(
        BandwidthFigure(float(value), _UNITS.get(unit, unit))
        for _, value, unit in _FIGURE.findall(message)
    )
