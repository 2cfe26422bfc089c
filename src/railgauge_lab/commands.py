"""Run the commands of SSH sessions: one shell for each command, in its own process session."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import asyncssh

from railgauge_lab.sessions import until_either_ends

_PR_SET_CHILD_SUBREAPER = 36
_REAP_AGAIN_S = 0.02
_SHELL = "/bin/sh"
_TOOL_SERVER = Path(__file__).with_name("tool_server.py")
_BECOMES = re.compile(r"exec((?: [A-Za-z0-9][\w./-]*| -[A-Za-z0-9]+)+)", re.ASCII)


class Children:
    """The child processes of the lab's server: the shells it starts, and the orphans it adopts.

    asyncio waits for the shells. Orphans are reaped here as soon as they end: a client that checks
    whether a process group still exists would count a zombie as a running process.
    """

    def __init__(self) -> None:
        self._own: set[int] = set()
        self._starting = 0

    def serve_tools(self, folder: str) -> None:
        """Start the process whose forks are the simulated tools; it ends with this one."""
        if hasattr(os, "pidfd_open"):
            self._tools = subprocess.Popen(
                [sys.executable, "-SE", str(_TOOL_SERVER), folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                cwd="/",
            )
            self._own.add(self._tools.pid)

    async def start(
        self, command: str, home: str, environment: dict[str, str]
    ) -> asyncio.subprocess.Process:
        """Start a shell that runs ``command``, or what it becomes, in its own process session."""
        self._starting += 1
        try:
            program, argv = _started(command, environment["PATH"])
            child = await asyncio.create_subprocess_exec(
                *argv,
                executable=program,
                cwd=home,
                env={**environment, "PWD": home},  # as the shell says it
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
            self._own.add(child.pid)
        finally:
            self._starting -= 1
        return child

    async def end(self, child: asyncio.subprocess.Process) -> None:
        """Wait for the shell; if it is still running, kill its whole session first.

        If the shell has already ended, the background processes that it started keep running, as
        under any sshd.
        """
        if child.returncode is None:
            kill_session(child.pid)
        # wait() also waits until the pipes are closed, and a process that left the session holds
        # them open.
        while child.returncode is None:
            await asyncio.sleep(_REAP_AGAIN_S)
        self._own.discard(child.pid)

    def adopt_orphans(self) -> None:
        """Become the parent of the processes that commands leave behind, from now on."""
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._reap)

    def _reap(self) -> None:
        if self._starting:
            # A shell may be running whose process ID is not in _own yet.
            asyncio.get_running_loop().call_later(_REAP_AGAIN_S, self._reap)
            return
        for orphan in set(_children_of(os.getpid())) - self._own:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(orphan, os.WNOHANG)


class CommandRunner:
    """Runs the commands of one node; its login sets the variables of ``environment``."""

    def __init__(self, home: Path, children: Children, environment: Mapping[str, str]) -> None:
        self._home = str(home)
        self._children = children
        self._environment = {
            "PATH": f"{home}/bin",
            "HOME": self._home,
            "USER": "lab",
            "LOGNAME": "lab",
            "SHELL": _SHELL,
            "LANG": "C.UTF-8",
            **environment,
        }
        self._running: set[asyncio.subprocess.Process] = set()

    async def serve(self, session: asyncssh.SSHServerProcess[bytes]) -> None:
        """Run the session's command until it ends or its SSH channel closes."""
        command = session.command or "sh"
        child = await self._children.start(command, self._home, self._environment)
        self._running.add(child)
        try:
            await until_either_ends(session, child)
        finally:
            self._running.discard(child)
            await self._children.end(child)

    def end_all(self) -> None:
        """Kill every command of the node."""
        for child in self._running:
            kill_session(child.pid)


def _started(command: str, path: str) -> tuple[str, list[str]]:
    """Return the program that runs a command, and its arguments.

    A shell that only becomes another program, as that of nearly all commands, is not started.
    """
    match = _BECOMES.fullmatch(command)
    argv = match[1].split() if match else []
    program = shutil.which(argv[0], path=path) if argv else None
    return (program, argv) if program else (_SHELL, [_SHELL, "-c", command])


def kill_session(session: int) -> None:
    """Kill every process of a session, in all groups: ``timeout`` makes a group of its own."""
    for name in os.listdir("/proc"):  # noqa: PTH208 - names, not paths
        if name.isdecimal():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getsid(int(name)) == session:
                    os.kill(int(name), signal.SIGKILL)


def end_descendants() -> None:
    """Kill every descendant of this process, including those in other sessions."""
    while children := _children_of(os.getpid()):
        for child in children:
            _end_tree(child)
        for child in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def _end_tree(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        # Stop the process first, so that it starts no child while its children are being read.
        os.kill(pid, signal.SIGSTOP)
        for child in _children_of(pid):
            _end_tree(child)
        os.kill(pid, signal.SIGKILL)


def _children_of(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in path.read_text(encoding="ascii").split()]
    return found
