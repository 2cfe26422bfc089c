"""Rung 4: collectives across every pair of nodes."""

import pytest

pytestmark = pytest.mark.needs("two nodes")

COLLECTIVES = (
    "pair_all_reduce",
    "pair_all_gather",
    "pair_reduce_scatter",
    "pair_alltoall",
    "pair_sendrecv",
    "pair_broadcast",
)


@pytest.mark.measures(*COLLECTIVES)
def test_collective(measurement, pair, size, measure, check):
    """A collective over two nodes runs at the bandwidth of the fabric.

    pair_all_reduce: All-reduce over the GPUs of two nodes runs at the bandwidth of the fabric.
    pair_all_gather: All-gather over two nodes runs at the bandwidth of the fabric.
    pair_reduce_scatter: Reduce-scatter over two nodes runs at the bandwidth of the fabric.
    pair_alltoall: All-to-all over two nodes runs at the bandwidth of the fabric.
    pair_sendrecv: Send-receive from the last GPU of a node to the first of the next runs at the
        fabric's rate.
    pair_broadcast: Broadcast from one GPU over two nodes runs at the bandwidth of the fabric.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare rungs 1 to 3 of these nodes first; if those pass, check the launcher's
        binding and the collective's log.
    """
    check(measure(pair, of=measurement), size)


@pytest.mark.measures("pair_all_reduce")
def test_all_reduce_average(pair, measure, check):
    """All-reduce over two nodes reaches its average bus bandwidth over the sweep.

    Pass: The average bus bandwidth that the tool prints for the whole sweep reaches its floor.
    Fail: The average is below its floor; the items by message size show where.
    Remedy: Compare rungs 1 to 3 of these nodes first; if those pass, check the launcher's
        binding and the collective's log.
    """
    check(measure(pair))


@pytest.mark.measures("pair_all_reduce")
def test_all_reduce_transport(pair, measure, check_transport):
    """The collective's own log shows the fast path on every rank.

    Pass: The collective's log names the declared network and, where the platform has it,
        GPUDirect, on every rank.
    Fail: The log names another transport, such as sockets, or lacks GPUDirect.
    Remedy: Check the network plugin, the HCA list and the peer memory module; compare the
        environment in the transcript with the platform file.
    """
    check_transport(measure(pair))


@pytest.mark.measures("pair_all_reduce", "pair_all_gather", "pair_reduce_scatter", "pair_broadcast")
def test_traffic(measurement, pair, measure, check_traffic):
    """Every fabric NIC of every node carried its share, and no error counter grew.

    Pass: Every fabric NIC of every node carried its share of the payload, and no error counter
        grew.
    Fail: A NIC carried too little or nothing, the payload went over another device, or a port
        counted errors.
    Remedy: Compare the collective's own log (NET lines) with the HCA list of the platform file;
        check the idle NIC's port.
    """
    check_traffic(measure(pair, of=measurement))


@pytest.mark.measures("pair_all_reduce_one_gpu")
@pytest.mark.needs("gpus")
def test_all_reduce_of_one_gpu_a_node(pair, size, measure, check):
    """All-reduce over one GPU of each of two nodes runs at the bandwidth of its NIC.

    Pass: The bus bandwidth at this message size reaches its floor, and every result is correct.
    Fail: The bus bandwidth is below its floor, or a result is wrong.
    Remedy: Compare the rung 2 item of the same GPU and NIC: a slow pairing shows there first.
    """
    check(measure(pair), size)


@pytest.mark.measures("pair_all_reduce_one_gpu")
@pytest.mark.needs("gpus")
def test_traffic_of_one_gpu_a_node(pair, measure, check_traffic):
    """The fabric NICs of both nodes carried the payload, and no error counter grew.

    Pass: The fabric NICs of both nodes together carried the payload, and no error counter grew.
    Fail: A NIC carried too little or nothing, the payload went over another device, or a port
        counted errors.
    Remedy: Compare the collective's own log (NET lines) with the HCA list of the platform file;
        check the idle NIC's port.
    """
    check_traffic(measure(pair))


@pytest.mark.measures("pair_alltoall")
def test_alltoall_traffic(pair, measure, check_traffic):
    """The fabric NICs of both nodes carried the payload, and no error counter grew.

    Pass: The fabric NICs of both nodes together carried the payload, and no error counter grew.
    Fail: A NIC carried too little or nothing, the payload went over another device, or a port
        counted errors.
    Remedy: Compare the collective's own log (NET lines) with the HCA list of the platform file;
        check the idle NIC's port.
    """
    check_traffic(measure(pair))


@pytest.mark.measures("pair_sendrecv")
def test_sendrecv_traffic(pair, measure, check_traffic):
    """The NICs on the path of the send-receive carried the payload, and no error counter grew.

    Pass: The NICs that the ring uses carried the payload, and no error counter grew.
    Fail: A NIC carried too little or nothing, the payload went over another device, or a port
        counted errors.
    Remedy: Compare the collective's own log (NET lines) with the HCA list of the platform file;
        check the idle NIC's port.
    """
    check_traffic(measure(pair))
