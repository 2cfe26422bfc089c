"""The measurements that go on in this process, and what it shows of them at a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from railgauge.core.model import Case
from railgauge.run.progress.state import RunningCase


class RunningCases:
    """The measurements that go on, from all threads; ``usual_s`` gives how long one takes."""

    def __init__(self, usual_s: Callable[[Case], float]) -> None:
        self._usual_s = usual_s
        self._running: set[RunningCase] = set()
        self._lock = Lock()

    @contextmanager
    def measuring(self, case: Case) -> Iterator[None]:
        """The case is measured while the block lasts."""
        one = RunningCase(case, time.monotonic(), self._usual_s(case))
        with self._lock:
            self._running.add(one)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(one)

    def longest_first(self) -> tuple[RunningCase, ...]:
        with self._lock:
            return tuple(sorted(self._running, key=lambda one: one.since_s))
