"""What a collective moved between nodes."""

from __future__ import annotations

from railgauge.core.model import Parsed

_GB, _US = 1e9, 1e-6


def payload_bytes(parsed: Parsed) -> float:
    """Bytes that each node sent to the others, if it was a ring; 0 inside one node.

    Bus bandwidth x time is what one rank sends in an iteration (2(n-1)/n of the message for
    all_reduce), and a ring enters and leaves every node once: all ranks of a node together send
    that much to the next one.
    """
    nnodes, iterations = parsed.summary.get("nnodes"), parsed.summary.get("iterations")
    if not isinstance(nnodes, int) or nnodes < 2 or not isinstance(iterations, int):  # noqa: PLR2004
        return 0.0
    keys = {
        (s.size_bytes, s.placement, s.iteration): s.value
        for s in parsed.samples
        if s.metric == "time_us"
    }
    return iterations * sum(
        sample.value * _GB * keys[key] * _US
        for sample in parsed.samples
        if sample.metric == "busbw"
        and (key := (sample.size_bytes, sample.placement, sample.iteration)) in keys
    )
