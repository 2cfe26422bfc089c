"""The table of checks: one entry for each, and the cells of each node. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from railgauge.describing.readiness import devices, login, network, standing
from railgauge.describing.readiness.model import CellState, CheckCell, NodeSeen, NodesSeen


@dataclass(frozen=True, slots=True)
class NodeCheck:
    """One column: what is looked at, and what of the hostfile may have to be written."""

    name: str
    shows: str
    writes: str
    judge: Callable[[NodeSeen, NodesSeen], CheckCell]


Cells = Mapping[str, Mapping[str, CheckCell]]
"""Node -> check -> cell."""

REACH = NodeCheck(
    "reach", "whether and how the node is reached", "ssh, transport, exec", login.reach
)
CHECKS = (
    REACH,
    NodeCheck("shell", "login shell, what it prints at its start, setup", "setup", login.shell),
    NodeCheck("root", "whether the login is root or may become it", "become", login.root),
    NodeCheck(
        "tools", "the programs of the measurements, and where", "setup, tools", devices.tools
    ),
    NodeCheck("gpus", "GPUs on the PCI bus and by the vendor's tool", "setup, tools", devices.gpus),
    NodeCheck(
        "nics", "RDMA adapters, their devices, names and tool", "devices, setup", devices.nics
    ),
    NodeCheck("name", "whether other nodes resolve its name", "data_address", network.name),
    NodeCheck("ports", "whether other nodes reach its ports", "data_address, ports", network.ports),
    NodeCheck("clock", "the clock, compared with this machine's", "", standing.clock),
    NodeCheck("disk", "where a run writes on the node", "setup", standing.disk),
    NodeCheck("lease", "which run holds the node", "", login.lease),
)


def cells(site: NodesSeen) -> Cells:
    """Return node -> check -> cell; a node that was not reached has the cell of that alone."""
    return {name: _of_node(one, site) for name, one in site.seen.items()}


def _of_node(one: NodeSeen, site: NodesSeen) -> Mapping[str, CheckCell]:
    if one.said is None:
        return {REACH.name: login.reach(one, site)}
    return {check.name: check.judge(one, site) for check in CHECKS}


def is_ready(found: Cells) -> bool:
    """Whether every cell is good: nothing to mend, and nothing that is not known."""
    states = {cell.state for row in found.values() for cell in row.values()}
    return states <= {CellState.OK, CellState.NOTE}
