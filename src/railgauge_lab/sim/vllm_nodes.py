"""How the nodes that serve one model find each other: ``--nnodes``, ``--node-rank``, the master."""

from __future__ import annotations

import sys
import time

from . import hosts, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Options = dict[str, str]

_MASTER_PORT = "29501"
_RETRY_S = 0.05


def together(node: Node, options: Options, needed: int) -> list[Node] | None:
    """Return the nodes that serve, this one first; ``None`` if there are too few (``needed``).

    With ``--nnodes`` they are the nodes that join. Without it they are the nodes that follow this
    one in the cluster, as a resource manager would allocate them; ``None`` also if one of these is
    unreachable.
    """
    if "nnodes" not in options:
        return _following(node, needed)
    count = int(options["nnodes"])
    return None if needed > count else [node, *_joined(node, options, count - 1)]


def is_worker(options: Options) -> bool:
    return int(options.get("node-rank", 0)) > 0


def join(node: Node, options: Options) -> int:
    """Connect to the master, waiting until it listens, and serve until it ends; return 1."""
    master, port = options.get("master-addr", "127.0.0.1"), _port(options)
    while True:
        try:
            link = wire.connect(master, port, node["address"])
            link.send({"name": node["name"]})
            link.receive()
        except wire.Hangup:
            sys.stderr.write("torch.distributed.DistNetworkError: the master has gone\n")
            return 1
        except OSError:
            time.sleep(_RETRY_S)


def _port(options: Options) -> int:
    return int(options.get("master-port", _MASTER_PORT))


def _joined(node: Node, options: Options, count: int) -> list[Node]:
    listener = wire.listen(node["address"], _port(options))
    links: list[wire.Wire] = []
    while len(links) < count:
        links.append(wire.accept(listener))
    listener.close()
    _held.extend(links)  # kept open until this process ends
    return [hosts.named(node, link.receive()["name"]) for link in links]


_held: list[wire.Wire] = []


def _following(node: Node, count: int) -> list[Node] | None:
    names = hosts.names(node)
    if count > len(names):
        return None
    start = names.index(node["name"])
    try:
        return [hosts.named(node, names[(start + i) % len(names)]) for i in range(count)]
    except hosts.Unreachable:
        return None
