"""The interface of a transport: runs a line of shell text on a node."""

from __future__ import annotations

from typing import Protocol

from railgauge.transport.capture import Pipes
from railgauge.transport.shell import Sent


class NodeConnection(Protocol):
    """An open connection to one node.

    ``beats``: its commands have to show that they run, because nothing else shows that the node
    can still be heard.
    """

    @property
    def beats(self) -> bool: ...

    @property
    def lost(self) -> str:
        """Why the connection is lost; empty while that is not known here. Sends nothing."""

    @property
    def way(self) -> str:
        """How the node was reached, in words."""

    def execute(self, sent: Sent) -> Pipes:
        """Have the node's login shell run the line, with the script as its standard input.

        Raises ``TransportError``.
        """

    def close(self) -> None:
        """Close the connection; may be called twice."""
