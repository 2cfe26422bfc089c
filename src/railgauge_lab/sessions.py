"""What the SSH servers of both labs share: their options, and how a command uses its SSH channel.

The output is copied here, completely, before the exit status is sent. With asyncssh's own
redirection the two race, and an exit status that wins can break the whole connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Mapping
from typing import Any

import asyncssh

# The options of ``asyncssh.listen`` besides addresses and keys. Only keys open a session, and the
# algorithms are those that open it fast.
SERVER_OPTIONS: Mapping[str, Any] = {
    "encoding": None,
    "kex_algs": (
        "curve25519-sha256",
        "curve25519-sha256@libssh.org",
        "ecdh-sha2-nistp256",
    ),
    "password_auth": False,
    "kbdint_auth": False,
    "compression_algs": ["none"],
    "line_editor": False,
    "login_timeout": 60,
}
_CHUNK_BYTES = 1 << 16
_GONE = (BrokenPipeError, ConnectionError, asyncssh.Error, OSError)


def undelayed(connection: asyncssh.SSHServerConnection) -> None:
    """Set TCP_NODELAY, so that the connection does not wait for delayed acknowledgements."""
    transport = connection.get_extra_info("socket")
    if transport is not None:
        transport.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


async def until_either_ends(
    session: asyncssh.SSHServerProcess[bytes], child: asyncio.subprocess.Process
) -> None:
    """Connect a command, whose streams are all pipes, to its SSH channel until either ends."""
    feeding = asyncio.ensure_future(_feed(session, child))
    copying = asyncio.ensure_future(_copy_and_exit(session, child))
    closing = asyncio.ensure_future(session.wait_closed())
    try:
        await asyncio.wait({copying, closing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (feeding, copying, closing):
            task.cancel()
        await asyncio.gather(feeding, copying, closing, return_exceptions=True)


async def _copy_and_exit(
    session: asyncssh.SSHServerProcess[bytes], child: asyncio.subprocess.Process
) -> None:
    if child.stdout is None or child.stderr is None:
        return
    await asyncio.gather(_copy(child.stdout, session.stdout), _copy(child.stderr, session.stderr))
    code = await child.wait()
    with contextlib.suppress(*_GONE):
        if code < 0:
            session.exit_with_signal(signal.Signals(-code).name.removeprefix("SIG"))
        else:
            session.exit(code)


async def _copy(source: asyncio.StreamReader, target: asyncssh.SSHWriter[bytes]) -> None:
    with contextlib.suppress(*_GONE):
        while data := await source.read(_CHUNK_BYTES):
            target.write(data)
            await target.drain()


async def _feed(
    session: asyncssh.SSHServerProcess[bytes], child: asyncio.subprocess.Process
) -> None:
    """Pass the client's standard input and its signals on to the command."""
    if child.stdin is None:
        return
    while True:
        try:
            data = await session.stdin.read(_CHUNK_BYTES)
            if not data:
                break
            child.stdin.write(data)
            await child.stdin.drain()
        except asyncssh.SignalReceived as received:
            _signal_group(child.pid, received.signal)
        except asyncssh.BreakReceived:
            _signal_group(child.pid, "INT")
        except _GONE:
            break
    child.stdin.close()


def _signal_group(group: int, name: str) -> None:
    number = getattr(signal, f"SIG{name}", None)
    if number is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
