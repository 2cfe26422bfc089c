"""SSH for all nodes from one process, where OpenSSH's own server cannot run without root."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket

import asyncssh

from railgauge.netlab.files import Keys, public
from railgauge.netlab.node import RunningNode

PORT = 22
_KEX = ("curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256")
_CHUNK_BYTES = 1 << 16
_GONE = (BrokenPipeError, ConnectionError, asyncssh.Error, OSError)


async def serve(node: RunningNode, keys: Keys) -> asyncssh.SSHAcceptor:
    """Accept ``root`` on the node's port 22; every command runs inside the node."""
    return await asyncssh.listen(
        sock=node.listen(PORT),
        server_factory=_Login,
        server_host_keys=[keys.hosts[node.name]],
        authorized_client_keys=asyncssh.import_authorized_keys(public(keys.client)),
        process_factory=lambda session: _run(session, node),
        encoding=None,
        kex_algs=_KEX,
        password_auth=False,
        kbdint_auth=False,
        compression_algs=["none"],
        line_editor=False,
        login_timeout=60,
    )


class _Login(asyncssh.SSHServer):
    """A connection: nothing waits for a delayed acknowledgement, and only root has an account."""

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        transport = conn.get_extra_info("socket")
        if transport is not None:
            transport.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def begin_auth(self, username: str) -> bool:
        if username != "root":
            raise asyncssh.PermissionDenied(f"no account {username}")
        return True


async def _run(session: asyncssh.SSHServerProcess[bytes], node: RunningNode) -> None:
    """One command, as under any sshd: what it leaves running when the channel goes stays."""
    command = session.command
    child = await asyncio.create_subprocess_exec(
        *node.argv(["/bin/sh", "-c", command] if command else ["/bin/sh"]),
        env=node.home.environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    feeding = asyncio.ensure_future(_feed(session, child))
    try:
        await _until_either_ends(session, child)
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)


async def _until_either_ends(
    session: asyncssh.SSHServerProcess[bytes], child: asyncio.subprocess.Process
) -> None:
    copying = asyncio.ensure_future(_copy_and_exit(session, child))
    closing = asyncio.ensure_future(session.wait_closed())
    try:
        await asyncio.wait({copying, closing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (copying, closing):
            task.cancel()
        await asyncio.gather(copying, closing, return_exceptions=True)


async def _copy_and_exit(
    session: asyncssh.SSHServerProcess[bytes], child: asyncio.subprocess.Process
) -> None:
    # Both streams to their ends before the exit status: with asyncssh's own redirection the two
    # race, and the loser is the whole connection.
    assert child.stdout is not None
    assert child.stderr is not None
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
    """Standard input to its end, and the signals that a client sends."""
    assert child.stdin is not None
    while True:
        try:
            data = await session.stdin.read(_CHUNK_BYTES)
            if not data:
                break
            child.stdin.write(data)
            await child.stdin.drain()
        except asyncssh.SignalReceived as received:
            _signal_group(child.pid, received.signal)
        except _GONE:
            break
    child.stdin.close()


def _signal_group(group: int, name: str) -> None:
    number = getattr(signal, f"SIG{name}", None)
    if number is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
