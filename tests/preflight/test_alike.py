"""Rung 0: the nodes of one cluster are alike."""

import pytest


@pytest.mark.expects("nodes_alike")
def test_nodes_are_alike(node, fact, expect):
    """A node has the same kernel, drivers and firmware as most others."""
    expect(node, fact=fact)
