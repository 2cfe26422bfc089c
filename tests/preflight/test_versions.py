"""Rung 0: versions are the declared ones; where none is declared, all nodes and devices have one.

Where several versions of a thing are installed on a node, all of them are compared.
"""

import pytest


@pytest.mark.expects("kernel")
def test_kernel(node, expect):
    """The node runs the kernel of the others."""
    expect(node)


@pytest.mark.expects("os")
def test_os(node, expect):
    """The node runs the operating system of the others."""
    expect(node)


@pytest.mark.expects("ofed")
@pytest.mark.needs("rdma")
def test_ofed(node, expect):
    """The node has the others' release of the RDMA drivers."""
    expect(node)


@pytest.mark.expects("nic_firmware")
@pytest.mark.needs("rdma")
def test_nic_firmware(node, adapter, expect):
    """Every adapter, whatever it carries, has the firmware of all others of its model."""
    expect(node, adapter=adapter)


@pytest.mark.expects("gpu_driver")
@pytest.mark.needs("gpus")
def test_gpu_driver(node, expect):
    """The node has the GPU driver of the others."""
    expect(node)


@pytest.mark.expects("gpu_kernel_module")
@pytest.mark.needs("gpus")
def test_gpu_kernel_module(node, expect):
    """The GPU driver's kernel module is of the same kind everywhere, open or proprietary."""
    expect(node)


@pytest.mark.expects("gpu_runtime")
@pytest.mark.needs("gpus")
def test_gpu_runtime(node, expect):
    """The node has the others' release of CUDA, ROCm or MACA."""
    expect(node)


@pytest.mark.expects("gpu_vbios")
@pytest.mark.needs("gpus")
def test_gpu_vbios(node, gpu, expect):
    """Every GPU has the firmware image of all others of its model."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_fabric_manager")
@pytest.mark.needs("linked gpus")
def test_gpu_fabric_manager(node, expect):
    """The fabric manager is of the release of the GPU driver, as it must be."""
    expect(node)


@pytest.mark.expects("collective_library")
@pytest.mark.needs("gpus")
def test_collective_library(node, expect):
    """The node has the others' collective library."""
    expect(node)
