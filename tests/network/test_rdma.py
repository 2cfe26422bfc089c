"""Rung 1: host-memory RDMA between any two nodes runs at line rate and without delay."""

import pytest

pytestmark = pytest.mark.needs("rdma", "two nodes")

BANDWIDTHS = (
    "host_write_bandwidth",
    "host_write_bandwidth_bidirectional",
    "host_read_bandwidth",
    "host_read_bandwidth_bidirectional",
    "host_send_bandwidth",
    "host_send_bandwidth_bidirectional",
    "host_send_bandwidth_4qp",
)


@pytest.mark.measures(*BANDWIDTHS)
def test_bandwidth(measurement, pair, pairing, size, measure, check):
    """Host-memory RDMA between any two nodes runs at line rate.

    host_write_bandwidth: Host-memory RDMA writes between any two nodes run at line rate.
    host_write_bandwidth_bidirectional: Host-memory RDMA writes run at line rate in both directions
        at once.
    host_read_bandwidth: Host-memory RDMA reads between any two nodes run at line rate.
    host_read_bandwidth_bidirectional: Host-memory RDMA reads run at line rate in both directions at
        once.
    host_send_bandwidth: Host-memory RDMA sends between any two nodes run at line rate.
    host_send_bandwidth_bidirectional: Host-memory RDMA sends run at line rate in both directions at
        once.
    host_send_bandwidth_4qp: Host-memory RDMA sends over four QPs run at line rate.

    Pass: The bandwidth at this message size reaches its floor.
    Fail: The bandwidth is below its floor.
    Remedy: Compare both nodes with other partners; then check PCIe slot, MTU, link rate and
        NUMA placement of the slow one.
    """
    check(measure(pair, pairing, of=measurement), size)


@pytest.mark.measures(*BANDWIDTHS, "host_send_latency")
def test_traffic(measurement, pair, pairing, measure, check_traffic):
    """The NIC under test carried the payload, no other NIC did, and no error counter grew.

    Pass: The counters of the NIC under test grew by the payload, those of the other fabric NICs
        did not, and no error counter grew.
    Fail: The payload went over another NIC or over TCP, or a port counted errors while it
        carried the payload.
    Remedy: Check the device and GID index in the transcript; for errors, check the cable and
        both transceivers.
    """
    check_traffic(measure(pair, pairing, of=measurement))


@pytest.mark.measures("host_write_latency", "host_read_latency", "host_send_latency")
def test_latency(measurement, pair, pairing, size, measure, check):
    """A small RDMA message between any two nodes has low latency.

    host_write_latency: A small RDMA write between any two nodes has low latency.
    host_read_latency: A small RDMA read between any two nodes has low latency.
    host_send_latency: A small RDMA send between any two nodes has low latency.

    Pass: The latency at this message size stays below its ceiling.
    Fail: The latency is above its ceiling.
    Remedy: Check power-saving states and the CPU governor of both nodes, and the path through
        the switches.
    """
    check(measure(pair, pairing, of=measurement), size)
