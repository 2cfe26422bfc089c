"""The output of a command, collected while it runs.

``Markers`` takes the marker lines of ``shell`` out of stdout. ``Capture`` keeps the rest, and any
number of threads can wait on it for the end, the first line, or a marker.
"""

from __future__ import annotations

import _thread
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Protocol

from railgauge.core import exhaustion
from railgauge.transport.shell import MARKER

OUTPUT_LIMIT_BYTES = 8 << 20
_MOST_BEFORE = 400
_NUMBER = re.compile(r"[0-9]{1,10}")
# How often to look whether the thread that reads an output is still there.
_LOOK_S = 1.0
_QUESTION = b"?"
Sink = Callable[[bytes], None]


class Pipes(Protocol):
    """The stdout and stderr of one command, as a transport offers them."""

    def drain(self, stdout: Sink, stderr: Sink) -> int | None:
        """Pass all output to the sinks, block until its end, and return the exit code.

        ``None`` if the exit code is not known.
        """

    def answer(self) -> None:
        """Send a line of input to a command that asks; does nothing if it cannot be sent now."""

    def close(self) -> None:
        """Close both; a ``drain`` in another thread returns soon. Does nothing after the end."""


class AnsweringPipes:
    """Pipes whose command gets an answer whenever it asks.

    The thread that reads its output answers it, so that no other command can delay that.
    """

    def __init__(self, pipes: Pipes) -> None:
        self._pipes = pipes
        self.answer, self.close = pipes.answer, pipes.close

    def drain(self, stdout: Sink, stderr: Sink) -> int | None:
        def take(chunk: bytes) -> None:
            stdout(chunk)
            if _QUESTION in chunk:
                self.answer()

        return self._pipes.drain(take, stderr)


