"""Which measurement of a platform a piece of output is: by what the output says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from railgauge.model import Parsed
from railgauge.thresholds import Measurement, Platform

# all_reduce alone moves more than its message: bus over algorithm bandwidth is 2(n-1)/n.
_ALL_REDUCE = "all_reduce"


def fits(platform: Platform, measurement: Measurement, parsed: Parsed) -> bool:
    """Whether ``parsed`` may be output of ``measurement``; what it does not say speaks for it."""
    return _FITS.get(measurement.tool, _always)(platform, measurement, parsed)


def _always(platform: Platform, measurement: Measurement, parsed: Parsed) -> bool:  # noqa: ARG001
    return True


def _fits_perftest(platform: Platform, measurement: Measurement, parsed: Parsed) -> bool:  # noqa: ARG001
    summary = parsed.summary
    memory = "host" if summary.get("memory", "host") == "host" else "gpu"
    return (
        measurement.command == summary.get("command")
        and measurement.memory == memory
        and measurement.options.get("qps", 1) == summary.get("qps", 1)
        and bool(measurement.options.get("bidirectional")) == bool(summary.get("bidirectional"))
    )


def _fits_collective(platform: Platform, measurement: Measurement, parsed: Parsed) -> bool:
    gpus = platform.gpus.count if platform.gpus else 1
    each = measurement.options.get("gpus_per_node", gpus)
    return (
        measurement.command.removesuffix("_perf") == _collective(parsed)
        and bool(measurement.options.get("graph")) == bool(parsed.summary.get("graph"))
        and _gpus_per_node(parsed, gpus) == each
        and _scope(parsed, gpus) in (None, measurement.scope)
    )


def _collective(parsed: Parsed) -> str:
    named = parsed.summary.get("collective")
    if isinstance(named, str):
        return named.removesuffix("_perf")
    return _ALL_REDUCE if _ratio(parsed) > 1 else ""


def _ratio(parsed: Parsed) -> float:
    """Bus over algorithm bandwidth at the largest value, where rounding is least."""
    values: dict[tuple[object, ...], dict[str, float]] = {}
    for sample in parsed.samples:
        key = (sample.size_bytes, sample.placement, sample.iteration)
        values.setdefault(key, {})[sample.metric] = sample.value
    pairs = [(v["busbw"], v["algbw"]) for v in values.values() if v.get("algbw") and "busbw" in v]
    busbw, algbw = max(pairs, default=(0.0, 1.0))
    return busbw / algbw


def _ranks(parsed: Parsed) -> int | None:
    """As listed, or from the ratio of an all_reduce: 2(n-1)/n = r, so n = 2/(2-r)."""
    listed = parsed.summary.get("nranks")
    if isinstance(listed, int):
        return listed
    ratio = _ratio(parsed)
    return round(2 / (2 - ratio)) if 1 < ratio < 2 else None  # noqa: PLR2004


def _gpus_per_node(parsed: Parsed, gpus: int) -> int:
    by_host = parsed.summary.get("gpus")
    return max(by_host.values()) if isinstance(by_host, Mapping) and by_host else gpus


def _scope(parsed: Parsed, gpus: int) -> str | None:
    """``None`` if nothing says how many nodes took part; empty for less than a whole node."""
    nodes = parsed.summary.get("nnodes")
    if not isinstance(nodes, int):
        ranks = _ranks(parsed)
        if ranks is None:
            return None
        nodes = ranks // _gpus_per_node(parsed, gpus)
    return {0: "", 1: "node", 2: "pair"}.get(nodes, "group")


_FITS: Mapping[str, Callable[[Platform, Measurement, Parsed], bool]] = {
    "perftest": _fits_perftest,
    "ccl-tests": _fits_collective,
}
