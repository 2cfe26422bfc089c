"""Causes that kernel logs, samples of GPUs and counters show, and what is left over."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.core.problems import ProblemKind
from railgauge.diagnosis.catalogue.effect import (
    ABOVE,
    BLIND,
    COLLECTIVES,
    GONE,
    GPU,
    LESS,
    LOW,
    NETWORK,
    OUT,
    SLOW,
    STOPS,
    Effect,
)
from railgauge.diagnosis.catalogue.kind import (
    CORRECT,
    CRITICAL,
    DRAIN,
    MAJOR,
    MEASURE_AGAIN,
    REPAIR_LINK,
    RESEAT,
    RESET,
    UNKNOWN,
    Kind,
)
from railgauge.diagnosis.symptoms import Symptom

KINDS: Mapping[str, Kind] = {
    "gpu-xid": Kind(
        "the driver of an NVIDIA GPU or NVSwitch logged an Xid or SXid, an error of the hardware,"
        " while the node was measured",
        "do what the entry says for this code; drain the node, reset the GPU or reboot, and replace"
        " the GPU if the code comes back; keep nvidia-bug-report.sh for the vendor",
        "standard: NVIDIA, Xid Errors: Analyzing Xid Errors with the Xid Catalog"
        " (docs.nvidia.com/deploy/xid-errors)",
        severity=CRITICAL,
        action=RESET,
        effect=Effect(OUT, GPU, GONE | LESS | {Symptom.WRONG, Symptom.TESTED, Symptom.LOST}, "gpu"),
    ),
    "pcie-errors": Kind(
        "a device or its slot had PCIe errors while the node was measured: uncorrected ones, or"
        " more corrected ones and replays than the link may have",
        "check seating, riser and slot of the device, and its AER registers (lspci -vvv -s"
        " ADDRESS); move the device to tell slot and device apart",
        "standard: PCI Express Base Specification, 6.2, error signaling and logging; the Linux"
        " kernel's Documentation/PCI/pcieaer-howto.rst",
        severity=MAJOR,
        action=RESEAT,
        effect=Effect(LOW, ABOVE, GONE | LESS | {Symptom.WRONG}, "part"),
    ),
    "link-flap": Kind(
        "the link of a NIC went down while the node was measured",
        "check cable and transceiver at both ends (mlxlink -d DEVICE -m -c), clean or replace them;"
        " look at the switch's log at that moment",
        "derived: the port was up at the survey, and nothing of a run takes it down",
        severity=MAJOR,
        action=REPAIR_LINK,
        effect=Effect(LOW, NETWORK, STOPS | LESS | {Symptom.COUNTED}, "nic"),
    ),
    "kernel-errors": Kind(
        "the kernel logged an error of memory, processor, driver or GPU while the node was"
        " measured, or killed a process because memory ran out",
        "do what the entry says for this line; the management controller's log (ipmitool sel list)"
        " often names the part",
        "derived: the kinds of lines and their sources are those of railgauge docs kernel-log",
        severity=MAJOR,
        action=DRAIN,
        effect=Effect(LOW, ABOVE, GONE | LESS | {Symptom.WRONG}, "part"),
    ),
    "faults-before-run": Kind(
        "the kernel logged a fault of the hardware between its boot and the run",
        "do what the entry says for this line, then reboot the node, so that its log begins anew,"
        " and measure again: a fault that comes back under load has a cause of its own",
        "derived: what failed before may fail again, and nobody has examined it yet",
        severity=MAJOR,
        action=RESET,
        # It tells nothing of what is measured now.
        effect=Effect(LOW),
    ),
    "kernel-log-unread": Kind(
        "the kernel's log of a node, or a part of it, could not be read: what it says of the run is"
        " not known",
        "log in as root, or add become: sudo -n to the hostfile, where kernel.dmesg_restrict is 1;"
        " where records were lost, enlarge the log (log_buf_len=16M on the kernel's command line)",
        "standard: the Linux kernel's Documentation/ABI/testing/dev-kmsg and"
        " Documentation/admin-guide/sysctl/kernel.rst, dmesg_restrict",
        folds=True,
        severity=UNKNOWN,
        action=CORRECT,
        effect=Effect(BLIND),
    ),
    "gpu-throttled": Kind(
        "a GPU lowered its clock, was too hot or drew too much power while it was measured",
        "for heat check inlet air, fans or coolant and the heat sink, for a power brake the power"
        " supplies and the node's power limit; compare with a good GPU in the same slot; a GPU that"
        " throttles where others do not is replaced",
        "standard: NVIDIA, NVML API Reference Guide, NvmlClocksEventReasons; AMD SMI, GPU"
        " violations (rocm.docs.amd.com/projects/amdsmi)",
        severity=MAJOR,
        action=RESEAT,
        effect=Effect(LOW, GPU, SLOW, "gpu"),
    ),
    "telemetry-unread": Kind(
        "the GPUs of a node were not sampled while they were measured, or what was sampled cannot"
        " be read: whether they throttled is not known",
        "run the sampler's command of the transcript on the node by hand; update the vendor's tool,"
        " or take the limit of what it does not show out of the platform file",
        "derived: a GPU that nobody watches may throttle without missing the limit of a"
        " measurement",
        folds=True,
        severity=UNKNOWN,
        action=CORRECT,
        effect=Effect(BLIND),
    ),
    "gpu-link-errors": Kind(
        "the links of a GPU to the other GPUs (NVLink, xGMI) had errors, or sent packets again",
        "reset the GPUs of the node and measure again; if the errors come back, have GPU and"
        " baseboard or bridge checked (nvidia-smi nvlink -e, amd-smi metric --ecc-blocks)",
        "standard: NVIDIA, DCGM User Guide, health monitoring of NVLinks; AMD SMI, ECC blocks",
        severity=MAJOR,
        action=RESET,
        effect=Effect(LOW, COLLECTIVES, STOPS | SLOW | {Symptom.WRONG}, "gpu"),
    ),
    "link-retransmits": Kind(
        "a NIC lost or damaged RDMA packets and sent them again",
        "look for discards and errors at the switch ports of its path; check cable, transceiver and"
        " firmware of the NIC; on RoCE check that PFC and ECN are alike on NICs and switches",
        "standard: NVIDIA, Understanding mlx5 Linux Counters and Status Parameters; 000, 3.2: all"
        " of these counters are 0 on a good link",
        severity=MAJOR,
        action=REPAIR_LINK,
        effect=Effect(LOW, NETWORK, STOPS | LESS | {Symptom.COUNTED}, "nic"),
    ),
    "congestion": Kind(
        "the network was congested at a NIC: notifications of congestion, pause frames or discards;"
        " its node's hardware need not be at fault",
        "look which of its partners and which other traffic share its switch port and uplinks; on"
        " RoCE hold PFC, ECN (DCQCN) and buffers of the priority against the switches' settings",
        "standard: IEEE 802.1Qbb, priority flow control; NVIDIA, Understanding mlx5 Linux Counters"
        " and Status Parameters (congestion control)",
        severity=MAJOR,
        action=CORRECT,
        effect=Effect(LOW, NETWORK, STOPS | LESS | {Symptom.COUNTED}, "nic"),
    ),
    "counters-unread": Kind(
        "the error counters of a node were not read before and after the run, or show no"
        " difference: whether it had errors is not known",
        "run the command of the transcript on the node by hand; find what reset the counters or"
        " loaded the driver again, or take the group out of the platform file's section growth",
        "derived: a counter that is missing, or began anew, hides every error that it had counted",
        folds=True,
        severity=UNKNOWN,
        action=CORRECT,
        effect=Effect(BLIND),
    ),
    "port-in-use": Kind(
        "another process listens on the port that a measurement's server needs",
        "find the process with ss -ltnp on that node and end it: a server of an earlier run, or a "
        "service that uses this range of ports",
        "derived: a client that reaches another process measures nothing",
        severity=UNKNOWN,
        action=MEASURE_AGAIN,
        effect=Effect(BLIND, problems=frozenset({ProblemKind.PORT_IN_USE})),
    ),
    "suite-error": Kind(
        "railgauge itself failed while it measured or judged; the hardware was not judged",
        "report the item with its traceback (report.html has it); then measure again with --resume",
        "derived: an error of the suite is not evidence about the cluster",
        severity=UNKNOWN,
        action=MEASURE_AGAIN,
        effect=Effect(BLIND),
    ),
    "undiagnosed": Kind(
        "nothing explains these items",
        "read their reasons, the lowest rung first, and run the first one's command by hand",
        "derived: items that nothing explains are shown, not hidden",
        severity=UNKNOWN,
        action=MEASURE_AGAIN,
        effect=Effect(BLIND),
    ),
}
