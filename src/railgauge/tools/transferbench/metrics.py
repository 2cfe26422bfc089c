"""Links, sums and averages of the matrices, and the transfers of configuration files."""

from railgauge.tools.metric import several

# One way, as it is; both ways at once: there, back, and the sum of both.
_WAYS = ("", "_forward", "_backward", "_bidirectional")
_BETWEEN = ("link_bw", "host_link_bw", "cpu_link_bw", "local_bw")
_OVER_LINKS = ("slowest_link", "average_bw")
_OF_GPUS = ("gpu_sum", "gpu_actual", "derived_aggregate", "aggregate_bw", "cpu_aggregate_bw")
_TRANSFERS = ("executor_bw", "transfer_bw", "test_cpu_bw")

METRICS = (
    *several(tuple(f"{name}{way}" for name in _BETWEEN for way in _WAYS), "GB/s"),
    *several(tuple(f"{name}{way}" for name in _OVER_LINKS for way in ("", _WAYS[-1])), "GB/s"),
    *several((*_OF_GPUS, *_TRANSFERS), "GB/s"),
    *several(("links",), "count"),
)
