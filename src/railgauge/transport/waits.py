"""What a process waits for at its nodes, from all of its threads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Lock

_MOST_NAMED = 3
_NAMED_SCRIPT = 3  # words of ``sh -c SCRIPT`` before its name


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait at ``node`` for ``what``: a program, or a connection. ``since_s`` is monotonic.

    ``is_tool``: a program runs there, which may legitimately take long.
    """

    node: str
    what: str
    since_s: float
    is_tool: bool = False


class Waits:
    """The waits that have not ended.

    ``news`` are lines about lost connections; the display of waits takes them from there.
    """

    def __init__(self) -> None:
        self.news: deque[str] = deque()
        self._open: set[Wait] = set()
        self._lock = Lock()

    def of_tool(self, node: str, argv: Sequence[str]) -> AbstractContextManager[None]:
        """Wait for the program that an argv runs while the block runs."""
        return self.at(node, program(argv), is_tool=True)

    @contextmanager
    def at(self, node: str, what: str, *, is_tool: bool = False) -> Iterator[None]:
        """Wait for ``what`` while the block runs."""
        wait = Wait(node, what, time.monotonic(), is_tool)
        with self._lock:
            self._open.add(wait)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(wait)

    def longest_first(self) -> list[Wait]:
        with self._lock:
            return sorted(self._open, key=lambda wait: wait.since_s)


def described(waits: Sequence[Wait], now_s: float) -> str:
    """Return ``n03 (ib_write_bw, 24 s), n07 (a connection, 12 s) and 2 more``."""
    each = [f"{w.node} ({w.what}, {now_s - w.since_s:.0f} s)" for w in waits[:_MOST_NAMED]]
    more = f" and {len(waits) - _MOST_NAMED} more" if len(waits) > _MOST_NAMED else ""
    return ", ".join(each) + more


def program(argv: Sequence[str]) -> str:
    """Return the name of the program, or of the script of the suite, that an argv runs."""
    if tuple(argv[:2]) == ("sh", "-c"):
        return argv[_NAMED_SCRIPT] if len(argv) > _NAMED_SCRIPT else "a reading"
    return argv[0].rsplit("/", 1)[-1]


WAITS_OF_PROCESS = Waits()
