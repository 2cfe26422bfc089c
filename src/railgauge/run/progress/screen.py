"""Shows progress: on a terminal in a line that is redrawn, elsewhere in a line now and then.

On a terminal the progress line is drawn below the cursor, which then returns to where the last
output ended, so that a line of dots continues. Output that would leave its line first erases the
progress line. Elsewhere a line is printed each minute, or every ten seconds during an unusual wait.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, RLock, Thread
from time import monotonic
from typing import TextIO

from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.run.progress import text
from railgauge.run.progress.columns import after, stays, visible, width
from railgauge.run.progress.state import SOON_S, Moment
from railgauge.run.streams import Change
from railgauge.transport.waits import WAITS_OF_PROCESS

FIRST_S = 3.0
"""How long a process runs before it shows progress on a terminal."""
_LOOK_S = 0.2
_EVERY_S = 60.0
_ERASE_BELOW, _NEXT = "\x1b[J", "\r\n"
_USUAL_SIZE = os.terminal_size((80, 24))

Say = Callable[[str], None]
Look = Callable[[], Moment]


class _Output:
    """A stream of the process, with a descriptor of its own.

    pytest points standard output elsewhere while a test runs, but not for other threads.
    """

    def __init__(self, stream: TextIO, passed: Callable[[_Output, str], int]) -> None:
        stream.flush()
        self._own = vars(stream)
        self._before, self._write, self._flush = self._own.get("write"), stream.write, stream.flush
        self._encoding, self._errors = stream.encoding, stream.errors or "strict"
        self._descriptor: int | None = None
        with suppress(OSError, ValueError):  # it may be no file
            self._descriptor = os.dup(stream.fileno())
        self.is_terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._own["write"] = lambda words: passed(self, words)

    def put(self, words: str) -> None:
        if self._descriptor is None:
            self._write(words)
            self._flush()
            return
        left = words.encode(self._encoding, self._errors)
        while left:
            left = left[os.write(self._descriptor, left) :]

    def size(self) -> os.terminal_size:
        with suppress(OSError):
            if self._descriptor is not None and (size := os.get_terminal_size(self._descriptor))[0]:
                return size
        return shutil.get_terminal_size(_USUAL_SIZE)

    def restore(self) -> None:
        self._own.pop("write", None)
        if self._before:
            self._own["write"] = self._before
        if self._descriptor is not None:
            os.close(self._descriptor)


class Screen:
    """The progress line of one process; all output on its streams passes through here."""

    def __init__(
        self,
        look: Look,
        say: Say,
        stream: TextIO,
        *,
        mask: Change = MASK_OF_PROCESS.text,
        as_table: bool = False,
    ) -> None:
        """``look`` gives what is shown on ``stream``, and ``say`` prints a whole line there.

        ``mask`` changes what others print on the streams, as ``run.streams`` has done before.
        """
        self._look, self._say, self._mask, self._as_table = look, say, mask, as_table
        self._began_s = self._printed_s = monotonic()
        self._over, self.lock = Event(), RLock()
        self._paused, self._column, self._end = 0, 0, ""
        self._shown: list[str] = []
        self._last = _Output(stream, self._pass)
        # Whatever is printed on the same terminal would mix with the line.
        others = {sys.stdout, sys.stderr} - {stream, None} if self._last.is_terminal else set()
        self._outputs = [self._last]
        self._outputs += [_Output(one, self._pass) for one in others if one.isatty()]

    def begin(self) -> None:
        WAITS_OF_PROCESS.news.clear()  # of what the process did before
        watch = Thread(target=self._watch, name="progress", daemon=True)
        with suppress(RuntimeError), _no_signals():  # a machine without a thread to spare
            watch.start()

    def end(self) -> None:
        """Show nothing any more, and leave the streams as they were."""
        self._over.set()
        with self.lock:
            with suppress(OSError, ValueError):  # nobody reads it any more
                self._erase()
            for output in self._outputs:
                output.restore()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Show nothing while the block lasts."""
        with self.lock:
            self._erase()
            self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_S):
            with suppress(OSError, ValueError, MemoryError):  # others report an exhausted resource
                self._show()

    def _show(self) -> None:
        while WAITS_OF_PROCESS.news:
            self._say(WAITS_OF_PROCESS.news.popleft())
        moment = self._look()
        if self._last.is_terminal:
            self._draw(moment)
        elif not self._paused and self._is_due(moment):
            self._printed_s = moment.now_s
            self._say(text.line(moment))

    def _is_due(self, moment: Moment) -> bool:
        every_s = SOON_S if moment.awaited else _EVERY_S
        return moment.now_s - self._printed_s >= every_s

    # --- on a terminal ---

    def _draw(self, moment: Moment) -> None:
        columns, rows = self._last.size()
        lines = text.screen(moment, columns - 1, rows, as_table=self._as_table)
        with self.lock:
            is_early = moment.now_s - self._began_s < FIRST_S
            if is_early or self._paused or self._over.is_set() or lines == self._shown:
                return
            self._last.put(self._below(lines, columns))
            self._shown = lines

    def _below(self, lines: Sequence[str], columns: int) -> str:
        """Writes the lines below the cursor, which comes back to where it was."""
        column = self._column
        begin, up = ("\r\n", max(len(lines), 1)) if column else ("\r", len(lines) - 1)
        back = f"\x1b[{up}A" if up > 0 else ""
        # The cursor can be behind the last column only right after the last character was written.
        is_full, last = column >= columns, column - width(self._end)
        aside = f"\x1b[{last}C{self._end}" if is_full else f"\x1b[{column}C" if column else ""
        return f"{begin}{_ERASE_BELOW}{_NEXT.join(lines)}\r{back}{aside}"

    def _pass(self, output: _Output, words: str) -> int:
        """Print the output of others on one of the streams."""
        masked = self._mask(words)
        with self.lock:
            if self._last.is_terminal:
                self._make_room(visible(masked))
            output.put(masked)
        return len(words)

    def _make_room(self, text: str) -> None:
        """Erase the line if the text would leave its own; follow the cursor."""
        columns = self._last.size().columns
        if not (self._column and stays(text, self._column, columns)):
            self._erase()
        self._column, self._end = after(text, self._column, columns), text[-1:] or self._end

    def _erase(self) -> None:
        if self._shown:
            self._last.put(self._below((), self._last.size().columns))
            self._shown = []


@contextmanager
def _no_signals() -> Iterator[None]:
    """Block the signals that end the process in threads that the block starts."""
    ends = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- of a command ---

_SCREENS: list[Screen] = []


@contextmanager
def shown(name: str) -> Iterator[None]:
    """Show on standard error how far the process is while the block lasts."""
    began_s, stream = monotonic(), sys.stderr

    def look() -> Moment:
        waits = WAITS_OF_PROCESS.longest_first()
        return Moment(name, began_s, monotonic(), str(PROGRESS_OF_PROCESS), waits=tuple(waits))

    screen = Screen(look, lambda line: print(line, file=stream, flush=True), stream)
    with ExitStack() as stack:
        _SCREENS.append(screen)
        stack.callback(_SCREENS.remove, screen)
        stack.callback(screen.end)
        screen.begin()
        yield


@contextmanager
def paused() -> Iterator[None]:
    """Show nothing while the block lasts, because a user is asked or a program prints."""
    with ExitStack() as stack:
        for screen in _SCREENS:
            stack.enter_context(screen.paused())
        yield
