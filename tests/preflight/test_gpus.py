"""Rung 0: the declared GPUs are there, are the declared ones, and are idle."""

import pytest

pytestmark = pytest.mark.needs("gpus")


@pytest.mark.expects("gpu_count")
def test_gpu_count(node, expect):
    """The node has every declared GPU, and no other.

    Pass: The smi tool lists exactly the declared number of GPUs.
    Fail: A GPU is missing, or there is one too many.
    Remedy: Look in the kernel log for the GPU that fell off the bus; reset it or power-cycle
        the node.
    """
    expect(node)


@pytest.mark.expects("gpu_model")
def test_gpu_model(node, gpu, expect):
    """Every GPU is of the declared model.

    Pass: The smi tool's product name is the declared one.
    Fail: The GPU is of another model.
    Remedy: Correct the hostfile's platform, or replace the GPU.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_device_id")
@pytest.mark.needs("nvidia gpus")
def test_gpu_device_id(node, gpu, expect):
    """The GPU's PCI device id is that of the declared model.

    Pass: The device id is the declared one.
    Fail: Another GPU of the family is installed, whatever name the driver shows.
    Remedy: Compare the id with the PCI ID Repository; use the platform file of that model.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_memory")
def test_gpu_memory(node, gpu, expect):
    """The GPU has the full memory of its model.

    Pass: The memory size reaches the declared one.
    Fail: Memory is missing.
    Remedy: Check ECC, MIG and retired memory; replace the GPU if it stays.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_bus_id")
def test_gpu_bus_id(node, gpu, expect):
    """The GPU is in its declared PCIe slot.

    Pass: Its bus id is the declared one, or that of the same GPU on the other nodes.
    Fail: The GPU has another bus id.
    Remedy: Check the slots; GPU numbers and NIC affinity of the platform file follow the bus
        ids.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_persistence_mode")
def test_gpu_persistence_mode(node, gpu, expect):
    """The driver keeps the GPU initialised between jobs.

    Pass: Persistence mode is enabled.
    Fail: Persistence mode is off: the first job pays the initialisation, and settings are lost.
    Remedy: Enable the persistence daemon, or run with --prepare.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_ecc_errors")
def test_gpu_ecc_errors(node, gpu, expect):
    """The GPU counted no uncorrected memory error since the driver was loaded.

    Pass: The count of uncorrected errors is 0.
    Fail: There are uncorrected errors.
    Remedy: Drain the node, reset the GPU and run the vendor's memory diagnostic.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_row_remap")
def test_gpu_row_remap(node, gpu, expect):
    """No row of the GPU's memory waits to be remapped.

    Pass: No remap is pending.
    Fail: A remap is pending.
    Remedy: Reset the GPU; the remap happens at reset.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_pcie_width")
def test_gpu_pcie_width(node, gpu, expect):
    """The GPU's slot runs at its full width, in lanes.

    Pass: The link width is the declared one.
    Fail: The slot was trained to fewer lanes.
    Remedy: Reseat the GPU or its baseboard; check riser and retimer.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_links")
@pytest.mark.needs("linked gpus")
def test_gpu_links(node, gpu, expect):
    """Every link of the GPU to other GPUs is up.

    Pass: As many links are up as the platform file declares.
    Fail: A link is down.
    Remedy: Check the fabric manager and the kernel log; reset the GPUs; run the vendor's link
        diagnostic.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_processes")
def test_no_foreign_gpu_process(node, expect):
    """No other process uses the node's GPUs.

    Pass: The smi tool lists no process on any GPU.
    Fail: A process of somebody else runs on a GPU and would distort every measurement.
    Remedy: End the job, or drain the node before the run.
    """
    expect(node)


@pytest.mark.expects("peer_memory")
@pytest.mark.needs("rdma")
def test_peer_memory(node, expect):
    """NICs can reach GPU memory: the peer memory module or DMA-BUF is there.

    Pass: The declared kernel module is loaded.
    Fail: The module is missing: RDMA goes through host memory.
    Remedy: Load the module (nvidia_peermem, or the vendor's own) and have it loaded at boot.
    """
    expect(node)


@pytest.mark.expects("mm_kobj")
@pytest.mark.needs("metax gpus", "rdma")
def test_mm_kobj(node, expect):
    """The kernel exports mm_kobj, without which the RDMA stack has no list of peer memory clients.

    Pass: The symbol is exported.
    Fail: The kernel does not export it: the RDMA stack is built without memory_peers, and GPU
        memory is copied through host memory.
    Remedy: Boot a kernel that exports it, with the RDMA stack built for that kernel.
    """
    expect(node)


@pytest.mark.expects("gpu_topology")
@pytest.mark.needs("linked gpus")
def test_gpu_topology(node, gpu, expect):
    """The GPU is connected to each other GPU of its node as declared.

    Pass: The row of the topology matrix is the declared one.
    Fail: A connection is another one: a link is down, or a GPU is in another slot or island.
    Remedy: Compare the matrix with that of a good node; reseat the GPU or its bridge.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_nic_link")
@pytest.mark.needs("nics")
def test_gpu_nic_link(node, gpu, nic, expect):
    """The PCIe path between the GPU and the NIC is the declared one.

    Pass: The topology matrix shows the declared class (PIX, PXB, NODE, SYS).
    Fail: The path is another one: the NIC or GPU is in another slot, or ACS or BIOS changed the
        topology.
    Remedy: Compare the topology matrix with a node that passes; check slots and BIOS.
    """
    expect(node, gpu=gpu, nic=nic)
