"""Shows on standard error how far a command is that takes more than some seconds.

On a terminal it is one line that is written again and is gone when anything else is printed;
elsewhere it is a line now and then. A quick command shows nothing::

    railgauge prune: run 3 of 14, item 812 of 2109, 34 s
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, RLock, Thread
from typing import TextIO

from railgauge.core.progress import PROGRESS_OF_PROCESS

FIRST_S = 3.0
"""How long a command may take without a word."""
_ON_A_TERMINAL_S, _ELSEWHERE_S = 1.0, 30.0
_ERASE = "\r\x1b[K"


class _Line:
    """The line of one command; ``every_s`` is how often it is shown."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name, self._write, self._flush = name, stream.write, stream.flush
        self._on_a_terminal = stream.isatty()
        self._began_s = time.monotonic()
        self._ended, self._lock = Event(), RLock()
        self._is_shown = False
        self._paused = 0

    def show_until_it_ends(self) -> None:
        every_s = _ON_A_TERMINAL_S if self._on_a_terminal else _ELSEWHERE_S
        if not self._ended.wait(FIRST_S):
            self._show()
        while not self._ended.wait(every_s):
            self._show()

    def end(self) -> None:
        self._ended.set()
        self.erase()

    def erase(self) -> None:
        with self._lock:
            if self._is_shown:
                self._put(_ERASE)
                self._is_shown = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.erase()
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    def _show(self) -> None:
        with self._lock:
            if self._paused or self._ended.is_set():
                return
            text = self._text()
            if self._on_a_terminal:
                width = shutil.get_terminal_size().columns - 1
                self._put(f"{_ERASE}{text[:width]}")
                self._is_shown = True
            else:
                self._put(f"{text}\n")

    def _text(self) -> str:
        counts, seconds = str(PROGRESS_OF_PROCESS), time.monotonic() - self._began_s
        return f"{self._name}: {f'{counts}, ' if counts else ''}{seconds:.0f} s"

    def _put(self, text: str) -> None:
        with suppress(OSError, ValueError):  # nobody reads it any more
            self._write(text)
            self._flush()

    @contextmanager
    def erased_by(self, stream: TextIO) -> Iterator[None]:
        """Erase the line before anything is written to a terminal that shows it."""
        if not (self._on_a_terminal and stream.isatty()):
            yield
            return
        own = vars(stream)
        before, write = own.get("write"), stream.write
        own["write"] = self._erasing(write)
        try:
            yield
        finally:
            own.pop("write")
            own.update({} if before is None else {"write": before})

    def _erasing(self, write: Callable[[str], int]) -> Callable[[str], int]:
        def erasing(text: str) -> int:
            with self._lock:
                self.erase()
                return write(text)

        return erasing


_LINES: list[_Line] = []


@contextmanager
def shown(name: str) -> Iterator[None]:
    """Show how far the process is while the block lasts, from its first seconds on."""
    line = _Line(name, sys.stderr)
    with ExitStack() as stack:
        for stream in (sys.stdout, sys.stderr):
            stack.enter_context(line.erased_by(stream))
        _LINES.append(line)
        stack.callback(_LINES.remove, line)
        stack.callback(line.end)
        with suppress(RuntimeError):  # a machine without a thread to spare
            Thread(target=line.show_until_it_ends, daemon=True).start()
        yield


@contextmanager
def paused() -> Iterator[None]:
    """Show nothing while the block lasts: somebody is asked, or a program prints by itself."""
    with ExitStack() as stack:
        for line in _LINES:
            stack.enter_context(line.paused())
        yield
