"""Rung 3: collectives over the GPUs of one node."""

import pytest

pytestmark = pytest.mark.needs("linked gpus")

COLLECTIVES = (
    "node_all_reduce",
    "node_all_reduce_graph",
    "node_all_reduce_2gpu",
    "node_all_reduce_4gpu",
    "node_all_gather",
    "node_reduce_scatter",
    "node_alltoall",
    "node_sendrecv",
    "node_broadcast",
    "node_reduce",
)


@pytest.mark.measures(*COLLECTIVES)
def test_collective(measurement, node, size, measure, check):
    """A collective over GPUs of a node runs at the bandwidth of their links.

    node_all_reduce: All-reduce over all GPUs of a node runs at the bandwidth of their links.
    node_all_reduce_graph: All-reduce launched from a graph is quick at small message sizes too.
    node_all_reduce_2gpu: All-reduce over two GPUs of a node runs at the bandwidth of the links
        between them.
    node_all_reduce_4gpu: All-reduce over four GPUs of a node runs at the bandwidth of the links
        between them.
    node_all_gather: All-gather over all GPUs of a node runs at the bandwidth of their links.
    node_reduce_scatter: Reduce-scatter over all GPUs of a node runs at the bandwidth of their
        links.
    node_alltoall: All-to-all over all GPUs of a node runs at the bandwidth of their links.
    node_sendrecv: Send-receive around the GPUs of a node runs at the bandwidth of their links.
    node_broadcast: Broadcast from one GPU of a node to all runs at the bandwidth of their links.
    node_reduce: Reduce from all GPUs of a node to one runs at the bandwidth of their links.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node, of=measurement), size)


@pytest.mark.measures("node_all_reduce", "node_all_reduce_graph")
def test_average(measurement, node, measure, check):
    """All-reduce over all GPUs of a node reaches its average bus bandwidth over the sweep.

    node_all_reduce_graph: All-reduce launched from a graph reaches its average bus bandwidth over
        the sweep.

    Pass: The average bus bandwidth that the tool prints for the whole sweep reaches its floor.
    Fail: The average is below its floor; the items by message size show where.
    Remedy: Compare the rung 3 link items of this node; a slow link or a wrong binding shows
        there first.
    """
    check(measure(node, of=measurement))


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
