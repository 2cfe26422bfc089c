"""``dcgmi diag`` as a tool, read only; ``facts.diagnostics`` reads it."""

from __future__ import annotations

from dataclasses import asdict

from railgauge.core.model import Parsed
from railgauge.facts.diagnostics import DiagReport, DiagResult, parse_dcgmi_diag
from railgauge.tools import NOT_LIMITED as METRICS
from railgauge.tools import is_not_run as commands
from railgauge.tools import sends_nothing as payload_bytes
from railgauge.tools.claims import claims_nothing as claims
from railgauge.tools.findings import Findings, plain

__all__ = ["METRICS", "claims", "commands", "parse", "payload_bytes"]

_STATUSES = ("pass", "fail", "warn", "skip", "not run")


def parse(text: str) -> Parsed:
    """Count the results by status; never raises.

    ``tests_pass``, ``tests_fail``, ``tests_warn``, ``tests_skip`` and ``tests_not_run`` are counts;
    ``summary.results`` holds each result, ``summary.details`` versions and device ids. A test that
    failed or warned is a measured value and the warning ``test-failed`` or ``test-warned``; what is
    no whole report is an error, as ``parse_dcgmi_diag`` names it.
    """
    report = parse_dcgmi_diag(plain(text))
    findings = Findings()
    findings.problems.extend(report.problems)
    if report.results:
        _collect_counts(report, findings)
    for result in report.results:
        if result.status in ("fail", "warn"):
            findings.warn(f"test-{result.status}ed", _said(result))
    details = dict(report.details)
    summary = {
        "has_passed": report.has_passed,
        "results": [asdict(result) for result in report.results],
        "details": details,
    }
    version = details.get("DCGM Version") or details.get("version")
    return findings.parsed("dcgmi-diag", version, summary)


def _collect_counts(report: DiagReport, findings: Findings) -> None:
    statuses = [result.status for result in report.results]
    for status in _STATUSES:
        metric = f"tests_{status.replace(' ', '_')}"
        findings.add(metric, "count", statuses.count(status), may_be_zero=True)


def _said(result: DiagResult) -> str:
    return f"{result.name}: {result.printed} {' '.join(result.warnings)}"
