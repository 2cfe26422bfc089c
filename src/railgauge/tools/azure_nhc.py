"""Azure's node health checks as a tool, read only; ``facts.diagnostics`` reads them."""

from __future__ import annotations

from dataclasses import asdict

from railgauge.core.model import Parsed
from railgauge.facts.diagnostics import NhcResult, parse_nhc
from railgauge.tools import NOT_LIMITED as METRICS
from railgauge.tools import is_not_run as commands
from railgauge.tools import sends_nothing as payload_bytes
from railgauge.tools.claims import claims_nothing as claims
from railgauge.tools.findings import Findings, plain

__all__ = ["METRICS", "claims", "commands", "parse", "payload_bytes"]


def parse(text: str) -> Parsed:
    """Count the checks that passed and failed, and take their figures; never raises.

    ``checks_passed`` and ``checks_failed`` are counts; a bandwidth in a message is a sample under
    the name of its check (``check_nccl_allreduce``), also where a ``~`` stands before it
    (``summary.results`` says so). A failed check is a measured value and the warning
    ``check-failed``. The end of a run is not printed: that all checks are there is for the count to
    show. A torn last line is ``truncated``, and its success does not count.
    """
    text = plain(text)
    whole, _, torn = text.rpartition("\n")
    failed = tuple(result for result in parse_nhc(torn) if not result.has_passed)
    results = (*parse_nhc(whole), *failed)
    findings = Findings()
    if torn.strip():
        findings.complain("truncated", "the last line has no end")
    _collect(results, findings)
    _collect_nothing(text, results, findings)
    return findings.parsed("azure-nhc", None, {"results": [asdict(result) for result in results]})


def _collect(results: tuple[NhcResult, ...], findings: Findings) -> None:
    if not results:
        return
    passed = sum(result.has_passed for result in results)
    findings.add("checks_passed", "count", passed, may_be_zero=True)
    findings.add("checks_failed", "count", len(results) - passed, may_be_zero=True)
    for result in results:
        for figure in result.figures:
            findings.add(result.check or "unnamed", figure.unit, figure.value)
        if not result.has_passed:
            message = f"{result.check}: {result.message} {result.fault_code}"
            findings.warn("check-failed", message)


def _collect_nothing(text: str, results: tuple[NhcResult, ...], findings: Findings) -> None:
    if results or findings.has_errors:
        return
    if not text.strip():
        findings.complain("no-output", "nothing was printed")
    else:
        findings.complain("no-table", "no result line of a node health check in this text")
