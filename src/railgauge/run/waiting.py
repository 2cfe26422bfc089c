"""Says whom a run waits for, where it would print nothing for long.

A line comes when nothing has ended for ten seconds, and every ten seconds after that; after a
minute, in which a long tool is no surprise any more, once a minute. The process that the user
started prints it; workers leave what they wait for in the run's folder.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from railgauge.run.store import put_whole
from railgauge.transport.waits import Waits, told

_LOOK_S = 1.0
_SOON_S, _LATER_S = 10.0, 60.0
_FILES = ".waits-"


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


class PassedOn:
    """The lines of workers, which have no terminal: each leaves its last ones in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[Path, int] = {}

    def leave(self, part: str, lines: Sequence[str]) -> None:
        """Leave the lines of a worker, if it has any."""
        with suppress(OSError):
            if lines:
                put_whole(self._folder / f"{_FILES}{part}", "\n".join(lines))

    def new(self) -> Iterator[str]:
        """Yield the lines that were left since the last call."""
        for path in sorted(self._folder.glob(f"{_FILES}*")):
            with suppress(OSError):
                changed = path.stat().st_mtime_ns
                if self._seen.get(path) != changed:
                    self._seen[path] = changed
                    yield from path.read_text(encoding="utf-8").splitlines()
