"""Rung 0: versions are the declared ones; where none is declared, all nodes and devices have one.

Where several versions of a thing are installed on a node, all of them are compared.
"""

import pytest


@pytest.mark.expects("kernel", "os")
def test_system_version(expectation, node, expect):
    """The node runs the declared release of its system, or that of the other nodes.

    kernel: The node runs the declared kernel, or that of the other nodes.
    os: The node runs the declared operating system release, or that of the other nodes.

    Pass: The version is the declared one; where none is declared, the one that most nodes have.
    Fail: The version differs.
    Remedy: Declare the wanted release in the hostfile (versions), and install it where it is
        missing: most nodes may have the wrong one.
    """
    expect(node, of=expectation)


@pytest.mark.expects("bios")
def test_bios(node, expect):
    """The node's firmware (BIOS) is the declared release, or that of the other nodes.

    Pass: The version is the declared one; where none is declared, all nodes have one version.
    Fail: The version differs.
    Remedy: Install the declared release on the node that differs, or declare another one in the
        hostfile (versions). Compare the settings too: an update resets some of them.
    """
    expect(node)


@pytest.mark.expects("ofed")
@pytest.mark.needs("rdma")
def test_ofed(node, expect):
    """The node runs the declared release of the RDMA drivers, or that of the other nodes.

    Pass: The version is the declared one; where none is declared, the one that most nodes have.
    Fail: The version differs.
    Remedy: Declare the wanted release in the hostfile (versions), and install it where it is
        missing: most nodes may have the wrong one.
    """
    expect(node)


@pytest.mark.expects("nic_firmware")
@pytest.mark.needs("rdma")
def test_nic_firmware(node, adapter, expect):
    """Every NIC has the declared firmware, or that of all NICs of its model.

    Pass: The firmware is the declared one; where none is declared, the one that most NICs of the
        model have.
    Fail: The firmware differs.
    Remedy: Declare the wanted release in the hostfile (versions), and update the NICs that do
        not have it: most of them may have the wrong one.
    """
    expect(node, adapter=adapter)


@pytest.mark.expects("gpu_driver", "gpu_runtime", "collective_library")
@pytest.mark.needs("gpus")
def test_gpu_software_version(expectation, node, expect):
    """The node runs the declared release of its GPU software, or that of the other nodes.

    gpu_driver: The node runs the declared GPU driver, or that of the other nodes.
    gpu_runtime: The node runs the declared release of CUDA, ROCm or MACA, or that of the other
        nodes.
    collective_library: The node runs the declared release of the collective library, or that of the
        other nodes.

    Pass: The version is the declared one; where none is declared, the one that most nodes have.
    Fail: The version differs.
    Remedy: Declare the wanted release in the hostfile (versions), and install it where it is
        missing: most nodes may have the wrong one.
    """
    expect(node, of=expectation)


@pytest.mark.expects("gpu_kernel_module")
@pytest.mark.needs("gpus")
def test_gpu_kernel_module(node, expect):
    """The GPU driver's kernel module is of the same kind on all nodes, open or proprietary.

    Pass: The kind is the declared one, or that of the other nodes.
    Fail: The kind differs.
    Remedy: Declare the wanted release in the hostfile (versions), and install it where it is
        missing: most nodes may have the wrong one.
    """
    expect(node)


@pytest.mark.expects("gpu_vbios")
@pytest.mark.needs("gpus")
def test_gpu_vbios(node, gpu, expect):
    """Every GPU has the declared VBIOS, or that of all GPUs of its model.

    Pass: The VBIOS is the declared one; where none is declared, the one that most GPUs of the
        model have.
    Fail: The VBIOS differs.
    Remedy: Declare the wanted release in the hostfile (versions), and update the GPUs that do
        not have it: most of them may have the wrong one.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_fabric_manager")
@pytest.mark.needs("linked gpus")
def test_gpu_fabric_manager(node, expect):
    """The fabric manager has the version of the GPU driver.

    Pass: Both versions are equal.
    Fail: The versions differ: the fabric manager does not start or does not register GPUs.
    Remedy: Install the fabric manager of the driver's version and restart it.
    """
    expect(node)
