"""Rung 2: NICs reach GPU memory at line rate, for every GPU/NIC pairing, near and far."""

import pytest


@pytest.mark.measures("gpu_write_bandwidth")
def test_gpu_write_bandwidth(pair, pairing, size, measure, check):
    """RDMA writes from GPU memory to GPU memory of another node run at line rate."""
    check(measure(pair, pairing), size)
