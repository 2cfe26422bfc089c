"""The TCP conversation of a server and a client, in place of queue pairs.

Client: its side. Server: its side. Client: the rows. One JSON object a line.
"""

from __future__ import annotations

import json
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

_CONNECT_S = 10.0
_LONGEST_LINE = 1 << 20


class Hangup(Exception):
    """The other side went away, or never was a perftest."""


class Wire:
    """One connected side."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._reader = connection.makefile("rb")

    def send(self, message: Message) -> None:
        """Raises ``Hangup``."""
        try:
            self._connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise Hangup from error

    def receive(self) -> Message:
        """Raises ``Hangup``."""
        try:
            message = json.loads(self._reader.readline(_LONGEST_LINE))
        except (OSError, ValueError) as error:
            raise Hangup from error
        if not isinstance(message, dict):
            raise Hangup
        return message


def connect(host: str, port: int, source: str) -> Wire:
    """From the node's own address, as a packet of that node would come. Raises ``OSError``."""
    connection = socket.create_connection((host, port), _CONNECT_S, (source, 0))
    connection.settimeout(None)
    return Wire(connection)


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens on the node's own address alone. Raises ``OSError``."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(1)
    return listener


def accept(listener: socket.socket) -> Wire:
    """The first client; nobody else gets in."""
    connection, _ = listener.accept()
    listener.close()
    return Wire(connection)
