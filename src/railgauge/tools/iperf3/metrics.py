"""What iperf3 says of the whole run and of its intervals."""

from railgauge.tools.metric import HIGHER, LOWER, Metric, several

_WAYS = ("", "_reverse")

METRICS = (
    *several(tuple(f"bw_{side}{way}" for side in ("sent", "received") for way in _WAYS), "Gb/s"),
    Metric("bw_interval", ("Gb/s",), HIGHER, may_be_zero=True),
    *(Metric(f"retransmits{way}", ("count",), LOWER, may_be_zero=True) for way in _WAYS),
)
