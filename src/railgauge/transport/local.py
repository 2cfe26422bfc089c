"""Commands on this machine, run by the same shell text as over ssh."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
from collections.abc import Callable

from railgauge.core.errors import ConnectionLost, TransportError
from railgauge.core.model import Node
from railgauge.core.private_files import umask_of_commands
from railgauge.transport import Session, silence
from railgauge.transport.capture import Pipes, Sink
from railgauge.transport.job import LinkSession
from railgauge.transport.shell import Sent
from railgauge.transport.silence import Silence
from railgauge.transport.tag import Tag

_LOOK_S = 0.5  # interval at which ``drain`` checks whether another thread closed the pipes
_CHUNK_BYTES = 1 << 16


def connect(node: Node, tag: Tag | None = None) -> Session:
    """Return a session on this machine, under the node's name."""
    return LinkSession(node, LocalLink(node.name), tag)


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """End a process that ``started`` has started, and its children."""
    with contextlib.suppress(ProcessLookupError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


class LocalPipes:
    """The input and the output of one process."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        script: str,
        *,
        keep_open: bool = False,
        end: Callable[[subprocess.Popen[bytes]], None] = kill_all,
        lose: Callable[[], None] | None = None,
    ) -> None:
        """``script`` is the process's input, which stays open behind it with ``keep_open``.

        With ``lose``, a process from which nothing comes for too long is ended by ``end``, after
        ``lose`` was called.
        """
        self._process = process
        self._input = _Input(process, script, keep_open=keep_open)
        self._end, self._lose = end, lose
        self._silence = Silence(_LOOK_S)
        self._closed = False
        self._lost = False

    def drain(self, stdout: Sink, stderr: Sink) -> int | None:
        with self._process, selectors.DefaultSelector() as selector:
            assert self._process.stdout
            assert self._process.stderr
            selector.register(self._process.stdout, selectors.EVENT_READ, stdout)
            selector.register(self._process.stderr, selectors.EVENT_READ, stderr)
            self._input.register(selector)
            self._copy(selector)
            code = self._process.wait()
        if self._lost:
            return None
        return 128 - code if code < 0 else code

    def answer(self) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError):
            os.write(self._process.stdin.fileno(), b"\n")

    def close(self) -> None:
        self._closed = True
        self._end(self._process)

    def _copy(self, selector: selectors.BaseSelector) -> None:
        while selector.get_map() and not self._closed:
            ready = selector.select(_LOOK_S)
            if not ready:
                self._find_nothing()
            for key, _ in ready:
                if key.data is self._input:
                    self._input.write(selector)
                elif chunk := os.read(key.fd, _CHUNK_BYTES):
                    self._silence.heard()
                    key.data(chunk)
                else:
                    selector.unregister(key.fileobj)

    def _find_nothing(self) -> None:
        self._silence.looked()
        if self._lose and self._silence.is_too_long:
            self._lost = True
            self._lose()
            self.close()


class _Input:
    """The script for a process, written as fast as the process takes it."""

    def __init__(self, process: subprocess.Popen[bytes], script: str, *, keep_open: bool) -> None:
        assert process.stdin
        self._stdin = process.stdin
        self._left = script.encode("utf-8", "surrogateescape")
        self._keep_open = keep_open

    def register(self, selector: selectors.BaseSelector) -> None:
        os.set_blocking(self._stdin.fileno(), False)
        selector.register(self._stdin, selectors.EVENT_WRITE, self)

    def write(self, selector: selectors.BaseSelector) -> None:
        """Write some of the script; a process that has ended takes no more of it."""
        with contextlib.suppress(BlockingIOError):
            try:
                self._left = self._left[os.write(self._stdin.fileno(), self._left) :]
            except BrokenPipeError:
                self._left = b""
        if not self._left:
            selector.unregister(self._stdin)
            if not self._keep_open:
                self._stdin.close()


def started(*argv: str) -> subprocess.Popen[bytes]:
    """Start a process here. Raises ``OSError``.

    A session of its own keeps the terminal's Ctrl-C away from it.
    """
    return subprocess.Popen(
        [word.encode("utf-8", "surrogateescape") for word in argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        umask=umask_of_commands(),
    )


class ProgramLink:
    """A ``NodeConnection`` for which a program is started here for each line.

    The only connection is that of each program, so the commands have to show that they run.
    """

    beats = True

    def __init__(
        self, node_name: str, way: str, start: Callable[[Sent, Callable[[], None]], Pipes]
    ) -> None:
        """``start`` starts the program; it is to call its argument if nothing comes from it."""
        self._node_name = node_name
        self._start = start
        self.way = way
        self.lost = ""

    def execute(self, sent: Sent) -> Pipes:
        if self.lost:
            raise ConnectionLost(self.lost, where=self._node_name)
        return self._start(sent, self._lose)

    def close(self) -> None:
        """Do nothing: there is no connection to close."""

    def _lose(self) -> None:
        self.lost = f"nothing has come from the node for {silence.LIMIT_S:g} s"


class LocalLink:
    """A ``NodeConnection`` to this machine, which cannot be lost: its ``sh`` executes the lines."""

    beats = False
    lost = ""

    def __init__(self, node_name: str) -> None:
        self._node_name = node_name

    @property
    def way(self) -> str:
        return "this machine"

    def execute(self, sent: Sent) -> Pipes:
        try:
            return LocalPipes(started("sh", "-c", sent.line), sent.script, keep_open=sent.asks)
        except OSError as error:
            raise TransportError(f"cannot start sh: {error}", where=self._node_name) from error

    def close(self) -> None:
        """Do nothing: there is no connection to close."""
