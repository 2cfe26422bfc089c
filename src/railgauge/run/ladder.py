"""The ladder of a run: the questions of its items, as the units that the engine measures.

The items are those that pytest has collected. Their questions follow from the required checks of
the level (``planning.required``), so that no test has to run first. Only the units are kept: the
rows of a unit are made when it is judged, because a sign-off may have a million rows.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from railgauge.config.thresholds import Measurement
from railgauge.core.model import Case, Outcome, Pairing
from railgauge.core.question import READ, Question
from railgauge.core.terms import Rung
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan, required
from railgauge.planning.collected import About, CaseFinder, each_place, each_row
from railgauge.planning.required import ItemKey, LevelScope
from railgauge.planning.sub_items import PAIRING
from railgauge.planning.work_queue import Unit

_PAIR = 2

Items = Sequence[tuple[str, About]]
"""The id of each item, in the order of the ladder, and what it is about."""


@dataclass(frozen=True, slots=True)
class LadderRow:
    """A row of an item before it is judged; ``place`` is its place in the ladder.

    ``gated`` are the nodes whose gates it passes and may close, ``case`` is its measurement.
    """

    place: int
    item: ItemRecord
    gated: tuple[str, ...]
    case: Case | None


def begun(about: About, item_id: str = "") -> ItemRecord:
    """The record of an item, or of a row, without a result."""
    return ItemRecord(
        id=about.row_id or item_id,
        rung=about.rung,
        subject=about.subject.name,
        title=about.title,
        outcome=Outcome.ERROR,
        nodes=about.nodes,
        pairing=about.pairing,
        size_bytes=about.size_bytes,
        ways=about.ways,
    )


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The order in which a measurement is made: ``number`` is its own among the measurements."""

    number: int
    ranks: Mapping[tuple[str, ...], int]
    over: Collection[Pairing | None]
    turn: Callable[[tuple[str, ...], Pairing | None], int]

    @classmethod
    def of(cls, scope: LevelScope, measurement: Measurement, number: int) -> _Rounds:
        over = plan.paths(scope.platform, measurement, scope.level.name)
        turn = plan.turns(scope.level, over)
        places = {plan.nodes_of(one): one for one in plan.places(measurement, scope.level)}
        ranks = {nodes: rank for rank, nodes in enumerate(places)}
        return cls(number, ranks, over, lambda nodes, pairing: turn(places[nodes], pairing))

    def order(self, case: Case) -> tuple[int, int, int]:
        rank = self.ranks.get(case.nodes)
        if rank is None or case.pairing not in self.over:  # a test of the site may have others
            return (self.number, 0, len(self.ranks))
        return (self.number, self.turn(case.nodes, case.pairing), rank)


