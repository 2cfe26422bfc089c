"""Runs pytest or ``railgauge`` in a process forked from an interpreter that has done the imports.

A fresh interpreter spends about a second on importing pytest, its plugins, fabric and railgauge,
and the selftests run the ladder some hundred times. The server (``prepared_server.py``) is an
interpreter that has imported them; each run is a fork of it, with its own folder, arguments,
standard streams, process ID and exit code.

The environment of a run is exactly that of its server, so that a variable has its effect also if
the interpreter or an import reads it: there is one server for each environment.
``selftests/project/test_prepared.py`` compares such a run with one of a fresh interpreter.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

_SERVER = Path(__file__).with_name("prepared_server.py")
_CHUNK_BYTES = 1 << 16
_PROGRAMS = {
    "pytest": ("-m", "pytest"),
    "railgauge": ("-c", "import sys; from railgauge.cli import main; sys.exit(main())"),
}


@dataclass(frozen=True)
class Request:
    """One program: its arguments, folder, environment and time limit."""

    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    time_limit_s: float
    new_session: bool = False
    # Variables that only the run and its children have; no import may read them.
    more: Mapping[str, str] = field(default_factory=dict)
    program: str = "pytest"  # or railgauge

    @property
    def command(self) -> list[str]:
        return [sys.executable, *_PROGRAMS[self.program], *self.arguments]


@dataclass(frozen=True)
class _Server:
    process: subprocess.Popen[bytes]
    requests: socket.socket


_servers: dict[frozenset[tuple[str, str]], _Server] = {}
# The arguments and CPU seconds of the last runs, for costs.py.
reported: deque[tuple[Sequence[str], float]] = deque(maxlen=1000)
_starting = threading.Lock()


def run(request: Request) -> subprocess.CompletedProcess[str]:
    """Return the result of the request, as ``fresh`` does.

    If Python or the kernel lacks what the server needs, the interpreter is a fresh one. Raises
    ``subprocess.TimeoutExpired``, and ``ChildProcessError`` if the server has ended.
    """
    if not hasattr(os, "pidfd_open"):
        return fresh(request)
    deadline = time.monotonic() + request.time_limit_s
    server = _server(request.environment)
    out, err, answer = _ask(server, request)
    streams = _read((out, err, answer), deadline)
    words = streams[answer].split()
    if not words:
        _, why = server.process.communicate()
        raise ChildProcessError(f"the prepared interpreter has ended: {why.decode()}")
    if len(words) == 1:
        os.kill(int(words[0]), signal.SIGKILL)
        raise subprocess.TimeoutExpired(
            request.command, request.time_limit_s, streams[out], streams[err]
        )
    reported.append((request.arguments, float(words[2])))
    return subprocess.CompletedProcess(
        request.command, int(words[1]), _text(streams[out]), _text(streams[err])
    )


class Started:
    """A run in the background, with the methods of ``subprocess.Popen`` that its users need."""

    def __init__(self, answer: socket.socket, command: Sequence[str]) -> None:
        self._answer = answer
        self._command = command
        self._received = b""
        while self._received.count(b"\n") < 1:
            self._hear(None)
        self.pid = int(self._received)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def wait(self, time_limit_s: float | None = None) -> int:
        """Return the exit code. Raises ``subprocess.TimeoutExpired``."""
        deadline = None if time_limit_s is None else time.monotonic() + time_limit_s
        while self.returncode is None:
            self._hear(deadline)
            if self._received.count(b"\n") > 1:
                self.returncode = int(self._received.split()[1])
                self._answer.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _hear(self, deadline: float | None) -> None:
        left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        self._answer.settimeout(left_s)
        try:
            reported = self._answer.recv(_CHUNK_BYTES)
        except (TimeoutError, BlockingIOError):
            raise subprocess.TimeoutExpired(self._command, left_s or 0.0) from None
        if not reported:
            raise ChildProcessError("the prepared interpreter has ended")
        self._received += reported


def start(
    request: Request, output: BinaryIO, errors: BinaryIO | None = None
) -> Started | subprocess.Popen[bytes]:
    """Start the request as ``run`` does, without a time limit; what it prints goes to files."""
    errors = errors or output
    if not hasattr(os, "pidfd_open"):
        return subprocess.Popen(
            request.command,
            cwd=request.folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env={**request.environment, **request.more},
            start_new_session=request.new_session,
        )
    answer, answer_end = socket.socketpair()
    with answer_end:
        ends = (output.fileno(), errors.fileno(), answer_end.fileno())
        _send(_server(request.environment), request, ends)
    return Started(answer, request.command)


def fresh(request: Request) -> subprocess.CompletedProcess[str]:
    """Run it in a new interpreter, as users do. Raises ``subprocess.TimeoutExpired``."""
    return subprocess.run(
        request.command,
        cwd=request.folder,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=request.time_limit_s,
        stdin=subprocess.DEVNULL,
        env={**request.environment, **request.more},
        check=False,
    )


def interpreters() -> Iterator[int]:
    """Return the process IDs of the servers."""
    return iter([server.process.pid for server in list(_servers.values())])


def end() -> None:
    """End the servers when no run is in progress."""
    while _servers:
        _, server = _servers.popitem()
        server.requests.close()
        server.process.communicate()


def _server(environment: Mapping[str, str]) -> _Server:
    with _starting:
        key = frozenset(environment.items())
        if key not in _servers:
            _servers[key] = _start(environment)
        return _servers[key]


def _start(environment: Mapping[str, str]) -> _Server:
    """Start a server; it ends with this process, which holds the other end of its socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, str(_SERVER), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # the same kind of stream that a run has
            stderr=subprocess.PIPE,
            env=dict(environment),
        )
    return _Server(process, ours)


def _ask(server: _Server, request: Request) -> tuple[int, int, int]:
    """Return the read ends: the run's output, its errors, and the server's messages about it."""
    (out, out_end), (err, err_end) = os.pipe(), os.pipe()
    answer, answer_end = socket.socketpair()
    given = [out_end, err_end, answer_end.detach()]
    try:
        _send(server, request, given)
    finally:
        for descriptor in given:
            os.close(descriptor)
    return out, err, answer.detach()


def _send(server: _Server, request: Request, ends: Sequence[int]) -> None:
    """Ask for a run whose output, errors and messages go to these descriptors."""
    message = {
        "program": request.program,
        "folder": str(request.folder),
        "arguments": list(request.arguments),
        "new_session": request.new_session,
        "more": dict(request.more),
    }
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        socket.send_fds(server.requests, [json.dumps(message).encode()], [nothing, *ends])
    finally:
        os.close(nothing)


def _read(descriptors: Sequence[int], deadline: float) -> dict[int, bytes]:
    """Return what each descriptor delivers until its end or the deadline, and close them."""
    came = dict.fromkeys(descriptors, b"")
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map() and (left_s := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left_s):
                chunk = os.read(key.fd, _CHUNK_BYTES)
                came[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
    for descriptor in descriptors:
        os.close(descriptor)
    return came


def _text(output: bytes) -> str:
    """Decode it as ``subprocess`` does with ``text=True``."""
    return output.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
