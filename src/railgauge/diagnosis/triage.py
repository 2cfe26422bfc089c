"""What to do about each cause: how severe it is, and the kind of action that removes it. Pure.

``TRIAGE`` has an entry for every name of the catalogue. The catalogue's remedy says how; severity
and action say how soon, and whether the node may get jobs meanwhile.

Example: ``link-down`` is critical, its action is to repair the link, and its node is drained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.core.terms import Term


class CauseSeverity(Term):
    """How bad a cause is for the jobs on its node; ``meaning`` says it in words. Worst first."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    UNKNOWN = "unknown"

    @property
    def meaning(self) -> str:
        return _SEVERITIES[self]

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(CauseSeverity).index(self)


class CauseAction(Term):
    """The kind of work that removes a cause; ``meaning`` says it in words."""

    DRAIN = "drain"
    RESET = "reset"
    RESEAT = "reseat"
    EXCHANGE = "exchange part"
    REPAIR_LINK = "repair the link"
    CORRECT = "correct a setting"
    COMPARE = "compare with a good node"
    ASK_VENDOR = "ask vendor"
    MEASURE_AGAIN = "measure again"

    @property
    def meaning(self) -> str:
        return _ACTIONS[self]


_SEVERITIES = {
    CauseSeverity.CRITICAL: "the part does not work, or its results are wrong: jobs fail there",
    CauseSeverity.MAJOR: "jobs run, but slower or less reliably than they should",
    CauseSeverity.MINOR: "costs nothing that was measured, or little: it can wait for the next"
    " maintenance",
    CauseSeverity.UNKNOWN: "says nothing about the hardware: something kept it from being measured",
}
_ACTIONS = {
    CauseAction.DRAIN: "give the node no new jobs, and examine it as the remedy says",
    CauseAction.RESET: "reset the GPUs or what connects them, or power-cycle the node",
    CauseAction.RESEAT: "take the card or board out, put it back, and check its slot",
    CauseAction.EXCHANGE: "replace the part, or swap it with a good one",
    CauseAction.REPAIR_LINK: "clean, reseat or replace cable and transceiver, or use another port",
    CauseAction.CORRECT: "correct a setting, service, module, version or file",
    CauseAction.COMPARE: "find what differs from a good node: BIOS, firmware, clocks, slots",
    CauseAction.ASK_VENDOR: "hold the node against its order, with the vendor",
    CauseAction.MEASURE_AGAIN: "remove what kept it from being measured, and measure again",
}
# Work that takes a part away from the jobs of the node, or restarts it.
_NEEDS_EMPTY_NODE = frozenset(
    {
        CauseAction.DRAIN,
        CauseAction.RESET,
        CauseAction.RESEAT,
        CauseAction.EXCHANGE,
        CauseAction.REPAIR_LINK,
    }
)


AMONG_NODES = frozenset({"nodes-differ", "firmware-mismatch", "one-machine"})
"""Causes that hold several nodes against each other, and blame none of them."""


@dataclass(frozen=True, slots=True)
class CauseTriage:
    """The severity and the action of one cause."""

    severity: CauseSeverity
    action: CauseAction

    @property
    def drains(self) -> bool:
        """Whether the node should get no new jobs: they would fail, or the work disturbs them."""
        return self.severity is CauseSeverity.CRITICAL or self.action in _NEEDS_EMPTY_NODE


