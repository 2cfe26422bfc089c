"""Rung 5: the storage that the hostfile declares, as applications use it."""

import pytest

pytestmark = pytest.mark.needs("storage")


@pytest.mark.measures("node_storage")
def test_storage_of_a_node(node, measure, check):
    """A node reads and writes each declared path at its rates, and handles files as fast.

    Pass: Every figure that the hostfile declares of a path is reached: sequential and random
        reads and writes, and files created, asked for their attributes and deleted.
    Fail: A figure is below the declared one.
    Remedy: Compare with another node: a path that is slow on one is its disk, mount options or
        link; one that is slow on all is the storage itself, or was busy.
    """
    check(measure(node))
