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


@pytest.mark.expects("cpu_boost")
def test_cpu_boost(node, expect):
    """The CPUs may run above their base frequency (turbo, boost).

    Pass: Boost is active.
    Fail: Boost is off: what waits for a CPU takes longer.
    Remedy: Switch it on in the BIOS, or write 0 into intel_pstate/no_turbo (1 into cpufreq/boost).
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


@pytest.mark.expects("memlock_config")
@pytest.mark.needs("rdma")
def test_memlock_config(node, expect):
    """A file below /etc/security gives every login unlimited locked memory, also after a reboot.

    Pass: Its soft and hard limits for all users are the declared ones.
    Fail: No file says so: the limit of this login was set by hand, or by its service alone.
    Remedy: Write "* soft memlock unlimited" and "* hard memlock unlimited" into a file in
        /etc/security/limits.d.
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


@pytest.mark.expects("boot_id")
@pytest.mark.needs("two nodes")
def test_boot_id(node, expect):
    """The node's kernel runs under no other name of the hostfile.

    Pass: No other node has the node's boot id, which the kernel draws at each boot.
    Fail: Another node has it: both names are containers or namespaces of one machine, or virtual
        machines that were resumed from one snapshot.
    Remedy: Keep one name of each machine in the hostfile; reboot a machine that was resumed from
        a copy.
    """
    expect(node)


@pytest.mark.expects("machine_id")
@pytest.mark.needs("two nodes")
def test_machine_id(node, expect):
    """The node's installation has an id of its own in /etc/machine-id.

    Pass: No other node has the node's machine id.
    Fail: Another node has it: the system image was cloned with its identity, so that DHCP, logs
        and monitoring take several nodes for one.
    Remedy: Empty /etc/machine-id in the image, and run systemd-machine-id-setup on the nodes.
    """
    expect(node)


@pytest.mark.expects("node_login")
@pytest.mark.needs("two nodes", "logins")
def test_node_login(node, expect):
    """The node can log in by ssh to the nodes on which its launcher starts daemons.

    Pass: ssh from this node, with a key and a known host key, succeeds to each node with which it
        is the first node of a collective.
    Fail: A login fails: mpirun on this node cannot start ranks there.
    Remedy: Set launch: through-suite in the hostfile, which needs no login between nodes; or give
        the user a key, known host keys and the right port (~/.ssh/config) on every node.
    """
    expect(node)


@pytest.mark.expects("clock")
def test_clock(node, expect):
    """The node's clock shows the time of the other nodes, in seconds.

    Pass: It differs by no more than allowed from the median of the nodes and the controller, the
        machine that runs railgauge.
    Fail: It differs by more: authentication, certificates and the order of logs fail.
    Remedy: Start chronyd or ntpd on the node, and check that it reaches its time servers. If the
        nodes agree with each other, correct the controller's clock.
    """
    expect(node)


@pytest.mark.expects("cpus_online")
def test_cpus_online(node, expect):
    """Every CPU of the node is online.

    Pass: The kernel uses as many CPUs as it found.
    Fail: CPUs are offline.
    Remedy: Write 1 to /sys/devices/system/cpu/cpuN/online, and find what switches them off: nosmt
        or maxcpus on the kernel's command line, smt/control, a power profile. Where SMT is off on
        purpose, write the number of CPUs into the platform file (cpus_online).
    """
    expect(node)


@pytest.mark.expects("cpu_model")
@pytest.mark.needs("two nodes")
def test_cpu_model(node, expect):
    """The node has the declared processor, or that of the other nodes.

    Pass: The processor's name is the declared one, or that of the other nodes.
    Fail: The node has another processor.
    Remedy: Replace the node or its processors; or declare what the node has.
    """
    expect(node)


@pytest.mark.expects("memory")
@pytest.mark.needs("two nodes")
def test_memory(node, expect):
    """The node has as much memory as the other nodes, in MiB.

    Pass: The memory that the kernel can use differs by less than one module from the median.
    Fail: Memory is missing, or a module has another size.
    Remedy: Look for the module in the BMC's log and with dmidecode -t memory; reseat or replace
        it.
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


@pytest.mark.expects("nvme_health")
def test_nvme_health(node, expect):
    """Every NVMe disk of the node reports that it is healthy.

    Pass: No disk has a critical warning (spare, temperature, reliability, read-only), spare below
        its own threshold, or a media error in its SMART log.
    Fail: A disk reports one of these.
    Remedy: Read the log with nvme smart-log; cool a disk that is hot, replace one with errors.
    """
    expect(node)


@pytest.mark.expects("nvme_link")
def test_nvme_link(node, expect):
    """The PCIe link of every NVMe disk has the speed and width that the disk can.

    Pass: Speed and width of each link are the highest that the disk supports.
    Fail: A link is slower or narrower.
    Remedy: Reseat the disk; compare slot, cable and BIOS with a good one.
    """
    expect(node)


@pytest.mark.expects("nvme_wear")
def test_nvme_wear(node, expect):
    """No NVMe disk of the node has used up its rated life.

    Pass: Percentage Used of the most used disk is at most the declared one.
    Fail: A disk has used more.
    Remedy: Replace the disk before it reaches 100 %.
    """
    expect(node)
