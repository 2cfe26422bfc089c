"""Transports by the name that a hostfile uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import cast

from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster, Node
from railgauge.transport import FanOut, Session
from railgauge.transport.tag import Tag

# Modules with a ``connect(node, tag)``, imported when first asked for: fabric alone takes 0.4 s.
TRANSPORTS = {
    "ssh": "railgauge.transport.ssh",
    "local": "railgauge.transport.local",
    "slurm": "railgauge.transport.slurm",
}
# Modules with an ``opened(cluster, tell)``, for transports that need more than a session a node.
_OPENERS = {"slurm": "railgauge.transport.slurm.allocation"}
_ALLOTTING = frozenset(("slurm",))
# Modules with a ``fan_out(nodes, command)``, for those that can reach many nodes in one go.
_FAN_OUTS = {"slurm": "railgauge.transport.slurm.fan_out"}


def connect(kind: str, node: Node, tag: Tag | None = None) -> Session:
    """Open a session on ``node``; what runs there carries ``tag``.

    Raises ``BadInput`` for an unknown kind, ``TransportError``.
    """
    if kind not in TRANSPORTS:
        raise BadInput(
            f"transport {kind!r} is unknown",
            where=node.name,
            remedy=f"known are {', '.join(sorted(TRANSPORTS))}",
        )
    return cast(Session, import_module(TRANSPORTS[kind]).connect(node, tag))


@contextmanager
def opened(cluster: Cluster, tell: Callable[[str], None] = lambda _: None) -> Iterator[Cluster]:
    """The cluster as sessions need it, until the block ends.

    ``tell`` is given a line if it has to be waited for. Raises ``BadInput`` or ``TransportError``
    if it cannot be had at all.
    """
    if cluster.transport not in _OPENERS:
        yield cluster
        return
    with import_module(_OPENERS[cluster.transport]).opened(cluster, tell) as reached:
        yield cast(Cluster, reached)


def allots_nodes(kind: str) -> bool:
    """Whether ``opened`` has the nodes for this run alone, and ends there what is left of it.

    Then no lease need be held on the nodes themselves.
    """
    return kind in _ALLOTTING


def fan_out(kind: str) -> FanOut | None:
    """How a transport runs one command on many nodes; ``None`` if it has no better way than any."""
    if kind not in _FAN_OUTS:
        return None
    return cast(FanOut, import_module(_FAN_OUTS[kind]).fan_out)
