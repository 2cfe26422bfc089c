"""Causes of settings, and of nodes that are not as declared or not as the others."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.effect import (
    ABOVE,
    COLLECTIVES,
    GONE,
    GPU,
    GPU_NETWORK,
    LESS,
    LOW,
    NETWORK,
    SETTING,
    SLOW,
    STOPS,
    Effect,
)
from railgauge.diagnosis.catalogue.kind import ASK_VENDOR, COMPARE, CORRECT, MAJOR, MINOR, Kind

KINDS: Mapping[str, Kind] = {
    "gpudirect-rdma-disabled": Kind(
        "the GPU driver is not registered with the RDMA stack: payload goes through host memory",
        "boot a kernel that exports mm_kobj and that the RDMA stack was built for, until the GPU "
        "driver's file under /sys/kernel/mm/memory_peers is back (000: RHEL 9.4 instead of 9.6; "
        "there the stack was rebuilt first, which cannot help on a kernel without mm_kobj)",
        "000: a kernel without mm_kobj, no memory_peers/mxcd/version: 4.57 instead of 24.4 GB/s",
        folds=True,
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(LOW, GPU_NETWORK, STOPS | LESS),
    ),
    "peer-memory-module-missing": Kind(
        "the module that gives NICs access to GPU memory is not loaded",
        "modprobe nvidia-peermem; name it in /etc/modules-load.d/ so that it is loaded at boot",
        "004: kernel modules, nvidia-peermem enables GPUDirect RDMA",
        folds=True,
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(LOW, GPU_NETWORK, STOPS | LESS),
    ),
    "kernel-module-missing": Kind(
        "a kernel module that the platform file requires is not loaded",
        "modprobe it; name it in /etc/modules-load.d/ so that it is loaded at boot",
        "004: kernel modules that must be loaded at boot",
        folds=True,
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(SETTING, NETWORK, GONE),
    ),
    "module-not-at-boot": Kind(
        "a kernel module that the platform file requires will not be loaded at the next boot",
        "name it in a file under /etc/modules-load.d/, as 004 does in hpc.conf",
        "004: /etc/modules-load.d/hpc.conf, so that each module is loaded at every boot",
        folds=True,
        severity=MINOR,
        action=CORRECT,
        effect=Effect(SETTING),
    ),
    "memlock-limited": Kind(
        "processes may not lock enough memory for RDMA",
        "set memlock to unlimited in /etc/security/limits.d and in sshd's or Slurm's own limits",
        "004: RDMA pins memory, so soft and hard memlock are unlimited",
        folds=True,
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(SETTING, NETWORK, STOPS),
    ),
    "acs-enabled": Kind(
        "PCIe Access Control Services send peer-to-peer traffic through the root complex",
        "turn ACS off in the BIOS, or with setpci on every bridge at boot, "
        "or clear the redirects with pci=disable_acs_redir",
        "000: 2.2, ACS is off on every bridge, so that GPU and NIC can reach each other directly",
        folds=True,
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(SETTING, GPU, SLOW),
    ),
    "cpu-governor": Kind(
        "the CPU governor, or boost that is off, lowers the clock of the cores",
        "cpupower frequency-set -g performance; switch boost on in the BIOS",
        "004: cpupower frequency-set -g performance before measuring",
        folds=True,
        prepared_by="cpu_governor",
        severity=MINOR,
        action=CORRECT,
        effect=Effect(SETTING, ABOVE, SLOW),
    ),
    "numa-balancing-enabled": Kind(
        "automatic NUMA balancing moves pages while collectives run",
        "sysctl kernel.numa_balancing=0",
        "002: NUMA balancing is switched off before measuring",
        folds=True,
        prepared_by="numa_balancing",
        severity=MINOR,
        action=CORRECT,
        effect=Effect(SETTING, COLLECTIVES, SLOW),
    ),
    "numa-daemon": Kind(
        "a daemon moves pages between NUMA nodes, as automatic NUMA balancing does",
        "systemctl disable --now numad",
        "002: daemons like numad are disabled too",
        folds=True,
        severity=MINOR,
        action=CORRECT,
        effect=Effect(SETTING, COLLECTIVES, SLOW),
    ),
    "persistence-mode-off": Kind(
        "the driver releases the GPU between jobs",
        "nvidia-smi -pm 1",
        "001: node preparation, nvidia-smi -pm 1 on every node",
        folds=True,
        prepared_by="persistence_mode",
        severity=MINOR,
        action=CORRECT,
        effect=Effect(SETTING, GPU, SLOW),
    ),
    "cpus-offline": Kind(
        "CPUs of a node are switched off",
        "echo 1 > /sys/devices/system/cpu/cpuN/online; look for nosmt and maxcpus in /proc/cmdline",
        "derived: ranks, and threads that are bound to these CPUs, share the ones that are left",
        folds=True,
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(LOW, ABOVE, LESS),
    ),
    "wrong-numa-node": Kind(
        "a NIC or GPU is attached to another NUMA node than declared or than on the other nodes",
        "compare slot, riser and the BIOS setting (NPS, SNC) with a good node",
        "003: thread bindings rely on the NUMA node of each NIC; 004: PCIe and NUMA limit GPU and"
        " NIC",
        severity=MAJOR,
        action=COMPARE,
        effect=Effect(LOW, ABOVE, LESS, "part"),
    ),
    "hardware-differs": Kind(
        "a part is not the declared one or that of the other nodes, or not in its declared slot",
        "compare the node with its delivery note; or correct the platform file if that is wrong",
        "derived: limits hold for the declared hardware only",
        severity=MAJOR,
        action=ASK_VENDOR,
        effect=Effect(LOW, ABOVE, GONE | LESS, "part"),
    ),
    "nodes-differ": Kind(
        "nodes differ in a version or in their build, and no file declares which is wanted",
        "declare it under 'versions' in the hostfile, or in the platform file; then the next run "
        "names the nodes that do not have it",
        "derived: limits hold for nodes that are alike; most of them may be the wrong ones",
        severity=MINOR,
        action=CORRECT,
        # It changes nothing that is measured; it is not known which of them is right.
        effect=Effect(SETTING),
    ),
    "version-mismatch": Kind(
        "a version is not the one that the hostfile or platform file declares or limits hold for",
        "install the declared version; or declare the new one, if the change was intended",
        "derived: limits hold for the versions that they were measured with",
        folds=True,
        severity=MINOR,
        action=CORRECT,
        effect=Effect(SETTING, ABOVE, STOPS | LESS),
    ),
}
