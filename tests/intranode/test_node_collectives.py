"""Rung 3: collectives over the GPUs of one node."""

import pytest

pytestmark = pytest.mark.needs("linked gpus")


@pytest.mark.measures("node_all_reduce")
def test_all_reduce(node, size, measure, check):
    """All-reduce over all GPUs of a node runs at the bandwidth of their links.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node), size)


@pytest.mark.measures("node_all_reduce")
def test_all_reduce_average(node, measure, check):
    """All-reduce over all GPUs of a node reaches its average bus bandwidth over the sweep.

    Pass: The average bus bandwidth that the tool prints for the whole sweep reaches its floor.
    Fail: The average is below its floor; the items by message size show where.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node))


@pytest.mark.measures("node_all_reduce")
def test_all_reduce_and_its_links(node, measure, check_ratio):
    """All-reduce over all GPUs of a node carries what their slowest link allows, and no more.

    Pass: The bus bandwidth of the largest message, divided by that of the slowest link, lies
        between its limits.
    Fail: It is lower: the links are faster than the collective over them. Where it is higher than
        links can carry, one of the two measurements is wrong, and the item is an error.
    Remedy: Measure both again by themselves; then look at the library's topology (NCCL_DEBUG=INFO)
        and at what else runs on the node.
    """
    links = measure(node, of="gpu_link_bandwidth")
    check_ratio(measure(node), links)


@pytest.mark.measures("node_all_reduce_graph")
def test_all_reduce_from_a_graph(node, size, measure, check):
    """All-reduce launched from a graph is quick at small message sizes too.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node), size)


@pytest.mark.measures("node_all_reduce_graph")
def test_all_reduce_from_a_graph_average(node, measure, check):
    """All-reduce launched from a graph reaches its average bus bandwidth over the sweep.

    Pass: The average bus bandwidth that the tool prints for the whole sweep reaches its floor.
    Fail: The average is below its floor; the items by message size show where.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node))


@pytest.mark.measures("node_all_reduce_2gpu")
def test_all_reduce_of_two(node, size, measure, check):
    """All-reduce over two GPUs of a node runs at the bandwidth of the links between them.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node), size)


@pytest.mark.measures("node_all_reduce_4gpu")
def test_all_reduce_of_four(node, size, measure, check):
    """All-reduce over four GPUs of a node runs at the bandwidth of the links between them.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node), size)


@pytest.mark.measures("node_all_gather")
def test_all_gather(node, size, measure, check):
    """All-gather over all GPUs of a node runs at the bandwidth of their links.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node), size)


@pytest.mark.measures("node_reduce_scatter")
def test_reduce_scatter(node, size, measure, check):
    """Reduce-scatter over all GPUs of a node runs at the bandwidth of their links.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node), size)


@pytest.mark.measures("node_alltoall")
def test_alltoall(node, size, measure, check):
    """All-to-all over all GPUs of a node runs at the bandwidth of their links.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node), size)


@pytest.mark.measures("node_sendrecv")
def test_sendrecv(node, size, measure, check):
    """Send-receive around the GPUs of a node runs at the bandwidth of their links.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node), size)


@pytest.mark.measures("node_broadcast")
def test_broadcast(node, size, measure, check):
    """Broadcast from one GPU of a node to all runs at the bandwidth of their links.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node), size)


@pytest.mark.measures("node_reduce")
def test_reduce(node, size, measure, check):
    """Reduce from all GPUs of a node to one runs at the bandwidth of their links.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node), size)
