"""Transports by the name that a hostfile uses."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from railgauge.errors import BadInput
from railgauge.model import Node
from railgauge.tag import Tag
from railgauge.transport import Session

# Modules with a ``connect(node, tag)``, imported when first asked for: fabric alone takes 0.4 s.
TRANSPORTS = {
    "ssh": "railgauge.transport.ssh",
    "local": "railgauge.transport.local",
}


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
