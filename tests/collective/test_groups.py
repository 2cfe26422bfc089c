"""Rung 4: collectives over declared groups of nodes, and over all of them."""

import pytest

pytestmark = pytest.mark.needs("three nodes")


@pytest.mark.measures("group_all_reduce")
def test_all_reduce(group, size, measure, check):
    """The GPUs of all nodes of a group reduce at the rate of the fabric."""
    check(measure(group), size)


@pytest.mark.measures("group_all_reduce")
def test_all_reduce_average(group, measure, check):
    """The average bus bandwidth over the whole sweep, as the tool prints it."""
    check(measure(group))


@pytest.mark.measures("group_all_reduce")
def test_all_reduce_transport(group, measure, check_transport):
    """The collective's own log says that it took the fast path."""
    check_transport(measure(group))


@pytest.mark.measures("group_all_reduce")
def test_all_reduce_traffic(group, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter moved."""
    check_traffic(measure(group))


@pytest.mark.measures("group_all_gather")
def test_all_gather(group, size, measure, check):
    """Every GPU of a group collects the parts of all."""
    check(measure(group), size)


@pytest.mark.measures("group_all_gather")
def test_all_gather_traffic(group, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter moved."""
    check_traffic(measure(group))


@pytest.mark.measures("group_reduce_scatter")
def test_reduce_scatter(group, size, measure, check):
    """Every GPU of a group gets its part of the sum."""
    check(measure(group), size)


@pytest.mark.measures("group_reduce_scatter")
def test_reduce_scatter_traffic(group, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter moved."""
    check_traffic(measure(group))


@pytest.mark.measures("group_alltoall")
def test_alltoall(group, size, measure, check):
    """Every GPU of a group sends every other its own part."""
    check(measure(group), size)


@pytest.mark.measures("group_alltoall")
def test_alltoall_traffic(group, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter moved."""
    check_traffic(measure(group))


@pytest.mark.measures("group_sendrecv")
def test_sendrecv(group, size, measure, check):
    """The last GPU of each node sends to the first of the next one."""
    check(measure(group), size)


@pytest.mark.measures("group_sendrecv")
def test_sendrecv_traffic(group, measure, check_traffic):
    """Of every node the NICs that were due carried the payload, and no error counter moved."""
    check_traffic(measure(group))


@pytest.mark.measures("group_broadcast")
def test_broadcast(group, size, measure, check):
    """One GPU sends to all of a group."""
    check(measure(group), size)


@pytest.mark.measures("group_broadcast")
def test_broadcast_traffic(group, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter moved."""
    check_traffic(measure(group))
