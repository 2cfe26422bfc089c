"""Which worker gets which unit of work next, so that waiting for nodes is rare. Pure.

Leases and gates make sure that no node is used twice and that the ladder is climbed in order,
whatever is handed out. Here is only chosen what will have to wait least.

Nothing can wait in a circle: a unit waits for units before it on its worker and for lower rungs on
its nodes, and both were handed out before it. Units of a worker that died go, in the order in
which they were handed out at first, to a worker that has nothing yet: put behind another unit they
might wait for that one while it waits for them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

# How many open units are looked at for one that need not wait. Many times the workers of a large
# run, so that the units of a round or two are among them; looking costs about 1 us a unit.
_WINDOW = 128
# Nobody has to wait for as few nodes if they are free.
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Unit:
    """What one worker does in one go: the items of a case, or those of a node on rung 0.

    ``items`` are places in the collection, in order. ``case`` names the run of a tool that they
    share; it is empty where they share none.
    """

    items: tuple[int, ...]
    rung: int
    nodes: tuple[str, ...]
    case: str = ""

    @property
    def kind(self) -> str:
        """What units that take about the same time have in common: the measurement."""
        return self.case.partition("[")[0]


@dataclass(frozen=True, slots=True)
class WorkerQueue:
    """A worker's queue, and how much of its first unit is likely left: 1 is all of it."""

    units: Sequence[Unit] = ()
    left: float = 1.0

    @property
    def ends(self) -> Iterator[tuple[Unit, float]]:
        """When each unit is likely to end, counted in units from now."""
        return ((unit, self.left + place) for place, unit in enumerate(self.units))

    @property
    def length(self) -> float:
        return self.left + len(self.units) - 1 if self.units else 0.0


class WorkQueue:
    """The units that nobody has yet, in the order of the ladder; none is lost, none given twice."""

    def __init__(self, units: Iterable[Unit]) -> None:
        ordered = sorted(units, key=lambda unit: unit.rung)
        self._open = OrderedDict(enumerate(ordered))
        self._given: dict[int, int] = {}
        self._returned: list[tuple[int, Unit]] = []

    def __bool__(self) -> bool:
        """Whether any unit is left to be given to a worker that has others."""
        return bool(self._open)

    @property
    def returned(self) -> bool:
        """Whether units wait for a worker that has nothing yet."""
        return bool(self._returned)

    def left(self) -> Iterator[Unit]:
        """Everything that nobody has."""
        yield from (unit for _, unit in self._returned)
        yield from self._open.values()

    def take(self, own: WorkerQueue, others: Iterable[WorkerQueue]) -> Unit | None:
        """The unit for a worker that has ``own`` in its queue, while ``others`` have theirs.

        Of the next ones in order that which waits for its nodes the fewest units of others. Of
        equals the first, so that rounds of disjoint pairs stay rounds, but large groups, for which
        many have to wait, after what can run beside others. Waiting is counted in whole units: by
        the little that one worker is ahead of another no round is broken up.
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

    def take_returned(self) -> list[Unit]:
        """What dead workers left, for a worker that has nothing yet."""
        units = [unit for _, unit in sorted(self._returned, key=lambda one: one[0])]
        self._returned.clear()
        return units

    def give_back(self, unit: Unit, left: Sequence[int]) -> None:
        """The items of a unit that a dead worker has not done."""
        turn = self._given[unit.items[0]]
        rest = Unit(tuple(left), unit.rung, unit.nodes, unit.case)
        self._given[rest.items[0]] = turn
        self._returned.append((turn, rest))

    def _give(self, number: int) -> Unit:
        unit = self._open.pop(number)
        self._given[unit.items[0]] = len(self._given)
        return unit

    def _ready(self) -> Iterator[tuple[int, Unit]]:
        """The next open units but those that wait for an open one of a lower rung."""
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
    """For each node how many units its workers do until it is free; 0 for those not named."""
    free: dict[str, float] = {}
    for load in loads:
        for unit, end in load.ends:
            for node in unit.nodes:
                free[node] = max(end, free.get(node, 0.0))
    return free
