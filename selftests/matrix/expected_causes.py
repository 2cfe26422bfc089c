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
    "boost-off": "cpu-governor",
    "guid-unset": "guid-unset",
}
# Lines of the hostfile without which these faults do not show.
OF_HOSTFILE = {"become-refused": "become: sudo -n\n", "node-login": "launch: ssh\n"}
# Drawn after all others, which so keep their places on the page of the matrix. The study of unknown
# faults leaves them out, because its page is of runs that were drawn without them.
OF_ACCESS = frozenset({"gpu-hidden", *OF_HOSTFILE})
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
DRAWN_LAST = (
    OF_ACCESS | OF_KERNEL | OF_LOAD | OF_COUNTERS | OF_GUESTS | OF_CPUS | OF_GUIDS | OF_FIRST_DAY
)
# includes the faults that the matrix leaves out
ALL_CAUSES = CAUSES | {
    "slow-pcie-path": "slow-pcie-path",
    "gpu-diagnostics": "gpu-diagnostic-failed",
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
# has one pairing per NIC, which cannot separate a GPU from its path to the NIC, and no diagnostics.
# Those of a fabric need leaves and a sign-off: endtoend/test_scaling_runs.py has them.
OF_FABRIC = frozenset({"slow-leaf", "oversubscribed-uplinks", "poor-scaling"})
LEFT_OUT = OF_FABRIC | {"tool-hangs", "tool-floods", "slow-pcie-path", "gpu-diagnostics"}
