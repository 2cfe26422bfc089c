"""Rung 0: the hosts are set up as the platform asks."""

import pytest


@pytest.mark.expects("cpu_governor")
def test_cpu_governor(node, expect):
    """Every CPU runs under the declared frequency governor.

    Pass: Every CPU's governor is the declared one.
    Fail: A CPU runs under another governor: latency and message rate suffer.
    Remedy: Set the governor with cpupower, or run with --prepare.
    """
    expect(node)


@pytest.mark.expects("numa_balancing")
def test_numa_balancing(node, expect):
    """Automatic NUMA balancing is off.

    Pass: Kernel.numa_balancing is 0.
    Fail: The kernel moves pages while collectives run.
    Remedy: Set kernel.numa_balancing=0 with sysctl and make it permanent, or run with
        --prepare.
    """
    expect(node)


@pytest.mark.expects("numa_daemons")
def test_numa_daemons(node, expect):
    """No daemon that moves pages between NUMA nodes runs or starts at boot.

    Pass: The declared daemons are stopped and disabled.
    Fail: Such a daemon runs, or will after the next boot.
    Remedy: Stop and disable it with systemctl, or run with --prepare.
    """
    expect(node)


@pytest.mark.expects("memlock")
def test_locked_memory(node, expect):
    """A process may lock as much memory as RDMA has to pin.

    Pass: The limit of locked memory is unlimited, or reaches the declared size.
    Fail: The limit is too low: registering memory fails.
    Remedy: Raise memlock in limits.conf and in the service that starts the session.
    """
    expect(node)


@pytest.mark.expects("kernel_module")
def test_kernel_modules(node, expect):
    """Every declared kernel module is loaded.

    Pass: All declared modules are in the kernel's list.
    Fail: A module is missing.
    Remedy: Load it with modprobe; if that fails, look in the kernel log and reinstall the
        driver for this kernel.
    """
    expect(node)


@pytest.mark.expects("boot_module")
def test_boot_modules(node, expect):
    """Every kernel module that is to be loaded at boot is configured so.

    Pass: All declared modules are in the boot configuration.
    Fail: A module would be missing after the next boot.
    Remedy: Add it to modules-load.d, or run with --prepare.
    """
    expect(node)


@pytest.mark.expects("acs")
def test_acs(node, expect):
    """No PCIe bridge redirects peer-to-peer traffic through the root complex.

    Pass: ACS redirection is off on every bridge.
    Fail: ACS is on at a bridge: GPU-to-NIC traffic takes a detour.
    Remedy: Switch ACS off in the BIOS or with setpci, or run with --prepare; virtual machines
        need it on.
    """
    expect(node)


@pytest.mark.expects("cpus")
def test_cpus(node, expect):
    """The node has as many CPUs as the other nodes.

    Pass: The number equals the declared one, or that of the other nodes.
    Fail: CPUs are offline or the node has another processor.
    Remedy: Check the BIOS (SMT, disabled cores) and offline CPUs.
    """
    expect(node)


@pytest.mark.expects("numa_nodes")
def test_numa_nodes(node, expect):
    """The node has as many NUMA nodes as the other nodes.

    Pass: The number equals the declared one, or that of the other nodes.
    Fail: The number differs.
    Remedy: Compare the BIOS setting (NPS, SNC) with a node that passes.
    """
    expect(node)


@pytest.mark.expects("numa_cpus")
def test_numa_cpus(node, expect):
    """Each NUMA node has the same CPUs as on the other nodes.

    Pass: The lists of CPUs are equal.
    Fail: A NUMA node has other CPUs: bindings made for one node are wrong here.
    Remedy: Compare the BIOS settings and the kernel's CPU numbering with a node that passes.
    """
    expect(node)


@pytest.mark.expects("nvme_count")
def test_nvme_count(node, expect):
    """The node has every declared NVMe disk.

    Pass: The number of disks is the declared one.
    Fail: A disk is missing.
    Remedy: Check slot and cable; look in the kernel log.
    """
    expect(node)
