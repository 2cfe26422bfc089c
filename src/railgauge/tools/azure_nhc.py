"""Azure's node health checks, run on the node that they check.

They start collectives and RDMA of their own: the lease of the node keeps other measurements away.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

from railgauge.core.model import Command, Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools import Setting
from railgauge.tools import sends_nothing as payload_bytes
from railgauge.tools.claims import claims_nothing as claims
from railgauge.tools.collector import OutputCollector
from railgauge.tools.metric import HIGHER, LOWER, Metric
from railgauge.tools.options import program, read_options
from railgauge.tools.text import clean

__all__ = ["METRICS", "claims", "commands", "parse", "payload_bytes"]

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
_CHECK = re.compile(r"([A-Za-z_][\w.-]{0,80}):(?:[ \t]{1,9}|$)(.{0,2000})")
_FAULT = re.compile(r"\.?[ \t]{0,4}FaultCode: (\w{1,40})[ \t]{0,9}$")
_FIGURE = re.compile(r"(~?)(?<![\w.])(\d{1,9}(?:\.\d{1,9})?) ?(GB/s|GBps|Gb/s|Gbps)(?!\w)")
_UNITS = {"GBps": "GB/s", "Gbps": "Gb/s"}


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """One run of all checks on the case's node; its script chooses them by the machine.

    Where it lies stands under ``azure-nhc`` in the hostfile's ``tools``. Raises ``BadInput``.
    """
    read_options(setting, frozenset())
    script = program(setting, _SCRIPT)
    limit_s = setting.measurement.time_limit_s
    return (Command(setting.case.nodes[0], (script,), {"LC_ALL": "C"}, limit_s),)


def parse(text: str) -> Parsed:
    """Count the checks that passed and failed, and take their figures; never raises.

    ``checks_passed`` and ``checks_failed`` are counts; a bandwidth in a message is a sample under
    the name of its check (``check_nccl_allreduce``), also where a ``~`` stands before it
    (``summary.results`` says so). A failed check is a measured value and the warning
    ``check-failed``. The end of a run is not printed: that all checks are there is for whoever
    knows them to say (``summary.tests``). A torn last line is ``truncated``, and its success does
    not count.
    """
    text = clean(text)
    whole, _, torn = text.rpartition("\n")
    failed = tuple(result for result in parse_nhc(torn) if not result.has_passed)
    results = (*parse_nhc(whole), *failed)
    collector = OutputCollector()
    if collector.check_started(text, _SCRIPT) and torn.strip():
        collector.error(ProblemKind.TRUNCATED, "the last line has no end")
    _collect(results, collector)
    _collect_nothing(text, results, collector)
    summary = {
        "results": [asdict(result) for result in results],
        "tests": [_test(result) for result in results],
    }
    return collector.parsed("azure-nhc", None, summary)


def _test(result: NhcResult) -> dict[str, object]:
    """As ``results.NamedResult``; a failure that names no check is one all the same."""
    said = f"{result.message} {result.fault_code}".strip()
    status = "pass" if result.has_passed else "fail"
    return {
        "name": result.check or "unnamed check",
        "status": status,
        "printed": f"{status}ed",
        "gpus": (),
        "says": said,
    }


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


# --- the lines that it prints ---


@dataclass(frozen=True, slots=True)
class BandwidthFigure:
    """A bandwidth in a check's message; a ``~`` may stand before it."""

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
    """Result lines of Azure's node health checks, in printed order; anything else is passed over.

    A success counts only if its check is named and its line whole; a failure always counts.
    ``Gbps`` and ``GBps`` are given as ``Gb/s`` and ``GB/s``. Never raises.
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
