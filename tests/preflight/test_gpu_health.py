"""Rung 0: the GPUs are whole and set up alike: memory, power, clocks, slot, links, partitions."""

import pytest


@pytest.mark.expects("gpu_ecc_mode")
def test_gpu_ecc_mode(node, gpu, expect):
    """The GPU's memory is protected by ECC."""
    expect(node, f"gpus.{gpu}.ecc_enabled")


@pytest.mark.expects("gpu_remap_failure")
def test_gpu_remap_failure(node, gpu, expect):
    """No bad row or page of the GPU's memory was left in use because none could replace it."""
    expect(node, f"gpus.{gpu}.remap_failed")


@pytest.mark.expects("gpu_remapped_rows")
def test_gpu_remapped_rows(node, gpu, expect):
    """So many rows of the GPU's memory were replaced, and no more."""
    expect(node, f"gpus.{gpu}.remapped_rows")


@pytest.mark.expects("gpu_retired_pages")
def test_gpu_retired_pages(node, gpu, expect):
    """So many pages of the GPU's memory were taken out of use, and no more."""
    expect(node, f"gpus.{gpu}.retired_pages")


@pytest.mark.expects("gpu_power_limit")
def test_gpu_power_limit(node, gpu, expect):
    """The GPU may draw its full power, in watts; without other word that of its delivery."""
    expect(node, f"gpus.{gpu}.power_limit_w", same_as=f"gpus.{gpu}.power_default_w")


@pytest.mark.expects("gpu_clock_max")
def test_gpu_clock_max(node, gpu, expect):
    """The GPU's clock may rise as high as that of all others of its model, in MHz."""
    expect(node, f"gpus.{gpu}.clock_max_mhz")


@pytest.mark.expects("gpu_pcie_generation")
def test_gpu_pcie_generation(node, gpu, expect):
    """The GPU's slot runs at its full generation of PCIe."""
    expect(node, f"gpus.{gpu}.pcie_gen", same_as=f"gpus.{gpu}.pcie_max_gen")


@pytest.mark.expects("gpu_link_count")
def test_gpu_link_count(node, gpu, expect):
    """The GPU has as many links to others as its model has, whether they are up or not."""
    expect(node, f"gpus.{gpu}.links_total")


@pytest.mark.expects("gpu_link_rate")
def test_gpu_link_rate(node, gpu, expect):
    """The GPU's slowest link runs at the rate of its model, in Gb/s one way."""
    expect(node, f"gpus.{gpu}.link_rate_gbps")


@pytest.mark.expects("gpu_fabric_state")
def test_gpu_fabric_state(node, gpu, expect):
    """The GPU has been admitted to the NVLink fabric."""
    expect(node, f"gpus.{gpu}.fabric")


@pytest.mark.expects("gpu_mig")
def test_gpu_mig(node, gpu, expect):
    """The GPU is not cut into instances."""
    expect(node, f"gpus.{gpu}.mig_enabled")


@pytest.mark.expects("gpu_compute_partition")
def test_gpu_compute_partition(node, gpu, expect):
    """All compute units of the GPU are one device."""
    expect(node, f"gpus.{gpu}.compute_partition")


@pytest.mark.expects("gpu_memory_partition")
def test_gpu_memory_partition(node, gpu, expect):
    """The GPU's memory is interleaved as declared."""
    expect(node, f"gpus.{gpu}.memory_partition")


@pytest.mark.expects("gpu_numa")
def test_gpu_numa(node, gpu, expect):
    """The GPU hangs on the NUMA node on which it hangs on the other nodes."""
    expect(node, f"gpus.{gpu}.numa_node")
