"""Rung 3: collectives over the GPUs of one node."""

import pytest

pytestmark = pytest.mark.needs("linked gpus")


@pytest.mark.measures("node_all_reduce")
def test_all_reduce(node, size, measure, check):
    """All GPUs of a node reduce at the rate of their links."""
    check(measure(node), size)


@pytest.mark.measures("node_all_reduce")
def test_all_reduce_average(node, measure, check):
    """The average bus bandwidth over the whole sweep, as the tool prints it."""
    check(measure(node))


@pytest.mark.measures("node_all_reduce_graph")
def test_all_reduce_from_a_graph(node, size, measure, check):
    """Launched from a graph, small reductions do not wait for the host."""
    check(measure(node), size)


@pytest.mark.measures("node_all_reduce_graph")
def test_all_reduce_from_a_graph_average(node, measure, check):
    """The average bus bandwidth over the whole sweep from a graph, as the tool prints it."""
    check(measure(node))


@pytest.mark.measures("node_all_reduce_2gpu")
def test_all_reduce_of_two(node, size, measure, check):
    """Two GPUs of a node reduce at the rate of the links between them."""
    check(measure(node), size)


@pytest.mark.measures("node_all_reduce_4gpu")
def test_all_reduce_of_four(node, size, measure, check):
    """Four GPUs of a node reduce at the rate of the links between them."""
    check(measure(node), size)


@pytest.mark.measures("node_all_gather")
def test_all_gather(node, size, measure, check):
    """Every GPU of a node collects the parts of all."""
    check(measure(node), size)


@pytest.mark.measures("node_reduce_scatter")
def test_reduce_scatter(node, size, measure, check):
    """Every GPU of a node gets its part of the sum."""
    check(measure(node), size)


@pytest.mark.measures("node_alltoall")
def test_alltoall(node, size, measure, check):
    """Every GPU of a node sends every other its own part."""
    check(measure(node), size)


@pytest.mark.measures("node_sendrecv")
def test_sendrecv(node, size, measure, check):
    """Every GPU of a node sends to the next one."""
    check(measure(node), size)


@pytest.mark.measures("node_broadcast")
def test_broadcast(node, size, measure, check):
    """One GPU of a node sends to all."""
    check(measure(node), size)


@pytest.mark.measures("node_reduce")
def test_reduce(node, size, measure, check):
    """One GPU of a node gets the sum of all."""
    check(measure(node), size)
