"""Rung 4: a collective keeps its bandwidth from two nodes to all of them."""

import pytest

pytestmark = pytest.mark.needs("three nodes")


@pytest.mark.measures("scaling_all_reduce")
def test_scaling(group, smallest_step, measure, check_ratio):
    """All-reduce over 2, 4, 8 and up to all nodes keeps the bus bandwidth of two nodes.

    The steps are made within a leaf, and across leaves with neighbours of the ring in different
    leaves.

    Pass: The bus bandwidth of this step divided by that of two nodes reaches its floor.
    Fail: More nodes cost bandwidth although pairs are fine: uplinks, a leaf, or the collective as a
        whole. The run measures halves until it knows which.
    Remedy: Look at the causes; compare the uplinks of the leaves, their routes and adaptive
        routing.
    """
    check_ratio(measure(group), measure(smallest_step))
