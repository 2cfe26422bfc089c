"""Checks of one run: consistency of its values, and whether all requests were served."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector

_AGREEMENT = 0.01
# Half of the last printed decimal of a rate and of the duration.
_ROUNDING = 0.005
_MS = 1e-3
_MANY = 30
_LATENCY = re.compile(r"(ttft|tpot|itl|e2el)_(?!std)\w+")


@dataclass(frozen=True, slots=True)
class Load:
    """The load to be sent: requests if known, most requests at once, requests per second."""

    asked: int | None = None
    at_once: float = math.inf
    rate: float = math.inf


def check(values: Mapping[str, float], load: Load, collector: OutputCollector) -> None:
    """Report requests that were not served, and values that contradict each other.

    ``values`` holds the metrics by name, latencies in ms.
    """
    _check_requests(values, load.asked, collector)
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
            _check_rate(metric, printed, count / duration_s, duration_s, collector)
    _check_latencies(values, duration_s, collector)
    _check_concurrency(values, duration_s, load, collector)


def _check_rate(
    metric: str, printed: float, expected: float, duration_s: float, collector: OutputCollector
) -> None:
    allowed = _ROUNDING + expected * (_AGREEMENT + _ROUNDING / duration_s)
    if abs(printed - expected) > allowed:
        collector.error(
            ProblemKind.INCONSISTENT,
            f"{metric} is printed as {printed}, but counts and duration give {expected:.2f}",
        )


def _check_latencies(
    values: Mapping[str, float], duration_s: float, collector: OutputCollector
) -> None:
    """Report latencies longer than the run, and a first token that is later than the last."""
    longest_ms = (duration_s + _ROUNDING) / _MS * (1 + _AGREEMENT)
    for metric in filter(_LATENCY.fullmatch, values):
        if values[metric] > longest_ms:
            what = f"{metric} is {values[metric]:g} ms, but the run took {duration_s:g} s"
            collector.error(ProblemKind.INCONSISTENT, what)
    for first in (metric for metric in values if metric.startswith("ttft_")):
        whole = first.replace("ttft", "e2el")
        if _LATENCY.fullmatch(first) and values[first] > values.get(whole, math.inf) + _ROUNDING:
            what = f"{first} is {values[first]:g} ms, but {whole} is {values[whole]:g} ms"
            collector.error(ProblemKind.INCONSISTENT, what)


def _check_concurrency(
    values: Mapping[str, float], duration_s: float, load: Load, collector: OutputCollector
) -> None:
    """Check Little's law: requests in flight are the rate times the mean latency of a request."""
    completed, each_ms = values.get("completed"), values.get("e2el_mean")
    if completed is None or each_ms is None:
        return
    most = min(values.get("peak_concurrency", math.inf), load.at_once)
    in_flight = completed * each_ms * _MS / (duration_s + _ROUNDING)
    if in_flight > most * (1 + _AGREEMENT):
        collector.error(
            ProblemKind.INCONSISTENT,
            f"{completed:g} requests of {each_ms:g} ms in {duration_s:g} s are {in_flight:.1f} at"
            f" once, but at most {most:g} are printed",
        )
    # The average request is sent at half of the sending time, and must end before the run does.
    # With few requests, most may have been sent at the start by chance.
    longest_s = duration_s + _ROUNDING - 0.5 * completed / load.rate
    if completed >= _MANY and each_ms * _MS > longest_s * (1 + _AGREEMENT):
        what = f"requests of {each_ms:g} ms, sent at {load.rate:g} per second"
        collector.error(
            ProblemKind.INCONSISTENT, f"{completed:g} {what}, cannot end in {duration_s:g} s"
        )


def _check_requests(
    values: Mapping[str, float], asked: int | None, collector: OutputCollector
) -> None:
    completed, failed = values.get("completed"), values.get("failed")
    if completed is None:
        collector.error(
            ProblemKind.METRIC_MISSING, "the number of successful requests is not printed"
        )
        return
    known = asked if asked is not None else None if failed is None else int(completed + failed)
    if failed:
        collector.error(ProblemKind.FAILED_REQUESTS, f"{failed:.0f} requests failed")
    elif known is not None and completed < known:
        collector.error(
            ProblemKind.FAILED_REQUESTS, f"{completed:.0f} of {known} requests were served"
        )
    elif known is None:
        message = "neither the number of failed requests nor that of sent requests is printed"
        collector.warn(ProblemKind.ASKED_UNKNOWN, message)
