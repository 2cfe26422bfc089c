"""Which reader owns which recorded output, by the beginning of its path.

Each reader is one that the product runs. A command that the product does not run has no reader;
``NOT_RUN`` says what is asked in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from railgauge.facts import ibtools, pci
from railgauge.stacks import amd_smi, metax, nvidia_smi, nvlink, rocm_smi, topology
from railgauge.subnet import netdiscover

Reader = Callable[[str], Any]

OF_TOOLS: dict[str, str] = {
    "corpus/nccl/": "ccl-tests",
    "corpus/rccl/": "ccl-tests",
    "corpus/rccl/012-ras-": "ras-status",
    "corpus/rccl/013-ras-": "ras-status",
    "corpus/rccl/014-ras-": "ras-status",
    "corpus/mccl/": "ccl-tests",
    "corpus/nccom/": "ccl-tests",
    "corpus/perftest/": "perftest",
    "corpus/gpu-bw/001-nvbandwidth-": "nvbandwidth",
    "corpus/gpu-bw/003-rocm_bandwidth_test-": "rocm-bandwidth-test",
    "corpus/gpu-bw/004-rocm_bandwidth_test-": "rocm-bandwidth-test",
    "corpus/gpu-bw/005-rocm_bandwidth_test-": "rocm-bandwidth-test",
    "corpus/gpu-bw/006-rvs-": "rvs",
    "corpus/gpu-bw/008-p2pBandwidthLatencyTest-": "p2p-bandwidth-latency",
    "corpus/gpu-bw/009-superbench-": "superbench-copy",
    "corpus/gpu-bw/010-superbench-": "superbench-copy",
    "corpus/gpu-bw/011-superbench-": "superbench-copy",
    "corpus/gpu-bw/012-p2pBandwidthLatencyTest-": "p2p-bandwidth-latency",
    "corpus/gpu-bw/013-nvbandwidth-": "nvbandwidth",
    "corpus/gpu-bw/015-nvbandwidth-": "nvbandwidth",
    "corpus/gpu-bw/021-transferbench-": "transferbench",
    "corpus/gpu-bw/022-transferbench-": "transferbench",
    "corpus/gpu-bw/023-transferbench-": "transferbench",
    "corpus/gpu-bw/024-transferbench-": "transferbench",
    "corpus/gpu-bw/025-transferbench-": "transferbench",
    "corpus/gpu-bw/026-transferbench-": "transferbench",
    "corpus/gpu-bw/027-nvbandwidth-": "nvbandwidth",
    "corpus/gpu-bw/029-nvbandwidth-": "nvbandwidth",
    "corpus/gpu-bw/031-nvbandwidth-": "nvbandwidth",
    "corpus/gpu-bw/032-nvbandwidth-": "nvbandwidth",
    "corpus/gpu-bw/033-nvbandwidth-": "nvbandwidth",
    "corpus/gpu-bw/034-nvbandwidth-": "nvbandwidth",
    "corpus/gpu-bw/036-nvbandwidth-": "nvbandwidth",
    "corpus/ib-tools/011-perfquery-": "perfquery",
    "corpus/ib-tools/019-ibqueryerrors-": "ibqueryerrors",
    "corpus/ib-tools/020-iblinkinfo-": "iblinkinfo",
    "corpus/dcgmi/": "dcgmi-diag",
    "corpus/vllm/": "vllm-bench",
    "transcripts/cx4-ib_send_bw-": "perftest",
    "transcripts/metax-ib_write_bw-": "perftest",
    "transcripts/h200-nccl-": "ccl-tests",
    "transcripts/metax-mccl-": "ccl-tests",
    "transcripts/mi300x-rccl-": "ccl-tests",
    "transcripts/mi300x-transferbench-": "transferbench",
    "transcripts/h200-dcgmi-diag-": "dcgmi-diag",
    "transcripts/h200-azure-nhc": "azure-nhc",
}

OF_FACTS: dict[str, Reader] = {
    "corpus/nvidia-smi/005-topo-": topology.parse_topology,
    "corpus/nvidia-smi/006-nvlink-": nvlink.parse_nvlink,
    "corpus/nvidia-smi/009-nvlink-": nvlink.parse_nvlink,
    "corpus/nvidia-smi/010-topo-": topology.parse_topology,
    "corpus/nvidia-smi/011-topo-": topology.parse_topology,
    "corpus/nvidia-smi/013-q-": nvidia_smi.parse_log,
    "corpus/nvidia-smi/014-q-": nvidia_smi.parse_log,
    "corpus/nvidia-smi/016-q-": nvidia_smi.parse_log,
    "corpus/nvidia-smi/019-q-": nvidia_smi.parse_log,
    "corpus/nvidia-smi/021-q-": nvidia_smi.parse_log,
    "corpus/nvidia-smi/022-q-": nvidia_smi.parse_log,
    "corpus/nvidia-smi/023-q-": nvidia_smi.parse_log,
    "corpus/nvidia-smi/024-no-devices-": nvidia_smi.parse_log,
    "corpus/rocm-smi/003-json-": rocm_smi.parse_json,
    "corpus/amd-smi/001-static-": amd_smi.parse_gpus,
    "corpus/amd-smi/004-list-": amd_smi.parse_gpus,
    "corpus/amd-smi/005-static-": amd_smi.parse_gpus,
    "corpus/amd-smi/006-metric-": amd_smi.parse_gpus,
    "corpus/amd-smi/011-bad-pages-": amd_smi.parse_gpus,
    "corpus/amd-smi/013-xgmi-": amd_smi.parse_xgmi,
    "corpus/mx-smi/001-plain-": metax.parse_gpus,
    "corpus/mx-smi/002-topo-": topology.parse_topology,
    "corpus/mx-smi/003-topo-": topology.parse_topology,
    "corpus/ib-tools/001-ibv_devinfo-": ibtools.parse_ibv_devinfo,
    "corpus/ib-tools/006-ibdev2netdev-": ibtools.parse_ibdev2netdev,
    "corpus/ib-tools/007-ibnetdiscover-": netdiscover.parse_ibnetdiscover,
    "corpus/ib-tools/008-ibnetdiscover-": netdiscover.parse_ibnetdiscover,
    "corpus/ib-tools/014-ibnetdiscover-": netdiscover.parse_ibnetdiscover,
    "corpus/ib-tools/015-ibnetdiscover-": netdiscover.parse_ibnetdiscover,
    "corpus/ib-tools/016-ibnetdiscover-": netdiscover.parse_ibnetdiscover,
    "corpus/ib-tools/023-ibdev2netdev-": ibtools.parse_ibdev2netdev,
    "corpus/ib-tools/025-ibdev2netdev-": ibtools.parse_ibdev2netdev,
    "corpus/ib-tools/028-show_gids-": ibtools.parse_show_gids,
    "corpus/ib-tools/030-show_gids-": ibtools.parse_show_gids,
    "corpus/ib-tools/031-show_gids-": ibtools.parse_show_gids,
    "corpus/ib-tools/033-ibv_devinfo-": ibtools.parse_ibv_devinfo,
    "corpus/ib-tools/034-ibv_devinfo-": ibtools.parse_ibv_devinfo,
    "corpus/host/001-lspci-": pci.parse_lspci,
    "corpus/host/003-lspci-": pci.parse_lspci,
    "corpus/host/004-lspci-": pci.parse_lspci,
    "transcripts/cx4-ibv_devices": ibtools.parse_ibv_devices,
    "transcripts/metax-ibdev2netdev": ibtools.parse_ibdev2netdev,
    "transcripts/metax-lspci-acsctl": pci.parse_lspci,
    "transcripts/metax-mx-smi-topo": topology.parse_topology,
    "transcripts/metax-mx-smi.": metax.parse_gpus,
    "transcripts/metax-show_gids": ibtools.parse_show_gids,
}

_TABLE = "a table for people: the same figures are asked for by name"
_PORTS = "state, rate, LID and link layer of every port are read from sysfs"
_PLACES = "the CPUs of every NUMA node are read from sysfs"

# The command as it was recorded, and what the product asks in its place.
NOT_RUN: dict[str, tuple[str, str]] = {
    "corpus/nvidia-smi/003-plain-": ("nvidia-smi", _TABLE),
    "corpus/nvidia-smi/008-dmon-": ("nvidia-smi dmon", "load is not watched during a run"),
    "corpus/nvidia-smi/018-plain-": ("nvidia-smi", _TABLE),
    "corpus/rocm-smi/001-concise-": ("rocm-smi", _TABLE),
    "corpus/rocm-smi/005-showproductname-": ("rocm-smi --showproductname", "JSON is asked for"),
    "corpus/rocm-smi/006-concise-": ("rocm-smi", _TABLE),
    "corpus/rocm-smi/007-showproductname-": ("rocm-smi --showproductname", "JSON is asked for"),
    "corpus/amd-smi/002-default-": ("amd-smi", _TABLE),
    "corpus/amd-smi/007-monitor-": ("amd-smi monitor", "load is not watched during a run"),
    "corpus/amd-smi/012-topology-": ("amd-smi topology", "rocm-smi --showtopo gives link types"),
    "corpus/ib-tools/005-ibstat-": ("ibstat", _PORTS),
    "corpus/ib-tools/012-ibswinfo-": ("ibswinfo", "fans and supplies of switches are not judged"),
    "corpus/ib-tools/013-ibswinfo-": ("ibswinfo", "fans and supplies of switches are not judged"),
    "corpus/ib-tools/017-ibstat-": ("ibstat", _PORTS),
    "corpus/ib-tools/027-rdma-link-": ("rdma link", _PORTS),
    "corpus/ib-tools/032-ibstat-": ("ibstat", _PORTS),
    "corpus/host/005-cpupower-": ("cpupower frequency-info", "governors are read from sysfs"),
    "corpus/host/006-cpupower-": ("cpupower frequency-info", "governors are read from sysfs"),
    "corpus/host/009-numactl-": ("numactl -H", _PLACES),
    "corpus/host/011-numactl-": ("numactl -H", _PLACES),
    "corpus/host/012-lscpu-": ("lscpu", _PLACES),
    "corpus/host/014-proc-interrupts-": ("cat /proc/interrupts", "irq lists are read from sysfs"),
    "corpus/host/015-ethtool-": ("ethtool -S", "of its lines rx_devmem_* are taken, if declared"),
    "corpus/host/016-proc-interrupts-": ("cat /proc/interrupts", "irq lists are read from sysfs"),
    "corpus/host/017-proc-interrupts-": ("cat /proc/interrupts", "irq lists are read from sysfs"),
    "corpus/host/019-lscpu-": ("lscpu -J", _PLACES),
    "corpus/host/021-lscpu-": ("lscpu -J", _PLACES),
    "transcripts/metax-cpupower-": ("cpupower frequency-info", "governors are read from sysfs"),
    "transcripts/metax-lspci-vt": ("lspci -vt", "distances are the GPU stack's topology"),
    "transcripts/metax-show_counters": ("show_counters", "counters are read from sysfs"),
}
