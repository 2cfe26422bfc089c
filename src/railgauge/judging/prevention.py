"""Decide which failed items make a collective above them impossible or dangerous. Pure.

Behind a gate the results of collectives are still checked, because wrong results are the worst
fault and no other item shows them. A slow link, a setting or a version does not keep a collective
from running, so it never prevents that check. These prevent it:

- on the node and between nodes: the node does not answer; GPUs are missing, partitioned or used by
  another program; a program in the node crashed or hung;
- only between nodes: a NIC or its port is missing or down; a measurement between two nodes did not
  connect or hung.

A missing tool, or an output that cannot be read, prevents nothing: the collective is another
program, and if it is missing too, it ends at once.
"""

from __future__ import annotations

from railgauge.core.model import Outcome
from railgauge.core.terms import Rung, Term
from railgauge.judging.record import ItemRecord


class Prevents(Term):
    """Which collectives an item makes impossible or dangerous."""

    NONE = ""
    BETWEEN_NODES = "between nodes"
    ALL = "all"

    def covers(self, nodes: int) -> bool:
        """Whether a collective over this number of nodes is prevented."""
        return self is Prevents.ALL or (self is Prevents.BETWEEN_NODES and nodes > 1)


_UNREACHABLE = frozenset(
    {
        "node-unreachable",
        "authentication-failed",
        "host-key-rejected",
        "connection-lost",
        "setup-failed",
        "become-refused",
        "other-machine",
    }
)
_NO_GPU = frozenset({"gpu_count", "gpu_fabric_state", "gpu_mig", "gpu_processes"})
_NO_PORT = frozenset(
    {
        *("nic_present", "port_state", "physical_state", "lid", "gid", "subnet_manager"),
        *("netdev_present", "netdev", "node_login"),
    }
)
_COULD_NOT_RUN = frozenset(
    {
        *("tool", "tool-failed", "device-missing", "command-timed-out", "port-in-use"),
        *("launch-failed", "rank-died", "name-not-resolved", "tool-hangs"),
    }
)


def prevents(item: ItemRecord) -> Prevents:
    """Return which collectives above this item, on its nodes, it prevents."""
    if item.outcome not in (Outcome.FAILED, Outcome.ERROR, Outcome.BLOCKED):
        return Prevents.NONE
    if item.error_kind in _UNREACHABLE:
        return Prevents.ALL
    if item.rung == Rung.PREFLIGHT:
        return _of_fact(item.subject)
    if item.error_kind in _COULD_NOT_RUN:
        return Prevents.ALL if len(item.nodes) == 1 else Prevents.BETWEEN_NODES
    return Prevents.NONE


def _of_fact(name: str) -> Prevents:
    if name in _NO_GPU:
        return Prevents.ALL
    return Prevents.BETWEEN_NODES if name in _NO_PORT else Prevents.NONE
