"""Whether the figures of one run follow from each other, and whether all requests were served."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.tools.findings import Findings

_AGREEMENT = 0.01
# Half of the last printed decimal of a rate and of the duration.
_ROUNDING = 0.005


def check(values: Mapping[str, float], asked: int | None, findings: Findings) -> None:
    """Complain of unserved requests and of rates that are not count over duration.

    ``values`` holds the metrics by name, ``asked`` how many requests were sent if that is known.
    """
    _check_requests(values, asked, findings)
    duration_s = values.get("duration", 0.0)
    if duration_s <= 0:
        return
    generated, read = values.get("generated_tokens"), values.get("input_tokens")
    counts = {
        "request_throughput": values.get("completed"),
        "output_throughput": generated,
        "input_throughput": read,
        "total_throughput": None if read is None else read + (generated or 0.0),
    }
    for metric, count in counts.items():
        printed = values.get(metric)
        if count is not None and printed is not None:
            _check_rate(metric, printed, count / duration_s, duration_s, findings)


def _check_rate(
    metric: str, printed: float, expected: float, duration_s: float, findings: Findings
) -> None:
    allowed = _ROUNDING + expected * (_AGREEMENT + _ROUNDING / duration_s)
    if abs(printed - expected) > allowed:
        findings.complain(
            "inconsistent",
            f"{metric} is printed as {printed}, counts and duration give {expected:.2f}",
        )


def _check_requests(values: Mapping[str, float], asked: int | None, findings: Findings) -> None:
    completed, failed = values.get("completed"), values.get("failed")
    if completed is None:
        findings.complain("metric-missing", "the number of successful requests is not printed")
        return
    known = asked if asked is not None else None if failed is None else int(completed + failed)
    if failed:
        findings.complain("failed-requests", f"{failed:.0f} requests failed")
    elif known is not None and completed < known:
        findings.complain("failed-requests", f"{completed:.0f} of {known} requests were served")
    elif known is None:
        message = "neither the failed requests nor how many were asked for are printed"
        findings.warn("asked-unknown", message)
