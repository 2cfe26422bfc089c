"""Rung 1: host-memory RDMA between any two nodes runs at line rate and without delay."""

import pytest

pytestmark = pytest.mark.needs("rdma", "two nodes")


@pytest.mark.measures("host_write_bandwidth")
def test_write_bandwidth(pair, pairing, size, measure, check):
    """Host-memory RDMA writes between any two nodes run at line rate."""
    check(measure(pair, pairing), size)


@pytest.mark.measures("host_write_bandwidth")
def test_write_traffic(pair, pairing, measure, check_traffic):
    """The NIC that was asked carried the payload, no other did, and no error counter moved."""
    check_traffic(measure(pair, pairing))


@pytest.mark.measures("host_write_bandwidth_bidirectional")
def test_write_bandwidth_both_ways(pair, pairing, size, measure, check):
    """Host-memory RDMA writes run at line rate in both directions at once."""
    check(measure(pair, pairing), size)


@pytest.mark.measures("host_write_bandwidth_bidirectional")
def test_write_traffic_both_ways(pair, pairing, measure, check_traffic):
    """The NIC that was asked carried the payload, no other did, and no error counter moved."""
    check_traffic(measure(pair, pairing))


@pytest.mark.measures("host_read_bandwidth")
def test_read_bandwidth(pair, pairing, size, measure, check):
    """Host-memory RDMA reads between any two nodes run at line rate."""
    check(measure(pair, pairing), size)


@pytest.mark.measures("host_read_bandwidth")
def test_read_traffic(pair, pairing, measure, check_traffic):
    """The NIC that was asked carried the payload, no other did, and no error counter moved."""
    check_traffic(measure(pair, pairing))


@pytest.mark.measures("host_read_bandwidth_bidirectional")
def test_read_bandwidth_both_ways(pair, pairing, size, measure, check):
    """Host-memory RDMA reads run at line rate in both directions at once."""
    check(measure(pair, pairing), size)


@pytest.mark.measures("host_read_bandwidth_bidirectional")
def test_read_traffic_both_ways(pair, pairing, measure, check_traffic):
    """The NIC that was asked carried the payload, no other did, and no error counter moved."""
    check_traffic(measure(pair, pairing))


@pytest.mark.measures("host_send_bandwidth")
def test_send_bandwidth(pair, pairing, size, measure, check):
    """Messages between any two nodes run at line rate."""
    check(measure(pair, pairing), size)


@pytest.mark.measures("host_send_bandwidth")
def test_send_traffic(pair, pairing, measure, check_traffic):
    """The NIC that was asked carried the payload, no other did, and no error counter moved."""
    check_traffic(measure(pair, pairing))


@pytest.mark.measures("host_send_bandwidth_bidirectional")
def test_send_bandwidth_both_ways(pair, pairing, size, measure, check):
    """Messages run at line rate in both directions at once."""
    check(measure(pair, pairing), size)


@pytest.mark.measures("host_send_bandwidth_bidirectional")
def test_send_traffic_both_ways(pair, pairing, measure, check_traffic):
    """The NIC that was asked carried the payload, no other did, and no error counter moved."""
    check_traffic(measure(pair, pairing))


@pytest.mark.measures("host_send_bandwidth_4qp")
def test_send_bandwidth_over_four_queue_pairs(pair, pairing, size, measure, check):
    """Four queue pairs at once lose nothing against one."""
    check(measure(pair, pairing), size)


@pytest.mark.measures("host_send_bandwidth_4qp")
def test_send_traffic_over_four_queue_pairs(pair, pairing, measure, check_traffic):
    """The NIC that was asked carried the payload, no other did, and no error counter moved."""
    check_traffic(measure(pair, pairing))


@pytest.mark.measures("host_write_latency")
def test_write_latency(pair, pairing, size, measure, check):
    """A small RDMA write arrives without delay."""
    check(measure(pair, pairing), size)


@pytest.mark.measures("host_read_latency")
def test_read_latency(pair, pairing, size, measure, check):
    """A small RDMA read returns without delay."""
    check(measure(pair, pairing), size)


@pytest.mark.measures("host_send_latency")
def test_send_latency(pair, pairing, size, measure, check):
    """A small message arrives without delay."""
    check(measure(pair, pairing), size)


@pytest.mark.measures("host_send_latency")
def test_send_latency_traffic(pair, pairing, measure, check_traffic):
    """The NIC that was asked carried the messages, no other did, and no error counter moved."""
    check_traffic(measure(pair, pairing))
