"""Workers of pytest-xdist in made-up time, with an engine each as ``plugin.ahead`` gives them one.

A worker measures all units that it has at the same time; a unit that arrives with an open lower
rung or on a node in use is a mistake of the scheduling. What was measured is judged item by item,
which takes no time. A worker with room says so as time passes.
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
# After which time a worker with room asks for more.
ASKS = 0.5


@dataclass
class Work:
    """A unit of a worker: what is left of its items, and when it will have been measured."""

    unit: Unit
    left: deque[int]
    until: float


class Worker:
    """Takes orders as xdist's ``WorkerController`` does."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.arrived: deque[tuple[int, ...]] = deque()
        self.works: list[Work] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        assert not self.shutting_down, "work for a worker that was told to go"
        self.arrived.append(tuple(indices))

    def shutdown(self) -> None:
        self.shutting_down = True


class Config:
    """What a scheduler asks of pytest's configuration."""

    def __init__(self, workers: int) -> None:
        self.option = SimpleNamespace(tx=[f"{workers}*popen"])
        self.complaints: list[object] = []
        self.hook = SimpleNamespace(
            pytest_collectreport=lambda report: self.complaints.append(report)  # noqa: PLW0108
        )


@dataclass
class Factory:
    """A run with ``workers`` workers; ``lasts`` says how long a unit measures.

    ``ran`` are the items that have ended, ``spans`` all measurements, also those of dead workers.
    """

    units: Sequence[Unit]
    workers: int
    lasts: Callable[[Unit], float] = lambda unit: 1.0
    at_once: int = 0
    now: float = 0.0
    ran: list[tuple[int, str]] = field(default_factory=list)
    spans: list[tuple[Unit, float, float]] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    most: int = 0
    most_of_one: int = 0

    def __post_init__(self) -> None:
        self.of = {item: unit for unit in self.units for item in unit.items}
        self.ended: set[int] = set()
        self.alive: list[Worker] = []
        self.hired = 0
        self.coming: list[float] = []
        self.shutting_down = False
        self.config = Config(self.workers)
        self.sched = CaseScheduling(
            self.config,
            self.at_once or self.workers,
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
            self._see_to_the_end()

    def kill(self, worker: Worker) -> None:
        """Its measurements end; another worker comes in its place, after a while."""
        self.alive.remove(worker)
        for work in worker.works:
            span = next(one for one in self.spans if one[::2] == (work.unit, work.until))
            self.spans[self.spans.index(span)] = (work.unit, span[1], self.now)
        self.shutting_down = False
        self.sched.remove_node(worker)
        self.coming.append(self.now + START)
        self._see_to_the_end()

    def run(self, kill: Callable[[Factory], Worker | None] = lambda factory: None) -> Factory:
        """To the end. ``kill`` is asked at every moment whom to kill."""
        asked = self.now
        while self.alive or self.coming:
            while self.coming and self.coming[0] <= self.now:
                self.coming.pop(0)
                self.hire()
            while sum(self._step(worker) for worker in list(self.alive)):
                pass
            if victim := kill(self):
                self.kill(victim)
                continue
            ends = [work.until for worker in self.alive for work in worker.works]
            ends += self.coming
            if self.now >= asked + ASKS:
                asked = self.now
                self._ask()
                arrived = any(worker.arrived for worker in self.alive)
                assert ends or arrived or not self.alive, f"nobody goes on: {self._situation()}"
                continue
            self.now = min([*ends, asked + ASKS])
        return self

    def _ask(self) -> None:
        for worker in self.alive:
            self.sched.remove_pending_tests_from_node(worker, [])

    def _situation(self) -> list[tuple[str, list[Work]]]:
        return [(worker.gateway.id, worker.works) for worker in self.alive]

    def _step(self, worker: Worker) -> bool:
        """Whether anything changed for this worker at this moment."""
        while worker.arrived:
            self._begin(worker, worker.arrived.popleft())
        due = next((work for work in worker.works if work.until <= self.now), None)
        if due:
            self._judge(worker, due)
            return True
        if worker.shutting_down and not worker.works:
            self.alive.remove(worker)
            assert self.sched.remove_node(worker) is None
            return True
        return False

    def _begin(self, worker: Worker, items: tuple[int, ...]) -> None:
        unit = self.of[items[0]]
        busy = {node for one in self.alive for work in one.works for node in work.unit.nodes}
        assert busy.isdisjoint(unit.nodes), f"{unit} arrives while a node of it is in use"
        assert not self._below(unit), f"{unit} arrives above an open rung"
        worker.works.append(Work(unit, deque(items), self.now + self.lasts(unit)))
        self.spans.append((unit, self.now, worker.works[-1].until))
        self.most_of_one = max(self.most_of_one, len(worker.works))
        self.most = max(self.most, sum(len(one.works) for one in self.alive))

    def _below(self, unit: Unit) -> bool:
        return any(
            other.rung < unit.rung
            and (not unit.nodes or not set(other.nodes).isdisjoint(unit.nodes))
            and not self.ended.issuperset(other.items)
            for other in self.units
        )

    def _judge(self, worker: Worker, work: Work) -> None:
        item = work.left.popleft()
        if not work.left:
            worker.works.remove(work)
        self.ended.add(item)
        self.ran.append((item, worker.gateway.id))
        self.sched.mark_test_complete(worker, item)
        self._see_to_the_end()

    def _see_to_the_end(self) -> None:
        """As xdist does after each event."""
        if self.sched.tests_finished:
            self.shutting_down = True
            for worker in self.alive:
                worker.shutdown()
