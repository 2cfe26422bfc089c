"""Workers of pytest-xdist in made-up time, with the one habit of theirs that scheduling turns on.

A worker starts an item when it has the next one too, or has been told to shut down. An item waits
at its gate for lower rungs on its nodes, then takes leases one after the other in sorted order,
first come first served, then lasts; the first item of a unit measures, the others take no time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

from railgauge.planning.work_queue import Unit
from railgauge.plugin.scheduling import CaseScheduling, Loss

# How long it takes until a worker is replaced.
START = 1.7
IDLE, GATE, LEASES, BUSY = "idle", "gate", "leases", "busy"


class Worker:
    """Takes orders as xdist's ``WorkerController`` does."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.queue: deque[int] = deque()
        self.shutting_down = False
        self.state = IDLE
        self.item = -1
        self.until = 0.0
        self.held: list[str] = []

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        assert not self.shutting_down, "work for a worker that was told to go"
        self.queue.extend(indices)

    def shutdown(self) -> None:
        self.shutting_down = True


class Config:
    """What a scheduler asks of pytest's configuration."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.complaints: list[object] = []
        self.hook = SimpleNamespace(
            pytest_collectreport=lambda report: self.complaints.append(report)  # noqa: PLW0108
        )

    def getvalue(self, name: str) -> list[str]:
        return [f"{self.workers}*popen"]


@dataclass
class Factory:
    """A run with ``workers`` workers; ``lasts`` says how long a unit measures."""

    units: Sequence[Unit]
    workers: int
    lasts: Callable[[Unit], float] = lambda unit: 1.0
    now: float = 0.0
    ran: list[tuple[int, str]] = field(default_factory=list)
    spans: list[tuple[Unit, float, float]] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.of = {item: unit for unit in self.units for item in unit.items}
        self.ended: set[int] = set()
        self.leases: dict[str, deque[Worker]] = {}
        self.alive: list[Worker] = []
        self.hired = 0
        self.coming: list[float] = []
        self.shutting_down = False
        self.config = Config(self.workers)
        self.sched = CaseScheduling(
            self.config,
            lambda: self.units,
            self._lost,
            clock=lambda: self.now,
        )
        for _ in range(self.workers):
            self.hire()

    def _lost(self, loss: Loss) -> None:
        self.losses.append(loss)
        self.ended.update(loss.given_up)

    def hire(self) -> None:
        """A worker that comes when the run is being shut down gets nothing."""
        if self.shutting_down:
            return
        worker = Worker(f"gw{self.hired}")
        self.hired += 1
        self.alive.append(worker)
        self.sched.add_node(worker)
        self.sched.add_node_collection(worker, [f"item{i}" for i in range(len(self.of))])
        if self.sched.collection_is_completed:
            self.sched.schedule()

    def kill(self, worker: Worker) -> None:
        """Its leases are freed; another worker comes in its place, after a while."""
        self.alive.remove(worker)
        self._release(worker)
        self.shutting_down = False
        self.sched.remove_node(worker)
        self.coming.append(self.now + START)
        self._see_to_the_end()

    def run(self, kill: Callable[[Factory], Worker | None] = lambda factory: None) -> Factory:
        """To the end. ``kill`` is asked at every moment whom to kill."""
        while self.alive or self.coming:
            while self.coming and self.coming[0] <= self.now:
                self.coming.pop(0)
                self.hire()
            while sum(self._step(worker) for worker in list(self.alive)):
                pass
            if victim := kill(self):
                self.kill(victim)
                continue
            ends = [worker.until for worker in self.alive if worker.state == BUSY]
            ends += self.coming
            assert ends or not self.alive, f"nobody goes on: {self._situation()}"
            self.now = min(ends, default=self.now)
        return self

    def _situation(self) -> list[tuple[str, str, int, list[int]]]:
        return [(w.gateway.id, w.state, w.item, list(w.queue)) for w in self.alive]

    def _step(self, worker: Worker) -> bool:
        """Whether anything changed for this worker at this moment."""
        if worker.state == IDLE:
            return self._start(worker)
        unit = self.of[worker.item]
        if worker.state == GATE and not self._below(unit):
            worker.state = LEASES
            return True
        if worker.state == LEASES:
            return self._lease(worker, unit)
        if worker.state == BUSY and worker.until <= self.now:
            self._end(worker)
            return True
        return False

    def _start(self, worker: Worker) -> bool:
        if worker.queue and (len(worker.queue) > 1 or worker.shutting_down):
            worker.item, worker.state = worker.queue.popleft(), GATE
            return True
        if not worker.queue and worker.shutting_down:
            self.alive.remove(worker)
            assert self.sched.remove_node(worker) is None
            return True
        return False

    def _below(self, unit: Unit) -> bool:
        return any(
            other.rung < unit.rung
            and not set(other.nodes).isdisjoint(unit.nodes)
            and not self.ended.issuperset(other.items)
            for other in self.units
        )

    def _lease(self, worker: Worker, unit: Unit) -> bool:
        changed = False
        for node in sorted(unit.nodes)[len(worker.held) :]:
            line = self.leases.setdefault(node, deque())
            if worker not in line:
                line.append(worker)
            if line[0] is not worker:
                return changed
            worker.held.append(node)
            changed = True
        first = worker.item == unit.items[0]
        worker.until = self.now + (self.lasts(unit) if first else 0.0)
        worker.state = BUSY
        if first:
            self.spans.append((unit, self.now, worker.until))
        return True

    def _end(self, worker: Worker) -> None:
        self._release(worker)
        worker.state = IDLE
        self.ended.add(worker.item)
        self.ran.append((worker.item, worker.gateway.id))
        self.sched.mark_test_complete(worker, worker.item)
        self._see_to_the_end()

    def _see_to_the_end(self) -> None:
        """As xdist does after each event."""
        if self.sched.tests_finished:
            self.shutting_down = True
            for worker in self.alive:
                worker.shutdown()

    def _release(self, worker: Worker) -> None:
        for line in self.leases.values():
            if worker in line:
                line.remove(worker)
        worker.held.clear()
