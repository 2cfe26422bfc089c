"""What each cause can make go wrong, and what it costs. Pure.

A cause explains an item only if it can make an item of this kind go wrong in this way. Example: a
port that is down makes the facts of its port differ, and a tool over its NIC fail, hang or be slow.
It does not limit locked memory, and it does not make a tool print something that is not its output.
Both would have causes of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.core.problems import ProblemKind
from railgauge.core.terms import Rung, Term
from railgauge.diagnosis.symptoms import Symptom


class Harm(Term):
    """What a cause costs; ``ordering`` lists the causes by it.

    ``OUT_OF_SERVICE`` takes a node, or a part of it, out of service; ``DEGRADED`` makes it slower
    than it should be; ``UNMEASURED`` leaves its state unknown; a ``SETTING`` may cost nothing.
    ``DOUBTS`` tells nothing of a node, but that what was measured there counts for nothing.
    """

    OUT_OF_SERVICE = "out of service"
    DEGRADED = "degraded"
    UNMEASURED = "not measured"
    SETTING = "setting"
    DOUBTS = "doubts"


@dataclass(frozen=True, slots=True)
class Effect:
    """The items that a cause can make go wrong on its node.

    ``symptoms`` are the ways, on the rungs of ``reach``. ``facts`` are the facts of rung 0 that the
    cause changes or makes unknown (``*``: all); a cause of a device changes only those of the
    device. ``through`` narrows the items above rung 0: ``nic`` and ``gpu`` to those that name this
    device or none of its kind, ``link`` to this link and its GPUs, ``part`` to the device if the
    cause names one, ``tool`` to measurements with this tool, ``node`` to those of the node as a
    whole. ``problems`` are reports of tools that name the cause itself.
    """

    harm: Harm
    reach: frozenset[Rung] = frozenset()
    symptoms: frozenset[Symptom] = frozenset()
    through: str = ""
    facts: frozenset[str] = frozenset()
    problems: frozenset[ProblemKind] = frozenset()


_ABOVE = frozenset(Rung) - {Rung.PREFLIGHT}
_NETWORK = _ABOVE - {Rung.INTRANODE}
_GPU = _ABOVE - {Rung.NETWORK}
_BETWEEN = frozenset({Rung.COLLECTIVE, Rung.APPLICATION})
_COLLECTIVES = _BETWEEN | {Rung.INTRANODE}
_GPU_NETWORK = _BETWEEN | {Rung.GPUDIRECT}

_SLOW = frozenset({Symptom.SLOW})
# A slow part also carries a smaller share of the payload.
_LESS = _SLOW | {Symptom.ROUTE}
# The tool gets no figures, because a part that it needs does not work.
_STOPS = frozenset({Symptom.REFUSED, Symptom.HUNG, Symptom.NO_LAUNCH, Symptom.DIED})
_GONE = _STOPS | {Symptom.NO_DEVICE}

ANY_FACT = "*"
PORT_FACTS = frozenset(
    {"port_state", "physical_state", "link_rate", "lid", "subnet_manager", "gid", "active_mtu",
     "netdev", "netdev_rate", "netdev_mtu", "ipoib"}
)  # fmt: skip
_NIC_FACTS = PORT_FACTS | {
    "nic_present", "nic_model", "nic_firmware", "nic_numa", "link_layer", "pcie_link", "node_guid",
    "gpu_nic_link", "netdev_present", "netdev_numa", "netdev_driver",
}  # fmt: skip
# The facts that differ for a GPU that took the number of another one, or lost a neighbour.
PLACE_FACTS = frozenset(
    {"gpu_bus_id", "gpu_nic_link", "gpu_links", "gpu_link_count", "gpu_numa", "gpu_topology"}
)

# The item about all error counters of a node; those of a part that is absent cannot be read.
_GROWTH = "growth"

_OUT, _LOW, _BLIND, _SET, _DOUBTS = (
    Harm.OUT_OF_SERVICE, Harm.DEGRADED, Harm.UNMEASURED, Harm.SETTING, Harm.DOUBTS,
)  # fmt: skip

EFFECTS: Mapping[str, Effect] = {
    # A part of the cluster is absent, or does not work.
    # It may stop answering between a measurement and the reading of its counters.
    "node-unreachable": Effect(
        _OUT, _ABOVE, _STOPS | {Symptom.LOST, Symptom.UNKNOWN}, facts=frozenset({ANY_FACT}),
        problems=frozenset({ProblemKind.NODE_FAILED, ProblemKind.NODE_UNAVAILABLE}),
    ),
    "host-key-rejected": Effect(
        _OUT, _ABOVE, _STOPS | {Symptom.LOST}, facts=frozenset({ANY_FACT})
    ),
    "setup-failed": Effect(_OUT, _ABOVE, _STOPS | {Symptom.LOST}, facts=frozenset({ANY_FACT})),
    "become-refused": Effect(_OUT, _ABOVE, _STOPS | {Symptom.LOST}, facts=frozenset({ANY_FACT})),
    "other-machine": Effect(_OUT, _ABOVE, _STOPS | {Symptom.LOST, Symptom.UNKNOWN}),
    "data-corruption": Effect(_OUT, _COLLECTIVES, frozenset({Symptom.WRONG})),
    "nic-missing": Effect(_OUT, _NETWORK, _GONE | _LESS, "nic", _NIC_FACTS | {_GROWTH}),
    # The GPUs that are left have other numbers, so that items of each of them go wrong.
    "gpu-missing": Effect(
        _OUT, _GPU, _GONE | _SLOW, facts=PLACE_FACTS | {_GROWTH},
        problems=frozenset({ProblemKind.GPU_MISSING}),
    ),
    "link-down": Effect(_OUT, _NETWORK, _STOPS | _LESS | {Symptom.COUNTED}, "nic", PORT_FACTS),
    "subnet-manager-missing": Effect(_OUT, _NETWORK, _STOPS | _LESS, "nic", PORT_FACTS),
    "gpu-memory-errors": Effect(
        _OUT, _GPU, _STOPS | {Symptom.WRONG, Symptom.TESTED}, "gpu",
        problems=frozenset({ProblemKind.GPU_MEMORY_ERRORS}),
    ),
    "gpu-diagnostic-failed": Effect(
        _OUT, _GPU, _STOPS | {Symptom.SLOW, Symptom.WRONG, Symptom.TESTED}, "gpu"
    ),
    "gpu-fabric-down": Effect(_OUT, _COLLECTIVES, _STOPS | _SLOW, "gpu"),
    "health-check-failed": Effect(_OUT),
    "login-between-nodes": Effect(_BLIND, _BETWEEN, _STOPS, facts=frozenset({"node_login"})),
    "name-not-resolved": Effect(_BLIND, _NETWORK, frozenset({Symptom.UNRESOLVED})),
    "one-machine": Effect(_OUT),
    "duplicate-address": Effect(_OUT, _NETWORK, _STOPS | _LESS, "nic"),
    "guid-unset": Effect(_OUT, _NETWORK, _STOPS | _LESS, "nic", PORT_FACTS),
    "gpu-xid": Effect(
        _OUT, _GPU, _GONE | _LESS | {Symptom.WRONG, Symptom.TESTED, Symptom.LOST}, "gpu"
    ),
    # A part is slower than it should be.
    "link-rate-degraded": Effect(_LOW, _NETWORK, _LESS, "nic"),
    "link-error-rate": Effect(_LOW, _NETWORK, _STOPS | _LESS | {Symptom.COUNTED}, "nic"),
    "link-flap": Effect(_LOW, _NETWORK, _STOPS | _LESS | {Symptom.COUNTED}, "nic"),
    "gpu-link-errors": Effect(_LOW, _COLLECTIVES, _STOPS | _SLOW | {Symptom.WRONG}, "gpu"),
    "link-retransmits": Effect(_LOW, _NETWORK, _STOPS | _LESS | {Symptom.COUNTED}, "nic"),
    "congestion": Effect(_LOW, _NETWORK, _STOPS | _LESS | {Symptom.COUNTED}, "nic"),
    "pcie-errors": Effect(_LOW, _ABOVE, _GONE | _LESS | {Symptom.WRONG}, "part"),
    "kernel-errors": Effect(_LOW, _ABOVE, _GONE | _LESS | {Symptom.WRONG}, "part"),
    # It tells nothing of what is measured now.
    "faults-before-run": Effect(_LOW),
    "miscabled": Effect(_LOW, _NETWORK, _LESS, "nic"),
    "pcie-degraded": Effect(_LOW, _NETWORK, _LESS, "nic"),
    "gpu-pcie-degraded": Effect(_LOW, _GPU, _SLOW, "gpu"),
    "gpu-link-down": Effect(_LOW, _COLLECTIVES, _STOPS | _SLOW, "gpu"),
    "gpu-clock-limited": Effect(_LOW, _GPU, _SLOW, "gpu", frozenset({"gpu_clock"})),
    "nvme-missing": Effect(_LOW),
    "cpus-offline": Effect(_LOW, _ABOVE, _LESS),
    "wrong-numa-node": Effect(_LOW, _ABOVE, _LESS, "part"),
    "hardware-differs": Effect(_LOW, _ABOVE, _GONE | _LESS, "part"),
    "gpudirect-rdma-disabled": Effect(_LOW, _GPU_NETWORK, _STOPS | _LESS),
    "peer-memory-module-missing": Effect(_LOW, _GPU_NETWORK, _STOPS | _LESS),
    "wrong-transport": Effect(_LOW, _BETWEEN, _LESS),
    "nic-idle": Effect(_LOW, _BETWEEN, _LESS),
    "unstable-collective": Effect(_LOW, _BETWEEN, _SLOW),
    "slow-gpu-link": Effect(_LOW, _COLLECTIVES, _SLOW, "link"),
    "slow-gpu": Effect(_LOW, _GPU, _SLOW, "gpu"),
    "gpu-throttled": Effect(_LOW, _GPU, _SLOW, "gpu"),
    "slow-nic": Effect(_LOW, _NETWORK, _LESS, "nic"),
    "slow-pcie-path": Effect(_LOW, _GPU_NETWORK, _LESS, "part"),
    "slow-path": Effect(_LOW, _NETWORK, _LESS, "part"),
    "slow-direction": Effect(_LOW, _NETWORK, _LESS, "nic"),
    "slow-node": Effect(_LOW, _ABOVE, _LESS, "node"),
    # It misses no limit but the one on its distance from its peers.
    "straggler": Effect(_LOW),
    "poor-scaling": Effect(_LOW, frozenset({Rung.APPLICATION}), _SLOW),
    # Nothing is known, because a tool or the suite failed.
    "tool-missing": Effect(_BLIND, _ABOVE, _STOPS | {Symptom.NO_TOOL}, "tool"),
    "tool-failing": Effect(_BLIND),
    "control-host-busy": Effect(_DOUBTS),
    "cpu-steal": Effect(_DOUBTS),
    "kernel-log-unread": Effect(_BLIND),
    "telemetry-unread": Effect(_BLIND),
    "counters-unread": Effect(_BLIND),
    "port-in-use": Effect(_BLIND, problems=frozenset({ProblemKind.PORT_IN_USE})),
    "suite-error": Effect(_BLIND),
    "undiagnosed": Effect(_BLIND),
    # A setting is not the wanted one.
    "mtu-mismatch": Effect(_SET, _NETWORK, _STOPS | _LESS, "nic"),
    "kernel-module-missing": Effect(_SET, _NETWORK, _GONE),
    "memlock-limited": Effect(_SET, _NETWORK, _STOPS),
    "version-mismatch": Effect(_SET, _ABOVE, _STOPS | _LESS),
    "background-gpu-diagnostics": Effect(_SET, _GPU, _STOPS | _SLOW),
    "foreign-gpu-process": Effect(_SET, _GPU, _STOPS | _SLOW),
    "gpu-hidden": Effect(_SET, _GPU, _GONE | _SLOW),
    "gpu-partitioned": Effect(_SET, _GPU, _GONE | _SLOW, "gpu"),
    "gpu-power-capped": Effect(_SET, _GPU, _SLOW, "gpu"),
    "gpu-clock-unlocked": Effect(_SET, _GPU, _SLOW, "gpu"),
    "persistence-mode-off": Effect(_SET, _GPU, _SLOW),
    "acs-enabled": Effect(_SET, _GPU, _SLOW),
    "cpu-governor": Effect(_SET, _ABOVE, _SLOW),
    "numa-balancing-enabled": Effect(_SET, _COLLECTIVES, _SLOW),
    "numa-daemon": Effect(_SET, _COLLECTIVES, _SLOW),
    # Slow enough, a collective runs into its time limit.
    "collective-tuning-missing": Effect(_SET, _BETWEEN, _SLOW | {Symptom.HUNG}),
    # These change nothing that is measured; where nodes differ, it is not known which is right.
    "nodes-differ": Effect(_SET),
    "firmware-mismatch": Effect(_SET),
    "module-not-at-boot": Effect(_SET),
    "cloned-image": Effect(_SET),
    "clock-off": Effect(_SET),
    "gpu-ecc-off": Effect(_SET),
}  # fmt: skip
