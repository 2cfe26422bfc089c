"""Bindings of GPUDirect-TCPX in the library's log, which document 003 shows (section 2).

The plugin prints each of its variables with its value; one that is not set reads ``(null)``.
"""

from __future__ import annotations

import pytest

from railgauge.tools import tool

_ETH = "eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177"
_TABLE = """\
# nThread 1 nGpus 8 minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
{}
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        1024           256     float     sum      -1    100.0    0.01    0.02      0    100.0    0.01    0.02      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.02
"""  # noqa: E501


def logged(*lines: str) -> str:
    return _TABLE.format("\n".join(f"tcpx01:71:95 [0] NCCL INFO {line}" for line in lines))


@pytest.mark.parametrize("text", ["{}={}", "{} {}", "{} set by environment to {}."])
def test_bindings_that_are_not_set_are_no_fault(text: str) -> None:
    names = {f"{one}_BINDINGS": _ETH for one in ("TX", "RX")}
    names |= {f"{one}_IRQ_BINDINGS": "(null)" for one in ("TX", "RX")}
    lines = [text.format(f"NCCL_GPUDIRECTTCPX_{one}", value) for one, value in names.items()]
    parsed = tool("ccl-tests").parse(logged(*lines))
    assert parsed.errors == ()
    assert parsed.summary["bindings"] == {"TX": _ETH, "RX": _ETH, "TX_IRQ": None, "RX_IRQ": None}


def test_a_log_without_the_variables_has_no_bindings() -> None:
    assert "bindings" not in tool("ccl-tests").parse(logged("Using network Socket")).summary
