"""Carries out a ladder: makes its measurements in its own order, up to K at a time.

One thread, the conductor, decides what starts next, judges what gates and the stop at corrupt data
need (``run.unit_judge``), and publishes one decision for each case (``run.decided``). K threads
measure. Nothing here waits for pytest, whose items judge in another order, in this process or in
workers. A round of a soak is carried out in the same way.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue

from railgauge.config.thresholds.storage import shared_paths
from railgauge.core.model import Case, Outcome
from railgauge.core.question import CaseResult
from railgauge.judging.record import ItemRecord
from railgauge.planning.work_queue import LOOK_S, Unit, WorkQueue
from railgauge.run.decided import Decision, Decisions, MeasuringError
from railgauge.run.unit_judge import Decided, JudgedRow, Judging, UnitJudge, Units, is_of_one_case
from railgauge.verdict.unanswered import NEVER_RAN

# How long a thread may keep the interpreter: hundreds of threads would spend more on switches.
_SWITCH_S = 0.05
# Below this number of measurements at once the interpreter's own interval costs nothing.
_FEW = 16
_WRONG = (Outcome.FAILED, Outcome.ERROR)


@dataclass(frozen=True, slots=True)
class Measuring:
    """How the engine measures: ``at_once`` cases at the same time, never two on one node.

    ``interrupted`` ends the measurements of all threads while its block runs. The engine's own
    thread calls ``decided`` for each unit, and passes whether it was measured.
    """

    measure: Callable[[Case], CaseResult]
    interrupted: Callable[[], AbstractContextManager[None]]
    at_once: int = 1
    decided: Callable[[Unit, bool], None] = lambda _unit, _is_measured: None


class LadderEngine:
    """The measurements of a run; ``following`` is the unit that comes next."""

    def __init__(
        self,
        work: Units,
        judging: Judging,
        measuring: Measuring,
        decisions: Decisions,
        known: Iterable[ItemRecord] = (),
    ) -> None:
        """``known`` are items that ended before, and may have closed gates."""
        self._work, self._judging, self._measuring = work, judging, measuring
        self._decisions = decisions
        shared = {name: shared_paths(m) for name, m in judging.platform.measurements.items()}
        self._queue = WorkQueue(work.units, shared=shared)
        self._judge = UnitJudge(work, judging)
        self._judge.know(known)
        self._left_wrong = judging.most_wrong
        self._inbox = SimpleQueue[tuple[Unit, Decided | BaseException] | None]()
        self._running: dict[Unit, tuple[str, ...]] = {}
        self._busy: set[str] = set()
        self._ended = deque[tuple[Unit, Decided]]()
        self._requests: dict[Unit, Case] = {}
        self.following: Unit | None = None
        self._is_over, self._is_through = False, threading.Event()
        self._switch_s = sys.getswitchinterval()
        self._threads = ThreadPoolExecutor(measuring.at_once, "measuring")
        self._conductor = threading.Thread(target=self._conduct, name="conductor", daemon=True)

    # --- the controller ---

    def begin(self) -> None:
        """Begin to carry out the ladder."""
        if self._measuring.at_once > _FEW:
            sys.setswitchinterval(_SWITCH_S)
        self._decisions.begin()
        self._conductor.start()

    def end(self) -> None:
        """End the measurements in progress; a second call has no effect."""
        self._is_over = True
        self._inbox.put(None)
        if self._conductor.is_alive():  # it may have ended already, or never begun
            self._conductor.join()
        if not self._decisions.stopped:
            self._close(NEVER_RAN)
        self._decisions.end()
        sys.setswitchinterval(self._switch_s)

    def carry_out(self) -> None:
        """Measure until every unit is decided or the run stops. Raises the error that ended it.

        Raises ``MeasuringError`` if an error of the suite kept a case from being measured.
        """
        self.begin()
        try:
            self._is_through.wait()
        finally:
            self.end()
        if self._decisions.error:
            raise self._decisions.error
        for case in (case for unit in self._work.units for case in self._work.cases(unit)):
            decided = self._decisions.known(case)
            if decided and decided.broken:
                raise MeasuringError(f"{case.key}: {decided.broken}")

    def judged(self, ids: Collection[str]) -> Iterator[JudgedRow]:
        """Judge the items with these ids that were measured, by their evidence alone."""
        for unit in self._work.units:
            for row in self._work.rows(unit):
                decided = self._decisions.known(row.case) if row.case else None
                if decided and decided.measured and row.item.id in ids:
                    yield row, self._judge.judged(row, decided)

    # --- the conductor ---

    def _conduct(self) -> None:
        try:
            while not self._is_over:
                self._take_requests()
                self._start()  # nodes that are free again, before what was measured is judged
                if self._ended:
                    self._decide(*self._ended.popleft())
                if self._queue.is_done:
                    self._is_through.set()
                self.following = self._queue.following()
                self._collect()
        except BaseException as error:
            self._is_over = True
            self._decisions.fail(error)  # first: there may be no resources left for the rest
            with suppress(Exception):
                self._close(f"the run was stopped: {error}")
            self._decisions.end()
        finally:
            self._is_through.set()

    def _take_requests(self) -> None:
        for case in self._decisions.requested():
            rung = self._judging.platform.measurements[case.measurement].rung
            unit = Unit((), rung, case.nodes, case.key)
            if unit not in self._requests:  # another worker may have requested it
                self._requests[unit] = case
                self._queue.add(unit)

    def _start(self) -> None:
        """Start all units that can start now; decide those that are not measured."""
        while not self._is_over and (room := self._measuring.at_once - len(self._running)):
            units = self._queue.start(room)
            if not units:
                return
            unmeasured = list[tuple[Unit, tuple[str, ...]]]()
            for unit in units:
                blockers = self._blockers(unit)
                if blockers is None:
                    continue
                if unit.case and (not blockers or self._judge.is_checked(unit)):
                    self._occupy(unit)
                    self._running[unit] = blockers
                    self._threads.submit(self._measured, unit)
                else:
                    self._queue.freed(unit)
                    unmeasured.append((unit, blockers))
            for unit, blockers in unmeasured:
                blocked = Decision(blockers=blockers)
                self._decide(unit, dict.fromkeys(self._work.cases(unit), blocked))

    def _blockers(self, unit: Unit) -> tuple[str, ...] | None:
        """What blocks a unit; ``None`` if it was put off until its partners' pairs are measured."""
        blockers = self._judge.blockers(unit) if unit.items else ()
        partners = self._judge.partners(unit, blockers)
        if not set(partners) <= set(unit.nodes):
            self._queue.put_off(unit, partners)
            return None
        if not partners:
            return blockers
        return self._judge.unexplained(unit, blockers, self._decisions.known)

    def _occupy(self, unit: Unit) -> None:
        used = self._queue.used(unit)
        if not self._busy.isdisjoint(used):  # a bug of the queue must never distort a result
            raise RuntimeError(f"{unit.case} would share a node with another measurement")
        self._busy.update(used)

    def _free(self, unit: Unit) -> None:
        self._busy.difference_update(self._queue.used(unit))

    def _measured(self, unit: Unit) -> None:
        """Measure the cases of a unit; called in a thread of its own."""
        try:
            made = {case: self._made(case) for case in self._cases(unit)}
        except BaseException as error:
            self._inbox.put((unit, error))
        else:
            self._inbox.put((unit, made))

    def _made(self, case: Case) -> Decision:
        """Measure a case; an error of the suite keeps only this one from being measured."""
        began_s, broken = time.monotonic(), ""
        try:
            self._measuring.measure(case)
        except Exception as error:
            if not is_of_one_case(error):
                raise
            broken = f"{type(error).__name__}: {error}"
        took_s = round(time.monotonic() - began_s, 6)
        return Decision(measured=not broken, broken=broken, took_s=took_s)

    def _cases(self, unit: Unit) -> Iterator[Case]:
        if unit in self._requests:
            yield self._requests[unit]
            return
        yield from self._work.cases(unit)
        if not self._running[unit]:  # behind a closed gate only results are checked
            yield from self._work.compared(unit)

    def _collect(self) -> None:
        """Free the nodes of all units that were measured; wait if none is left to be decided."""
        with suppress(Empty):
            made = self._inbox.get(timeout=0 if self._ended else LOOK_S)
            while made:
                self._take(*made)
                made = self._inbox.get_nowait()

    def _take(self, unit: Unit, made: Decided | BaseException) -> None:
        if isinstance(made, BaseException):
            raise made
        blockers = self._running.pop(unit)
        self._free(unit)
        self._queue.measured(unit)
        self._ended.append((unit, _behind(blockers, made)))

    def _decide(self, unit: Unit, decided: Decided) -> None:
        is_requested = unit in self._requests
        records = [] if is_requested else list(self._records(unit, decided))
        self._publish(unit, decided)
        if is_requested:
            del self._requests[unit]
        else:
            self._note(unit, decided, records)
        self._queue.judged(unit)
        self._measuring.decided(unit, any(one.measured for one in decided.values()))

    def _publish(self, unit: Unit, decided: Decided) -> None:
        own = () if unit in self._requests else self._work.cases(unit)
        for case, decision in decided.items():
            self._decisions.add(case, decision, requested=case not in own)

    def _records(self, unit: Unit, decided: Decided) -> Iterator[JudgedRow]:
        """Judge the items of a unit, if anything depends on how they end."""
        judging = self._judging
        if judging.for_items or judging.most_wrong or self._work.is_below_others(unit):
            yield from self._judge.records(unit, decided)

    def _note(self, unit: Unit, decided: Decided, records: Iterable[JudgedRow]) -> None:
        """Report the items of a unit to the gates, and stop the run if one requires it."""
        if not self._is_over and (why := self._judge.corruption(unit, decided)):
            self._stop(f"the run was stopped: {why}")
        for row, record in records:
            self._judge.note(row, record)
            self._left_wrong -= record.outcome in _WRONG
        if self._judging.most_wrong and self._left_wrong <= 0:
            self._stop(NEVER_RAN)

    # --- the end ---

    def _stop(self, why: str) -> None:
        self._is_over = True
        self._close(why)

    def _close(self, why: str) -> None:
        """End the measurements in progress; the completed ones are evidence, and are judged."""
        if self._running:
            with self._measuring.interrupted():
                self._threads.shutdown(cancel_futures=True)
        self._threads.shutdown()
        with suppress(Empty):
            while True:
                made = self._inbox.get_nowait()
                if made and not isinstance(made[1], BaseException) and made[0] in self._running:
                    self._take(*made)
        for unit, decided in self._ended:
            self._publish(unit, decided)
        self._decisions.stop(why)


def _behind(blockers: Sequence[str], made: Decided) -> Decided:
    """The decisions with the blockers behind which their cases were measured, if any."""
    return {case: replace(one, blockers=tuple(blockers)) for case, one in made.items()}
