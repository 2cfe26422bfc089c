"""The labels of the result table, and the keys of the JSON, under one name each."""

from __future__ import annotations

import re

Meaning = tuple[str, str]
"""A metric and its unit. Tokens and requests per second are both ``1/s``."""

_LABELS: dict[str, Meaning] = {
    "successful requests": ("completed", "count"),
    "failed requests": ("failed", "count"),
    "benchmark duration (s)": ("duration", "s"),
    "total input tokens": ("input_tokens", "count"),
    "total generated tokens": ("generated_tokens", "count"),
    "request throughput (req/s)": ("request_throughput", "1/s"),
    "request goodput (req/s)": ("request_goodput", "1/s"),
    "input token throughput (tok/s)": ("input_throughput", "1/s"),
    "output token throughput (tok/s)": ("output_throughput", "1/s"),
    "peak output token throughput (tok/s)": ("peak_output_throughput", "1/s"),
    "total token throughput (tok/s)": ("total_throughput", "1/s"),
    "user throughput (tok/s)": ("user_throughput", "1/s"),
    "peak concurrent requests": ("peak_concurrency", "count"),
}
_KEYS: dict[str, Meaning] = {
    "completed": ("completed", "count"),
    "failed": ("failed", "count"),
    "duration": ("duration", "s"),
    "total_input_tokens": ("input_tokens", "count"),
    "total_output_tokens": ("generated_tokens", "count"),
    "request_throughput": ("request_throughput", "1/s"),
    "request_goodput": ("request_goodput", "1/s"),
    "input_throughput": ("input_throughput", "1/s"),
    "output_throughput": ("output_throughput", "1/s"),
    "max_output_tokens_per_s": ("peak_output_throughput", "1/s"),
    "total_token_throughput": ("total_throughput", "1/s"),
    "total_throughput": ("total_throughput", "1/s"),
    "max_concurrent_requests": ("peak_concurrency", "count"),
}
_STATISTIC = r"(mean|median|std|min|max|p\d{1,3}(?:\.\d{1,3})?)"
_LATENCY_LABEL = re.compile(_STATISTIC + r" (ttft|tpot|itl|e2el|e2e latency) \((ms|s)\)")
_LATENCY_KEY = re.compile(_STATISTIC + r"_(ttft|tpot|itl|e2el|e2e_latency)_(ms|s)")

# May be printed as 0 by a sound run: nothing failed, or nothing was generated.
MAY_BE_ZERO = frozenset(
    {"failed", "generated_tokens", "output_throughput", "peak_output_throughput"}
)


def of_label(label: str) -> Meaning | None:
    """The metric of a printed label, whose case varies; ``None`` for others."""
    words = " ".join(label.lower().split())
    return _LABELS.get(words) or _latency(_LATENCY_LABEL.fullmatch(words))


def of_key(key: str) -> Meaning | None:
    """The metric of a key of the JSON; ``None`` for others."""
    return _KEYS.get(key) or _latency(_LATENCY_KEY.fullmatch(key))


def _latency(match: re.Match[str] | None) -> Meaning | None:
    """``ttft_mean``, ``tpot_p99``, ``e2el_p999`` (which is the 99.9th percentile), in its unit."""
    if match is None:
        return None
    name = "e2el" if match[2].startswith("e2e") else match[2]
    return f"{name}_{match[1].replace('.', '')}", match[3]
