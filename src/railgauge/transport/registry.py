"""Sessions by the name of the transport; its module is imported on first use.

fabric alone takes 0.4 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import cast

from railgauge.config.transports import TRANSPORTS
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster, Node
from railgauge.transport import FanOut, Session
from railgauge.transport.tag import Tag

# Modules with an ``opened(cluster, tell)``, for transports that need more than one session a node.
_OPENERS = {"slurm": "railgauge.transport.slurm.allocation"}
_ALLOTTING = frozenset(("slurm",))
# Modules with a ``fan_out(nodes, command)``, for transports that reach many nodes in one call.
_FAN_OUTS = {"slurm": "railgauge.transport.slurm.fan_out"}


def connect(kind: str, node: Node, tag: Tag | None = None) -> Session:
    """Open a session on ``node``; every process that it starts there carries ``tag``.

    Raises ``BadInput`` for an unknown kind, ``TransportError`` if the node cannot be reached.
    """
    if kind not in TRANSPORTS:
        raise BadInput(
            f"transport {kind!r} is unknown",
            where=node.name,
            remedy=f"use one of {', '.join(sorted(TRANSPORTS))}",
        )
    return cast(Session, import_module(f"railgauge.transport.{kind}").connect(node, tag))


def load(kind: str) -> None:
    """Import a transport. Raises ``ImportError`` if it or a package that it uses is broken.

    An error of an import while a node is reached would look like one of that node.
    """
    import_module(f"railgauge.transport.{kind}")


@contextmanager
def opened(cluster: Cluster, tell: Callable[[str], None] = lambda _: None) -> Iterator[Cluster]:
    """Give the cluster in the form that sessions need, valid until the block ends.

    ``tell`` gets one line if the nodes have to be waited for. Raises ``BadInput`` or
    ``TransportError`` if they cannot be obtained.
    """
    if cluster.transport not in _OPENERS:
        yield cluster
        return
    with import_module(_OPENERS[cluster.transport]).opened(cluster, tell) as reached:
        yield cast(Cluster, reached)


def allots_nodes(kind: str) -> bool:
    """Whether ``opened`` reserves the nodes for this run and ends its processes there afterwards.

    If so, no leases on the nodes are needed.
    """
    return kind in _ALLOTTING


def fan_out(kind: str) -> FanOut | None:
    """Return the transport's own way to run one command on many nodes; ``None`` if it has none."""
    if kind not in _FAN_OUTS:
        return None
    return cast(FanOut, import_module(_FAN_OUTS[kind]).fan_out)
