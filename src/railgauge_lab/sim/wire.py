"""The TCP connection between a simulated server and client, in place of queue pairs.

In perftest, for example, the client sends its figures, the server answers with its own, and the
client sends the rows of the result. A message is ``_MARK``, its length and its value in marshal's
format. ``socket`` is not imported, because its hundreds of enums take half of a tool's start time.
"""

from __future__ import annotations

import _socket
import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

_CONNECT_S = 10.0
_MARK = b"lab\0"
_LENGTH_BYTES = 4


class Hangup(Exception):
    """The other side closed the connection, or is no simulated tool."""


class Wire:
    """One side of a connection."""

    def __init__(self, connection: _socket.socket) -> None:
        self._connection = connection
        self._reader = open(connection.fileno(), "rb", closefd=False)  # noqa: SIM115 - close() closes it

    def send(self, message: Message) -> None:
        """Send one message. Raises ``Hangup``."""
        data = marshal.dumps(message)
        try:
            length = len(data).to_bytes(_LENGTH_BYTES, "big")
            self._connection.sendall(_MARK + length + data)
        except OSError as error:
            raise Hangup from error

    def receive(self) -> Message:
        """Wait for one message and return it. Raises ``Hangup``."""
        try:
            head = self._reader.read(len(_MARK) + _LENGTH_BYTES)
            if not head.startswith(_MARK):
                raise Hangup
            data = self._reader.read(int.from_bytes(head[len(_MARK) :], "big"))
            message = marshal.loads(data)  # noqa: S302 - the mark shows that the lab wrote it
        except (OSError, ValueError, EOFError) as error:
            raise Hangup from error
        if not isinstance(message, dict):
            raise Hangup
        return message

    def close(self) -> None:
        """Close the connection; the other side gets ``Hangup``."""
        self._reader.close()
        self._connection.close()


def connect(host: str, port: int, source: str) -> Wire:
    """Connect from the node's own address ``source``. Raises ``OSError``."""
    connection = _socket.socket()
    connection.settimeout(_CONNECT_S)
    connection.bind((source, 0))
    connection.connect((host, port))
    connection.settimeout(None)
    return Wire(connection)


def listen(address: str, port: int) -> _socket.socket:
    """Return a socket that listens on the node's own address only. Raises ``OSError``."""
    listener = _socket.socket()
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(1)
    return listener


def accept(listener: _socket.socket) -> Wire:
    """Wait for the next client, and return its connection."""
    handle, _ = listener._accept()  # type: ignore[attr-defined]
    return Wire(_socket.socket(fileno=handle))


def accept_only(listener: _socket.socket) -> Wire:
    """Wait for one client, close the listener, and return the client's connection."""
    client = accept(listener)
    listener.close()
    return client
