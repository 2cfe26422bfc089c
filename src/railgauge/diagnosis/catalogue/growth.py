"""Causes that error counters show, read before and after the run."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "gpu-link-errors": Kind(
        "the links of a GPU to the other GPUs (NVLink, xGMI) had errors, or sent packets again",
        "reset the GPUs of the node and measure again; if the errors come back, have GPU and"
        " baseboard or bridge checked (nvidia-smi nvlink -e, amd-smi metric --ecc-blocks)",
        "standard: NVIDIA, DCGM User Guide, health monitoring of NVLinks; AMD SMI, ECC blocks",
    ),
    "link-retransmits": Kind(
        "a NIC lost or damaged RDMA packets and sent them again",
        "look for discards and errors at the switch ports of its path; check cable, transceiver and"
        " firmware of the NIC; on RoCE check that PFC and ECN are alike on NICs and switches",
        "standard: NVIDIA, Understanding mlx5 Linux Counters and Status Parameters; 000, 3.2: all"
        " of these counters are 0 on a good link",
    ),
    "congestion": Kind(
        "the network was congested at a NIC: notifications of congestion, pause frames or discards;"
        " its node's hardware need not be at fault",
        "look which of its partners and which other traffic share its switch port and uplinks; on"
        " RoCE hold PFC, ECN (DCQCN) and buffers of the priority against the switches' settings",
        "standard: IEEE 802.1Qbb, priority flow control; NVIDIA, Understanding mlx5 Linux Counters"
        " and Status Parameters (congestion control)",
    ),
    "counters-unread": Kind(
        "the error counters of a node were not read before and after the run, or show no"
        " difference: whether it had errors is not known",
        "run the command of the transcript on the node by hand; find what reset the counters or"
        " loaded the driver again, or take the group out of the platform file's section growth",
        "derived: a counter that is missing, or began anew, hides every error that it had counted",
        folds=True,
    ),
}
