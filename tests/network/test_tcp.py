"""Rung 1: TCP between any two nodes, on platforms whose fabric is Ethernet without RDMA."""

import pytest

pytestmark = pytest.mark.needs("ethernet", "two nodes")


@pytest.mark.measures("host_tcp_bandwidth")
def test_tcp_bandwidth(pair, pairing, measure, check):
    """A TCP stream over each fabric NIC between two nodes runs at its rate.

    Pass: The bandwidth reaches its floor.
    Fail: The bandwidth is below its floor.
    Remedy: Check MTU, offloads and interrupt placement of both nodes; then the switches
        between.
    """
    check(measure(pair, pairing))


@pytest.mark.measures("host_tcp_bandwidth")
def test_tcp_traffic(pair, pairing, measure, check_traffic):
    """The NIC under test carried the payload, no other NIC did, and nothing was dropped.

    Pass: The counters of the NIC under test grew by the payload, those of the other NICs did
        not, and no drop was counted.
    Fail: The payload went over another NIC, or packets were dropped.
    Remedy: Check addresses and routes of the fabric NICs; for drops, check ring sizes and flow
        control.
    """
    check_traffic(measure(pair, pairing))
