"""The progress of a process at one moment, from which all shown text is made.

``Moment.awaited`` are unusual waits: for a node that does not answer, for a lease of another run,
or for a tool that takes much longer than usual.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from railgauge.core.model import Case
from railgauge.transport.waits import Wait

SOON_S = 10.0
"""How long a wait may last before it is shown."""
_LATE = 2


@dataclass(frozen=True, slots=True)
class RunningCase:
    """A measurement that goes on ``since_s``, monotonic; ``usual_s`` is how long one takes."""

    case: Case
    since_s: float
    usual_s: float

    def is_late(self, now_s: float) -> bool:
        return now_s - self.since_s >= _LATE * self.usual_s + SOON_S


class RunningCases:
    """The measurements in progress, of all threads; ``usual_s`` gives how long one takes."""

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


@dataclass(frozen=True, slots=True)
class HowFar:
    """How many measurements of a ladder were decided; ``left_s`` is ``None`` before the first.

    ``following`` is the measurement that is made next.
    """

    decided: int
    of: int
    left_s: float | None = None
    following: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """What the process ``name`` does ``now_s``; ``steps`` is its text of ``core.progress``."""

    name: str
    began_s: float
    now_s: float
    steps: str = ""
    far: HowFar | None = None
    running: tuple[RunningCase, ...] = ()
    waits: tuple[Wait, ...] = ()

    @property
    def awaited(self) -> tuple[Wait, ...]:
        """The waits that are no part of a measurement that goes its usual way."""
        usual = {
            node for one in self.running if not one.is_late(self.now_s) for node in one.case.nodes
        }
        return tuple(
            wait
            for wait in self.waits
            if self.now_s - wait.since_s >= SOON_S and not (wait.is_tool and wait.node in usual)
        )
