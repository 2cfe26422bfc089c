"""Measures many cases at once in one process, ahead of the items that judge them.

``begin`` gets the units of a run. Threads measure their cases, never two on one node. The caller
judges a unit when ``next_unit`` returns it, and then calls ``judged``: a unit starts only after all
units on the lower rungs of its nodes were judged. Results are kept in memory until then.

A process without an engine's units, such as a worker of pytest-xdist, measures each case when an
item asks for it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

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
    """What an engine needs to know of a run: its units, and the cases of each that has some.

    ``is_measured`` says of a unit, when its lower rungs have ended, whether a gate keeps it from
    being measured.
    """

    units: Iterable[Unit]
    cases_of: Mapping[Unit, tuple[Case, ...]]
    is_measured: Callable[[Unit], bool]


@dataclass(slots=True)
class _Open:
    """The units that have not been judged: their number by rung, of each node and of the run."""

    by_node: dict[str, Counter[int]] = field(default_factory=dict)
    all: Counter[int] = field(default_factory=Counter)

    def add(self, unit: Unit, number: int) -> None:
        for count in self._of(unit):
            count[unit.rung] += number
            if not count[unit.rung]:
                del count[unit.rung]

    def may_start(self, unit: Unit) -> bool:
        """Whether no unit on a lower rung of its nodes is open; without nodes, none of the run."""
        counts = self._of(unit)[:-1] or (self.all,)
        return all(min(count, default=unit.rung) >= unit.rung for count in counts)

    def _of(self, unit: Unit) -> tuple[Counter[int], ...]:
        return (*(self.by_node.setdefault(node, Counter()) for node in unit.nodes), self.all)


class CaseEngine:
    """The measurements of one process; ``at_once`` of them at the same time."""

    def __init__(
        self,
        measure: Callable[[Case], CaseResult],
        interrupted: Callable[[], AbstractContextManager[None]],
        at_once: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``interrupted`` ends the measurements of all threads while its block runs."""
        self.at_once = at_once
        self._measure = measure
        self._interrupted = interrupted
        self._clock = clock
        self._changed = threading.Condition()
        self._queue = WorkQueue(())
        self._cases_of: Mapping[Unit, tuple[Case, ...]] = {}
        self._is_measured: Callable[[Unit], bool] = lambda _: True
        self._open = _Open()
        self._running: dict[Unit, float] = {}  # since when
        self._typical_s: dict[str, float] = {}
        self._ready: deque[Unit] = deque()
        self._made: dict[Case, Future[dict[Case, CaseResult]]] = {}
        self._broken: Exception | None = None

    def result(self, case: Case) -> CaseResult:
        """Return the result of a case: made ahead, or measured now by this thread."""
        made = self._made.get(case)
        return made.result()[case] if made else self._measure(case)

    @contextmanager
    def begin(self, work: EngineWork) -> Iterator[None]:
        """Measure the work ahead while the block runs; an error in the block ends all of it."""
        units = list(work.units)
        self._queue, self._cases_of = WorkQueue(units), work.cases_of
        self._is_measured = work.is_measured
        for unit in units:
            self._open.add(unit, 1)
        threads, was_s = ThreadPoolExecutor(self.at_once, "measuring"), sys.getswitchinterval()
        self._submit = threads.submit
        if self.at_once > _FEW:
            sys.setswitchinterval(_SWITCH_S)
        try:
            yield
        except BaseException:
            with self._interrupted():
                self._queue = WorkQueue(())
                threads.shutdown(cancel_futures=True)
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
                    return self._ready.popleft()
                if not self._running and not self._queue:
                    return None
                self._changed.wait(_LOOK_S)

    def upcoming(self) -> Unit | None:
        """Return what ``next_unit`` would return now without waiting."""
        with self._changed:
            return self._ready[0] if self._ready else None

    def judged(self, unit: Unit) -> None:
        """All items of a unit have ended: what waits for its rung may start."""
        with self._changed:
            self._open.add(unit, -1)
            for case in self._cases_of.get(unit, ()):
                self._made.pop(case, None)

    def _start(self) -> None:
        """Start the units that can start now; those without a measurement are ready at once."""
        while (room := self._room()) and (units := self._can_start(room)):
            measured = [unit for unit in units if self._needs_measuring(unit)]
            self._ready.extend(unit for unit in units if unit not in measured)
            # All of them are busy before the first one ends, which may start others.
            self._running.update(dict.fromkeys(measured, self._clock()))
            for unit in measured:
                self._begin(unit)

    def _needs_measuring(self, unit: Unit) -> bool:
        return unit in self._cases_of and self._is_measured(unit)

    def _room(self) -> int:
        waiting = len(self._running) + len(self._ready)
        return min(self.at_once - len(self._running), self.at_once + _MOST_WAITING - waiting)

    def _can_start(self, most: int) -> list[Unit]:
        return self._queue.start(self._busy(), self._open.may_start, most)

    def _begin(self, unit: Unit) -> None:
        cases = self._cases_of[unit]
        made = self._submit(self._measured, cases)
        self._made.update(dict.fromkeys(cases, made))
        made.add_done_callback(lambda _: self._ended(unit))

    def _measured(self, cases: Sequence[Case]) -> dict[Case, CaseResult]:
        return {case: self._measure(case) for case in cases}

    def _ended(self, unit: Unit) -> None:
        """Called by the thread that has measured a unit."""
        with self._changed:
            lasted_s = self._clock() - self._running.pop(unit)
            typical_s = self._typical_s.get(unit.kind, lasted_s)
            self._typical_s[unit.kind] = (typical_s + lasted_s) / 2
            self._ready.append(unit)
            try:
                self._start()
            except Exception as error:  # no other thread can be started; nobody here would see it
                self._broken = error
            self._changed.notify()

    def _busy(self) -> dict[str, float]:
        """For each busy node how long it will be, counted in units."""
        now_s = self._clock()
        left = {unit: self._left(unit, now_s - at_s) for unit, at_s in self._running.items()}
        return {node: until for unit, until in left.items() for node in unit.nodes}

    def _left(self, unit: Unit, lasted_s: float) -> float:
        """How long a unit will last, counted in units of its kind.

        One that is late will be later: nobody may wait for a node that hangs.
        """
        typical_s = self._typical_s.get(unit.kind, 0.0)
        if not typical_s:
            return 1.0
        return max(abs(1 - lasted_s / typical_s), 1e-3)
