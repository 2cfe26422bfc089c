"""The groups of counters whose growth a platform file may limit, with their places and meanings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from railgauge.config.thresholds.model import Nic


@dataclass(frozen=True, slots=True)
class CounterGroup:
    """Counters of one meaning at each GPU, at each NIC of the fabric that has them, or at both.

    ``pattern`` matches their whole names. Each device must show all counters of ``needed``; a group
    without any needs at least one that matches, because drivers name these counters differently.
    ``cause`` is the cause if they grow too much, and ``source`` documents them.
    """

    name: str
    means: str
    cause: str
    source: str
    pattern: str
    needed: tuple[str, ...] = ()
    of_gpus: bool = False
    of_nics: Callable[[Nic], bool] | None = None

    def has(self, counter: str) -> bool:
        return re.fullmatch(self.pattern, counter) is not None


def _rdma(nic: Nic) -> bool:
    return nic.rdma


def _ethernet(nic: Nic) -> bool:
    return nic.link_layer == "Ethernet"


def _roce(nic: Nic) -> bool:
    return nic.rdma and _ethernet(nic)


def _any(_nic: Nic) -> bool:
    return True


def _no_rdma(nic: Nic) -> bool:
    return not nic.rdma


MEMORY, LINK, PCIE = "gpu-memory-errors", "gpu-link-errors", "pcie-errors"
PORT, RETRANSMITS, CONGESTION = "link-error-rate", "link-retransmits", "congestion"

_SMI = "NVIDIA, nvidia-smi manual; AMD, amd-smi metric"
_AER = "the Linux kernel's Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats"
_PORTS = "the Linux kernel's Documentation/ABI/stable/sysfs-class-infiniband, counters"
_HARDWARE = "NVIDIA, Understanding mlx5 Linux Counters and Status Parameters"
_MLX5 = "the Linux kernel's documentation of mlx5, ethtool counters"

_FOUND = (
    CounterGroup(
        "gpu_ecc_uncorrected", "uncorrected errors of the GPU's memory since its driver was loaded",
        MEMORY, _SMI, "ecc_uncorrected", ("ecc_uncorrected",), of_gpus=True,
    ),
    CounterGroup(
        "gpu_ecc_corrected", "corrected errors of the GPU's memory since its driver was loaded",
        MEMORY, _SMI, "ecc_corrected", ("ecc_corrected",), of_gpus=True,
    ),
    CounterGroup(
        "gpu_remapped_rows", "rows of the GPU's memory that a spare row replaces",
        MEMORY, "NVIDIA, GPU Memory Error Management", "remapped_rows", ("remapped_rows",),
        of_gpus=True,
    ),
    CounterGroup(
        "gpu_retired_pages", "pages of the GPU's memory that are no longer used",
        MEMORY, "NVIDIA, Dynamic Page Retirement; AMD, amd-smi bad-pages", "retired_pages",
        ("retired_pages",), of_gpus=True,
    ),
    CounterGroup(
        "gpu_link_errors", "replays, recoveries and CRC errors of NVLinks; AMD's XGMI errors",
        LINK, "NVIDIA, nvidia-smi nvlink -e; AMD, amd-smi metric --ecc-blocks",
        r"link\d{1,3}_(?:replay|recovery|crc)_errors|xgmi_(?:un)?corrected", of_gpus=True,
    ),
    CounterGroup(
        "gpu_pcie_replays", "packets that the GPU sent again over PCIe",
        PCIE, _SMI, "pcie_replays", ("pcie_replays",), of_gpus=True,
    ),
    CounterGroup(
        "pcie_corrected", "corrected errors of the PCIe link (AER)", PCIE, _AER,
        "aer_dev_correctable", ("aer_dev_correctable",), of_gpus=True, of_nics=_any,
    ),
    CounterGroup(
        "pcie_uncorrected", "uncorrected errors of the PCIe link (AER), fatal or not", PCIE, _AER,
        "aer_dev_(?:non)?fatal", ("aer_dev_fatal", "aer_dev_nonfatal"), of_gpus=True, of_nics=_any,
    ),
    CounterGroup(
        "port_errors", "errors of the port's link, and how often it went down or was retrained",
        PORT, _PORTS,
        "symbol_error|link_error_recovery|link_downed|port_rcv_errors"
        "|local_link_integrity_errors|excessive_buffer_overrun_errors",
        ("symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors"), of_nics=_rdma,
    ),
    CounterGroup(
        "rdma_retransmits", "packets that RDMA lost, damaged or had to send again",
        RETRANSMITS, _HARDWARE,
        "packet_seq_err|out_of_sequence|implied_nak_seq_err|local_ack_timeout_err"
        "|req_transport_retries_exceeded|roce_adp_retrans|roce_adp_retrans_to|rx_icrc_encapsulated",
        ("packet_seq_err", "out_of_sequence", "implied_nak_seq_err", "local_ack_timeout_err"),
        of_nics=_rdma,
    ),
    CounterGroup(
        "rdma_receiver_not_ready", "answers that the receiver had no buffer (RNR NAK)",
        RETRANSMITS, _HARDWARE, "rnr_nak_retry_err", ("rnr_nak_retry_err",), of_nics=_rdma,
    ),
    CounterGroup(
        "congestion_notifications", "notifications of congestion that were sent or obeyed (DCQCN)",
        CONGESTION, _HARDWARE, "np_cnp_sent|rp_cnp_handled|np_ecn_marked_roce_packets",
        ("np_cnp_sent", "rp_cnp_handled"), of_nics=_roce,
    ),
    CounterGroup(
        "port_discards", "packets that the port did not send, since it was congested or down",
        CONGESTION, _PORTS, "port_xmit_discards", ("port_xmit_discards",), of_nics=_rdma,
    ),
    CounterGroup(
        "pause_frames", "frames by which one end of a link stops the other, by priority",
        CONGESTION, _MLX5, r"[rt]x_(?:prio\d_|global_)pause|[rt]x_pause_ctrl_phy",
        of_nics=_ethernet,
    ),
    CounterGroup(
        "priority_discards", "packets dropped for want of buffers, by priority",
        CONGESTION, _MLX5, r"[rt]x_prio\d_(?:buf_)?discards?|[rt]x_discards_phy", of_nics=_ethernet,
    ),
    CounterGroup(
        "drops", "packets that the network device dropped", CONGESTION,
        "the Linux kernel's Documentation/networking/statistics.rst", "[rt]x_dropped",
        ("rx_dropped", "tx_dropped"), of_nics=_no_rdma,
    ),
    CounterGroup(
        "devmem_drops", "packets for GPU memory that the gVNIC dropped (TCPX)", CONGESTION,
        "003: ethtool -S of a gVNIC with GPUDirect-TCPX", "rx_devmem_dropped",
        ("rx_devmem_dropped",), of_nics=_no_rdma,
    ),
)  # fmt: skip
GROUPS: Mapping[str, CounterGroup] = {group.name: group for group in _FOUND}

# The counters that the kernel has in a file for each port of an HCA.
PORT_COUNTERS = tuple(
    name for group in _FOUND if group.of_nics in (_rdma, _roce) for name in group.pattern.split("|")
)
# The counters of network devices that only ethtool shows.
BY_ETHTOOL = ("pause_frames", "priority_discards", "devmem_drops")

# The highest value of the counters of a port, at which they stop (InfiniBand Architecture
# Specification, volume 1, PortCounters).
_BITS = {
    4: ("local_link_integrity_errors", "excessive_buffer_overrun_errors"),
    8: ("link_error_recovery", "link_downed"),
    16: ("symbol_error", "port_rcv_errors", "port_xmit_discards"),
}
STANDS_AT: Mapping[str, int] = {
    name: 2**bits - 1 for bits, names in _BITS.items() for name in names
}
