"""Rung 4: collectives over declared groups of nodes, and over all of them."""

import pytest


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
