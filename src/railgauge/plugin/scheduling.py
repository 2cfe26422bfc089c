"""Hands items to the workers of pytest-xdist, case by case, in the order of ``WorkQueue``.

A worker of xdist starts the last item of its queue only when another item arrives or it is told to
shut down. Therefore each worker has its current unit and one more. When no unit is left, it is told
to shut down and finishes its queue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest
from xdist.report import report_collection_diff
from xdist.workermanage import parse_tx_spec_config

from railgauge.planning.work_queue import Unit, WorkerQueue, WorkQueue

# The units in a worker's queue: the current one and the next.
_AHEAD = 2
# After this many workers have died at an item, it is given up.
_DEATHS = 2


class Worker(Protocol):
    """The part of xdist's ``WorkerController`` that is used here."""

    gateway: Any

    @property
    def shutting_down(self) -> bool: ...

    def send_runtest_some(self, indices: Sequence[int]) -> None: ...

    def shutdown(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Loss:
    """The unfinished items of a worker that ended, as indices into the collection.

    ``running`` is the item that the worker was running, ``workers`` are all workers that died at
    that item, and ``given_up`` are the items that are not tried again. A worker that ended by
    itself, because of Ctrl-C or of a failure that stops the run, has ``running`` ``None``; none of
    its items is run again.
    """

    worker: Worker
    running: int | None
    undone: tuple[int, ...]
    workers: tuple[str, ...] = ()
    given_up: tuple[int, ...] = ()


@dataclass(slots=True)
class _Work:
    """A unit in a worker's queue, and those of its items that have not ended, in order."""

    unit: Unit
    left: dict[int, None]


@dataclass(slots=True)
class _Queue:
    """The queue of a worker; ``since`` is the time at which it started its first unit."""

    works: list[_Work] = field(default_factory=list)
    since: float = 0.0

    @property
    def units(self) -> list[Unit]:
        return [work.unit for work in self.works]

    @property
    def items(self) -> tuple[int, ...]:
        return tuple(item for work in self.works for item in work.left)

    def done(self, item: int) -> None:
        for work in self.works:
            work.left.pop(item, None)
        self.works = [work for work in self.works if work.left]


class CaseScheduling:
    """Implements xdist's ``Scheduling``: a case, with all sizes of a sweep, runs on one worker."""

    def __init__(
        self,
        config: pytest.Config,
        units: Callable[[], Sequence[Unit]],
        lost: Callable[[Loss], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``units`` is called once, after collection; ``lost`` for each worker with open items."""
        self.collection: list[str] | None = None
        self._config = config
        self._units = units
        self._lost = lost
        self._expected = len(parse_tx_spec_config(config))
        self._collections: dict[Worker, list[str]] = {}
        self._queues: dict[Worker, _Queue] = {}
        self._reported: dict[Worker, int] = {}
        self._deaths: dict[int, list[str]] = {}
        self._handout = WorkQueue(())
        self._clock = clock
        self._typical_s: dict[str, float] = {}

    # --- properties that xdist reads ---

    @property
    def nodes(self) -> list[Worker]:
        return list(self._queues)

    @property
    def collection_is_completed(self) -> bool:
        return self.collection is not None or len(self._collections) >= self._expected

    @property
    def tests_finished(self) -> bool:
        """Whether only the last items of the queues are left, which run when workers shut down."""
        if self.collection is None or self._handout or self._handout.returned:
            return False
        return all(len(queue.items) < _AHEAD for queue in self._queues.values())

    @property
    def has_pending(self) -> bool:
        works = any(queue.works for queue in self._queues.values())
        return bool(self._handout or self._handout.returned or works)

    def left(self) -> list[int]:
        """The items that are in no worker's queue."""
        return [item for unit in self._handout.left() for item in unit.items]

    # --- events from xdist ---

    def add_node(self, node: Worker) -> None:
        self._queues[node] = _Queue()

    def add_node_collection(self, node: Worker, collection: Sequence[str]) -> None:
        self._collections[node] = list(collection)
        if self.collection is not None and self._differs(node, self.collection):
            self._lost(Loss(node, None, tuple(self.left())))
            self._handout = WorkQueue(())

    def schedule(self) -> None:
        """Hand out units, after all workers have collected, and after a replacement worker has."""
        if self.collection is None:
            self._begin()
        for _ in range(_AHEAD):
            for node in self.nodes:
                self._hand_out(node)

    def reported(self, node: Worker, item_index: int) -> None:
        """Note that an item has ended: it is not run again even if its worker dies now."""
        self._reported[node] = item_index

    def mark_test_complete(self, node: Worker, item_index: int, duration: float = 0) -> None:  # noqa: ARG002
        queue = self._queues[node]
        first = queue.works[0].unit
        queue.done(item_index)
        if first not in queue.units:
            self._time(first, queue)
        while len(queue.works) < _AHEAD and self._hand_out(node):
            pass

    def mark_test_pending(self, item: str) -> None:
        """Not used: ``remove_node`` takes back the items of a dead worker."""
        raise NotImplementedError

    def remove_pending_tests_from_node(self, node: Worker, indices: Sequence[int]) -> None:
        raise NotImplementedError

    def remove_node(self, node: Worker) -> None:
        """Take back the items of a worker that has ended; if it died, another worker runs them."""
        queue = self._queues.pop(node)
        self._collections.pop(node, None)
        queue.done(self._reported.pop(node, -1))
        if not queue.works:
            return
        if hasattr(node, "workeroutput"):  # it ended in an orderly way
            self._lost(Loss(node, None, queue.items))
        else:
            self._lost(self._taken_back(node, queue))

    # --- implementation ---

    def _begin(self) -> None:
        collection = self.collection = next(iter(self._collections.values()))
        differing = [worker for worker in self._collections if self._differs(worker, collection)]
        if collection and not differing:
            self._handout = WorkQueue(self._units())

    def _differs(self, node: Worker, collection: list[str]) -> bool:
        """Whether a worker has collected other items than the first one; reports the difference."""
        if self._collections[node] == collection:
            return False
        message = report_collection_diff(
            collection, self._collections[node], "the first", node.gateway.id
        )
        report = pytest.CollectReport(
            nodeid=node.gateway.id, outcome="failed", longrepr=message, result=[]
        )
        self._config.hook.pytest_collectreport(report=report)
        return True

    def _hand_out(self, node: Worker) -> bool:
        """Give a worker one more unit, or all units of a dead one; return whether there was one."""
        if node.shutting_down:
            return False
        queue = self._queues[node]
        units = [] if queue.works else self._handout.take_returned()
        if not units and len(queue.works) < _AHEAD:
            others = [self._load(other) for of, other in self._queues.items() if of is not node]
            units = [unit] if (unit := self._handout.take(self._load(queue), others)) else []
        if not queue.works:
            queue.since = self._clock()
        for unit in units:
            queue.works.append(_Work(unit, dict.fromkeys(unit.items)))
            node.send_runtest_some(unit.items)
        if not self._handout:
            node.shutdown()
        return bool(units)

    def _time(self, unit: Unit, queue: _Queue) -> None:
        """Update the typical duration of a unit's kind when a unit has ended."""
        now = self._clock()
        lasted = now - queue.since
        self._typical_s[unit.kind] = (self._typical_s.get(unit.kind, lasted) + lasted) / 2
        queue.since = now

    def _load(self, queue: _Queue) -> WorkerQueue:
        units = queue.units
        typical_s = self._typical_s.get(units[0].kind, 0.0) if units else 0.0
        if not typical_s:
            return WorkerQueue(units)
        return WorkerQueue(units, max(0.0, 1 - (self._clock() - queue.since) / typical_s))

    def _taken_back(self, node: Worker, queue: _Queue) -> Loss:
        undone, running = queue.items, queue.items[0]
        deaths = self._deaths.setdefault(running, [])
        deaths.append(node.gateway.id)
        given_up: tuple[int, ...] = ()
        if len(deaths) >= _DEATHS:
            work = queue.works[0]
            given_up = tuple(work.left) if work.unit.case else (running,)
        for work in queue.works:
            left = [item for item in work.left if item not in given_up]
            if left:
                self._handout.give_back(work.unit, left)
        return Loss(node, running, undone, tuple(deaths), given_up)
