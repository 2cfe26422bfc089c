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


class Handout:
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

    def take(self, own: Sequence[Unit], others: Iterable[Sequence[Unit]]) -> Unit | None:
        """The unit for a worker that has ``own`` in its queue, while ``others`` have theirs.

        Of the next ones in order that which waits the fewest units of others for its nodes, the
        first of equals: rounds of disjoint pairs stay rounds.
        """
        free = _free_after(others)
        best, shortest = None, 0
        for number, unit in self._ready():
            wait = max((free.get(node, 0) for node in unit.nodes), default=0) - len(own)
            if best is None or wait < shortest:
                best, shortest = number, wait
            if shortest <= 0:
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


def _free_after(queues: Iterable[Sequence[Unit]]) -> dict[str, int]:
    """For each node how many units its worker does until it is free; 0 for those not named."""
    free: dict[str, int] = {}
    for queue in queues:
        for place, unit in enumerate(queue, 1):
            free.update((node, max(place, free.get(node, 0))) for node in unit.nodes)
    return free
