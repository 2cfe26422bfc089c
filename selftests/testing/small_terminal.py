"""A terminal for tests: what a person sees of the bytes that a program has printed.

It knows what pytest and the suite use: wrapping at the last column, which waits for the next
character, carriage return, colours, the cursor up and to the right, and erasing. Anything else that
controls a terminal is an error, so that nobody begins to use it unseen.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
import threading
from pathlib import Path

from testing.waiting import wait_until

_PIECES = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|(.)", re.DOTALL)
_BEGUN = re.compile(r"\x1b(\[[0-9;]*)?\Z")


class SmallTerminal:
    """``lines`` are all that were ever shown, the last ``rows`` of which are on the screen."""

    def __init__(self, columns: int, rows: int) -> None:
        self._columns, self._rows = columns, rows
        self._lines, self._row, self._column = [[" "] * columns], 0, 0

    @property
    def lines(self) -> list[str]:
        return ["".join(line).rstrip() for line in self._lines]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def feed(self, text: str) -> None:
        end = 0
        for piece in _PIECES.finditer(text):
            assert piece.start() == end
            end = piece.end()
            if piece[3]:
                self._take(piece[3])
            else:
                self._control(piece[2], int(piece[1]) if piece[1].isdigit() else 0)

    def _take(self, char: str) -> None:
        if char == "\r":
            self._column = 0
        elif char == "\n":
            self._down()
        else:
            assert char.isprintable(), repr(char)
            if self._column == self._columns:
                self._column = 0
                self._down()
            self._lines[self._row][self._column] = char
            self._column += 1

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append([" "] * self._columns)

    def _control(self, kind: str, number: int) -> None:
        at = min(self._column, self._columns - 1)
        if kind == "A":
            top = max(len(self._lines) - self._rows, 0)
            self._row, self._column = max(self._row - max(number, 1), top), at
        elif kind == "C":
            self._column = min(at + max(number, 1), self._columns - 1)
        elif kind in "JK" and not number:
            self._lines[self._row][at:] = [" "] * (self._columns - at)
            for line in self._lines[self._row + 1 :] if kind == "J" else ():
                line[:] = [" "] * self._columns
        else:
            assert kind == "m", f"{number}{kind}"


class OpenTerminal:
    """A terminal of the kernel, and all that was shown on it."""

    def __init__(self, columns: int, rows: int) -> None:
        self._other_end, self.descriptor = pty.openpty()
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.path = Path(os.ttyname(self.descriptor))
        self._shown = SmallTerminal(columns, rows)
        self._seen = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        left = ""
        while True:
            try:
                left += os.read(self._other_end, 65536).decode()
            except OSError:  # nobody has it open any more
                return
            begun = _BEGUN.search(left)  # a sequence of which the rest is yet to come
            whole, left = (left[: begun.start()], begun[0]) if begun else (left, "")
            with self._seen:
                self._shown.feed(whole)

    @property
    def text(self) -> str:
        with self._seen:
            return self._shown.text

    def shows(self, text: str, within_s: float = 20.0) -> None:
        wait_until(lambda: self.text == text, within_s, repr(text))

    def shows_part(self, part: str, within_s: float = 20.0) -> None:
        wait_until(lambda: part in self.text, within_s, repr(part))
