"""What a collective test prints for each size and placement, and once for the whole sweep."""

from railgauge.tools.metric import HIGHER, LOWER, SWEEP, Metric

METRICS = (
    Metric("time_us", ("us",), LOWER),
    Metric("cputime_us", ("us",), LOWER),
    Metric("algbw", ("GB/s",), HIGHER),
    Metric("busbw", ("GB/s",), HIGHER),
    Metric("wrong", ("count",), LOWER, may_be_zero=True),
    Metric("avg_busbw", ("GB/s",), HIGHER, per=SWEEP),
)
