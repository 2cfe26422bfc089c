"""Rung 0: the GPUs are whole and set up alike: memory, power, clocks, slot, links, partitions."""

import pytest

pytestmark = pytest.mark.needs("gpus")


@pytest.mark.expects("gpu_ecc_mode")
def test_gpu_ecc_mode(node, gpu, expect):
    """ECC protects the GPU's memory.

    Pass: The smi tool reports ECC as enabled.
    Fail: ECC is off: memory errors go unnoticed.
    Remedy: Enable ECC with the smi tool and reset the GPU.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_remap_failure")
def test_gpu_remap_failure(node, gpu, expect):
    """Every bad row or page of the GPU's memory could be replaced.

    Pass: No row remap and no page retirement has failed.
    Fail: A bad row or page stayed in use because no spare was left.
    Remedy: Replace the GPU.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_remapped_rows")
def test_gpu_remapped_rows(node, gpu, expect):
    """The GPU has no more remapped memory rows than allowed.

    Pass: The number of remapped rows is within its limit.
    Fail: More rows were remapped than the limit allows: the memory wears out.
    Remedy: Run the vendor's memory diagnostic; replace the GPU if the number grows.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_retired_pages")
def test_gpu_retired_pages(node, gpu, expect):
    """The GPU has no more retired memory pages than allowed.

    Pass: The number of retired pages is within its limit.
    Fail: More pages were retired than the limit allows: the memory wears out.
    Remedy: Run the vendor's memory diagnostic; replace the GPU if the number grows.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_power_limit")
def test_gpu_power_limit(node, gpu, expect):
    """The GPU may draw its full power, in watts.

    Pass: The power limit is the declared one, or the default of the GPU where none is declared.
    Fail: The power limit is lower: the GPU slows down under load.
    Remedy: Set the limit with the smi tool; check who lowered it (datacentre power capping, a
        job prolog).
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_clock_max")
def test_gpu_clock_max(node, gpu, expect):
    """The GPU's maximum clock is that of all GPUs of its model, in MHz.

    Pass: The maximum clock equals the declared one, or that of the other GPUs of the model.
    Fail: The maximum clock differs.
    Remedy: Compare VBIOS and application clocks with another GPU; reset the clocks with the smi
        tool.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_clock")
def test_gpu_clock(node, gpu, expect):
    """The GPU's clock is locked to the declared frequency, in MHz.

    Pass: The clock is the declared one.
    Fail: The clock differs, so that measurements vary with it.
    Remedy: Lock the clock with the smi tool, or run with --prepare where the platform offers
        it.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_pcie_generation")
def test_gpu_pcie_generation(node, gpu, expect):
    """The GPU's slot runs at its full PCIe generation.

    Pass: The generation is the declared one.
    Fail: The slot was trained to a lower generation.
    Remedy: Reseat the GPU or its baseboard; check the BIOS setting of the slot and retimer
        firmware.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_link_count")
@pytest.mark.needs("linked gpus")
def test_gpu_link_count(node, gpu, expect):
    """The GPU has every link to other GPUs that its model has, up or not.

    Pass: The number of links equals that of the platform file.
    Fail: Links are missing.
    Remedy: Check the bridge or baseboard; run the vendor's link diagnostic.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_link_rate")
@pytest.mark.needs("linked gpus")
def test_gpu_link_rate(node, gpu, expect):
    """The GPU's slowest link to another GPU runs at its model's rate, in Gb/s each way.

    Pass: The slowest link reaches the declared rate.
    Fail: A link runs below its rate.
    Remedy: Reset the GPUs; if it stays, run the vendor's link diagnostic on that link.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_fabric_state")
@pytest.mark.needs("linked gpus")
def test_gpu_fabric_state(node, gpu, expect):
    """The GPU has joined the NVLink fabric.

    Pass: The fabric state is completed, with success.
    Fail: The GPU is not registered with the fabric manager.
    Remedy: Check that the fabric manager runs and has the driver's version; then reset the GPU.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_mig")
def test_gpu_mig(node, gpu, expect):
    """The GPU is not divided into MIG instances.

    Pass: MIG mode is disabled.
    Fail: MIG mode is enabled: a collective sees a part of the GPU.
    Remedy: Disable MIG with the smi tool and reset the GPU.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_compute_partition")
@pytest.mark.needs("amd gpus")
def test_gpu_compute_partition(node, gpu, expect):
    """The GPU's compute units form one device.

    Pass: The compute partition is the declared one (SPX).
    Fail: The GPU is divided into several devices.
    Remedy: Set the compute partition with the smi tool.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_memory_partition")
@pytest.mark.needs("amd gpus")
def test_gpu_memory_partition(node, gpu, expect):
    """The GPU's memory is partitioned as declared.

    Pass: The memory partition is the declared one.
    Fail: The memory partition differs.
    Remedy: Set the memory partition with the smi tool; the driver must be reloaded.
    """
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_numa")
def test_gpu_numa(node, gpu, expect):
    """The GPU is attached to the same NUMA node as on the other nodes.

    Pass: The NUMA node is the declared one, or that of the same GPU on the other nodes.
    Fail: The GPU is attached to another NUMA node.
    Remedy: Check slot, riser cabling and the BIOS's NUMA setting against a node that passes.
    """
    expect(node, gpu=gpu)
