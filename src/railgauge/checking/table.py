"""The table of checks: one entry for each, and the cells of each node. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from railgauge.checking import devices, login, network, standing
from railgauge.checking.model import Cell, Seen, Site, State


@dataclass(frozen=True, slots=True)
class Check:
    """One column: what is looked at, and what of the hostfile may have to be written."""

    name: str
    shows: str
    writes: str
    judge: Callable[[Seen, Site], Cell]


REACH = Check("reach", "whether and how the node is reached", "ssh, transport, exec", login.reach)
CHECKS = (
    REACH,
    Check("shell", "login shell, what it prints at its start, setup", "setup", login.shell),
    Check("root", "whether the login is root or may become it", "become", login.root),
    Check("tools", "the programs of the measurements, and where", "setup, tools", devices.tools),
    Check("gpus", "GPUs on the PCI bus and by the vendor's tool", "setup, tools", devices.gpus),
    Check("nics", "RDMA adapters, their devices, names and tool", "devices, setup", devices.nics),
    Check("name", "whether other nodes resolve its name", "data_address", network.name),
    Check("ports", "whether other nodes reach its ports", "data_address, ports", network.ports),
    Check("clock", "the clock, compared with this machine's", "", standing.clock),
    Check("disk", "where a run writes on the node", "setup", standing.disk),
    Check("lease", "which run holds the node", "", login.lease),
)


def cells(site: Site) -> dict[str, dict[str, Cell]]:
    """Return node -> check -> cell; a node that was not reached has the cell of that alone."""
    return {name: dict(_of_node(one, site)) for name, one in site.seen.items()}


def _of_node(one: Seen, site: Site) -> Mapping[str, Cell]:
    if one.said is None:
        return {REACH.name: login.reach(one, site)}
    return {check.name: check.judge(one, site) for check in CHECKS}


def is_ready(found: Mapping[str, Mapping[str, Cell]]) -> bool:
    """Whether every cell is good: nothing to mend, and nothing that is not known."""
    states = {cell.state for row in found.values() for cell in row.values()}
    return states <= {State.OK, State.NOTE}
