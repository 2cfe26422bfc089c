"""Measurements for the checks of lab faults: RDMA between two nodes, and collectives."""

from __future__ import annotations

import re

from testing.lab_bench import Bench

IB = "sys/class/infiniband"
PARTS = ("slow-gpu", "slow-path", "slow-pcie-path", "slow-send", "slow-receive", "corrupt")
"""Faults whose checks are in ``test_lab_fault_parts``."""
OF_GPU_TOOLS = (
    "remap-failed", "ecc-off", "power-cap", "gpu-clock", "gpu-pcie", "gpu-link", "gpu-fabric",
    "gpu-partition", "vbios", "version", "clocks-unlocked", "nvme-missing", "gpu-diagnostics",
    "nvme-degraded",
)  # fmt: skip
"""Faults whose checks are in ``test_lab_gpu_faults``."""
OF_HOSTS = (
    "boost-off",
    "one-machine", "cloned-image", "duplicate-lid", "duplicate-gid", "clock", "cpus-offline",
    "guid-unset", "cpu-model", "cpu-steal", "memory-missing", "nic-numa",
)  # fmt: skip
"""Faults whose checks are in ``test_lab_host_faults``."""
OF_STORAGE = ("slow-storage", "slow-client", "storage-corruption")
"""Faults whose checks are in ``test_lab_storage``."""
OF_ACCESS = ("become-refused", "node-login", "gpu-hidden", "name-unresolved")
"""Faults whose checks are in ``test_lab_access_faults``."""
OF_KERNEL = (
    "gpu-xid", "gpu-ras", "pcie-errors", "link-flap", "out-of-memory", "kernel-log-denied",
    "kernel-log-lost", "logged-before",
)  # fmt: skip
"""Faults whose checks are in ``test_lab_kernel_faults``."""
OF_LOAD = ("throttle",)
"""Faults whose checks are in ``test_lab_telemetry``."""
OF_COUNTERS = ("ecc-growth", "gpu-link-errors", "pcie-replays", "retransmits", "congestion")
"""Faults whose checks are in ``test_lab_growth_faults``."""
BIG = ("-F", "--report_gbits", "-s", "8388608")


def gbps(bench: Bench, device: str = "mlx5_0", *more: str, server: int = 1) -> float:
    """From node 0 to node ``server``, with messages of 8 MiB."""
    return perftest(bench, "ib_write_bw", device, *more, server=server)


def perftest(bench: Bench, tool: str, device: str, *more: str, server: int = 1) -> float:
    """With the client on node 0 and the server on node ``server``, and messages of 8 MiB."""
    ran, _ = bench.pair((tool, "-d", device, *BIG, *more), server_index=server)
    row = next(line for line in ran.stdout.splitlines() if line.startswith(" 8388608"))
    return float(row.split()[3])


ALL_REDUCE = ("all_reduce_perf", "-b", "1G", "-e", "1G", "-g", "1")
TCPX_BINDINGS = (
    "-x", "NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:8-21,112-125;eth2:8-21,112-125;"
    "eth3:60-73,164-177;eth4:60-73,164-177",
    "-x", "NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth1:22-35,126-139;eth2:22-35,126-139;"
    "eth3:74-87,178-191;eth4:74-87,178-191",
)  # fmt: skip
H200_TUNING = (
    "-x", "NCCL_MIN_NCHANNELS=32", "-x", "NCCL_IB_QPS_PER_CONNECTION=4",
    "-x", "NCCL_P2P_NET_CHUNKSIZE=524288", "-x", "NCCL_IGNORE_CPU_AFFINITY=1",
)  # fmt: skip


def over_both(bench: Bench) -> tuple[str, ...]:
    hosts = ",".join(f"{node.name}:8" for node in bench.nodes[:2])
    return ("mpirun", "-np", "16", "--host", hosts)


def data_rows(text: str) -> list[str]:
    lines = (line.lstrip("# ") for line in text.splitlines())
    return [line for line in lines if re.match(r"\d+ +\d+ +\w+ ", line)]


def busbw_of(text: str) -> float:
    return float(data_rows(text)[-1].split()[7])


def busbw(bench: Bench, index: int, ranks: int, size: str) -> float:
    argv = ("mpirun", "-np", str(ranks), "all_reduce_perf", "-b", size, "-e", size, "-g", "1")
    return busbw_of(bench.run(index, *argv).stdout)


def received(bench: Bench, netdev: str) -> int:
    return int(bench.read(1, f"sys/class/net/{netdev}/statistics/rx_bytes"))


OF_TRAINING = ("wrong-bit", "late-rank", "starved-loader", "nic-idle-in-training")
"""Faults whose checks are in ``test_lab_train``."""
# Of the fabric: they need a hostfile with leaves.
OF_FABRIC = ("slow-leaf", "oversubscribed-uplinks", "poor-scaling", "no-adaptive-routing")
OF_CONGESTION = ("no-congestion-control",)
"""Faults whose checks are in ``test_lab_congestion``."""
OF_CLUSTER = (*OF_STORAGE, *OF_TRAINING, *OF_FABRIC, *OF_CONGESTION)
