"""Rung 4: a collective keeps its bandwidth from two nodes to all of them."""

import pytest

pytestmark = pytest.mark.needs("three nodes")

LADDERS = ("scaling_all_reduce", "scaling_all_reduce_tree")
IN_SWITCHES = ("scaling_all_reduce_nvls", "scaling_all_reduce_sharp")


@pytest.mark.measures(*LADDERS)
def test_scaling(measurement, group, smallest_step, measure, check_ratio):
    """All-reduce over 2, 4, 8 and up to all nodes keeps the bus bandwidth of a ring over two.

    The steps are made within a leaf, and across leaves with neighbours of the ring in different
    leaves. The library's log shows the algorithm, where its version names it.

    scaling_all_reduce: All-reduce as a ring over 2, 4, 8 and up to all nodes keeps the bus
        bandwidth of two nodes.
    scaling_all_reduce_tree: All-reduce as a tree over 2, 4, 8 and up to all nodes keeps the bus
        bandwidth of a ring over two, less what a tree sends more.

    Pass: The bus bandwidth of this step divided by that of a ring over two nodes reaches its floor.
    Fail: More nodes cost bandwidth although pairs are fine: uplinks, a leaf, or the collective as a
        whole. The run measures halves until it knows which.
    Remedy: Look at the causes; compare the uplinks of the leaves, their routes and adaptive
        routing.
    """
    check_ratio(measure(group, of=measurement), smallest_step(measurement))


@pytest.mark.measures(*IN_SWITCHES)
@pytest.mark.needs("nvidia gpus")
def test_scaling_in_switches(measurement, group, smallest_step, measure, check_ratio):
    """All-reduce that switches compute keeps the bus bandwidth of a ring over two nodes.

    scaling_all_reduce_nvls: Trees between nodes that reduce in the switches of NVLink keep the bus
        bandwidth of a ring over two nodes, less what a tree sends more.
    scaling_all_reduce_sharp: All-reduce in the switches of the network (SHARP) keeps the bus
        bandwidth of a ring over two nodes.

    Pass: The bus bandwidth of this step divided by that of a ring over two nodes reaches its floor,
        and the library's log shows the reduction in switches, where its version names it.
    Fail: The bus bandwidth falls with the number of nodes, or with this algorithm.
    Remedy: Look at the causes. If rings over the same nodes are fine, read the library's log for
        NVLS or CollNet, and check the aggregation manager of the subnet.
    """
    check_ratio(measure(group, of=measurement), smallest_step(measurement))
