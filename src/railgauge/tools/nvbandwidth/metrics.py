"""The test cases of nvbandwidth, each under its own name."""

from itertools import product

from railgauge.tools.metric import HIGHER, LOWER, Metric, several

_HOST = tuple(
    f"{ends}{ways}_memcpy"
    for ends in ("host_to_device", "device_to_host", "host_to_all", "all_to_host")
    for ways in ("", "_bidirectional")
)
_PEERS = tuple(
    f"device_to_device{ways}_memcpy_{verb}"
    for ways, verb in product(("", "_bidirectional"), ("read", "write"))
)
_ONE_AND_ALL = tuple(
    f"{ends}_{verb}" for ends, verb in product(("all_to_one", "one_to_all"), ("write", "read"))
)
_BISECT = ("device_to_device_all_to_one", "device_to_device_all_from_one", "bisect_write")
_COPIES = (
    *(
        f"{prefix}{name}_{engine}"
        for prefix, name, engine in product(
            ("", "multinode_"), (*_HOST, *_PEERS, *_ONE_AND_ALL, *_BISECT), ("ce", "sm")
        )
    ),
    "device_local_copy",
)
_LATENCIES = tuple(
    f"{prefix}{name}_latency_sm"
    for prefix, name in product(("", "multinode_"), ("host_device", "device_to_device"))
)
# A bidirectional case prints its parts beside the total of both directions.
_PARTS = ("", "_read1", "_read2", "_write1", "_write2")


def _with_totals(name: str, unit: str) -> tuple[Metric, ...]:
    """What is measured, its printed sum, and of how many cells."""
    better = LOWER if name in _LATENCIES else HIGHER
    cells = Metric(f"{name}_cells", ("count",), HIGHER, may_be_zero=True)
    return *several((name, f"{name}_sum"), unit, better), cells


METRICS = (
    *(
        metric
        for copy in _COPIES
        for part in (_PARTS if "_bidirectional_" in copy else _PARTS[:1])
        for metric in _with_totals(f"{copy}{part}", "GB/s")
    ),
    *(metric for latency in _LATENCIES for metric in _with_totals(latency, "ns")),
)