class Markers:
    """Splits stdout, chunk by chunk, into output (bytes) and the texts of markers (str).

    A marker may begin in the middle of a line, because a server and the shell that watches it
    write to one pipe. A chunk may end within a marker.

    With the nonce ``ab12``, the chunk ``b"Send BW::railgauge ab12 ready\\n Test"`` gives
    ``b"Send BW"``, ``"ready"`` and ``b" Test"``.
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
        """Return the bytes that were held back as the possible beginning of a marker."""
        held, self._held = self._held, b""
        return held

    def _begun(self, text: bytes) -> int:
        """Return how many bytes at the end of ``text`` may be the beginning of a marker."""
        longest = min(len(text), len(self._start) - 1)
        return next((n for n in range(longest, 0, -1) if self._start.startswith(text[-n:])), 0)


class _Reader:
    """An object that only the reading thread holds, so that it disappears with that thread."""


class Capture:
    """The output and the state of one command; safe for any number of threads."""

    def __init__(self, nonce: str, *, after_setup: bool = False) -> None:
        """``after_setup``: lines of ``setup`` run before the command."""
        self.pid: int | None = None
        self.ready = False
        self.in_use = False
        self.overflow = False
        self.setup_at: int | None = None  # the line of setup that has begun; 0 after the last
        self.refused: int | None = None  # the exit code of the program that becomes root
        self.exit_code: int | None = None  # known as soon as the command has ended
        self.over_at = 0.0
        self.ended = False  # the output has ended too
        self.broken: BaseException | None = None  # what kept this machine from reading all of it
        self.before = b""  # what the login shell's start-up files printed, its first characters
        self.changed_at = time.monotonic()
        self._markers = Markers(nonce)
        self._stderr_markers = Markers(nonce)
        self._stdout = bytearray()
        self._stderr = bytearray()
        self._reader: Callable[[], _Reader | None] = _Reader  # nobody reads before ``follow``
        # Earlier output is of start-up files: the login shell's, or those of the bash of setup.
        self._begun = False
        self._after_setup = after_setup
        self._lines = 0  # complete ones
        lock = threading.Lock()
        self._changed = threading.Condition(lock)  # a marker or the first line arrived, or the end
        # Most threads wait only for the end. Their own condition wakes them once, not per marker.
        self._done = threading.Condition(lock)

    def follow(self, pipes: Pipes) -> None:
        """Collect from ``pipes`` in a separate thread, so that a full pipe never blocks a command.

        ``threading.Thread`` is not used: its ``start`` waits until the thread runs, which costs
        each command two thread switches. Raises ``Exhausted`` if there can be no other thread.
        """
        reader = _Reader()
        self._reader = weakref.ref(reader)
        try:
            _thread.start_new_thread(self._drain, (pipes, reader))
        except RuntimeError as error:
            pipes.close()
            exhaustion.raise_if_exhausted(error)
            raise

    def wait_until(self, happened: Callable[[], bool], time_limit_s: float) -> bool:
        """Wait until ``happened()`` is true; return false if it is not within the time limit."""
        return self._wait(self._changed, happened, time_limit_s)

    def wait_done(self, time_limit_s: float) -> bool:
        """Wait until the output has ended or is too large; return false at the time limit."""
        return self._wait(self._done, lambda: self.ended or self.overflow, time_limit_s)

    def _wait(
        self, on: threading.Condition, happened: Callable[[], bool], time_limit_s: float
    ) -> bool:
        """Wait on a condition; without memory the reading thread may die without reporting it."""
        deadline = time.monotonic() + max(time_limit_s, 0.0)
        with on:
            while not on.wait_for(happened, min(max(deadline - time.monotonic(), 0.0), _LOOK_S)):
                if self._reader() is None and not self.ended:
                    self.broken, self.ended = MemoryError(), True
                    self._changed.notify_all()
                    self._done.notify_all()
                if time.monotonic() >= deadline:
                    return happened()
            return True

    def text(self) -> tuple[str, str]:
        """Return stdout and stderr so far; bytes that are not UTF-8 become U+FFFD."""
        with self._changed:
            return self._stdout.decode(errors="replace"), self._stderr.decode(errors="replace")

    @property
    def printed_bytes(self) -> int:
        """The size of stdout so far."""
        return len(self._stdout)

    def line(self, number: int, time_limit_s: float) -> str | None:
        """Wait for line ``number`` of stdout; ``None`` if it does not arrive within the time limit.

        The end of the output ends a line too. Output from before a refusal, or before a failed
        setup, does not count.
        """
        self.wait_until(lambda: self._lines > number or self.ended, time_limit_s)
        is_refused = self.refused is not None or (self.pid is not None and not self._begun)
        if is_refused or not (self._lines > number or self.ended):
            return None
        lines = self.text()[0].split("\n")
        return lines[number] if number < len(lines) - (not lines[-1]) else None

    def _drain(self, pipes: Pipes, _reader: _Reader) -> None:
        exit_code = None
        try:
            exit_code = pipes.drain(self.take_stdout, self.take_stderr)
        except BaseException as error:
            self.broken = error
            if not exhaustion.what_ran_out(error):
                raise
        finally:
            self._end(exit_code)

    def take_stdout(self, chunk: bytes) -> None:
        with self._changed:
            for piece in self._markers.split(chunk):
                if isinstance(piece, str):
                    self._note(piece)
                else:
                    self._keep(self._stdout, piece)
                    self._count_lines(piece)

    def take_stderr(self, chunk: bytes) -> None:
        with self._changed:
            for piece in self._stderr_markers.split(chunk):
                if isinstance(piece, str):
                    self._drop(self._stderr)  # setup begins, or the command
                else:
                    self._keep(self._stderr, piece)

    def _end(self, exit_code: int | None) -> None:
        with self._changed:
            try:
                self._keep(self._stdout, self._markers.rest())
                self._keep(self._stderr, self._stderr_markers.rest())
            except MemoryError as error:
                self.broken = error
            if self.exit_code is None:
                self.exit_code, self.over_at = exit_code, time.monotonic()
            self.ended = True
            self._changed.notify_all()
            self._done.notify_all()

    def _count_lines(self, piece: bytes) -> None:
        if self._begun and (lines := piece.count(b"\n")):
            self._lines += lines
            self._changed.notify_all()

    def _note(self, word: str) -> None:
        name, _, value = word.partition(" ")
        number = int(value) if _NUMBER.fullmatch(value) else None
        if number is None:
            self.ready |= name == "ready"
            self.in_use |= name == "in-use"
        elif name == "pid":
            self.pid = number
            if not self._after_setup:
                self._begin()
        elif name == "exit":
            self.exit_code, self.over_at = number, time.monotonic()
        elif name == "setup":
            self.setup_at = number
            if number == 0:
                self._begin()
        elif name == "over" and self.pid is None:
            self.refused = number
        self._changed.notify_all()

    def _begin(self) -> None:
        self._begun = True
        self._drop(self._stdout)

    def _drop(self, kept: bytearray) -> None:
        """Drop what came before the command; its first characters are kept aside."""
        self.before += bytes(kept[: max(_MOST_BEFORE - len(self.before), 0)])
        kept.clear()

    def _keep(self, kept: bytearray, chunk: bytes) -> None:
        self.changed_at = time.monotonic()
        room = OUTPUT_LIMIT_BYTES - len(kept)
        kept += chunk[:room]
        if len(chunk) > room:
            self.overflow = True
            self._done.notify_all()
