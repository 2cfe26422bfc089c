"""The catalogue of causes: the meaning, the remedy and the basis of each.

``effects`` says what each of them can make go wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.diagnosis.kernel_causes import KERNEL_CAUSES


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of cause.

    ``folds``: the same cause on several nodes is one entry, because one setting fixes them all.
    ``prepared_by`` is the step of ``--prepare`` that applies the remedy, on platforms that have it.
    ``over_slurm`` is the remedy where the nodes are reached through Slurm, if it is another one.
    """

    means: str
    remedy: str
    basis: str
    folds: bool = False
    prepared_by: str = ""
    over_slurm: str = ""


CATALOGUE: Mapping[str, Kind] = {
    "node-unreachable": Kind(
        "the node cannot be reached, refuses the login, or stopped answering",
        "check power, network and sshd of the node; then log in by hand with the hostfile's user",
        "derived: a node that does not answer cannot be judged",
        over_slurm="ask Slurm why: scontrol show node NODE, sinfo -R; check slurmd and munge on the"
        " node (systemctl status slurmd munge); scontrol update nodename=NODE state=resume gives a"
        " repaired node back",
    ),
    "host-key-rejected": Kind(
        "the node presents an SSH host key that is not known, or not the known one",
        "compare the key's fingerprint with the node's own (ssh-keygen -lf"
        " /etc/ssh/ssh_host_ed25519_key.pub there); if it is right, replace the entry:"
        " ssh-keygen -R NODE, then ssh-keyscan NODE >> ~/.ssh/known_hosts; host_keys: accept-new"
        " in the hostfile adds unknown keys, never changed ones",
        "standard: RFC 4251, 4.1: without a known host key the server may be any machine",
    ),
    "setup-failed": Kind(
        "a line of setup in the hostfile failed, so that nothing was run on the node",
        "run the line on the node in bash; it is not a login shell, so a line before may have to"
        " define module or conda: source /etc/profile.d/modules.sh",
        "derived: a tool without its environment measures another one, or nothing",
        folds=True,
    ),
    "become-refused": Kind(
        "become in the hostfile did not run a command as root, so that nothing was run on the node",
        "give the login the right to run every program as root without a password (sudoers: USER"
        " ALL=(root) NOPASSWD: ALL), log in as root, or remove become: then what needs root is"
        " missing (docs/hostfile.md, Root)",
        "derived: a site that asks for root has tests that are errors without it",
        folds=True,
    ),
    "login-between-nodes": Kind(
        "the launcher cannot log in by ssh from the first node of a collective to the others",
        "set launch: through-suite in the hostfile, which needs no login between nodes; or make"
        " ssh -o BatchMode=yes ADDRESS true work on that node as the hostfile's user: its key in"
        " authorized_keys there, the host key in known_hosts, another port in ~/.ssh/config",
        "derived: mpirun starts a daemon on each other node by ssh, which nobody answers",
        folds=True,
    ),
    "one-machine": Kind(
        "several names of the hostfile are one running kernel: one machine counts as several",
        "keep one name of each machine in the hostfile; reboot a machine resumed from a snapshot",
        "derived: the kernel draws its boot id anew at each boot, see random(4)",
    ),
    "cloned-image": Kind(
        "several nodes have one machine id: their system image was cloned with its identity",
        "empty /etc/machine-id in the image; systemd-machine-id-setup gives each node its own",
        "standard: machine-id(5), the id of an installation is unique; DHCP and logs rely on it",
    ),
    "duplicate-address": Kind(
        "several ports have one LID or GID: what is sent to one of them may reach another",
        "restart the subnet manager for a LID; give each port its own GUID or IP address for a GID",
        "standard: InfiniBand Architecture Specification, volume 1: an address names one port",
    ),
    "clock-off": Kind(
        "the clock of a node does not show the time of the others",
        "start chronyd or ntpd and check its servers (chronyc tracking); then compare the hardware"
        " clock: hwclock",
        "standard: RFC 4120, 3.2.3: a clock that is off by more than the skew, such as 5 minutes,"
        " is refused",
        folds=True,
    ),
    "tool-missing": Kind(
        "a program that the measurement needs is not installed on the node",
        "install it, or give its path under 'tools' in the hostfile",
        "derived: without the program there is no measurement",
        folds=True,
    ),
    "tool-failing": Kind(
        "a tool hangs, ends early or prints output that cannot be parsed",
        "run the command of the transcript by hand on that node",
        "derived: no verdict without a printed figure",
    ),
    "data-corruption": Kind(
        "a collective, a product or a copy returned wrong results",
        "take the node out of service; run the vendor's memory and GPU diagnostics on it",
        "derived: what returns wrong results cannot be used at any speed",
    ),
    "nic-missing": Kind(
        "a declared NIC is absent",
        "look for it with lspci; reseat the card, check its slot and the firmware's bifurcation",
        "derived: an absent part that is declared is a fault, not a smaller cluster",
    ),
    "gpu-missing": Kind(
        "a declared GPU is absent",
        "look in the kernel log (Xid, 'fallen off the bus'), reset the GPU or power-cycle the node",
        "001: health check check_gpu_count, expected 8 and found 8",
    ),
    "link-down": Kind(
        "the port of a NIC is down",
        "check cable, transceiver and switch port; the other end should show LinkUp too",
        "001: degraded ports were found and isolated first; 004: State Active, Physical LinkUp",
    ),
    "subnet-manager-missing": Kind(
        "the port has a link, but no subnet manager has given it an address",
        "start OpenSM on one host or switch of the subnet: systemctl start opensm; sminfo",
        "004: the fabric came up with OpenSM, LIDs assigned",
    ),
    "link-rate-degraded": Kind(
        "the link trained to less than its full rate",
        "reseat or replace the cable; check the switch port's speed; ibportstate shows both ends",
        "001: links with errors and degraded ports",
    ),
    "miscabled": Kind(
        "a cable connects other ports than the declared ones",
        "move the cable; or, if the cabling is right, declare a new dump of ibnetdiscover",
        "derived: paths between leaves have their planned bandwidth only if cabled as planned",
    ),
    "pcie-degraded": Kind(
        "the NIC's slot runs at less than its width or speed",
        "reseat the card; compare LnkSta with LnkCap in lspci -vv",
        "001: degraded PCIe links are among the first suspects",
    ),
    "gpu-pcie-degraded": Kind(
        "the GPU's slot runs at less than its width or generation",
        "reseat the GPU; compare LnkSta with LnkCap in lspci -vv; check whether the slot is shared",
        "001: degraded PCIe links are among the first suspects",
    ),
    "mtu-mismatch": Kind(
        "the MTU of a port is not the fabric's",
        "set it: in the subnet manager's partition for InfiniBand, with ip link for Ethernet",
        "004: MTU 4096, optimal for InfiniBand",
        folds=True,
    ),
    "firmware-mismatch": Kind(
        "NICs or GPUs of one model have different firmware, and no file declares which is wanted",
        "declare it under 'versions' in the hostfile, then the next run names the devices that do "
        "not have it; bring these to it (mlxfwmanager -u, the GPU vendor's tool)",
        "derived: limits hold for devices that are alike",
    ),
    "link-error-rate": Kind(
        "the error counters of a link grow while it is measured",
        "replace the cable or transceiver; until then disable the port: ibportstate LID PORT "
        "disable",
        "001: several links with a high bit error rate were disabled and isolated",
    ),
    "gpu-memory-errors": Kind(
        "a GPU's memory had uncorrected errors, or rows or pages that had to be replaced",
        "reset the GPU; if a row or page cannot be replaced or errors come back, replace the GPU",
        "001: health check check_gpu_ecc",
    ),
    "gpu-ecc-off": Kind(
        "a GPU runs without ECC: wrong bits are neither corrected nor counted",
        "switch it on (nvidia-smi -e 1) and reboot the node",
        "derived: without ECC the error counters do not count",
        folds=True,
    ),
    "gpu-power-capped": Kind(
        "a GPU may not draw its full power",
        "raise the cap with nvidia-smi -pl or amd-smi set --power-cap; find what sets it at boot",
        "derived: a GPU whose power is capped lowers its clocks under load",
        folds=True,
    ),
    "gpu-clock-limited": Kind(
        "a GPU's maximum clock is lower than that of its model",
        "compare board, VBIOS and the vendor's profile with a good GPU's",
        "001: all GPUs were locked at one clock, 1980 MHz, before they were compared",
        folds=True,
    ),
    "gpu-clock-unlocked": Kind(
        "a GPU's clock is not locked, so it changes while the GPU is measured",
        "nvidia-smi -lgc 1980 --mode 1, with the clock of your GPU",
        "001: node preparation, nvidia-smi -lgc 1980 --mode 1 on every node",
        folds=True,
        prepared_by="gpu_clock",
    ),
    "gpu-diagnostic-failed": Kind(
        "a GPU does not pass the vendor's own diagnostics",
        "run dcgmi diag again with -v, alone on the node; a GPU that fails twice is replaced",
        "001: dcgmi diag -r 4 and EUD pass on every GPU of a healthy node",
    ),
    "health-check-failed": Kind(
        "a health check of the site failed on the node",
        "read the check's message and its fault code in the transcript; run that check by hand",
        "001: all health checks passed on every node before anything was measured",
    ),
    "nvme-missing": Kind(
        "the node has fewer NVMe disks than declared",
        "look for the disk with nvme list, lspci and dmesg; reseat or replace it",
        "001: health checks, GPU and NVMe counts passed on every node",
    ),
    "gpu-hidden": Kind(
        "an environment variable hides GPUs from the programs on the node, which has them",
        "remove CUDA_VISIBLE_DEVICES (HIP_, ROCR_, MACA_) from the login's start-up files, or from"
        " setup or environment in the hostfile",
        "derived: what no program can see cannot be measured; the node's own list still shows it",
        folds=True,
    ),
    "gpu-partitioned": Kind(
        "a GPU is partitioned (MIG), or its compute or memory partitions are not as declared",
        "nvidia-smi -mig 0; amd-smi set --compute-partition SPX --memory-partition NPS1; reset",
        "derived: the limits hold for GPUs that are not partitioned",
        folds=True,
    ),
    "gpu-fabric-down": Kind(
        "a GPU is not registered with the NVLink fabric, so it reaches no other GPU over NVSwitch",
        "systemctl restart nvidia-fabricmanager and read its log; then reset the GPUs of the node",
        "derived: without the fabric manager CUDA cannot be initialised on systems with NVSwitch",
        folds=True,
    ),
    "gpu-link-down": Kind(
        "a link between GPUs is down, absent or slower than the other links",
        "reset the GPUs of the node; then reseat the board",
        "001: health check check_nvlink_status, all NVLinks active",
    ),
    "background-gpu-diagnostics": Kind(
        "GPU diagnostics run in the background and take turns with the collectives",
        "stop them (dcgmi diag, EUD, RVS, fieldiag) and what restarts them; then measure again",
        "001: with EUD in the background on all nodes, iterations vary between 33 and 390 GB/s",
        folds=True,
    ),
    "foreign-gpu-process": Kind(
        "processes other than the suite's hold GPU memory",
        "drain the node before you measure it",
        "001: always check for background GPU processes",
        folds=True,
    ),
    "gpudirect-rdma-disabled": Kind(
        "the GPU driver is not registered with the RDMA stack: payload goes through host memory",
        "boot the kernel that the RDMA stack was built for, or rebuild the stack, until the GPU "
        "driver's file under /sys/kernel/mm/memory_peers is back (000: RHEL 9.4 instead of 9.6)",
        "000: a kernel without mm_kobj, no memory_peers/mxcd/version: 4.57 instead of 24.4 GB/s",
        folds=True,
    ),
    "peer-memory-module-missing": Kind(
        "the module that gives NICs access to GPU memory is not loaded",
        "modprobe nvidia-peermem; name it in /etc/modules-load.d/ so that it is loaded at boot",
        "004: kernel modules, nvidia-peermem enables GPUDirect RDMA",
        folds=True,
    ),
    "kernel-module-missing": Kind(
        "a kernel module that the platform file requires is not loaded",
        "modprobe it; name it in /etc/modules-load.d/ so that it is loaded at boot",
        "004: kernel modules that must be loaded at boot",
        folds=True,
    ),
    "module-not-at-boot": Kind(
        "a kernel module that the platform file requires will not be loaded at the next boot",
        "name it in a file under /etc/modules-load.d/, as 004 does in hpc.conf",
        "004: /etc/modules-load.d/hpc.conf, so that each module is loaded at every boot",
        folds=True,
    ),
    "memlock-limited": Kind(
        "processes may not lock enough memory for RDMA",
        "set memlock to unlimited in /etc/security/limits.d and in sshd's or Slurm's own limits",
        "004: RDMA pins memory, so soft and hard memlock are unlimited",
        folds=True,
    ),
    "acs-enabled": Kind(
        "PCIe Access Control Services send peer-to-peer traffic through the root complex",
        "turn ACS off in the BIOS, or with setpci on every bridge at boot, "
        "or clear the redirects with pci=disable_acs_redir",
        "000: 2.2, ACS is off on every bridge, so that GPU and NIC can reach each other directly",
        folds=True,
    ),
    "cpu-governor": Kind(
        "the CPU governor lowers the clock of the cores",
        "cpupower frequency-set -g performance",
        "004: cpupower frequency-set -g performance before measuring",
        folds=True,
        prepared_by="cpu_governor",
    ),
    "numa-balancing-enabled": Kind(
        "automatic NUMA balancing moves pages while collectives run",
        "sysctl kernel.numa_balancing=0",
        "002: NUMA balancing is switched off before measuring",
        folds=True,
        prepared_by="numa_balancing",
    ),
    "numa-daemon": Kind(
        "a daemon moves pages between NUMA nodes, as automatic NUMA balancing does",
        "systemctl disable --now numad",
        "002: daemons like numad are disabled too",
        folds=True,
    ),
    "persistence-mode-off": Kind(
        "the driver releases the GPU between jobs",
        "nvidia-smi -pm 1",
        "001: node preparation, nvidia-smi -pm 1 on every node",
        folds=True,
        prepared_by="persistence_mode",
    ),
    "cpus-offline": Kind(
        "CPUs of a node are switched off",
        "echo 1 > /sys/devices/system/cpu/cpuN/online; look for nosmt and maxcpus in /proc/cmdline",
        "derived: ranks, and threads that are bound to these CPUs, share the ones that are left",
        folds=True,
    ),
    "wrong-numa-node": Kind(
        "a NIC or GPU is attached to another NUMA node than declared or than on the other nodes",
        "compare slot, riser and the BIOS setting (NPS, SNC) with a good node",
        "003: thread bindings rely on the NUMA node of each NIC; 004: PCIe and NUMA limit GPU and"
        " NIC",
    ),
    "hardware-differs": Kind(
        "a part is not the declared one or that of the other nodes, or not in its declared slot",
        "compare the node with its delivery note; or correct the platform file if that is wrong",
        "derived: limits hold for the declared hardware only",
    ),
    "nodes-differ": Kind(
        "nodes differ in a version or in their build, and no file declares which is wanted",
        "declare it under 'versions' in the hostfile, or in the platform file; then the next run "
        "names the nodes that do not have it",
        "derived: limits hold for nodes that are alike; most of them may be the wrong ones",
    ),
    "version-mismatch": Kind(
        "a version is not the one that the hostfile or platform file declares or limits hold for",
        "install the declared version; or declare the new one, if the change was intended",
        "derived: limits hold for the versions that they were measured with",
        folds=True,
    ),
    "wrong-transport": Kind(
        "collectives use sockets although the fast network is up",
        "read the library's INFO log: network plugin, NCCL_IB_HCA, NCCL_NET, NCCL_IB_DISABLE",
        "derived: the library falls back to sockets where it cannot use the plugin or the HCA",
    ),
    "nic-idle": Kind(
        "a NIC carries no share of the collective's traffic",
        "check NCCL_IB_HCA / NCCL_SOCKET_IFNAME, the topology file and the NIC's NUMA node",
        "003: all four NICs carry equal traffic, about 128 GB each",
    ),
    "collective-tuning-missing": Kind(
        "the collective library runs without the variables that the platform file sets",
        "remove the line from 'environment' in the hostfile, or set the platform file's value",
        "001: without the four variables 337 instead of 392 GB/s",
    ),
    "unstable-collective": Kind(
        "the iterations of a collective vary strongly, and no fact explains why",
        "look for GPU diagnostics, other jobs and thermal throttling at the time of the run",
        "001: a mean hides that the iterations fall into two groups",
    ),
    "slow-gpu-link": Kind(
        "one link between two GPUs is slower than the other links",
        "reset the GPUs; if the link stays slow, replace the board that carries it",
        "002: the slowest of seven links caps what a GPU can send",
    ),
    "slow-gpu": Kind(
        "one GPU is slow on all its paths",
        "check its clocks, power cap and PCIe link (nvidia-smi -q, rocm-smi); reseat or replace it",
        "derived: a GPU that is slow with every NIC it was measured with",
    ),
    "slow-nic": Kind(
        "one NIC is slow with every partner while the node's other NICs are not",
        "check its slot, firmware, cable and congestion control; swap it with a good one",
        "derived: a NIC that is slow in all its pairs",
    ),
    "slow-pcie-path": Kind(
        "one GPU and one NIC are slow together, and each is fine with others",
        "check the PCIe switch between them, ACS and IOMMU settings",
        "derived: of all pairings that were measured, only one is slow",
    ),
    "slow-path": Kind(
        "two nodes are slow together while each is fine with others",
        "check the cables and switches between the two, and the routes: ibtracert",
        "derived: a pair is as fast as the slowest of its two nodes and the path between them",
    ),
    "slow-direction": Kind(
        "a node, or one of its NICs or GPUs, sends slowly and receives at its limit, or the other"
        " way round",
        "compare the NIC's counters of that direction (pause frames, xmit_wait, discards), its flow"
        " control and its PCIe settings with a good node; swap its cable and its switch port",
        "derived: a test in one direction is as fast as its sender can send and its receiver can"
        " receive",
    ),
    "slow-node": Kind(
        "a node is slow in all its pairs while its partners are not",
        "compare clocks, power, BIOS settings and PCIe links with a good node",
        "derived: a pair is as fast as the slower of its two nodes",
    ),
    "straggler": Kind(
        "a part keeps its limits, but is behind the same part of the other nodes in most of its "
        "measurements",
        "compare it with a peer: clocks, power, BIOS, PCIe link, cable, firmware; the slowest part "
        "sets the pace of every job that uses all nodes",
        "derived: like parts are alike. Healthy ones differ by up to 1.04 % (002, both directions "
        "of a link), a straggler by 2 % or more; one false alarm in 100,000 runs",
    ),
    "poor-scaling": Kind(
        "each node alone serves a model at full speed, but together they are far slower",
        "read in the server's log which transport the library chose (GPUDirect RDMA, which NICs),"
        " and compare its environment with that of the collectives, measured one rung below",
        "000: 1.2, serving on two nodes at a tenth of one: the payload went through host memory",
    ),
    "port-in-use": Kind(
        "another process listens on the port that a measurement's server needs",
        "find the process with ss -ltnp on that node and end it: a server of an earlier run, or a "
        "service that uses this range of ports",
        "derived: a client that reaches another process measures nothing",
    ),
    "suite-error": Kind(
        "railgauge itself failed while it measured or judged; the hardware was not judged",
        "report the item with its traceback (report.html has it); then measure again with --resume",
        "derived: an error of the suite is not evidence about the cluster",
    ),
    "undiagnosed": Kind(
        "no rule explains these items",
        "read their reasons, the lowest rung first, and run the first one's command by hand",
        "derived: items that no rule explains are shown, not hidden",
    ),
    **{
        name: Kind(means, remedy, basis, folds=folds)
        for name, (means, remedy, basis, folds) in KERNEL_CAUSES.items()
    },
}
