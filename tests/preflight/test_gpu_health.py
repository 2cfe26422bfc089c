"""Rung 0: the GPUs are whole and set up alike: memory, power, clocks, slot, links, partitions."""

import pytest

pytestmark = pytest.mark.needs("gpus")


@pytest.mark.expects("gpu_ecc_mode")
def test_gpu_ecc_mode(node, gpu, expect):
    """The GPU's memory is protected by ECC."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_remap_failure")
def test_gpu_remap_failure(node, gpu, expect):
    """No bad row or page of the GPU's memory was left in use because none could replace it."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_remapped_rows")
def test_gpu_remapped_rows(node, gpu, expect):
    """So many rows of the GPU's memory were replaced, and no more."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_retired_pages")
def test_gpu_retired_pages(node, gpu, expect):
    """So many pages of the GPU's memory were taken out of use, and no more."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_power_limit")
def test_gpu_power_limit(node, gpu, expect):
    """The GPU may draw its full power, in watts; without other word that of its delivery."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_clock_max")
def test_gpu_clock_max(node, gpu, expect):
    """The GPU's clock may rise as high as that of all others of its model, in MHz."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_clock")
def test_gpu_clock(node, gpu, expect):
    """The GPU's clock is locked where it is to stay while everything is measured, in MHz."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_pcie_generation")
def test_gpu_pcie_generation(node, gpu, expect):
    """The GPU's slot runs at its full generation of PCIe."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_link_count")
@pytest.mark.needs("linked gpus")
def test_gpu_link_count(node, gpu, expect):
    """The GPU has as many links to others as its model has, whether they are up or not."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_link_rate")
@pytest.mark.needs("linked gpus")
def test_gpu_link_rate(node, gpu, expect):
    """The GPU's slowest link runs at the rate of its model, in Gb/s one way."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_fabric_state")
@pytest.mark.needs("linked gpus")
def test_gpu_fabric_state(node, gpu, expect):
    """The GPU has been admitted to the NVLink fabric."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_mig")
def test_gpu_mig(node, gpu, expect):
    """The GPU is not cut into instances."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_compute_partition")
@pytest.mark.needs("amd gpus")
def test_gpu_compute_partition(node, gpu, expect):
    """All compute units of the GPU are one device."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_memory_partition")
@pytest.mark.needs("amd gpus")
def test_gpu_memory_partition(node, gpu, expect):
    """The GPU's memory is interleaved as declared."""
    expect(node, gpu=gpu)


@pytest.mark.expects("gpu_numa")
def test_gpu_numa(node, gpu, expect):
    """The GPU hangs on the NUMA node on which it hangs on the other nodes."""
    expect(node, gpu=gpu)
