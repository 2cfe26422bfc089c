"""Rung 2: NICs reach GPU memory at line rate, for every GPU/NIC pairing, near and far."""

import pytest

pytestmark = pytest.mark.needs("gpus", "rdma", "two nodes")


@pytest.mark.measures("gpu_write_bandwidth")
def test_gpu_write_bandwidth(pair, pairing, size, measure, check):
    """RDMA writes from GPU memory to GPU memory of another node run at line rate."""
    check(measure(pair, pairing), size)


@pytest.mark.measures("gpu_write_bandwidth")
def test_gpu_write_traffic(pair, pairing, measure, check_traffic):
    """The NIC that was asked carried the payload, no other did, and no error counter moved."""
    check_traffic(measure(pair, pairing))
