"""Choose which unit of work is next: for a worker of pytest-xdist, or for an engine. Pure.

A worker gets units ahead, so that it seldom waits for nodes (``take``). An engine, which measures
many units in one process, gets those that can start now (``start``).

Leases and gates ensure that no node is used twice and that rungs run in order, whichever unit is
chosen. The choice here only reduces waiting.

A deadlock is not possible: a unit waits only for earlier units of its worker and for lower rungs on
its nodes, and both were assigned before it. The units of a worker that died go to a worker with an
empty queue, in the order in which they were first assigned. Behind another unit they could wait for
that unit while it waits for them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

# How many open units are searched for one that need not wait. This is many times the number of
# workers of a large run, so that it covers a round or two; the search costs about 1 us per unit.
_WINDOW = 128
# A unit with at most this many nodes, all of them free, is taken at once.
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Unit:
    """Items that one worker runs together: those of a case, or those of a node on rung 0.

    ``items`` are indices into the collection, rising. ``case`` names the tool run that the items
    share; it is empty if they share none.
    """

    items: tuple[int, ...]
    rung: int
    nodes: tuple[str, ...]
    case: str = ""

    @property
    def kind(self) -> str:
        """Return the measurement: units of one measurement take about the same time."""
        return self.case.partition("[")[0]


@dataclass(frozen=True, slots=True)
class WorkerQueue:
    """A worker's queue, and the estimated share of its first unit that is left, from 0 to 1."""

    units: Sequence[Unit] = ()
    left: float = 1.0

    @property
    def ends(self) -> Iterator[tuple[Unit, float]]:
        """Yield each unit with its estimated end, counted in units from now."""
        return ((unit, self.left + place) for place, unit in enumerate(self.units))

    @property
    def length(self) -> float:
        return self.left + len(self.units) - 1 if self.units else 0.0


class WorkQueue:
    """The units that no worker has yet, by rung; each is given out once, and none is lost."""

    def __init__(self, units: Iterable[Unit]) -> None:
        ordered = sorted(units, key=lambda unit: unit.rung)
        self._open = OrderedDict(enumerate(ordered))
        self._given: dict[int, int] = {}
        self._returned: list[tuple[int, Unit]] = []

    def __bool__(self) -> bool:
        """Whether a unit is left for a worker that already has others."""
        return bool(self._open)

    @property
    def returned(self) -> bool:
        """Whether units of dead workers wait for a worker with an empty queue."""
        return bool(self._returned)

    def left(self) -> Iterator[Unit]:
        """Yield all units that no worker has."""
        yield from (unit for _, unit in self._returned)
        yield from self._open.values()

    def take(self, own: WorkerQueue, others: Iterable[WorkerQueue]) -> Unit | None:
        """Take the next unit for a worker with the queue ``own``, given the queues of ``others``.

        Among the next units, choose the one that waits for the fewest units of other workers. Among
        equals, choose the one with fewer nodes, because many workers wait for a large group, and
        then the first, so that rounds of disjoint pairs stay together. Waiting is rounded to whole
        units, so that a small lead of one worker does not break up a round. ``None`` if no unit is
        ready.
        """
        free, ready = _free_after(others), own.length
        best, least = None, (0, 0)
        for number, unit in self._ready():
            wait = round(max((free.get(node, 0.0) for node in unit.nodes), default=0.0) - ready)
            cost = (max(wait, 0), len(unit.nodes))
            if best is None or cost < least:
                best, least = number, cost
            if wait <= 0 and len(unit.nodes) <= _PAIR:
                break
        return None if best is None else self._give(best)

    def start(
        self, busy: Mapping[str, float], may: Callable[[Unit], bool], most: int
    ) -> list[Unit]:
        """Take up to ``most`` units that can start now, in the order of the ladder.

        ``busy`` gives for each busy node how long it will be, counted in units; all other nodes are
        free. A unit starts if ``may`` allows it and all its nodes are free. If they will be free
        within half a unit, they are kept for it: rounds of disjoint pairs stay together, and no
        node waits long for a partner that is late.
        """
        taken, until = list[int](), dict(busy)
        window = max(_WINDOW, len(busy))  # as many pairs as two rounds of the busy nodes have
        for number, unit in islice(self._open.items(), window):
            if len(taken) == most:
                break
            wait = max((until.get(node, 0.0) for node in unit.nodes), default=0.0)
            if round(wait) > 0 or not may(unit):
                continue
            until.update(dict.fromkeys(unit.nodes, wait + 1.0))
            if wait == 0:
                taken.append(number)
        return [self._give(number) for number in taken]

    def take_returned(self) -> list[Unit]:
        """Take all units of dead workers, for a worker with an empty queue."""
        units = [unit for _, unit in sorted(self._returned, key=lambda one: one[0])]
        self._returned.clear()
        return units

    def give_back(self, unit: Unit, left: Sequence[int]) -> None:
        """Return ``left``, the items of a unit that a dead worker did not finish."""
        turn = self._given[unit.items[0]]
        rest = Unit(tuple(left), unit.rung, unit.nodes, unit.case)
        self._given[rest.items[0]] = turn
        self._returned.append((turn, rest))

    def _give(self, number: int) -> Unit:
        unit = self._open.pop(number)
        self._given[unit.items[0]] = len(self._given)
        return unit

    def _ready(self) -> Iterator[tuple[int, Unit]]:
        """Yield the next open units, without those that wait for an open unit of a lower rung."""
        below: set[str] = set()
        same: set[str] = set()
        rung: int | None = None
        for number, unit in islice(self._open.items(), _WINDOW):
            if unit.rung != rung:
                below |= same
                same, rung = set(), unit.rung
            same.update(unit.nodes)
            if below.isdisjoint(unit.nodes):
                yield number, unit


def _free_after(loads: Iterable[WorkerQueue]) -> dict[str, float]:
    """Return for each busy node the number of units until it is free; other nodes are free."""
    free: dict[str, float] = {}
    for load in loads:
        for unit, end in load.ends:
            for node in unit.nodes:
                free[node] = max(end, free.get(node, 0.0))
    return free
