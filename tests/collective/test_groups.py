"""Rung 4: collectives over declared groups of nodes, and over all of them."""

import pytest

pytestmark = pytest.mark.needs("three nodes")

COLLECTIVES = (
    "group_all_reduce",
    "group_all_gather",
    "group_reduce_scatter",
    "group_alltoall",
    "group_sendrecv",
    "group_broadcast",
)


@pytest.mark.measures(*COLLECTIVES)
def test_collective(measurement, group, size, measure, check):
    """A collective over a group of nodes runs at the bandwidth of the fabric.

    group_all_reduce: All-reduce over the GPUs of a group of nodes runs at the bandwidth of the
        fabric.
    group_all_gather: All-gather over a group of nodes runs at the bandwidth of the fabric.
    group_reduce_scatter: Reduce-scatter over a group of nodes runs at the bandwidth of the fabric.
    group_alltoall: All-to-all over a group of nodes runs at the bandwidth of the fabric.
    group_sendrecv: Send-receive from the last GPU of a node to the first of the next runs at the
        fabric's rate.
    group_broadcast: Broadcast from one GPU over a group of nodes runs at the bandwidth of the
        fabric.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare rungs 1 to 3 of these nodes first; if those pass, check the launcher's
        binding and the collective's log.
    """
    check(measure(group, of=measurement), size)


@pytest.mark.measures("group_all_reduce")
def test_all_reduce_average(group, measure, check):
    """All-reduce over a group of nodes reaches its average bus bandwidth over the sweep.

    Pass: The average bus bandwidth that the tool prints for the whole sweep reaches its floor.
    Fail: The average is below its floor; the items by message size show where.
    Remedy: Compare rungs 1 to 3 of these nodes first; if those pass, check the launcher's
        binding and the collective's log.
    """
    check(measure(group))


@pytest.mark.measures("group_all_reduce")
def test_all_reduce_transport(group, measure, check_transport):
    """The collective's own log shows the fast path on every rank.

    Pass: The collective's log names the declared network and, where the platform has it,
        GPUDirect, on every rank.
    Fail: The log names another transport, such as sockets, or lacks GPUDirect.
    Remedy: Check the network plugin, the HCA list and the peer memory module; compare the
        environment in the transcript with the platform file.
    """
    check_transport(measure(group))


@pytest.mark.measures(
    "group_all_reduce",
    "group_all_gather",
    "group_reduce_scatter",
    "group_alltoall",
    "group_broadcast",
)
def test_traffic(measurement, group, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter grew.

    Pass: Every fabric NIC of every node carried its share of the payload, and no error counter
        grew.
    Fail: A NIC carried too little or nothing, the payload went over another device, or a port
        counted errors.
    Remedy: Compare the collective's own log (NET lines) with the HCA list of the platform file;
        check the idle NIC's port.
    """
    check_traffic(measure(group, of=measurement))


@pytest.mark.measures("group_sendrecv")
def test_sendrecv_traffic(group, measure, check_traffic):
    """The NICs on the path of the send-receive carried the payload, and no error counter grew.

    Pass: The NICs that the ring uses carried the payload, and no error counter grew.
    Fail: A NIC carried too little or nothing, the payload went over another device, or a port
        counted errors.
    Remedy: Compare the collective's own log (NET lines) with the HCA list of the platform file;
        check the idle NIC's port.
    """
    check_traffic(measure(group))
