"""Rung 0: the hosts are set up as the platform asks."""

import pytest


@pytest.mark.expects("cpu_governor")
def test_cpu_governor(node, facts, expect):
    """Every CPU runs under the governor that keeps its clock up."""
    expect(facts(node)["governors"])


@pytest.mark.expects("numa_balancing")
def test_numa_balancing(node, facts, expect):
    """Automatic NUMA balancing does not move pages under a running collective."""
    expect(facts(node)["numa_balancing"])


@pytest.mark.expects("memlock")
def test_locked_memory(node, facts, expect):
    """A process may lock as much memory as RDMA has to pin."""
    expect(facts(node)["memlock"])


@pytest.mark.expects("kernel_module")
def test_kernel_modules(node, facts, expect):
    """The kernel modules of the RDMA stack are loaded."""
    expect(facts(node)["modules"])


@pytest.mark.expects("acs")
def test_acs(node, facts, expect):
    """No PCIe bridge redirects traffic between peers through the root complex."""
    expect(facts(node)["acs_enabled"])
