"""Rung 4: collectives over declared groups of nodes, and over all of them."""

import pytest

pytestmark = pytest.mark.needs("three nodes")


@pytest.mark.measures("group_all_reduce")
def test_all_reduce(group, size, measure, check):
    """All-reduce over the GPUs of a group of nodes runs at the bandwidth of the fabric.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare rungs 1 to 3 of these nodes first; if those pass, check the launcher's
        binding and the collective's log.
    """
    check(measure(group), size)


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


@pytest.mark.measures("group_all_reduce")
def test_all_reduce_traffic(group, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter grew.

    Pass: Every fabric NIC of every node carried its share of the payload, and no error counter
        grew.
    Fail: A NIC carried too little or nothing, the payload went over another device, or a port
        counted errors.
    Remedy: Compare the collective's own log (NET lines) with the HCA list of the platform file;
        check the idle NIC's port.
    """
    check_traffic(measure(group))


@pytest.mark.measures("group_all_gather")
def test_all_gather(group, size, measure, check):
    """All-gather over a group of nodes runs at the bandwidth of the fabric.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare rungs 1 to 3 of these nodes first; if those pass, check the launcher's
        binding and the collective's log.
    """
    check(measure(group), size)


@pytest.mark.measures("group_all_gather")
def test_all_gather_traffic(group, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter grew.

    Pass: Every fabric NIC of every node carried its share of the payload, and no error counter
        grew.
    Fail: A NIC carried too little or nothing, the payload went over another device, or a port
        counted errors.
    Remedy: Compare the collective's own log (NET lines) with the HCA list of the platform file;
        check the idle NIC's port.
    """
    check_traffic(measure(group))


@pytest.mark.measures("group_reduce_scatter")
def test_reduce_scatter(group, size, measure, check):
    """Reduce-scatter over a group of nodes runs at the bandwidth of the fabric.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare rungs 1 to 3 of these nodes first; if those pass, check the launcher's
        binding and the collective's log.
    """
    check(measure(group), size)


@pytest.mark.measures("group_reduce_scatter")
def test_reduce_scatter_traffic(group, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter grew.

    Pass: Every fabric NIC of every node carried its share of the payload, and no error counter
        grew.
    Fail: A NIC carried too little or nothing, the payload went over another device, or a port
        counted errors.
    Remedy: Compare the collective's own log (NET lines) with the HCA list of the platform file;
        check the idle NIC's port.
    """
    check_traffic(measure(group))


@pytest.mark.measures("group_alltoall")
def test_alltoall(group, size, measure, check):
    """All-to-all over a group of nodes runs at the bandwidth of the fabric.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare rungs 1 to 3 of these nodes first; if those pass, check the launcher's
        binding and the collective's log.
    """
    check(measure(group), size)


@pytest.mark.measures("group_alltoall")
def test_alltoall_traffic(group, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter grew.

    Pass: Every fabric NIC of every node carried its share of the payload, and no error counter
        grew.
    Fail: A NIC carried too little or nothing, the payload went over another device, or a port
        counted errors.
    Remedy: Compare the collective's own log (NET lines) with the HCA list of the platform file;
        check the idle NIC's port.
    """
    check_traffic(measure(group))


@pytest.mark.measures("group_sendrecv")
def test_sendrecv(group, size, measure, check):
    """Send-receive from the last GPU of a node to the first of the next runs at the fabric's rate.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare rungs 1 to 3 of these nodes first; if those pass, check the launcher's
        binding and the collective's log.
    """
    check(measure(group), size)


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


@pytest.mark.measures("group_broadcast")
def test_broadcast(group, size, measure, check):
    """Broadcast from one GPU over a group of nodes runs at the bandwidth of the fabric.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare rungs 1 to 3 of these nodes first; if those pass, check the launcher's
        binding and the collective's log.
    """
    check(measure(group), size)


@pytest.mark.measures("group_broadcast")
def test_broadcast_traffic(group, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter grew.

    Pass: Every fabric NIC of every node carried its share of the payload, and no error counter
        grew.
    Fail: A NIC carried too little or nothing, the payload went over another device, or a port
        counted errors.
    Remedy: Compare the collective's own log (NET lines) with the HCA list of the platform file;
        check the idle NIC's port.
    """
    check_traffic(measure(group))
