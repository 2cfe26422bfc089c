"""The carriers of an SSH connection: a TCP connection, a channel of a jump host, or a program.

A carrier ends when nothing has come for too long. That ends every wait of paramiko on the
connection; most of them have no limit of their own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from tempfile import TemporaryFile
from typing import Any

import paramiko

from railgauge.transport import silence
from railgauge.transport.silence import Silence

# Interval at which paramiko's thread for a connection checks whether it should end. paramiko's
# default of 0.1 s keeps one core busy with 1,250 idle connections.
LOOK_S = 2.0
_END_LIMIT_S = 2.0
_MOST_BYTES = 1 << 16
_KEEPALIVE = "keepalive@openssh.com"


class Carrier:
    """A socket, in paramiko's meaning of it, that ends when nothing comes for too long."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._in: Silence | None = None  # nothing is counted while a login has limits of its own
        self._out: Silence | None = None

    @property
    def is_silent(self) -> bool:
        """Whether it has ended because nothing came."""
        return any(way is not None and way.is_too_long for way in (self._in, self._out))

    @property
    def has_missed_an_answer(self) -> bool:
        """Whether its other end should have answered by now, and has not."""
        return self._in is not None and self._in.has_missed_an_answer

    def watch(self) -> None:
        """Count the silence from now on; the caller has to make the other end answer regularly."""
        self._sock.settimeout(LOOK_S)
        self._in, self._out = Silence(LOOK_S), Silence(LOOK_S)

    def recv(self, size: int) -> bytes:
        try:
            data: bytes = self._sock.recv(size)
        except TimeoutError:
            self._looked(self._in)
            raise
        if self._in:
            self._in.heard()
        return data

    def send(self, data: bytes) -> int:
        """Send some of the data; it also ends if the other end takes none for too long."""
        try:
            sent: int = self._sock.send(data)
        except TimeoutError:
            self._looked(self._out)
            raise
        if self._out:
            self._out.heard()
        return sent

    def _looked(self, way: Silence | None) -> None:
        if way:
            way.looked()
        if self.is_silent:
            raise EOFError(f"nothing has come for {silence.LIMIT_S:g} s")

    def wake(self) -> None:
        """Make the thread that reads see the end now, not at its next look."""
        with contextlib.suppress(OSError, EOFError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


def tcp(host: str, port: int, limit_s: float) -> Carrier:
    """Connect to a host. Raises ``OSError``."""
    opened = socket.create_connection((host, port), timeout=limit_s)
    # paramiko never sets this; without it each command waits 40 ms for a delayed acknowledgement.
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Finds a node that lost power sooner than a missed answer to a keep-alive does.
    limit_ms = int(1000 * silence.LIMIT_S)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit_ms)
    return Carrier(opened)


def through(before: paramiko.Transport, host: str, port: int, limit_s: float) -> Carrier:
    """Connect to a host from a jump host. Raises ``SSHException``."""
    return Carrier(
        before.open_channel("direct-tcpip", (host, port), ("", 0), timeout=limit_s),
    )


def by_program(line: str) -> Carrier:
    """Start the program of a ``ProxyCommand``, as OpenSSH does. Raises ``OSError``."""
    return Carrier(_Program(line))


class _Program:
    """The input and output of a program, which ends when they are closed."""

    def __init__(self, line: str) -> None:
        self._sock, theirs = socket.socketpair()
        self._stderr = TemporaryFile()  # noqa: SIM115 - open as long as the program
        with theirs:
            self._process = subprocess.Popen(
                ["sh", "-c", f"exec {line}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._stderr,
                start_new_session=True,  # the terminal's Ctrl-C is not meant for it
            )

    @property
    def last_word(self) -> str:
        """The last line that the program has printed on stderr; empty if it has printed none."""
        with contextlib.suppress(OSError, ValueError):
            text = os.pread(self._stderr.fileno(), _MOST_BYTES, 0).decode(errors="replace")
            return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
        return ""

    def close(self) -> None:
        self._sock.close()
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGTERM)
                self._process.wait(_END_LIMIT_S)
        with contextlib.suppress(ProcessLookupError):
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class AskingTransport(paramiko.Transport):
    """A transport whose keep-alives ask for an answer, as ``ServerAliveInterval`` of OpenSSH does.

    paramiko's keep-alives ask for none, and show only that the next hop takes data.
    """

    def set_keepalive(self, interval: float) -> None:
        self.packetizer.set_keepalive(interval, self._ask)

    def _ask(self) -> None:
        """Send a request of a kind that no server grants; its refusal is an answer."""
        message = paramiko.Message()
        message.add_byte(bytes([paramiko.common.MSG_GLOBAL_REQUEST]))
        message.add_string(_KEEPALIVE)
        message.add_boolean(True)
        self._send_user_message(message)  # type: ignore[attr-defined]
