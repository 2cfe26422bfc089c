"""What each cause can make go wrong, and what it costs. Pure.

A cause explains an item only if it can make an item of this kind go wrong in this way. Example: a
port that is down makes the facts of its port differ, and a tool over its NIC fail, hang or be slow.
It does not limit locked memory, and it does not make a tool print something that is not its output.
Both would have causes of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from railgauge.core.problems import ProblemKind
from railgauge.core.terms import Rung, Term
from railgauge.diagnosis.symptoms import Symptom


class Harm(Term):
    """What a cause costs; ``ordering`` lists the causes by it.

    ``OUT_OF_SERVICE`` takes a node, or a part of it, out of service; ``DEGRADED`` makes it slower
    than it should be; ``UNMEASURED`` leaves its state unknown; a ``SETTING`` may cost nothing.
    ``DOUBTS`` tells nothing of a node, but that it invalidates what was measured there.
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


ABOVE = frozenset(Rung) - {Rung.PREFLIGHT}
NETWORK = ABOVE - {Rung.INTRANODE}
GPU = ABOVE - {Rung.NETWORK}
BETWEEN = frozenset({Rung.COLLECTIVE, Rung.APPLICATION})
COLLECTIVES = BETWEEN | {Rung.INTRANODE}
GPU_NETWORK = BETWEEN | {Rung.GPUDIRECT}

SLOW = frozenset({Symptom.SLOW})
# A slow part also carries a smaller share of the payload.
LESS = SLOW | {Symptom.ROUTE}
# The tool gets no figures, because a part that it needs does not work.
STOPS = frozenset({Symptom.REFUSED, Symptom.HUNG, Symptom.NO_LAUNCH, Symptom.DIED})
GONE = STOPS | {Symptom.NO_DEVICE}

ANY_FACT = "*"
PORT_FACTS = frozenset(
    {"port_state", "physical_state", "link_rate", "lid", "subnet_manager", "gid", "active_mtu",
     "netdev", "netdev_rate", "netdev_mtu", "ipoib"}
)  # fmt: skip
NIC_FACTS = PORT_FACTS | {
    "nic_present", "nic_model", "nic_firmware", "nic_numa", "link_layer", "pcie_link", "node_guid",
    "gpu_nic_link", "netdev_present", "netdev_numa", "netdev_driver",
}  # fmt: skip
# The facts that differ for a GPU that took the number of another one, or lost a neighbour.
PLACE_FACTS = frozenset(
    {"gpu_bus_id", "gpu_nic_link", "gpu_links", "gpu_link_count", "gpu_numa", "gpu_topology"}
)

# The item about all error counters of a node; those of a part that is absent cannot be read.
GROWTH = "growth"

OUT, LOW, BLIND, SETTING, DOUBTS = (
    Harm.OUT_OF_SERVICE, Harm.DEGRADED, Harm.UNMEASURED, Harm.SETTING, Harm.DOUBTS,
)  # fmt: skip
