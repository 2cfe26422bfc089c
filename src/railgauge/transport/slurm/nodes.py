"""What Slurm reports about nodes: state, partitions, address, and the reason for the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from railgauge.core.errors import TransportError
from railgauge.transport.slurm.steps import ask, folded, unfolded

# The reason comes last: it is free text of an administrator and may contain the separator.
_FORMAT = "%N|%P|%T|%o|%E"
_FIELDS = 5
# What sinfo appends to a state: powering, maintenance, reboot, planned, and not responding.
_FLAGS = "~#!%$@^-*"
_BEYOND_USE = frozenset(("down", "drained", "fail", "inval", "unknown", "future", "error"))
# In these states running jobs continue, but no new job starts.
_CLOSING = frozenset(("draining", "failing", "drng", "failg"))


@dataclass(frozen=True, slots=True)
class SinfoNode:
    """A node as ``sinfo`` shows it. The default partition ends with ``*``.

    ``address`` is its NodeAddr, at which slurmctld reaches it: its name unless slurm.conf has
    another one.
    """

    partitions: tuple[str, ...]
    state: str
    address: str
    reason: str

    def refusal(self, partition: str | None, *, for_a_job: bool) -> str:
        """Return why nothing can run on the node; empty if it can.

        ``for_a_job``: whether a new job is to start there; otherwise a step of a running job.
        """
        base = self.state.rstrip(_FLAGS)
        closed = _BEYOND_USE | _CLOSING if for_a_job else _BEYOND_USE
        is_silent = self.state.endswith("*")
        # Slurm starts no job on a node that does not respond. A step may still run: the node may
        # have missed only one ping.
        if base in closed or (for_a_job and is_silent):
            silent = ", not responding" if is_silent else ""
            return f"its Slurm state is {base}{silent}: {self.reason or 'no reason given'}"
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
    """Parse ``sinfo --Node --all --format=%N|%P|%T|%o|%E`` into nodes by name.

    A node has one line for each of its partitions: ``n01|batch*|drained|10.1.0.1|bad HCA`` and
    ``n01|debug|drained|10.1.0.1|bad HCA`` are one node in two partitions.
    """
    found: dict[str, SinfoNode] = {}
    for line in text.splitlines():
        fields = line.strip().split("|", _FIELDS - 1)
        if len(fields) == _FIELDS:
            name, partition, state, address, reason = fields
            before = found[name].partitions if name in found else ()
            given = "" if reason.strip() in ("none", "(null)") else reason.strip()
            found[name] = SinfoNode((*before, partition), state.lower(), address, given)
    return found


def refusals(names: Sequence[str], partition: str | None, *, for_a_job: bool) -> dict[str, str]:
    """Return the reason for each of ``names`` on which nothing can run.

    Raises ``TransportError`` if Slurm does not answer.
    """
    nodes = _look_up(names)
    found = {
        name: nodes[name].refusal(partition, for_a_job=for_a_job) if name in nodes else UNKNOWN
        for name in names
    }
    return {name: why for name, why in found.items() if why}


def addresses(names: Sequence[str]) -> dict[str, str]:
    """Return the NodeAddr of those nodes that Slurm knows. Raises ``TransportError``."""
    known = _look_up(names)
    return {name: known[name].address for name in names if name in known and known[name].address}


def _look_up(names: Sequence[str]) -> dict[str, SinfoNode]:
    text = ask("sinfo", "-a", "-N", "-h", "-n", folded(names), "-o", _FORMAT)
    return parse_sinfo(text)


def of_job(job: str) -> frozenset[str]:
    """Return the nodes of a running job; empty if it is not running. Raises ``TransportError``."""
    return unfolded(ask("squeue", "-h", "-t", "running", "-j", job, "-o", "%N").strip())


def refusal_in_job(name: str, job: str) -> str:
    """Return why a step of ``job`` cannot run on the node; empty if it can."""
    try:
        why = refusals([name], None, for_a_job=False).get(name, "")
        if not why and not _is_in_job(name, job):
            why = f"the Slurm allocation {job} has ended or no longer has this node"
    except TransportError as error:
        return str(error)
    return why


def _is_in_job(name: str, job: str) -> bool:
    return bool(ask("squeue", "-h", "-t", "running", "-j", job, "-w", name, "-o", "%i").strip())
