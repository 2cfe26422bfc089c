"""Rung 1: TCP between any two nodes, on platforms whose fabric is Ethernet without RDMA."""

import pytest

pytestmark = pytest.mark.needs("ethernet", "two nodes")


@pytest.mark.measures("host_tcp_bandwidth")
def test_tcp_bandwidth(pair, pairing, measure, check):
    """A TCP stream between two nodes over each fabric NIC runs at its rate."""
    check(measure(pair, pairing))


@pytest.mark.measures("host_tcp_bandwidth")
def test_tcp_traffic(pair, pairing, measure, check_traffic):
    """The NIC that was asked carried the payload, no other did, and nothing was dropped."""
    check_traffic(measure(pair, pairing))
