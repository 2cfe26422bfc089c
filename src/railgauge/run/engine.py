"""Measures many cases at once in one process, ahead of the items that judge them.

``begin`` gets a queue of units, which says what may start next: that of the run, or in a worker of
pytest-xdist what the controller has handed to it. Threads measure the cases of the units. The
caller judges a unit when ``next_unit`` returns it, and then calls ``judged``. Results are kept in
memory until then.

A process without a queue measures each case when an item asks for it.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from railgauge.core.model import Case
from railgauge.core.question import CaseResult
from railgauge.planning.work_queue import Unit, WorkQueue

# Units that were measured and wait to be judged; more would only fill the memory.
_MOST_WAITING = 64
# How often to look whether a node has waited long enough for its partner.
_LOOK_S = 0.2
# How long a thread may keep the interpreter: hundreds of threads would spend more on switches.
_SWITCH_S = 0.05
# Below this number of measurements at once the interpreter's own interval costs nothing.
_FEW = 16


@dataclass(frozen=True, slots=True)
class EngineWork:
    """What an engine needs to know of a run: the queue of its units, and the cases of each unit.

    ``is_measured`` says of a unit with cases, when its lower rungs have ended, whether a gate keeps
    it from being measured.
    """

    queue: WorkQueue
    cases_of: Callable[[Unit], tuple[Case, ...]]
    is_measured: Callable[[Unit], bool]


class CaseEngine:
    """The measurements of one process; ``at_once`` of them at the same time."""

    def __init__(
        self,
        measure: Callable[[Case], CaseResult],
        interrupted: Callable[[], AbstractContextManager[None]],
        at_once: int,
    ) -> None:
        """``interrupted`` ends the measurements of all threads while its block runs."""
        self.at_once = at_once
        self._measure = measure
        self._interrupted = interrupted
        self._changed = threading.Condition()
        self._work = EngineWork(WorkQueue(), lambda _: (), lambda _: True)
        self._is_over = False
        self._running: set[Unit] = set()
        self._ready: deque[Unit] = deque()
        self._judging: Unit | None = None
        self._made: dict[Case, Future[dict[Case, CaseResult]]] = {}
        self._broken: Exception | None = None

    def result(self, case: Case) -> CaseResult:
        """Return the result of a case: made ahead, or measured now by this thread."""
        made = self._made.get(case)
        return made.result()[case] if made else self._measure(case)

    @contextmanager
    def begin(self, work: EngineWork) -> Iterator[None]:
        """Measure the work ahead while the block runs; an error in the block ends all of it."""
        self._work = work
        threads, was_s = ThreadPoolExecutor(self.at_once, "measuring"), sys.getswitchinterval()
        self._submit, self._threads = threads.submit, threads
        if self.at_once > _FEW:
            sys.setswitchinterval(_SWITCH_S)
        try:
            yield
        except BaseException:
            self._end()
            raise
        finally:
            sys.setswitchinterval(was_s)
            threads.shutdown()

    def next_unit(self) -> Unit | None:
        """Wait for a unit that can be judged, and return it; ``None`` if there is no other one.

        Raises the error that kept a unit from being started.
        """
        with self._changed:
            while True:
                if self._broken:
                    raise self._broken
                self._start()
                if self._ready:
                    self._judging = self._ready.popleft()
                    return self._judging
                if not self._running and not self._work.queue:
                    return None
                self._changed.wait(_LOOK_S)

    @property
    def was_measured(self) -> bool:
        """Whether the unit that ``next_unit`` returned last has results, or an error, of its own.

        They are on disk, so they are judged even if the run was stopped meanwhile.
        """
        return bool(self._judging and self._has_results(self._judging))

    def stop(self) -> Iterator[Unit]:
        """End what is measured now, and yield the units that have been, to be judged."""
        self._end()
        while self._ready:
            self._judging = self._ready.popleft()
            if self._has_results(self._judging):
                yield self._judging

    def upcoming(self) -> Unit | None:
        """Return what ``next_unit`` would return now without waiting."""
        with self._changed:
            return self._ready[0] if self._ready else None

    def judged(self, unit: Unit) -> None:
        """All items of a unit have ended: what waits for its rung may start."""
        with self._changed:
            self._work.queue.judged(unit)
            for case in self._work.cases_of(unit):
                self._made.pop(case, None)

    def look(self) -> None:
        """Have ``next_unit`` look into its queue again: something was added to it."""
        with self._changed:
            self._changed.notify()

    def _end(self) -> None:
        with self._interrupted():
            self._is_over = True
            self._threads.shutdown(cancel_futures=True)

    def _has_results(self, unit: Unit) -> bool:
        made = [self._made.get(case) for case in self._work.cases_of(unit)]
        return any(one and one.done() and not _is_ended(one) for one in made)

    def _start(self) -> None:
        """Start the units that can start now; those without a measurement are ready at once."""
        queue = self._work.queue
        while (room := self._room()) and (units := queue.start(room)):
            measured = [unit for unit in units if self._needs_measuring(unit)]
            # All of them count as running before the first one ends, which may start others.
            self._running.update(measured)
            for unit in units:
                if unit in self._running:
                    self._begin(unit)
                else:
                    queue.freed(unit)
                    self._ready.append(unit)

    def _needs_measuring(self, unit: Unit) -> bool:
        return bool(self._work.cases_of(unit)) and self._work.is_measured(unit)

    def _room(self) -> int:
        waiting = len(self._running) + len(self._ready)
        most = min(self.at_once - len(self._running), self.at_once + _MOST_WAITING - waiting)
        return 0 if self._is_over else most

    def _begin(self, unit: Unit) -> None:
        cases = self._work.cases_of(unit)
        made = self._submit(self._measured, cases)
        self._made.update(dict.fromkeys(cases, made))
        made.add_done_callback(lambda _: self._ended(unit))

    def _measured(self, cases: Sequence[Case]) -> dict[Case, CaseResult]:
        return {case: self._measure(case) for case in cases}

    def _ended(self, unit: Unit) -> None:
        """Called by the thread that has measured a unit."""
        with self._changed:
            self._running.discard(unit)
            self._work.queue.measured(unit)
            self._ready.append(unit)
            try:
                self._start()
            except Exception as error:  # no other thread can be started; nobody here would see it
                self._broken = error
            self._changed.notify()


def _is_ended(made: Future[dict[Case, CaseResult]]) -> bool:
    """Whether a measurement was ended before it had a result."""
    return made.cancelled() or made.exception() is not None
