"""Commands on this machine, run by the same shell text as over ssh."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess

from railgauge.core.errors import TransportError
from railgauge.core.model import Node
from railgauge.transport import Session
from railgauge.transport.capture import Pipes, Sink
from railgauge.transport.job import LinkSession
from railgauge.transport.tag import Tag

_LOOK_S = 0.5  # interval at which ``drain`` checks whether another thread closed the pipes
_CHUNK_BYTES = 1 << 16


def connect(node: Node, tag: Tag | None = None) -> Session:
    """Return a session on this machine, under the node's name."""
    return LinkSession(node, LocalLink(node.name), tag)


class LocalPipes:
    """The output of one process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._closed = False

    def drain(self, stdout: Sink, stderr: Sink) -> int | None:
        with self._process, selectors.DefaultSelector() as selector:
            assert self._process.stdout
            assert self._process.stderr
            selector.register(self._process.stdout, selectors.EVENT_READ, stdout)
            selector.register(self._process.stderr, selectors.EVENT_READ, stderr)
            self._copy(selector)
            code = self._process.wait()
        return 128 - code if code < 0 else code

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(ProcessLookupError):
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)

    def _copy(self, selector: selectors.BaseSelector) -> None:
        while selector.get_map() and not self._closed:
            for key, _ in selector.select(_LOOK_S):
                if chunk := os.read(key.fd, _CHUNK_BYTES):
                    key.data(chunk)
                else:
                    selector.unregister(key.fileobj)


def started(*argv: str) -> subprocess.Popen[bytes]:
    """Start a process here without input. Raises ``OSError``.

    A session of its own keeps the terminal's Ctrl-C away from it.
    """
    return subprocess.Popen(
        [word.encode("utf-8", "surrogateescape") for word in argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


class LocalLink:
    """A ``NodeConnection`` to this machine: its ``sh`` executes the lines."""

    def __init__(self, node_name: str) -> None:
        self._node_name = node_name

    def execute(self, line: str) -> Pipes:
        try:
            return LocalPipes(started("sh", "-c", line))
        except OSError as error:
            raise TransportError(f"cannot start sh: {error}", where=self._node_name) from error

    def close(self) -> None:
        """Do nothing: there is no connection to close."""
