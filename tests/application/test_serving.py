"""Rung 5: a served model answers in time, and a second node does not break it."""

import pytest

pytestmark = pytest.mark.needs("gpus")


@pytest.mark.measures("node_serving")
def test_serving_on_one_node(node, measure, check):
    """One node serves its load: throughput, latencies, and no failed request."""
    check(measure(node))


@pytest.mark.measures("pair_serving")
@pytest.mark.needs("two nodes")
def test_serving_on_two_nodes(pair, measure, check):
    """Two nodes together serve their load: throughput, latencies, and no failed request."""
    check(measure(pair))


@pytest.mark.measures("pair_serving")
@pytest.mark.needs("two nodes")
def test_second_node_scales(pair, measure, check_ratio):
    """Two nodes serve half as much as one at least: the fault of document 000 cost nine tenths."""
    one = measure(pair.source, of="node_serving")
    check_ratio(measure(pair), one)
