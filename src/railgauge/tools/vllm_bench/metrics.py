"""What a serving benchmark says of the whole run."""

from itertools import product

from railgauge.tools.metric import LOWER, Metric, several

_RATES = (
    "request_throughput",
    "request_goodput",
    "input_throughput",
    "output_throughput",
    "peak_output_throughput",
    "total_throughput",
    "user_throughput",
)
_COUNTS = ("completed", "input_tokens", "generated_tokens", "peak_concurrency")
_PERCENTILES = (*(f"p{percent}" for percent in range(1, 100)), "p995", "p999", "p9999")

METRICS = (
    *several(_RATES, "1/s"),
    *several(_COUNTS, "count"),
    Metric("failed", ("count",), LOWER, may_be_zero=True),
    Metric("duration", ("s",), LOWER),
    *(
        Metric(f"{latency}_{statistic}", ("ms", "s"), LOWER, may_be_zero=statistic == "std")
        for latency, statistic in product(
            ("ttft", "tpot", "itl", "e2el"), ("mean", "median", "std", "min", "max", *_PERCENTILES)
        )
    ),
)
