"""Every cause that can be named: what it means, what it can explain, what to do, and on what basis.

``reach`` are the rungs whose trouble the cause can account for on its node; ``through`` narrows
that to items over the same ``nic``, ``gpu`` or ``link`` where an item names one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.core.terms import Rung

ALL_RUNGS = frozenset(Rung)
_ABOVE = ALL_RUNGS - {Rung.PREFLIGHT}
_NETWORK = _ABOVE - {Rung.INTRANODE}
_GPU = _ABOVE - {Rung.NETWORK}
_BETWEEN = frozenset({Rung.COLLECTIVE, Rung.APPLICATION})
_COLLECTIVES = _BETWEEN | {Rung.INTRANODE}
_GPU_NETWORK = _BETWEEN | {Rung.GPUDIRECT}


@dataclass(frozen=True, slots=True)
class Kind:
    """``folds``: the same trouble on several nodes is one entry, for one setting mends them all.

    ``silences``: it leaves no value, so that what was measured and missed has another cause.
    ``prepared_by`` is the step of ``--prepare`` that does it, on the platforms that have the step.
    """

    means: str
    remedy: str
    basis: str
    reach: frozenset[Rung] = frozenset()
    through: str = ""
    folds: bool = False
    silences: bool = False
    prepared_by: str = ""


CATALOGUE: Mapping[str, Kind] = {
    "node-unreachable": Kind(
        "the node cannot be reached, refuses the login, or stopped answering",
        "check power, network and sshd of the node; then log in by hand with the hostfile's user",
        "derived: nothing can be said of a node that does not answer",
        ALL_RUNGS,
        silences=True,
    ),
    "tool-missing": Kind(
        "a program that the measurement needs is not installed on the node",
        "install it, or say where it is under 'tools' in the hostfile",
        "derived: what cannot be run cannot be measured",
        _ABOVE,
        silences=True,
    ),
    "tool-failing": Kind(
        "a tool hangs, breaks off or prints what cannot be read",
        "run the command of the transcript by hand on that node",
        "derived: no verdict without a printed figure",
    ),
    "data-corruption": Kind(
        "a collective returned wrong results",
        "take the node out of service; run the vendor's memory and GPU diagnostics on it",
        "derived: a collective that changes data cannot be used at any speed",
        _COLLECTIVES,
    ),
    "nic-missing": Kind(
        "a declared NIC is not there",
        "look for it with lspci; reseat the card, check its slot and the firmware's bifurcation",
        "derived: what is declared and absent is a fault, not a smaller cluster",
        ALL_RUNGS - {Rung.INTRANODE},
        "nic",
    ),
    "gpu-missing": Kind(
        "a declared GPU is not there",
        "look in the kernel log (Xid, 'fallen off the bus'), reset the GPU or power-cycle the node",
        "001: health check check_gpu_count, expected 8 and found 8",
        _ABOVE,
        "gpu",
    ),
    "link-down": Kind(
        "the port of a NIC is down",
        "check cable, transceiver and switch port; the other end should show LinkUp too",
        "001: degraded ports were found and isolated first; 004: State Active, Physical LinkUp",
        _NETWORK | {Rung.PREFLIGHT},
        "nic",
    ),
    "subnet-manager-missing": Kind(
        "the port is up, but no subnet manager has given it an address",
        "start OpenSM on one host or switch of the subnet: systemctl start opensm; sminfo",
        "004: the fabric came up with OpenSM, LIDs assigned",
        _NETWORK | {Rung.PREFLIGHT},
        "nic",
    ),
    "link-rate-degraded": Kind(
        "the link was trained to less than its rate",
        "reseat or replace the cable; check the switch port's speed; ibportstate shows both ends",
        "001: links with errors and degraded ports",
        _NETWORK,
        "nic",
    ),
    "miscabled": Kind(
        "a cable joins other ports than the declared ones",
        "move the cable; or, if it is right, take a new dump with ibnetdiscover and declare that",
        "derived: paths between leaves are as wide as they were planned only if cabled as planned",
        _NETWORK,
        "nic",
    ),
    "pcie-degraded": Kind(
        "the NIC's slot runs at less than its width or speed",
        "reseat the card; compare LnkSta with LnkCap in lspci -vv",
        "001: degraded PCIe links are among the first suspects",
        _NETWORK,
        "nic",
    ),
    "gpu-pcie-degraded": Kind(
        "the GPU's slot runs at less than its width or generation",
        "reseat the GPU; compare LnkSta with LnkCap in lspci -vv; see if the slot is shared",
        "001: degraded PCIe links are among the first suspects",
        _GPU,
        "gpu",
    ),
    "mtu-mismatch": Kind(
        "the MTU of a port is not the fabric's",
        "set it: in the subnet manager's partition for InfiniBand, with ip link for Ethernet",
        "004: MTU 4096, optimal for InfiniBand",
        _NETWORK,
        "nic",
        folds=True,
    ),
    "firmware-mismatch": Kind(
        "a NIC or GPU has other firmware than most of its model",
        "bring all devices of one model to one firmware (mlxfwmanager -u, the GPU vendor's tool)",
        "derived: limits hold for devices that are alike",
        _ABOVE,
        "nic",
    ),
    "link-error-rate": Kind(
        "the error counters of a link grow while it is measured",
        "replace cable or transceiver; until then disable the port: ibportstate LID PORT disable",
        "001: several links with a high bit error rate were disabled and isolated",
        _NETWORK,
        "nic",
    ),
    "gpu-memory-errors": Kind(
        "a GPU's memory had errors that were not corrected, or parts that had to be replaced",
        "reset the GPU; if a row or page cannot be replaced or errors come back, replace the GPU",
        "001: health check check_gpu_ecc",
        _GPU,
        "gpu",
    ),
    "gpu-ecc-off": Kind(
        "a GPU runs without ECC: wrong bits are neither corrected nor counted",
        "switch it on (nvidia-smi -e 1) and reboot the node",
        "derived: an error counter says nothing while nobody counts",
        frozenset(),
        "gpu",
        folds=True,
    ),
    "gpu-power-capped": Kind(
        "a GPU may not draw its full power",
        "nvidia-smi -pl, amd-smi set --power-cap or the like; look for what sets it at boot",
        "derived: a GPU whose power is capped lowers its clocks under load",
        _GPU,
        "gpu",
        folds=True,
    ),
    "gpu-clock-limited": Kind(
        "a GPU's clock cannot rise as high as that of its model",
        "compare board, VBIOS and the vendor's profile with a good GPU's",
        "001: all GPUs were locked at one clock, 1980 MHz, before they were compared",
        _GPU,
        "gpu",
        folds=True,
    ),
    "gpu-clock-unlocked": Kind(
        "a GPU's clock is not locked: it moves while the GPU is measured",
        "nvidia-smi -lgc 1980 --mode 1, or the clock of your GPU",
        "001: node preparation, nvidia-smi -lgc 1980 --mode 1 on every node",
        _GPU,
        "gpu",
        folds=True,
        prepared_by="gpu_clock",
    ),
    "gpu-diagnostic-failed": Kind(
        "a GPU does not pass the vendor's own diagnostics",
        "run dcgmi diag again with -v, alone on the node; a GPU that fails twice is replaced",
        "001: dcgmi diag -r 4 and EUD pass on every GPU of a sound node",
        _GPU,
        "gpu",
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
    "gpu-partitioned": Kind(
        "a GPU is cut into parts, or its memory is partitioned otherwise than declared",
        "nvidia-smi -mig 0; amd-smi set --compute-partition SPX --memory-partition NPS1; reset",
        "derived: the limits are those of whole GPUs",
        _GPU,
        "gpu",
        folds=True,
    ),
    "gpu-fabric-down": Kind(
        "a GPU is not registered with the NVLink fabric: it reaches no other over NVSwitch",
        "systemctl restart nvidia-fabricmanager and read its log; then reset the GPUs of the node",
        "derived: without the fabric manager CUDA cannot be initialised on systems with NVSwitch",
        _COLLECTIVES,
        "gpu",
        folds=True,
    ),
    "gpu-link-down": Kind(
        "a link between GPUs is down, absent or slower than its sisters",
        "reset the GPUs of the node; then reseat the board",
        "001: health check check_nvlink_status, all NVLinks active",
        _COLLECTIVES,
        "gpu",
    ),
    "background-gpu-diagnostics": Kind(
        "GPU diagnostics run in the background and take turns with the collectives",
        "stop them (dcgmi diag, EUD, RVS, fieldiag) and what starts them again; then measure anew",
        "001: EUD in the background on all nodes swings single iterations between 33 and 390 GB/s",
        _GPU,
        folds=True,
    ),
    "foreign-gpu-process": Kind(
        "somebody else's processes hold GPU memory",
        "drain the node before it is measured",
        "001: always check for background GPU processes",
        _GPU,
        folds=True,
    ),
    "gpudirect-rdma-disabled": Kind(
        "the GPU driver is not registered with the RDMA stack: payload goes through host memory",
        "boot the kernel that the RDMA stack was built for, or rebuild the stack, until the GPU "
        "driver's file under /sys/kernel/mm/memory_peers is back (000: RHEL 9.4 instead of 9.6)",
        "000: a kernel without mm_kobj, no memory_peers/mxcd/version: 4.57 instead of 24.4 GB/s",
        _GPU_NETWORK,
        folds=True,
    ),
    "peer-memory-module-missing": Kind(
        "the module that gives NICs access to GPU memory is not loaded",
        "modprobe nvidia-peermem; name it in /etc/modules-load.d/ so that it is loaded at boot",
        "004: kernel modules, nvidia-peermem enables GPUDirect RDMA",
        _GPU_NETWORK,
        folds=True,
    ),
    "kernel-module-missing": Kind(
        "a kernel module that the platform file asks for is not loaded",
        "modprobe it; name it in /etc/modules-load.d/ so that it is loaded at boot",
        "004: kernel modules that must be loaded at boot",
        _NETWORK,
        folds=True,
    ),
    "module-not-at-boot": Kind(
        "a kernel module that the platform file asks for is not loaded at the next boot",
        "name it in a file under /etc/modules-load.d/, as 004 does in hpc.conf",
        "004: /etc/modules-load.d/hpc.conf, so that each module is loaded at every boot",
        folds=True,
    ),
    "memlock-limited": Kind(
        "processes may not lock enough memory for RDMA",
        "set memlock to unlimited in /etc/security/limits.d and in sshd's or Slurm's own limits",
        "004: RDMA pins memory, so soft and hard memlock are unlimited",
        _NETWORK,
        folds=True,
    ),
    "acs-enabled": Kind(
        "PCIe Access Control Services send peer-to-peer traffic through the root complex",
        "switch ACS off in the BIOS, or with setpci on every bridge at boot, "
        "or clear the redirects with pci=disable_acs_redir",
        "000: 2.2, ACS is off on every bridge, so that GPU and NIC reach each other directly",
        _GPU,
        folds=True,
    ),
    "cpu-governor": Kind(
        "the CPU governor clocks the cores down",
        "cpupower frequency-set -g performance",
        "004: cpupower frequency-set -g performance before measuring",
        _ABOVE,
        folds=True,
        prepared_by="cpu_governor",
    ),
    "numa-balancing-enabled": Kind(
        "automatic NUMA balancing moves pages under running collectives",
        "sysctl kernel.numa_balancing=0",
        "002: NUMA balancing is switched off before measuring",
        _COLLECTIVES,
        folds=True,
        prepared_by="numa_balancing",
    ),
    "numa-daemon": Kind(
        "a daemon moves pages between NUMA nodes, as automatic NUMA balancing does",
        "systemctl disable --now numad",
        "002: daemons like numad are disabled too",
        _COLLECTIVES,
        folds=True,
    ),
    "persistence-mode-off": Kind(
        "the driver gives the GPU up between jobs",
        "nvidia-smi -pm 1",
        "001: node preparation, nvidia-smi -pm 1 on every node",
        _GPU,
        folds=True,
        prepared_by="persistence_mode",
    ),
    "hardware-differs": Kind(
        "a part is not the declared one, or not in its declared place",
        "compare the node with its delivery note; or mend the platform file if that is wrong",
        "derived: limits hold for the declared hardware only",
        _ABOVE,
    ),
    "nodes-differ": Kind(
        "a node's software is not that of the others",
        "bring all nodes to one image",
        "derived: what differs is the first suspect when a node lags behind the others",
        _ABOVE,
    ),
    "version-mismatch": Kind(
        "a version is not the one that hostfile or platform file declares, or that limits hold for",
        "install the declared version; or declare the new one, if the change was meant",
        "derived: figures hold for the versions that they were measured with",
        _ABOVE,
        folds=True,
    ),
    "wrong-transport": Kind(
        "collectives go over sockets while the fast network is up",
        "read the library's INFO log: network plugin, NCCL_IB_HCA, NCCL_NET, NCCL_IB_DISABLE",
        "derived: the library falls back to sockets by itself where plugin or HCA cannot be used",
        _BETWEEN,
    ),
    "nic-idle": Kind(
        "a NIC carries no share of the collective's traffic",
        "check NCCL_IB_HCA / NCCL_SOCKET_IFNAME, the topology file and the NIC's NUMA node",
        "003: all four NICs carry equal traffic, about 128 GB each",
        _BETWEEN,
    ),
    "collective-tuning-missing": Kind(
        "the collective library runs without the variables that the platform asks for",
        "take the line out of 'environment' in the hostfile, or set what the platform file says",
        "001: without the four variables 337 instead of 392 GB/s",
        _BETWEEN,
    ),
    "unstable-collective": Kind(
        "single iterations of a collective swing although nothing in the facts says why",
        "look for GPU diagnostics, other jobs and thermal throttling at the time of the run",
        "001: a mean hides that the iterations fall into two groups",
        _BETWEEN,
    ),
    "slow-gpu-link": Kind(
        "one link between two GPUs is slower than its sisters",
        "reset the GPUs; if it stays, replace the board that carries the link",
        "002: the slowest of seven links caps what a GPU can send",
        _COLLECTIVES,
        "link",
    ),
    "slow-gpu": Kind(
        "one GPU is slow on all its paths",
        "check its clocks, power cap and PCIe link (nvidia-smi -q, rocm-smi); reseat or replace it",
        "derived: a GPU that is slow with every NIC it was measured with",
        _GPU,
        "gpu",
    ),
    "slow-nic": Kind(
        "one NIC is slow with every partner while the node's others are not",
        "check its slot, firmware, cable and congestion control; swap it with a good one",
        "derived: a NIC that is slow in all its pairs",
        _NETWORK,
        "nic",
    ),
    "slow-pcie-path": Kind(
        "one GPU and one NIC are slow together, and each is fine with others",
        "check the PCIe switch between them, ACS and IOMMU settings",
        "derived: one pairing slow of all that were measured",
        _GPU_NETWORK,
        "nic",
    ),
    "slow-path": Kind(
        "two nodes are slow together while each is fine with others",
        "check the cables and switches between the two, and the routes: ibtracert",
        "derived: the value of a pair is the smallest of its nodes and the path between them",
        _NETWORK,
    ),
    "slow-node": Kind(
        "a node is slow in all its pairs while its partners are not",
        "compare clocks, power, BIOS settings and PCIe links with a good node",
        "derived: the value of a pair is the smaller capacity of its two nodes",
        _ABOVE,
    ),
    "poor-scaling": Kind(
        "nodes serve a model at full speed each by itself, and together far more slowly",
        "see in the server's log which transport the library took (GPUDirect RDMA, which NICs),"
        " and whether its environment is that of the collectives, measured one rung below",
        "000: 1.2, serving on two nodes at a tenth of one: the payload went through host memory",
        frozenset({Rung.APPLICATION}),
    ),
    "suite-error": Kind(
        "railgauge itself went wrong while it measured or judged; nothing is known of the hardware",
        "report the item with its traceback (report.html has it); then measure again with --resume",
        "derived: an error of the suite says nothing of the cluster",
    ),
    "undiagnosed": Kind(
        "items went wrong that no rule explains",
        "read them below; tell what it was, so that it becomes a rule",
        "derived: what no rule explains is shown, not hidden",
    ),
}
