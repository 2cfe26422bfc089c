"""Rung 5: the storage that the hostfile declares, as applications use it."""

import pytest


@pytest.mark.measures("node_storage")
@pytest.mark.needs("storage")
def test_storage_of_a_node(node, measure, check):
    """A node reads and writes each declared path at its rates, and handles files as fast.

    Pass: Every figure that the hostfile declares of a path is reached: sequential and random
        reads and writes, and files created, asked for their attributes and deleted.
    Fail: A figure is below the declared one.
    Remedy: Compare with another node: a path that is slow on one is its disk, mount options or
        link; one that is slow on all is the storage itself, or was busy.
    """
    check(measure(node))


@pytest.mark.measures("node_gds")
@pytest.mark.needs("nvidia gpus", "gpudirect storage")
def test_storage_of_a_gpu(node, measure, check):
    """A GPU reads and writes each declared path at its rates, past the host's memory.

    Pass: cuFile moved the data by GPUDirect Storage, at the rates that the hostfile declares.
    Fail: A rate is below the declared one.
    Remedy: Compare with what fio reads and writes there. If cuFile refuses the path, see gdscheck
        -p: it names file systems and drivers that have no direct path.
    """
    check(measure(node))


@pytest.mark.measures("group_storage")
@pytest.mark.needs("shared storage", "three nodes")
def test_storage_that_nodes_share(group, measure, check):
    """All nodes use a shared path at once: each gets its share, and reads what others wrote.

    Pass: The nodes' mean rate reaches the declared one, the slowest node its share of the median,
        and every block that a node reads is as another wrote it.
    Fail: A rate or a share is below the declared one, or a block is wrong.
    Remedy: One slow node is a slow client: compare its mount options, its link and its load. Wrong
        blocks: take the path out of use, and check the node or the servers that the cause names.
    """
    check(measure(group))
