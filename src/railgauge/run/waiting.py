"""Says whom a run waits for, where it would print nothing for long.

A line comes when nothing has ended for ten seconds, and every ten seconds after that; after a
minute, in which a long tool is no surprise any more, once a minute.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from railgauge.transport.waits import Waits, told

_LOOK_S = 1.0
_SOON_S, _LATER_S = 10.0, 60.0


def due(since_s: float, told_s: float, now_s: float) -> bool:
    """Whether a line is due ``now_s``: nothing has ended since ``since_s``, or been told."""
    gap_s = _SOON_S if now_s - since_s < _LATER_S + _SOON_S else _LATER_S
    return now_s - max(since_s, told_s) >= gap_s


class WaitLines:
    """The lines about the waits of one process."""

    def __init__(self, waits: Callable[[], Waits | None]) -> None:
        """``waits`` gives those of the process, once it has reached a node."""
        self._waits = waits
        self._told_s = 0.0

    def due(self, now_s: float) -> Iterator[str]:
        """Yield the lines that are due now."""
        waits = self._waits()
        if waits is None:
            return
        while waits.news:
            yield waits.news.popleft()
        found = waits.longest_first()
        if found and due(waits.ended_s, self._told_s, now_s):
            self._told_s = now_s
            yield f"waiting for {told(found, now_s)}"


@contextmanager
def each_second(look: Callable[[], None]) -> Iterator[None]:
    """Call ``look`` once a second, in a thread of its own, while the block runs."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_S):
            with suppress(OSError, MemoryError):  # the run says what has run out
                look()

    with suppress(RuntimeError):  # no room for a thread: the run says so where it needs one
        threading.Thread(target=watch, daemon=True, name="waits").start()
    try:
        yield
    finally:
        over.set()
