"""Rung 5: a served model answers in time, and a second node does not break it."""

import pytest

pytestmark = pytest.mark.needs("gpus", "model")


@pytest.mark.measures("node_serving")
def test_serving_on_one_node(node, measure, check):
    """One node serves the planned load: throughput, latencies, and no failed request.

    Pass: Throughput reaches its floor, every latency stays below its ceiling, and no request
        failed.
    Fail: Throughput or a latency misses its limit, or a request failed.
    Remedy: Look at rung 3 of the node first; then at the server's log in the transcript.
    """
    check(measure(node))


@pytest.mark.measures("pair_serving")
@pytest.mark.needs("two nodes")
def test_serving_on_two_nodes(pair, measure, check):
    """Two nodes together serve the planned load: throughput, latencies, and no failed request.

    Pass: Throughput reaches its floor, every latency stays below its ceiling, and no request
        failed.
    Fail: Throughput or a latency misses its limit, or a request failed.
    Remedy: Look at rung 4 of the pair first: a slow collective between the nodes shows there.
    """
    check(measure(pair))


@pytest.mark.measures("pair_serving")
@pytest.mark.needs("two nodes")
def test_second_node_scales(pair, measure, check_ratio):
    """Two nodes serve the declared share of one node's throughput at least.

    Pass: The ratio of two nodes' throughput to one node's reaches its floor.
    Fail: The second node costs more than it brings, as in document 000, where nine tenths were
        lost.
    Remedy: Check the transport that the model server chose between the nodes, and rung 4 of the
        pair.
    """
    one = measure(pair.source, of="node_serving")
    check_ratio(measure(pair), one)
