"""What a command prints, gathered while it runs.

``Markers`` takes the marker lines of ``shell`` out of stdout; ``Capture`` keeps the rest and lets
any number of threads wait for what they need to know.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from railgauge.transport.shell import MARKER

OUTPUT_LIMIT_BYTES = 8 << 20
Sink = Callable[[bytes], None]


class Pipes(Protocol):
    """The output of one command, as a way to reach a node offers it."""

    def drain(self, stdout: Sink, stderr: Sink) -> int | None:
        """Hand over all output to its end; blocks. The exit code, ``None`` if nobody told."""

    def close(self) -> None:
        """Let go: a ``drain`` in another thread returns soon. Harmless if it has ended."""


class Markers:
    """Splits stdout, chunk by chunk, into output (bytes) and marker words (str).

    Markers may stand anywhere, also in the middle of a line: a server and the shell that
    watches it write to one pipe. Chunks may end anywhere, also within a marker.
    """

    def __init__(self, nonce: str) -> None:
        self._start = f"{MARKER} {nonce} ".encode()
        self._held = b""

    def split(self, chunk: bytes) -> Iterator[bytes | str]:
        text, self._held = self._held + chunk, b""
        while (at := text.find(self._start)) >= 0:
            if at:
                yield text[:at]
            word, line_end, rest = text[at + len(self._start) :].partition(b"\n")
            if not line_end:
                self._held = text[at:]
                return
            yield word.decode("ascii", "replace")
            text = rest
        keep = self._begun(text)
        self._held = text[len(text) - keep :]
        if keep < len(text):
            yield text[: len(text) - keep]

    def rest(self) -> bytes:
        """What was held back as the possible beginning of a marker."""
        held, self._held = self._held, b""
        return held

    def _begun(self, text: bytes) -> int:
        """How many bytes at the end of ``text`` may be the beginning of a marker."""
        longest = min(len(text), len(self._start) - 1)
        return next((n for n in range(longest, 0, -1) if self._start.startswith(text[-n:])), 0)


class Capture:
    """The output and the state of one command; safe for any number of threads."""

    def __init__(self, nonce: str) -> None:
        self.pid: int | None = None
        self.ready = False
        self.in_use = False
        self.overflow = False
        self.exit_code: int | None = None  # known as soon as the command has ended
        self.over_at = 0.0
        self.ended = False  # so has its output
        self.changed_at = time.monotonic()
        self._markers = Markers(nonce)
        self._stdout = bytearray()
        self._stderr = bytearray()
        self._has_line = False
        lock = threading.Lock()
        self._told = threading.Condition(lock)  # something that may be waited for has come
        self._done = threading.Condition(lock)  # nothing more comes: what most wait for, woken once

    def follow(self, pipes: Pipes) -> None:
        """Gather from ``pipes`` in a thread of its own, so that no command waits for a reader.

        Without ``threading.Thread``, which waits until its thread has begun: that costs each
        command a change between threads and back.
        """
        _thread.start_new_thread(self._drain, (pipes,))

    def wait_until(self, happened: Callable[[], bool], time_limit_s: float) -> bool:
        """Whether ``happened`` came true within the time limit."""
        with self._told:
            return self._told.wait_for(happened, max(time_limit_s, 0.0))

    def wait_done(self, time_limit_s: float) -> bool:
        """Whether all output came, or too much of it, within the time limit."""
        with self._done:
            return self._done.wait_for(lambda: self.ended or self.overflow, max(time_limit_s, 0.0))

    def text(self) -> tuple[str, str]:
        """Stdout and stderr so far; what is not UTF-8 shows as U+FFFD."""
        with self._told:
            return self._stdout.decode(errors="replace"), self._stderr.decode(errors="replace")

    def first_line(self, time_limit_s: float) -> str | None:
        """The first line of stdout, if it is there within the time limit; the end ends it too."""
        self.wait_until(lambda: self._has_line or self.ended, time_limit_s)
        line, line_end, _ = self.text()[0].partition("\n")
        return line if line_end or (line and self.ended) else None

    def _drain(self, pipes: Pipes) -> None:
        exit_code = None
        try:
            exit_code = pipes.drain(self.take_stdout, self.take_stderr)
        finally:
            self._end(exit_code)

    def take_stdout(self, chunk: bytes) -> None:
        with self._told:
            for piece in self._markers.split(chunk):
                if isinstance(piece, str):
                    self._note(piece)
                else:
                    self._keep(self._stdout, piece)
                    self._look_for_line(piece)

    def take_stderr(self, chunk: bytes) -> None:
        with self._told:
            self._keep(self._stderr, chunk)

    def _end(self, exit_code: int | None) -> None:
        with self._told:
            self._keep(self._stdout, self._markers.rest())
            if self.exit_code is None:
                self.exit_code, self.over_at = exit_code, time.monotonic()
            self.ended = True
            self._told.notify_all()
            self._done.notify_all()

    def _look_for_line(self, piece: bytes) -> None:
        if not self._has_line and b"\n" in piece:
            self._has_line = True
            self._told.notify_all()

    def _note(self, word: str) -> None:
        name, _, value = word.partition(" ")
        if name == "pid" and value.isdecimal():
            self.pid = int(value)
            self._stdout.clear()  # start-up files of the login shell that print something
            self._has_line = False
        elif name == "exit" and value.isdecimal():
            self.exit_code, self.over_at = int(value), time.monotonic()
        self.ready |= name == "ready"
        self.in_use |= name == "in-use"
        self._told.notify_all()

    def _keep(self, kept: bytearray, chunk: bytes) -> None:
        self.changed_at = time.monotonic()
        room = OUTPUT_LIMIT_BYTES - len(kept)
        kept += chunk[:room]
        if len(chunk) > room:
            self.overflow = True
            self._done.notify_all()
