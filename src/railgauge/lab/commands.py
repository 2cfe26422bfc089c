"""Runs the commands of SSH sessions: one shell in a session of its own for each.

Output is copied by hand to its end before the exit status is sent: with asyncssh's own
redirection the two race, and the loser is the whole connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
from pathlib import Path

import asyncssh

_PR_SET_CHILD_SUBREAPER = 36
_CHUNK_BYTES = 1 << 16
_GONE = (BrokenPipeError, ConnectionError, asyncssh.Error, OSError)


class CommandRunner:
    """The commands of one node."""

    def __init__(self, home: Path) -> None:
        self._home = str(home)
        self._environment = {
            "PATH": f"{home}/bin",
            "HOME": self._home,
            "USER": "lab",
            "LOGNAME": "lab",
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
        }
        self._running: set[asyncio.subprocess.Process] = set()

    async def serve(self, session: asyncssh.SSHServerProcess[bytes]) -> None:
        """Run the session's command to its end, or to the end of its channel."""
        command = session.command or "sh"
        child = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            command,
            cwd=self._home,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._running.add(child)
        try:
            await self._until_either_ends(session, child)
        finally:
            self._running.discard(child)
            _kill_group(child.pid)
            reap_orphans({one.pid for one in self._running})

    def end_all(self) -> None:
        """Kill every command of the node."""
        for child in self._running:
            _kill_group(child.pid)

    async def _until_either_ends(
        self, session: asyncssh.SSHServerProcess[bytes], child: asyncio.subprocess.Process
    ) -> None:
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
    """Standard input, and the signals that a client sends."""
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


def _kill_group(group: int) -> None:
    _signal_group(group, "KILL")


def adopt_orphans() -> None:
    """Become the parent of what commands leave behind, so that it can be found and ended."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_descendants() -> None:
    """Kill every process below this one, those in sessions of their own included."""
    while children := _children(os.getpid()):
        for child in children:
            _end_tree(child)
        for child in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def reap_orphans(own: set[int]) -> None:
    """Collect adopted children that have ended; ``own`` are asyncio's to collect."""
    for child in set(_children(os.getpid())) - own:
        if _is_zombie(child):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)


def _end_tree(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        # Stopped first, so that it starts nothing while its children are being read.
        os.kill(pid, signal.SIGSTOP)
        for child in _children(pid):
            _end_tree(child)
        os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in path.read_text(encoding="ascii").split()]
    return found


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2][1] == "Z"
    except (OSError, UnicodeDecodeError):
        return False
