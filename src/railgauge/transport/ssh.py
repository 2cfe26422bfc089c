"""Commands over ssh: fabric opens the connection, each command gets a paramiko channel.

``Connection.run`` is not used: it polls, which costs 10 ms a command, and at its time limit it
leaves the process running on the node.
"""

from __future__ import annotations

import contextlib
import logging
import select
import threading
from typing import Any

import paramiko

from railgauge.core import exhaustion
from railgauge.core.errors import ConnectionLost, TransportError
from railgauge.core.model import Node
from railgauge.transport import Session, silence
from railgauge.transport.capture import Pipes, Sink
from railgauge.transport.job import KILLED_CODE, LinkSession
from railgauge.transport.login import close_hops, open_hops, silent_hop, way_through
from railgauge.transport.shell import Sent
from railgauge.transport.tag import Tag

_CHUNK_BYTES = 1 << 16
_ANSWER_LIMIT_S = 30.0  # for the node to open a channel, and to start what is sent over it
_END_LIMIT_S = 0.5
_UNOPENED = "Timeout opening channel"  # paramiko's; a refusal is another exception

# paramiko logs a traceback for each lost connection; the user gets our own error instead.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


def connect(node: Node, tag: Tag | None = None) -> Session:
    """Log in to ``node``, through its jump hosts if it has any.

    Raises ``NodeUnreachable``, ``AuthenticationFailed``, ``HostKeyRejected``, or ``BadInput``
    for settings that cannot be used.
    """
    hops = open_hops(node)
    return LinkSession(node, SshLink(node.name, hops, way_through(node, hops)), tag)


class SshPipes:
    """The output of one command, on its own channel."""

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        # Registered here, because a channel that is closed before ``drain`` has no file descriptor.
        self._readable = select.poll()
        self._readable.register(channel.fileno(), select.POLLIN)

    def drain(self, stdout: Sink, stderr: Sink) -> int | None:
        try:
            self._copy(stdout, stderr)
            code = self._channel.recv_exit_status()
        finally:
            self._channel.close()
        return code if code >= 0 else self._without_code()

    def answer(self) -> None:
        with contextlib.suppress(OSError):
            self._channel.sendall(b"\n")

    def close(self) -> None:
        self._channel.close()

    def _without_code(self) -> int | None:
        """Return the code of a killed command if the connection is alive, otherwise ``None``.

        A command that a signal ended has no exit status, and paramiko drops the signal's name.
        """
        transport = self._channel.get_transport()
        transport.join(_END_LIMIT_S)  # when a connection is lost, its channels end before it does
        exhaustion.raise_if_exhausted(transport.saved_exception)
        return KILLED_CODE if transport.is_active() else None

    def _copy(self, stdout: Sink, stderr: Sink) -> None:
        while not (self._channel.eof_received or self._channel.closed):
            self._readable.poll()
            self._take(stdout, stderr)
        self._take(stdout, stderr)  # output that arrived between the last poll and the end

    def _take(self, stdout: Sink, stderr: Sink) -> None:
        """Pass on all that has arrived.

        stdout is looked at again after stderr: paramiko signals both by one pipe, and without a
        lock between them. Emptying one may take away the signal of the other, and then nothing
        would be read before there is more of it.
        """
        channel = self._channel
        while channel.recv_ready() or channel.recv_stderr_ready():
            if channel.recv_ready():
                stdout(channel.recv(_CHUNK_BYTES))
            if channel.recv_stderr_ready():
                stderr(channel.recv_stderr(_CHUNK_BYTES))


def _give(channel: paramiko.Channel, sent: Sent) -> None:
    """Send the script, and the end of the input unless the command asks.

    A command that has ended already takes none; its output shows why.
    """
    try:
        channel.sendall(sent.script.encode("utf-8", "surrogateescape"))
        if not sent.asks:
            channel.shutdown_write()
    except OSError:
        if not channel.get_transport().is_active():
            raise


class _Answer(threading.Event):
    """Whether the node has answered a request; paramiko itself waits for that without end."""

    def wait(self, timeout: float | None = None) -> bool:
        if not super().wait(_ANSWER_LIMIT_S if timeout is None else timeout):
            raise TimeoutError
        return True


class SshLink:
    """A ``NodeConnection`` over the last of ``hops``; each command gets its own channel.

    Keep-alives show whether the node can be heard (``carriers``).
    """

    beats = False

    def __init__(self, node_name: str, hops: tuple[Any, ...], way: str = "") -> None:
        self._node_name = node_name
        self._hops = hops
        self.way = way

    @property
    def transport(self) -> paramiko.Transport:
        transport: paramiko.Transport = self._hops[-1].transport
        return transport

    def execute(self, sent: Sent) -> Pipes:
        try:
            channel = self.transport.open_session(timeout=_ANSWER_LIMIT_S)
            channel.event = _Answer()
            pipes = SshPipes(channel)
            channel.exec_command(sent.line.encode("utf-8", "surrogateescape"))
            _give(channel, sent)
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise self._refused(error) from error
        return pipes

    def close(self) -> None:
        close_hops(self._hops)

    @property
    def lost(self) -> str:
        if self.transport.is_active():
            return ""
        silent = silent_hop(self._hops)
        lost = f"nothing has come from {silent} for {silence.LIMIT_S:g} s"
        return lost if silent else "the other end closed the connection"

    def _refused(self, error: Exception) -> TransportError:
        exhaustion.raise_if_exhausted(self.transport.saved_exception)
        if self.lost:
            return ConnectionLost(self.lost, where=self._node_name)
        if isinstance(error, TimeoutError) or _UNOPENED in str(error):
            # Something on the way may answer keep-alives for the node. Each command to it would
            # wait as long; a new connection shows that the node is gone.
            self.close()
            what = f"the node has started no command for {_ANSWER_LIMIT_S:g} s"
            return ConnectionLost(what, where=self._node_name)
        return TransportError(
            f"the node does not start another command: {error}",
            where=self._node_name,
            remedy="raise MaxSessions in its sshd_config, or run fewer commands at once",
        )
