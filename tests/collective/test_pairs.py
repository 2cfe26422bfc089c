"""Rung 4: collectives across every pair of nodes."""

import pytest

pytestmark = pytest.mark.needs("two nodes")


@pytest.mark.measures("pair_all_reduce")
def test_all_reduce(pair, size, measure, check):
    """The GPUs of two nodes reduce at the rate of the fabric, iteration after iteration."""
    check(measure(pair), size)


@pytest.mark.measures("pair_all_reduce")
def test_all_reduce_average(pair, measure, check):
    """The average bus bandwidth over the whole sweep, as the tool prints it."""
    check(measure(pair))


@pytest.mark.measures("pair_all_reduce")
def test_all_reduce_transport(pair, measure, check_transport):
    """The collective's own log says that it took the fast path."""
    check_transport(measure(pair))


@pytest.mark.measures("pair_all_reduce")
def test_all_reduce_traffic(pair, measure, check_traffic):
    """Every fabric NIC of both nodes carried its share, and no error counter moved."""
    check_traffic(measure(pair))


@pytest.mark.measures("pair_all_reduce_one_gpu")
@pytest.mark.needs("gpus")
def test_all_reduce_of_one_gpu_a_node(pair, size, measure, check):
    """One GPU on each node: the path from GPU to GPU without any other in the way."""
    check(measure(pair), size)


@pytest.mark.measures("pair_all_reduce_one_gpu")
@pytest.mark.needs("gpus")
def test_traffic_of_one_gpu_a_node(pair, measure, check_traffic):
    """The fabric NICs of both nodes carried the payload, and no error counter moved."""
    check_traffic(measure(pair))


@pytest.mark.measures("pair_all_gather")
def test_all_gather(pair, size, measure, check):
    """Every GPU of two nodes collects the parts of all."""
    check(measure(pair), size)


@pytest.mark.measures("pair_all_gather")
def test_all_gather_traffic(pair, measure, check_traffic):
    """Every fabric NIC of both nodes carried its share, and no error counter moved."""
    check_traffic(measure(pair))


@pytest.mark.measures("pair_reduce_scatter")
def test_reduce_scatter(pair, size, measure, check):
    """Every GPU of two nodes gets its part of the sum."""
    check(measure(pair), size)


@pytest.mark.measures("pair_reduce_scatter")
def test_reduce_scatter_traffic(pair, measure, check_traffic):
    """Every fabric NIC of both nodes carried its share, and no error counter moved."""
    check_traffic(measure(pair))


@pytest.mark.measures("pair_alltoall")
def test_alltoall(pair, size, measure, check):
    """Every GPU of two nodes sends every other its own part."""
    check(measure(pair), size)


@pytest.mark.measures("pair_alltoall")
def test_alltoall_traffic(pair, measure, check_traffic):
    """The fabric NICs of both nodes carried the payload, and no error counter moved."""
    check_traffic(measure(pair))


@pytest.mark.measures("pair_sendrecv")
def test_sendrecv(pair, size, measure, check):
    """The last GPU of each node sends to the first of the other one."""
    check(measure(pair), size)


@pytest.mark.measures("pair_sendrecv")
def test_sendrecv_traffic(pair, measure, check_traffic):
    """Of both nodes the NICs that were due carried the payload, and no error counter moved."""
    check_traffic(measure(pair))


@pytest.mark.measures("pair_broadcast")
def test_broadcast(pair, size, measure, check):
    """One GPU sends to all of two nodes."""
    check(measure(pair), size)


@pytest.mark.measures("pair_broadcast")
def test_broadcast_traffic(pair, measure, check_traffic):
    """Every fabric NIC of both nodes carried its share, and no error counter moved."""
    check_traffic(measure(pair))
