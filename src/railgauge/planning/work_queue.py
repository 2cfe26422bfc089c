"""The units that the engine may measure next. A unit may start when

- all units on the lower rungs of its nodes have been judged; if it has no nodes, all of the run;
- none of its nodes, and no storage that nodes share, is in another unit. If they will be free
  within half a unit, they are kept for it, so that rounds of disjoint pairs stay together and no
  node waits long for a late partner.

A deadlock is impossible: a started unit never waits for one that has not started.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

# The number of units that are searched for one that can start: many times the number that run at
# once, to cover a round or two; the search costs about 1 us per unit.
_WINDOW = 128
# How often to check whether a node has waited long enough for its partner.
LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Unit:
    """Items that run together: those of a case, or those of a node on rung 0.

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


@dataclass(slots=True)
class _Open:
    """The units that have not been judged: their number by rung, of each node and of the run."""

    by_node: dict[str, Counter[int]] = field(default_factory=dict)
    all: Counter[int] = field(default_factory=Counter)

    def add(self, unit: Unit, number: int) -> bool:
        """Return whether a node, or the run, has no open unit on this rung now."""
        counts = self._of(unit)
        for count in counts:
            count[unit.rung] += number
            if not count[unit.rung]:
                del count[unit.rung]
        return any(unit.rung not in count for count in counts)

    def may_start(self, unit: Unit) -> bool:
        """Whether no unit on a lower rung of its nodes is open; without nodes, none of the run."""
        counts = self._of(unit)[:-1] or (self.all,)
        return all(min(count, default=unit.rung) >= unit.rung for count in counts)

    def _of(self, unit: Unit) -> tuple[Counter[int], ...]:
        return (*(self.by_node.setdefault(node, Counter()) for node in unit.nodes), self.all)


class WorkQueue:
    """The units of a run: which of them wait, keep their nodes busy, or were judged."""

    def __init__(
        self,
        units: Iterable[Unit] = (),
        clock: Callable[[], float] = time.monotonic,
        shared: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        """``shared`` has what units of a kind use that other nodes use too, such as a mount."""
        self._clock = clock
        self._shared = {kind: tuple(names) for kind, names in (shared or {}).items()}
        self._waiting: OrderedDict[int, Unit] = OrderedDict()
        self._open = _Open()
        self._running: dict[Unit, float] = {}
        self._typical_s: dict[str, float] = {}
        self._added = 0
        self._has_changed, self._searched_s = True, 0.0
        for unit in units:
            self.add(unit)

    @property
    def is_done(self) -> bool:
        """Whether every unit was judged."""
        return not self._open.all

    def add(self, unit: Unit) -> None:
        """Add a unit behind all others."""
        self._waiting[self._added] = unit
        self._added += 1
        self._open.add(unit, 1)
        self._has_changed = True

    def start(self, most: int) -> list[Unit]:
        """Take up to ``most`` units that can start now, in the order of the ladder.

        Their nodes are busy until ``measured`` or ``freed``.
        """
        if not self._has_changed and self._clock() - self._searched_s < LOOK_S:
            return []
        found = self._found(most)
        self._has_changed, self._searched_s = len(found) == most, self._clock()
        return [self._begin(number) for number in found]

    def _found(self, most: int) -> list[int]:
        """Search for up to ``most`` units that can start now."""
        taken, until = list[int](), self._busy()
        window = max(_WINDOW, len(until))  # as many pairs as two rounds of the busy nodes have
        for number, unit in islice(self._waiting.items(), window):
            if len(taken) >= most:
                break
            used = self.used(unit)
            wait = max((until.get(name, 0.0) for name in used), default=0.0)
            if round(wait) > 0 or not self._open.may_start(unit):
                continue
            until.update(dict.fromkeys(used, wait + 1.0))
            if wait == 0:
                taken.append(number)
        return taken

    def used(self, unit: Unit) -> tuple[str, ...]:
        """What no other unit uses meanwhile: its nodes, and the storage that they share."""
        return (*unit.nodes, *self._shared.get(unit.kind, ()))

    def following(self) -> Unit | None:
        """The first unit that has not started; a later one may start before it."""
        return next(iter(self._waiting.values()), None)

    def measured(self, unit: Unit) -> None:
        """A unit has been measured: its nodes are free, and its duration is typical of its kind."""
        lasted_s = self._clock() - self._running[unit]
        self._typical_s[unit.kind] = (self._typical_s.get(unit.kind, lasted_s) + lasted_s) / 2
        self.freed(unit)

    def freed(self, unit: Unit) -> None:
        """The nodes of a unit that was not measured are free."""
        del self._running[unit]
        self._has_changed = True

    def put_off(self, unit: Unit, nodes: Iterable[str]) -> None:
        """A unit that was started waits for the lower rungs of other nodes, too."""
        self.freed(unit)
        self.add(replace(unit, nodes=tuple(dict.fromkeys((*unit.nodes, *nodes)))))
        self._open.add(unit, -1)

    def judged(self, unit: Unit) -> None:
        """All items of a unit have ended: what waits for its rung may start."""
        self._has_changed |= self._open.add(unit, -1)

    def _begin(self, number: int) -> Unit:
        unit = self._waiting.pop(number)
        self._running[unit] = self._clock()
        return unit

    def _busy(self) -> dict[str, float]:
        """How long what is in use will be, counted in units; everything else is free."""
        now_s = self._clock()
        left = {unit: self._left(unit, now_s - at_s) for unit, at_s in self._running.items()}
        return {name: until for unit, until in left.items() for name in self.used(unit)}

    def _left(self, unit: Unit, lasted_s: float) -> float:
        """How long a unit will last, counted in units of its kind.

        A unit that is late counts as later still: no unit may wait for a node that hangs.
        """
        typical_s = self._typical_s.get(unit.kind, 0.0)
        if not typical_s:
            return 1.0
        return max(abs(1 - lasted_s / typical_s), 1e-3)