class Ladder:
    """The items of a run, and the units of them, lowest rung first."""

    def __init__(self, scope: LevelScope, items: Items) -> None:
        self._scope = scope
        self._items = [one for item in items for one in each_place(*item)]
        self._finder = CaseFinder(scope.platform, scope.level.name)
        self._kinds: dict[str, _Rounds] = {}
        self._starts = array("q", [0])
        for _, about in self._items:
            self._starts.append(self._starts[-1] + about.rows)
        self.units = tuple(sorted(self._grouped(), key=self._order))
        self._top = dict[str, int]()
        for unit in self.units:
            for node in self.gated(unit):
                self._top[node] = max(self._top.get(node, unit.rung), unit.rung)

    def _grouped(self) -> Iterator[Unit]:
        """The items that share a measurement, or on rung 0 a node."""
        found = defaultdict[str, list[int]](list)
        for number, (_, about) in enumerate(self._items):
            if about.nodes and not about.is_skipped:
                found[self._shared(about)].append(number)
        for shared, numbers in found.items():
            about = self._items[numbers[0]][1]
            case = shared if about.is_measured else ""
            yield Unit(tuple(numbers), about.rung, about.nodes, case)

    def _order(self, unit: Unit) -> tuple[int, ...]:
        """By rung, within a rung groups last: nothing else runs on their nodes meanwhile."""
        return (unit.rung, len(unit.nodes) > _PAIR, *self._turn(unit))

    def _turn(self, unit: Unit) -> tuple[int, int, int]:
        """Measurements in the order of collection, and the places of each by rounds.

        Rounds matter because items with the pairs of a node are collected node by node.
        """
        if not unit.case:
            return (-1, 0, 0)
        if unit.kind not in self._kinds:
            measurement = self._scope.platform.measurements[unit.kind]
            self._kinds[unit.kind] = _Rounds.of(self._scope, measurement, len(self._kinds))
        row, _ = next(each_row(*self._items[unit.items[0]]))
        return self._kinds[unit.kind].order(self._finder.case(row))

    def _shared(self, about: About) -> str:
        """The key of an item's case; one case measures all links, GPUs or switches of its items."""
        if about.is_measured:
            return self._finder.case(about).key
        return f"{about.rung} {':'.join(about.nodes)}"

    def ids(self) -> Iterator[str]:
        """The ids of all rows."""
        for item_id, about in self._items:
            yield from (row.row_id for row, _ in each_row(item_id, about))

    def records(self) -> Iterator[ItemRecord]:
        """The records of all rows, each without a result."""
        for item_id, about in self._items:
            yield from (begun(row) for row, _ in each_row(item_id, about))

    # --- of one unit ---

    def cases(self, unit: Unit) -> tuple[Case, ...]:
        """The measurements of a unit's items; none of those of a node on rung 0."""
        if not unit.case:
            return ()
        about = self._items[unit.items[0]][1]
        pairings = next((each.values for each in about.spans if each.argument == PAIRING), None)
        if pairings is None:
            return (self._finder.case(about),)
        return tuple(self._finder.case(replace(about, pairing=str(one))) for one in pairings)

    def compared(self, unit: Unit) -> tuple[Case, ...]:
        """The other measurements with which the items of a unit compare theirs."""
        if not any(one.other for asked in self._asked(unit).values() for one in asked):
            return ()
        own = self.cases(unit)
        every = (one.other for row in self.rows(unit) for one in row.item.questions)
        return tuple(dict.fromkeys(case for case in every if case and case not in own))

    def gated(self, unit: Unit) -> tuple[str, ...]:
        """The nodes whose gates a unit passes and may close."""
        about = self._items[unit.items[0]][1]
        return plan.gate_nodes(self._scope.platform, about.subject.name, about.nodes)

    def is_below_others(self, unit: Unit) -> bool:
        """Whether a gate may ask how the items of a unit ended."""
        return any(unit.rung < self._top[node] for node in self.gated(unit))

    def rows(self, unit: Unit) -> Iterator[LadderRow]:
        """The rows of a unit, each with the questions that it asks."""
        asked, gated = self._asked(unit), self.gated(unit)
        for number in unit.items:
            for place, (row, _) in enumerate(each_row(*self._items[number]), self._starts[number]):
                case = self._finder.case(row) if row.is_measured else None
                item = replace(begun(row), questions=tuple(_questions(row, case, asked)))
                yield LadderRow(place, item, gated, case)

    def _asked(self, unit: Unit) -> dict[ItemKey, list[Question]]:
        """The questions of a unit by the level's required checks."""
        found = defaultdict[ItemKey, list[Question]](list)
        if unit.rung == Rung.PREFLIGHT and not unit.case:
            every = list(required.of_node(self._scope, unit.nodes[0]))
        else:
            every = [one for case in self.cases(unit) for one in self._of_case(case)]
        for one in every:
            found[one.key].append(one.question)
        return found

    def _of_case(self, case: Case) -> Iterator[required.RequiredCheck]:
        measurement = self._scope.platform.measurements[case.measurement]
        place = plan.place_on(measurement, case.nodes)
        return required.of_run(self._scope, measurement, place, case.pairing)


def _questions(
    row: About, case: Case | None, asked: dict[ItemKey, list[Question]]
) -> Iterator[Question]:
    keys = (
        ItemKey(row.subject.name, way, row.nodes, row.pairing, row.size_bytes) for way in row.ways
    )
    found = [question for key in keys for question in asked.get(key, ())]
    read = dict.fromkeys(one for each in found for one in (each.case, each.other) if one)
    yield from (Question(READ, one) for one in dict.fromkeys((*([case] if case else ()), *read)))
    yield from found