_ACTIONS_BY_SEVERITY: Mapping[CauseSeverity, Mapping[str, CauseAction]] = {
    CauseSeverity.CRITICAL: {
        "node-unreachable": CauseAction.DRAIN,
        "data-corruption": CauseAction.DRAIN,
        "health-check-failed": CauseAction.DRAIN,
        "gpu-missing": CauseAction.RESET,
        "gpu-memory-errors": CauseAction.RESET,
        "gpu-fabric-down": CauseAction.RESET,
        "gpu-xid": CauseAction.RESET,
        "nic-missing": CauseAction.RESEAT,
        "gpu-diagnostic-failed": CauseAction.EXCHANGE,
        "link-down": CauseAction.REPAIR_LINK,
        "subnet-manager-missing": CauseAction.CORRECT,
        "duplicate-address": CauseAction.CORRECT,
        "guid-unset": CauseAction.CORRECT,
    },
    CauseSeverity.MAJOR: {
        "slow-node": CauseAction.DRAIN,
        "kernel-errors": CauseAction.DRAIN,
        "faults-before-run": CauseAction.RESET,
        "gpu-link-down": CauseAction.RESET,
        "slow-gpu-link": CauseAction.RESET,
        "gpu-link-errors": CauseAction.RESET,
        "pcie-degraded": CauseAction.RESEAT,
        "pcie-errors": CauseAction.RESEAT,
        "gpu-pcie-degraded": CauseAction.RESEAT,
        "slow-gpu": CauseAction.RESEAT,
        "gpu-throttled": CauseAction.RESEAT,
        "nvme-missing": CauseAction.RESEAT,
        "slow-nic": CauseAction.EXCHANGE,
        "link-rate-degraded": CauseAction.REPAIR_LINK,
        "link-error-rate": CauseAction.REPAIR_LINK,
        "link-flap": CauseAction.REPAIR_LINK,
        "link-retransmits": CauseAction.REPAIR_LINK,
        "miscabled": CauseAction.REPAIR_LINK,
        "slow-path": CauseAction.REPAIR_LINK,
        "slow-direction": CauseAction.REPAIR_LINK,
        "gpu-clock-limited": CauseAction.COMPARE,
        "wrong-numa-node": CauseAction.COMPARE,
        "hardware-differs": CauseAction.ASK_VENDOR,
        "unstable-collective": CauseAction.MEASURE_AGAIN,
        "mtu-mismatch": CauseAction.CORRECT,
        "gpu-ecc-off": CauseAction.CORRECT,
        "gpu-power-capped": CauseAction.CORRECT,
        "gpu-hidden": CauseAction.CORRECT,
        "gpu-partitioned": CauseAction.CORRECT,
        "background-gpu-diagnostics": CauseAction.CORRECT,
        "gpudirect-rdma-disabled": CauseAction.CORRECT,
        "peer-memory-module-missing": CauseAction.CORRECT,
        "kernel-module-missing": CauseAction.CORRECT,
        "memlock-limited": CauseAction.CORRECT,
        "acs-enabled": CauseAction.CORRECT,
        "cpus-offline": CauseAction.CORRECT,
        "wrong-transport": CauseAction.CORRECT,
        "nic-idle": CauseAction.CORRECT,
        "collective-tuning-missing": CauseAction.CORRECT,
        "slow-pcie-path": CauseAction.CORRECT,
        "poor-scaling": CauseAction.CORRECT,
        "congestion": CauseAction.CORRECT,
    },
    CauseSeverity.MINOR: {
        "straggler": CauseAction.COMPARE,
        "cloned-image": CauseAction.CORRECT,
        "clock-off": CauseAction.CORRECT,
        "firmware-mismatch": CauseAction.CORRECT,
        "version-mismatch": CauseAction.CORRECT,
        "nodes-differ": CauseAction.CORRECT,
        "module-not-at-boot": CauseAction.CORRECT,
        "gpu-clock-unlocked": CauseAction.CORRECT,
        "persistence-mode-off": CauseAction.CORRECT,
        "cpu-governor": CauseAction.CORRECT,
        "numa-balancing-enabled": CauseAction.CORRECT,
        "numa-daemon": CauseAction.CORRECT,
    },
    CauseSeverity.UNKNOWN: {
        # Another program uses the GPUs: the node is measured when its jobs have ended.
        "foreign-gpu-process": CauseAction.DRAIN,
        "host-key-rejected": CauseAction.CORRECT,
        "setup-failed": CauseAction.CORRECT,
        "become-refused": CauseAction.CORRECT,
        "other-machine": CauseAction.CORRECT,
        "kernel-log-unread": CauseAction.CORRECT,
        "telemetry-unread": CauseAction.CORRECT,
        "counters-unread": CauseAction.CORRECT,
        "login-between-nodes": CauseAction.CORRECT,
        "name-not-resolved": CauseAction.CORRECT,
        "one-machine": CauseAction.CORRECT,
        "tool-missing": CauseAction.CORRECT,
        "tool-failing": CauseAction.MEASURE_AGAIN,
        "port-in-use": CauseAction.MEASURE_AGAIN,
        "control-host-busy": CauseAction.MEASURE_AGAIN,
        "cpu-steal": CauseAction.MEASURE_AGAIN,
        "suite-error": CauseAction.MEASURE_AGAIN,
        "undiagnosed": CauseAction.MEASURE_AGAIN,
    },
}

TRIAGE: Mapping[str, CauseTriage] = {
    name: CauseTriage(severity, action)
    for severity, actions in _ACTIONS_BY_SEVERITY.items()
    for name, action in actions.items()
}
