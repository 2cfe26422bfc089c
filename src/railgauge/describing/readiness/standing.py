"""The cells of a node's clock and of its disks. Pure."""

from __future__ import annotations

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
    disks = one.said.disks if one.said else ()
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
