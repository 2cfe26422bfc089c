"""The columns of perftest's tables."""

from railgauge.tools.metric import HIGHER, LOWER, Metric, several

_BANDWIDTHS = ("Gb/s", "MB/s", "MiB/s")
_LATENCIES = ("lat_min", "lat_max", "lat_typical", "lat_avg", "lat_p99", "lat_p999")

METRICS = (
    Metric("bw_peak", _BANDWIDTHS, HIGHER),
    Metric("bw_average", _BANDWIDTHS, HIGHER),
    Metric("msg_rate", ("Mpps",), HIGHER),
    Metric("tps", ("1/s",), HIGHER),
    *several(_LATENCIES, "us", LOWER),
    Metric("lat_stdev", ("us",), LOWER, may_be_zero=True),
)
