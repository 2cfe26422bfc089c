"""What mpi-bench prints for each size."""

from railgauge.tools.metric import HIGHER, LOWER, Metric

METRICS = (
    Metric("time_us", ("us",), LOWER),
    Metric("algbw", ("GB/s",), HIGHER),
    Metric("busbw", ("GB/s",), HIGHER),
    Metric("wrong", ("count",), LOWER, may_be_zero=True),
)
