"""The faults of the lab, the cause that each must have, and what is special about some."""

CAUSES = {
    "unreachable": "node-unreachable",
    "node-stops": "node-unreachable",
    "host-key-changed": "host-key-rejected",
    "wrong-key": "node-unreachable",
    "tool-missing": "tool-missing",
    "tool-silent": "tool-failing",
    "tool-garbage": "tool-failing",
    "background-diagnostics": "background-gpu-diagnostics",
    "high-ber": "link-error-rate",
    "port-down": "link-down",
    "link-rate": "link-rate-degraded",
    "gdr-disabled": "gpudirect-rdma-disabled",
    "peermem-missing": "peer-memory-module-missing",
    "slow-xgmi": "slow-gpu-link",
    "numa-balancing": "numa-balancing-enabled",
    "numad": "numa-daemon",
    "modules-by-hand": "module-not-at-boot",
    "acs": "acs-enabled",
    "governor": "cpu-governor",
    "nic-idle": "nic-idle",
    "tcp-fallback": "wrong-transport",
    "slow-node": "slow-node",
    "slow-nic": "slow-nic",
    "slow-gpu": "slow-gpu",
    "slow-path": "slow-path",
    "slow-send": "slow-direction",
    "slow-receive": "slow-direction",
    "gpu-missing": "gpu-missing",
    "nic-missing": "nic-missing",
    "pcie-width": "pcie-degraded",
    "ecc": "gpu-memory-errors",
    "memlock": "memlock-limited",
    "no-sm": "subnet-manager-missing",
    "mtu": "mtu-mismatch",
    "firmware": "firmware-mismatch",
    "corrupt": "data-corruption",
    "wrong-bit": "data-corruption",
    "late-rank": "late-rank",
    "starved-loader": "starved-loader",
    "remap-failed": "gpu-memory-errors",
    "ecc-off": "gpu-ecc-off",
    "power-cap": "gpu-power-capped",
    "gpu-clock": "gpu-clock-limited",
    "gpu-pcie": "gpu-pcie-degraded",
    "gpu-link": "gpu-link-down",
    "gpu-fabric": "gpu-fabric-down",
    "gpu-partition": "gpu-partitioned",
    "vbios": "firmware-mismatch",
    "clocks-unlocked": "gpu-clock-unlocked",
    "nvme-missing": "nvme-missing",
    "nvme-degraded": "nvme-degraded",
    "version": "nodes-differ",
    "one-machine": "one-machine",
    "cloned-image": "cloned-image",
    "duplicate-lid": "duplicate-address",
    "duplicate-gid": "duplicate-address",
    "clock": "clock-off",
    "cpus-offline": "cpus-offline",
    "cpu-model": "nodes-differ",
    "memory-missing": "hardware-differs",
    "nic-numa": "nodes-differ",
    "irq-affinity": "",
    "become-refused": "become-refused",
    "gpu-hidden": "gpu-hidden",
    "node-login": "login-between-nodes",
    "name-unresolved": "name-not-resolved",
    "logged-before": "",  # a sign-off alone judges it
    "gpu-xid": "gpu-xid",
    "gpu-ras": "kernel-errors",
    "pcie-errors": "pcie-errors",
    "link-flap": "link-flap",
    "out-of-memory": "kernel-errors",
    "kernel-log-denied": "kernel-log-unread",
    "kernel-log-lost": "kernel-log-unread",
    "throttle": "gpu-throttled",
    "ecc-growth": "gpu-memory-errors",
    "gpu-link-errors": "gpu-link-errors",
    "pcie-replays": "pcie-errors",
    "retransmits": "link-retransmits",
    "congestion": "congestion",
    "cpu-steal": "cpu-steal",
    "slow-storage": "slow-storage",
    "slow-client": "slow-client",
    "storage-corruption": "storage-corruption",
    "boost-off": "cpu-governor",
    "guid-unset": "guid-unset",
}
# 80 % of what the disks of the lab deliver.
STORAGE = """\
storage:
  scratch: {path: /scratch, basis: "80 % of the data sheet of its disk", write_mb_per_s: 3200,
    size_mib: 64, read_mb_per_s: 5400, random_write_iops: 144000, random_read_iops: 800000}
"""
# The mean of three nodes or more, one of which is at half its speed, is above its limit.
SHARED_STORAGE = """\
storage:
  pool: {path: /pool, shared: true, basis: "80 % of the data sheet of its disk", seconds: 1,
    size_mib: 64, fairness: 0.8, together_write_mb_per_s: 2800, together_read_mb_per_s: 4800}
"""
# Lines of the hostfile without which these faults do not show.
OF_HOSTFILE = {
    "become-refused": "become: sudo -n\n",
    "node-login": "launch: ssh\n",
    "slow-storage": STORAGE,
    **dict.fromkeys(("slow-client", "storage-corruption"), SHARED_STORAGE),
}
# Drawn after all others, which so keep their places on the page of the matrix. The study of unknown
# faults leaves them out, because its page is of runs that were drawn without them.
OF_ACCESS = frozenset({"gpu-hidden", "become-refused", "node-login"})
# Likewise, and drawn after those.
OF_KERNEL = frozenset(
    {"gpu-xid", "gpu-ras", "pcie-errors", "link-flap", "out-of-memory", "kernel-log-denied",
     "kernel-log-lost"}
)  # fmt: skip
# Likewise, and drawn after those.
OF_LOAD = frozenset({"throttle"})
# Likewise, and drawn after those.
OF_COUNTERS = frozenset(
    {"ecc-growth", "gpu-link-errors", "pcie-replays", "retransmits", "congestion"}
)
# Likewise, and drawn after those.
OF_GUESTS = frozenset({"cpu-steal"})
# Likewise, and drawn after those.
OF_CPUS = frozenset({"boost-off"})
# Likewise, and drawn after those.
OF_GUIDS = frozenset({"guid-unset"})
# Likewise, and drawn after those.
OF_FIRST_DAY = frozenset({"name-unresolved", "logged-before"})
# Likewise, and drawn after those.
OF_TRAINING = frozenset({"wrong-bit", "late-rank", "starved-loader", "nic-idle-in-training"})
# Drawn after those.
OF_STORAGE = frozenset({"nvme-degraded", "slow-storage", "slow-client", "storage-corruption"})
DRAWN_LAST = (
    OF_ACCESS
    | OF_KERNEL
    | OF_LOAD
    | OF_COUNTERS
    | OF_GUESTS
    | OF_CPUS
    | OF_GUIDS
    | OF_FIRST_DAY
    | OF_TRAINING
    | OF_STORAGE
)
# includes the faults that the matrix leaves out
ALL_CAUSES = CAUSES | {
    "slow-pcie-path": "slow-pcie-path",
    "gpu-diagnostics": "gpu-diagnostic-failed",
    "nic-idle-in-training": "nic-idle",
}
PATH = "slow-path"
TUNING, TUNING_CAUSE = "no-tuning", "collective-tuning-missing"
# These faults prevent measurements, so nothing fails and the run is incomplete.
INCOMPLETE = frozenset(
    {"unreachable", "node-stops", "host-key-changed", "wrong-key", "tool-missing", "tool-silent",
     "tool-garbage", "become-refused", "gpu-hidden", "kernel-log-denied", "kernel-log-lost",
     "name-unresolved"}
)  # fmt: skip
# These causes blame no node: they list each value with its nodes.
DIFFERENCES = frozenset({"nodes-differ", "firmware-mismatch"})
# Tools that hang or flood run into time limits, which the end-to-end selftests cover. Level smoke
# has one pairing per NIC, which cannot separate a GPU from its path to the NIC, no diagnostics, and
# no training between nodes.
# Those of a fabric need a sign-off, most of them leaves too: endtoend/test_scaling_runs.py and
# endtoend/test_congestion_runs.py have them.
OF_FABRIC = frozenset(
    {
        "slow-leaf",
        "oversubscribed-uplinks",
        "poor-scaling",
        "no-adaptive-routing",
        "no-congestion-control",
    }
)
LEFT_OUT = OF_FABRIC | {
    *("tool-hangs", "tool-floods", "slow-pcie-path", "gpu-diagnostics", "nic-idle-in-training"),
}
