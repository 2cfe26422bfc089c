"""Rung 0: the declared GPUs are there, are the declared ones, and are idle."""

import pytest

pytestmark = pytest.mark.needs("gpus")


@pytest.mark.expects("gpu_count")
def test_gpu_count(node, expect):
    """Every declared GPU is there, and no other."""
    expect(node)


@pytest.mark.expects("gpu_model")
def test_gpu_model(node, gpu, expect):
    """Every GPU is of the declared model."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_memory")
def test_gpu_memory(node, gpu, expect):
    """Every GPU has all of its memory."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_bus_id")
def test_gpu_bus_id(node, gpu, expect):
    """Every GPU sits in its slot."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_persistence_mode")
def test_gpu_persistence_mode(node, gpu, expect):
    """The driver keeps the GPU initialised between jobs."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_ecc_errors")
def test_gpu_ecc_errors(node, gpu, expect):
    """No uncorrected memory error since the driver was loaded."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_row_remap")
def test_gpu_row_remap(node, gpu, expect):
    """No memory row waits to be replaced."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_pcie_width")
def test_gpu_pcie_width(node, gpu, expect):
    """The GPU's slot runs at its full width, in lanes."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_links")
@pytest.mark.needs("linked gpus")
def test_gpu_links(node, gpu, expect):
    """Every link of the GPU to the others is up."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_processes")
def test_no_foreign_gpu_process(node, expect):
    """Nobody else uses the GPUs while they are measured."""
    expect(node)


@pytest.mark.expects("peer_memory")
@pytest.mark.needs("rdma")
def test_peer_memory(node, expect):
    """The GPU driver has registered with the RDMA stack, so that NICs reach GPU memory."""
    expect(node)


@pytest.mark.expects("gpu_nic_link")
@pytest.mark.needs("nics")
def test_gpu_nic_link(node, gpu, nic, expect):
    """Every GPU is connected to every NIC the way the platform declares."""
    expect(node, gpu=gpu, nic=nic)
