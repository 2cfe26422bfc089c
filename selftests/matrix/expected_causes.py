"""The faults of the lab, the cause that each must have, and what its run needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from railgauge.config.thresholds.model import LEVELS

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
    "nic-idle-in-training": "nic-idle",
    "slow-leaf": "slow-leaf",
    "oversubscribed-uplinks": "oversubscribed-uplinks",
    "no-adaptive-routing": "oversubscribed-uplinks",
    "no-congestion-control": "congestion-impact",
    "poor-scaling": "poor-scaling",
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


@dataclass(frozen=True)
class RunNeeds:
    """What a run needs beside the lab's hostfile and level smoke, so that its faults show.

    ``hostfile`` are keys of the hostfile; ``leaves`` is the number of leaves, of two nodes each.
    ``measurements`` show the fault: a platform without them cannot have it, and where the level is
    not smoke, the matrix makes these alone.
    """

    hostfile: Mapping[str, Any] = field(default_factory=dict)
    level: str = "smoke"
    leaves: int = 0
    measurements: tuple[str, ...] = ()

    @property
    def nodes(self) -> int:
        return 2 * self.leaves

    def beside(self, other: RunNeeds) -> RunNeeds:
        """What a run with the faults of both needs."""
        storage = {**self.hostfile.get("storage", {}), **other.hostfile.get("storage", {})}
        return RunNeeds(
            {**self.hostfile, **other.hostfile, **({"storage": storage} if storage else {})},
            max(self.level, other.level, key=LEVELS.index),
            max(self.leaves, other.leaves),
            tuple(dict.fromkeys((*self.measurements, *other.measurements))),
        )


_SHEET = "95 % of the data sheet of its disk"
_SCRATCH = {
    "path": "/scratch", "basis": _SHEET, "size_mib": 64, "write_mb_per_s": 3800,
    "read_mb_per_s": 6460, "random_write_iops": 171_000, "random_read_iops": 950_000,
}  # fmt: skip
# The mean of three nodes or more, one of which is at half its speed, is above its limit.
_POOL = {
    "path": "/pool", "shared": True, "basis": _SHEET, "seconds": 1, "size_mib": 64,
    "fairness": 0.955, "together_write_mb_per_s": 2800, "together_read_mb_per_s": 4800,
}  # fmt: skip
_OF_POOL = RunNeeds({"storage": {"pool": _POOL}})
OF_LADDER = ("slow-leaf", "oversubscribed-uplinks", "poor-scaling", "no-adaptive-routing")
OF_VICTIMS = "no-congestion-control"
NEEDS: Mapping[str, RunNeeds] = {
    "become-refused": RunNeeds({"become": "sudo -n"}),
    "node-login": RunNeeds({"launch": "ssh"}),
    "slow-storage": RunNeeds({"storage": {"scratch": _SCRATCH}}),
    **dict.fromkeys(("slow-client", "storage-corruption"), _OF_POOL),
    "nic-idle-in-training": RunNeeds(
        level="nightly", measurements=("node_training", "pair_training", "pair_all_reduce")
    ),
    **dict.fromkeys(
        OF_LADDER, RunNeeds(level="signoff", leaves=4, measurements=("scaling_all_reduce",))
    ),
    OF_VICTIMS: RunNeeds(level="signoff", leaves=4, measurements=("group_congestion",)),
}


def needs_of(faults: Iterable[str]) -> RunNeeds:
    """What a run with these faults needs."""
    found = RunNeeds()
    for name in faults:
        found = found.beside(NEEDS.get(name, RunNeeds()))
    return found


# includes the faults that the matrix leaves out
ALL_CAUSES = CAUSES | {
    "slow-pcie-path": "slow-pcie-path",
    "gpu-diagnostics": "gpu-diagnostic-failed",
}
# These are faults of parts of nodes, whose figures the model of slow parts explains.
SLOW_PARTS = tuple(n for n in sorted(ALL_CAUSES) if n.startswith("slow-") and n not in NEEDS)
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
LEFT_OUT = frozenset({"tool-hangs", "tool-floods", "slow-pcie-path", "gpu-diagnostics"})
