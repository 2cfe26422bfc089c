"""Rung 4: a pair of nodes keeps its latency and bandwidth while all others load the fabric."""

import pytest


@pytest.mark.measures("group_congestion")
@pytest.mark.needs("gpus", "rdma", "four nodes")
def test_congestion(group, measure, check):
    """The traffic of all other nodes leaves two nodes their latency and their bandwidth.

    The first two nodes of the group are in different leaves. They are measured by themselves, while
    all others run an all-to-all, and by themselves again.

    Pass: The 99th percentile of the latency and the bandwidth under load, divided by the better
        ones without it, reach their limits; without load both are those of a quiet fabric.
    Fail: Others slow the pair: its messages wait in queues, or its flow shares a link.
    Remedy: Look at congestion control (IB CC, or ECN and DCQCN), PFC, service levels and adaptive
        routing of the switches between the leaves; a pair that is slow without load was not alone.
    """
    check(measure(group))
