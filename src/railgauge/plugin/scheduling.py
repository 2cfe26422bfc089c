"""Hands units to the workers of pytest-xdist, as soon as ``WorkQueue`` says that they may start.

A worker has as many units as its share of the measurements at once. It starts all of them when they
arrive (``plugin.ahead``), and none waits for another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest
from xdist.report import report_collection_diff  # no hook tells of differing collections

from railgauge.planning.work_queue import Unit, WorkQueue, share
from railgauge.plugin.options import workers

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

    ``running`` are the items that the worker was running: one of each of its units. ``workers`` are
    all workers that died at the only one of them, and ``given_up`` are the items that are not tried
    again. A worker that ended by itself, because of Ctrl-C or of a failure that stops the run, was
    ``running`` nothing; none of its items is run again.
    """

    worker: Worker
    running: tuple[int, ...]
    undone: tuple[int, ...]
    workers: tuple[str, ...] = ()
    given_up: tuple[int, ...] = ()


@dataclass(slots=True)
class _Work:
    """A unit of a worker, and those of its items that have not ended, in order."""

    unit: Unit
    left: dict[int, None]


@dataclass(slots=True)
class _Desk:
    """What a worker has to do. ``suspect``: its only unit is one at which a worker has died."""

    works: list[_Work] = field(default_factory=list)
    suspect: bool = False

    @property
    def items(self) -> tuple[int, ...]:
        return tuple(item for work in self.works for item in work.left)

    def done(self, item: int) -> _Work | None:
        """Note that an item has ended, and return its work if that was the last item."""
        work = next((work for work in self.works if item in work.left), None)
        if work is None:
            return None
        del work.left[item]
        if work.left:
            return None
        self.works.remove(work)
        self.suspect = False
        return work


class CaseScheduling:
    """Implements xdist's ``Scheduling``: a case, with all sizes of a sweep, runs on one worker."""

    def __init__(
        self,
        config: pytest.Config,
        at_once: int,
        units: Callable[[], Sequence[Unit]],
        lost: Callable[[Loss], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``at_once`` is the most units of all workers together.

        ``units`` is called once, after collection; ``lost`` for each worker with open items.
        """
        self.collection: list[str] | None = None
        self._config = config
        self._at_once = at_once
        self._units = units
        self._lost = lost
        self._expected = workers(config)
        self._share = share(at_once, self._expected)
        self._collections: dict[Worker, list[str]] = {}
        self._desks: dict[Worker, _Desk] = {}
        self._reported: dict[Worker, int] = {}
        self._deaths: dict[int, list[str]] = {}
        self._suspects: set[Unit] = set()
        self._clock = clock
        self._queue = WorkQueue()

    # --- properties that xdist reads ---

    @property
    def nodes(self) -> list[Worker]:
        return list(self._desks)

    @property
    def collection_is_completed(self) -> bool:
        return self.collection is not None or len(self._collections) >= self._expected

    @property
    def tests_finished(self) -> bool:
        return self.collection is not None and not self.has_pending

    @property
    def has_pending(self) -> bool:
        return bool(self._queue) or any(desk.works for desk in self._desks.values())

    def left(self) -> list[int]:
        """The items that no worker has."""
        return [item for unit in self._queue.left() for item in unit.items]

    # --- events from xdist ---

    def add_node(self, node: Worker) -> None:
        self._desks[node] = _Desk()

    def add_node_collection(self, node: Worker, collection: Sequence[str]) -> None:
        self._collections[node] = list(collection)
        if self.collection is not None and self._differs(node, self.collection):
            self._lost(Loss(node, (), tuple(self.left())))
            self._queue.drop()

    def schedule(self) -> None:
        """Hand out units, after all workers have collected, and after a replacement worker has."""
        if self.collection is None:
            self._begin()
        self._hand_out()

    def reported(self, node: Worker, item_index: int) -> None:
        """Note that an item has ended: it is not run again even if its worker dies now."""
        self._reported[node] = item_index

    def mark_test_complete(self, node: Worker, item_index: int, duration: float = 0) -> None:  # noqa: ARG002
        if work := self._desks[node].done(item_index):
            self._queue.measured(work.unit)
            self._queue.judged(work.unit)
            self._hand_out()

    def mark_test_pending(self, item: str) -> None:
        """Not used: ``remove_node`` takes back the items of a dead worker."""
        raise NotImplementedError

    def remove_pending_tests_from_node(self, node: Worker, indices: Sequence[int]) -> None:  # noqa: ARG002
        """A worker has room: as time passes, more may start, though nothing has ended."""
        self._hand_out()

    def remove_node(self, node: Worker) -> None:
        """Take back the items of a worker that has ended; if it died, another worker runs them."""
        desk = self._desks.pop(node)
        self._collections.pop(node, None)
        if work := desk.done(self._reported.pop(node, -1)):
            self._end(work.unit)
        if not desk.works:
            return
        if hasattr(node, "workeroutput"):  # it ended in an orderly way
            for work in desk.works:  # the others find the run stopped, and nothing waits for these
                self._end(work.unit)
            self._lost(Loss(node, (), desk.items))
        else:
            self._lost(self._taken_back(node, desk))

    # --- implementation ---

    def _begin(self) -> None:
        collection = self.collection = next(iter(self._collections.values()))
        differing = [worker for worker in self._collections if self._differs(worker, collection)]
        if collection and not differing:
            self._queue = WorkQueue(self._units(), self._clock)

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

    def _hand_out(self) -> None:
        """Give what may start now to the workers with room, first to those with the least."""
        while (node := self._idlest()) and (unit := self._next_for(self._desks[node])):
            desk = self._desks[node]
            desk.works.append(_Work(unit, dict.fromkeys(unit.items)))
            desk.suspect = unit in self._suspects
            node.send_runtest_some(unit.items)

    def _idlest(self) -> Worker | None:
        if sum(len(desk.works) for desk in self._desks.values()) >= self._at_once:
            return None
        able = [
            (len(desk.works), node)
            for node, desk in self._desks.items()
            if node in self._collections
            and not node.shutting_down
            and not desk.suspect
            and len(desk.works) < self._share
        ]
        return min(able, key=lambda one: one[0])[1] if able else None

    def _next_for(self, desk: _Desk) -> Unit | None:
        """The next unit; a suspect runs alone, so that a second death is known to be its own."""
        found = self._queue.start(1, lambda unit: not desk.works or unit not in self._suspects)
        return found[0] if found else None

    def _end(self, unit: Unit) -> None:
        """A unit is over without an end of its measurement."""
        self._queue.freed(unit)
        self._queue.judged(unit)

    def _taken_back(self, node: Worker, desk: _Desk) -> Loss:
        undone, running = desk.items, tuple(next(iter(work.left)) for work in desk.works)
        for item in running:
            self._deaths.setdefault(item, []).append(node.gateway.id)
        dead = tuple(self._deaths[running[0]])
        given_up: tuple[int, ...] = ()
        if len(dead) >= _DEATHS:
            given_up = desk.items if desk.works[0].unit.case else running
        for work in reversed(desk.works):
            self._return(work, given_up)
        return Loss(node, running, undone, dead, given_up)

    def _return(self, work: _Work, given_up: Sequence[int]) -> None:
        if left := [item for item in work.left if item not in given_up]:
            self._suspects.add(self._queue.give_back(work.unit, left))
        else:
            self._end(work.unit)
