"""What Slurm says of nodes: their state, their partitions, and the reason it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from railgauge.core.errors import TransportError
from railgauge.transport.slurm.steps import ask, folded, unfolded

# The reason comes last: it is the only field that a person writes, and may hold anything.
_FORMAT = "%N|%P|%T|%E"
_FIELDS = 4
# What sinfo puts behind a state: powering, maintenance, reboot, planned, and not responding.
_FLAGS = "~#!%$@^-*"
_BEYOND_USE = frozenset(("down", "drained", "fail", "inval", "unknown", "future", "error"))
# Jobs that are there go on; no new one gets there.
_CLOSING = frozenset(("draining", "failing", "drng", "failg"))


@dataclass(frozen=True, slots=True)
class SinfoNode:
    """A node as ``sinfo`` shows it. Partitions that are the default are marked with ``*``."""

    partitions: tuple[str, ...]
    state: str
    reason: str

    def refusal(self, partition: str | None, *, for_a_job: bool) -> str:
        """Why nothing can run there; empty if it can. ``for_a_job``: if a new one is to start."""
        base = self.state.rstrip(_FLAGS)
        closed = _BEYOND_USE | _CLOSING if for_a_job else _BEYOND_USE
        is_silent = self.state.endswith("*")
        # No job starts on a node that is silent; one that is there may only have missed a ping.
        if base in closed or (for_a_job and is_silent):
            silent = ", not responding" if is_silent else ""
            return f"Slurm has it {base}{silent}: {self.reason or 'no reason given'}"
        if for_a_job and not self._is_in(partition):
            named = partition or "the default partition"
            return f"not in {named} but in {', '.join(p.rstrip('*') for p in self.partitions)}"
        return ""

    def _is_in(self, partition: str | None) -> bool:
        if partition is None:
            return any(name.endswith("*") for name in self.partitions)
        return partition in [name.rstrip("*") for name in self.partitions]


UNKNOWN = "Slurm knows no node of this name"


def parse_sinfo(text: str) -> dict[str, SinfoNode]:
    """Each node of ``sinfo --Node --all --format=%N|%P|%T|%E``, which has a line a partition."""
    found: dict[str, SinfoNode] = {}
    for line in text.splitlines():
        fields = line.strip().split("|", _FIELDS - 1)
        if len(fields) == _FIELDS:
            name, partition, state, reason = fields
            before = found[name].partitions if name in found else ()
            said = "" if reason.strip() in ("none", "(null)") else reason.strip()
            found[name] = SinfoNode((*before, partition), state.lower(), said)
    return found


def refusals(names: Sequence[str], partition: str | None, *, for_a_job: bool) -> dict[str, str]:
    """Why nothing can run on a node, for those of ``names`` where that is so.

    Raises ``TransportError`` if Slurm does not answer.
    """
    nodes = _look_up(names)
    found = {
        name: nodes[name].refusal(partition, for_a_job=for_a_job) if name in nodes else UNKNOWN
        for name in names
    }
    return {name: why for name, why in found.items() if why}


def _look_up(names: Sequence[str]) -> dict[str, SinfoNode]:
    text = ask("sinfo", "-a", "-N", "-h", "-n", folded(names), "-o", _FORMAT)
    return parse_sinfo(text)


def of_job(job: str) -> frozenset[str]:
    """The nodes of a job that runs; empty if it does not. Raises ``TransportError``."""
    return unfolded(ask("squeue", "-h", "-t", "running", "-j", job, "-o", "%N").strip())


def refusal_in_job(name: str, job: str) -> str:
    """Why a step of ``job`` cannot run on a node; empty if it can."""
    try:
        why = refusals([name], None, for_a_job=False).get(name, "")
        if not why and not _is_in_job(name, job):
            why = f"Slurm's allocation {job} has ended, or has lost this node"
    except TransportError as error:
        return str(error)
    return why


def _is_in_job(name: str, job: str) -> bool:
    return bool(ask("squeue", "-h", "-t", "running", "-j", job, "-w", name, "-o", "%i").strip())
