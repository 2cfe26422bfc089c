"""The table of checks: one entry for each, and the cells of each node. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from railgauge.describing.readiness import devices, login, network
from railgauge.describing.readiness.model import (
    CellState,
    CheckCell,
    HostfileLine,
    NodeDisk,
    NodeSeen,
    NodesSeen,
)

# As in the platform files: Kerberos and MUNGE refuse more (RFC 4120, 3.2.3; munge(1)).
_CLOCK_S, _CLOCK_NOTED_S = 300.0, 2.0
_SYNC = "set it: timedatectl set-ntp true, or chronyc makestep"
_LEAST_MIB = 64  # the launcher's session and the suite's agent take some MiB


@dataclass(frozen=True, slots=True)
class NodeCheck:
    """One column: what is looked at, and what of the hostfile may have to be written."""

    name: str
    shows: str
    writes: str
    judge: Callable[[NodeSeen, NodesSeen], CheckCell]


# --- the cells of a node's clock and of its disks ---


def clock(one: NodeSeen, site: NodesSeen) -> CheckCell:  # noqa: ARG001 - the form of every check
    offset = one.known.clock_offset_s if one.known else None
    if offset is None:
        return CheckCell(CellState.UNKNOWN, "the node's time was not read", "run date on the node")
    ahead = "ahead" if offset > 0 else "behind"
    if abs(offset) > _CLOCK_S:
        return CheckCell(CellState.MEND, f"{abs(offset):.0f} s {ahead} of this machine", _SYNC)
    if abs(offset) > _CLOCK_NOTED_S:
        return CheckCell(CellState.NOTE, f"{abs(offset):.0f} s {ahead} of this machine")
    return CheckCell(CellState.OK, f"within {_CLOCK_NOTED_S:g} s of this machine's")


def disk(one: NodeSeen, site: NodesSeen) -> CheckCell:  # noqa: ARG001
    disks = one.self_report.disks if one.self_report else ()
    if not disks:
        return CheckCell(
            CellState.UNKNOWN, "free space is not known: df printed none", "run df on the node"
        )
    lacks = _lacks(disks[0])
    if lacks:
        good = next((one for one in disks[1:] if not _lacks(one)), None)
        lines = (HostfileLine(("setup",), [f"export TMPDIR={good.folder}"]),) if good else ()
        return CheckCell(
            CellState.MEND, f"{disks[0].folder} {lacks}", "" if good else "free some", lines
        )
    if not any(one.runs_programs for one in disks if not _lacks(one)):
        found = "no folder for the remote agent of launches: each forbids programs (noexec)"
        return CheckCell(
            CellState.MEND, found, "mount one of /tmp, /dev/shm and /var/tmp without noexec"
        )
    return CheckCell(CellState.OK, f"{disks[0].folder} has {_LEAST_MIB} MiB or more")


def _lacks(one: NodeDisk) -> str:
    if one.free_mib < _LEAST_MIB:
        return f"has less than {_LEAST_MIB} MiB, or no inodes, free"
    return "" if one.is_writable else "cannot be written by the login"


# --- the table ---

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
    NodeCheck("clock", "the clock, compared with this machine's", "", clock),
    NodeCheck("disk", "where a run writes on the node", "setup", disk),
    NodeCheck("lease", "which run holds the node", "", login.lease),
)


def cells(site: NodesSeen) -> Cells:
    """Return node -> check -> cell; a node that was not reached has the cell of that alone."""
    return {name: _of_node(one, site) for name, one in site.seen.items()}


def _of_node(one: NodeSeen, site: NodesSeen) -> Mapping[str, CheckCell]:
    if one.self_report is None:
        return {REACH.name: login.reach(one, site)}
    return {check.name: check.judge(one, site) for check in CHECKS}


def is_ready(found: Cells) -> bool:
    """Whether every cell is good: nothing to mend, and nothing that is not known."""
    states = {cell.state for row in found.values() for cell in row.values()}
    return states <= {CellState.OK, CellState.NOTE}
