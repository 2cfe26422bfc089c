"""Rung 2: NICs reach GPU memory at line rate, for every GPU/NIC pairing, near and far."""

import pytest

pytestmark = pytest.mark.needs("gpus", "rdma", "two nodes")


@pytest.mark.measures("gpu_write_bandwidth")
def test_gpu_write_bandwidth(pair, pairing, size, measure, check):
    """RDMA writes from GPU memory to GPU memory of another node run at line rate.

    Pass: The bandwidth at this message size reaches the floor of this GPU/NIC pairing.
    Fail: The bandwidth is below its floor.
    Remedy: If host memory (rung 1) passes over the same NIC, check ACS, the peer memory module
        and the GPU's slot; else mend rung 1 first.
    """
    check(measure(pair, pairing), size)


@pytest.mark.measures("gpu_write_bandwidth")
def test_gpu_write_traffic(pair, pairing, measure, check_traffic):
    """The NIC under test carried the payload, no other NIC did, and no error counter grew.

    Pass: The counters of the NIC under test grew by the payload, those of the other fabric NICs
        did not, and no error counter grew.
    Fail: The payload went over another NIC or over TCP, or a port counted errors while it
        carried the payload.
    Remedy: Check the device and GID index in the transcript; for errors, check the cable and
        both transceivers.
    """
    check_traffic(measure(pair, pairing))


@pytest.mark.measures("gpu_write_bandwidth_rails")
def test_gpu_write_bandwidth_of_all_rails(pair, pairing, size, measure, check):
    """RDMA writes from GPU memory run at line rate on all rails of a pair at the same time.

    Pass: The bandwidth of this rail reaches its floor while all other rails are busy.
    Fail: The bandwidth is below its floor.
    Remedy: If the rail passes by itself, look for what the rails share: the socket's memory, a
        PCIe switch, a leaf's uplinks; else mend the rail first.
    """
    check(measure(pair, pairing), size)
