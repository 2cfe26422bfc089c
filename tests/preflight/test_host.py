"""Rung 0: the hosts are set up as the platform asks."""

import pytest


@pytest.mark.expects("cpu_governor")
def test_cpu_governor(node, expect):
    """Every CPU runs under the governor that keeps its clock up."""
    expect(node)


@pytest.mark.expects("numa_balancing")
def test_numa_balancing(node, expect):
    """Automatic NUMA balancing does not move pages under a running collective."""
    expect(node)


@pytest.mark.expects("numa_daemons")
def test_numa_daemons(node, expect):
    """No daemon moves pages between NUMA nodes, now or after the next boot."""
    expect(node)


@pytest.mark.expects("memlock")
def test_locked_memory(node, expect):
    """A process may lock as much memory as RDMA has to pin."""
    expect(node)


@pytest.mark.expects("kernel_module")
def test_kernel_modules(node, expect):
    """The kernel modules of the RDMA stack are loaded."""
    expect(node)


@pytest.mark.expects("boot_module")
def test_boot_modules(node, expect):
    """The next boot loads the kernel modules that the platform asks for."""
    expect(node)


@pytest.mark.expects("acs")
def test_acs(node, expect):
    """No PCIe bridge redirects traffic between peers through the root complex."""
    expect(node)


@pytest.mark.expects("cpus")
def test_cpus(node, expect):
    """The node has as many CPUs as the others."""
    expect(node)


@pytest.mark.expects("numa_nodes")
def test_numa_nodes(node, expect):
    """The node's CPUs form as many NUMA nodes as the others'."""
    expect(node)


@pytest.mark.expects("numa_cpus")
def test_numa_cpus(node, expect):
    """The same CPUs belong to a NUMA node as on the others."""
    expect(node)


@pytest.mark.expects("nvme_count")
def test_nvme_count(node, expect):
    """The node has all its NVMe disks."""
    expect(node)
