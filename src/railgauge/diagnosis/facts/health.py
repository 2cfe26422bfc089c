"""Rung 3: failures of the vendor's diagnostics and the site's health checks, as they print them."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.diagnosis.model import CauseRule, Context, Finding, JudgedItem, Where, missed

_OF_MEMORY = frozenset({"GPU Memory", "Memtest", "Page Retirement/Row Remap"})
_CHECKS = "azure-nhc"
_MOST = 3


def failed_tests(context: Context) -> Iterator[Finding]:
    """One finding for each GPU that a test names, and for each node where no test names one."""
    for (node, device), found in _by_part(context, is_check=False).items():
        of_memory = any(judged.metric in _OF_MEMORY for _, judged in found)
        cause = "gpu-memory-errors" if of_memory else "gpu-diagnostic-failed"
        yield _finding(cause, Where(node, device), found)


def failed_checks(context: Context) -> Iterator[Finding]:
    for (node, _), found in _by_part(context, is_check=True).items():
        yield _finding("health-check-failed", Where(node), found)


def _by_part(context: Context, *, is_check: bool) -> dict[tuple[str, str], list[JudgedItem]]:
    measured = context.results.platform.measurements
    parts: dict[tuple[str, str], list[JudgedItem]] = {}
    for record in context.open:
        measurement = measured.get(record.subject)
        if measurement and measurement.results and (measurement.tool == _CHECKS) is is_check:
            for judged in (one for one in missed(record) if one.worst is None):
                for device in [device for _, device in judged.points_at] or [""]:
                    parts.setdefault((record.nodes[0], device), []).append((record, judged))
    return parts


def _finding(cause: str, where: Where, found: list[JudgedItem]) -> Finding:
    says = list(dict.fromkeys(judged.reason for _, judged in found))
    more = f"; and {len(says) - _MOST} more" if len(says) > _MOST else ""
    evidence = {record.id: record for record, _ in found}
    return Finding(cause, where, "; ".join(says[:_MOST]) + more, tuple(evidence.values()))


RULES: tuple[CauseRule, ...] = (failed_tests, failed_checks)
