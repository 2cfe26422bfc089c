"""Rung 0: the declared GPUs are there, are the declared ones, and are idle."""

import pytest


@pytest.mark.expects("gpu_count")
def test_gpu_count(node, facts, expect, platform):
    """Every declared GPU is there, and no other."""
    expect(len(facts(node)["gpus"]), declared=platform.gpus.count)


@pytest.mark.expects("gpu_model")
def test_gpu_model(node, gpu, facts, expect, platform):
    """Every GPU is of the declared model."""
    expect(facts(node)[f"gpus.{gpu}.model"], declared=platform.gpus.model)


@pytest.mark.expects("gpu_memory")
def test_gpu_memory(node, gpu, facts, expect, platform):
    """Every GPU has all of its memory."""
    expect(facts(node)[f"gpus.{gpu}.memory_mib"], declared=platform.gpus.memory_mib)


@pytest.mark.expects("gpu_bus_id")
def test_gpu_bus_id(node, gpu, facts, expect, platform):
    """Every GPU sits in its slot."""
    expect(facts(node)[f"gpus.{gpu}.bus_id"], declared=platform.gpus.bus_ids[gpu])


@pytest.mark.expects("gpu_persistence_mode")
def test_gpu_persistence_mode(node, gpu, facts, expect):
    """The driver keeps the GPU initialised between jobs."""
    expect(facts(node)[f"gpus.{gpu}.persistence_mode"])


@pytest.mark.expects("gpu_ecc_errors")
def test_gpu_ecc_errors(node, gpu, facts, expect):
    """No uncorrected memory error since the driver was loaded."""
    expect(facts(node)[f"gpus.{gpu}.ecc_uncorrected"])


@pytest.mark.expects("gpu_row_remap")
def test_gpu_row_remap(node, gpu, facts, expect):
    """No memory row waits to be replaced."""
    expect(facts(node)[f"gpus.{gpu}.remap_pending"])


@pytest.mark.expects("gpu_links")
def test_gpu_links(node, gpu, facts, expect):
    """Every link of the GPU to the others is up."""
    here = facts(node)
    expect(here[f"gpus.{gpu}.links_up"], declared=here[f"gpus.{gpu}.links_total"])


@pytest.mark.expects("gpu_processes")
def test_no_foreign_gpu_process(node, facts, expect):
    """Nobody else uses the GPUs while they are measured."""
    expect(facts(node)["gpu_processes"])


@pytest.mark.expects("peer_memory")
def test_peer_memory(node, facts, expect):
    """The GPU driver has registered with the RDMA stack, so that NICs reach GPU memory."""
    expect(facts(node)["peer_memory"])


@pytest.mark.expects("gpu_nic_link")
def test_gpu_nic_link(node, gpu, nic, facts, expect, platform):
    """Every GPU is connected to every NIC the way the platform declares."""
    expect(facts(node)[f"topology.gpu{gpu}.{nic}"], declared=platform.affinity[gpu][nic])
