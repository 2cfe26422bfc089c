"""Tells the controller what the items of a run are about, since only workers collect them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from railgauge.core.model import Outcome
from railgauge.core.terms import Rung
from railgauge.judging.record import ItemRecord
from railgauge.planning.held import All, id_at
from railgauge.planning.marks import MEASURES
from railgauge.planning.work_queue import Unit
from railgauge.plugin.items import ABOUT, shown
from railgauge.run.store import Store, write_whole

# In a folder that is deleted at the end of the run.
_FILE = "leases/worksheet.json"


@dataclass(frozen=True, slots=True)
class Worksheet:
    """The units of a run, and for each item its subject, title, pairing, size and ways.

    The last word of a row are the arguments of which an item holds all values (``planning.held``),
    each with these; such an item has a record for each of the items that it holds.
    """

    units: tuple[Unit, ...]
    items: Sequence[Sequence[Any]]

    def ids(self, ids: Sequence[str]) -> list[str]:
        """The ids of all records, of those of the items."""
        return [one for item, item_id in enumerate(ids) for one in self._ids_of(item, item_id)]

    def _ids_of(self, item: int, item_id: str) -> Iterator[str]:
        all_of = [All(argument, tuple(values)) for argument, values in self.items[item][-1]]
        return (id_at(item_id, all_of, words) for words, _, _ in self._each(item))

    def records(self, ids: Sequence[str]) -> Iterator[tuple[int, ItemRecord]]:
        """The records of all items, each without a result, with the number of its item.

        ``ids`` are those of the records.
        """
        unit_of = {item: unit for unit in self.units for item in unit.items}
        each = ((item, *one[1:]) for item in range(len(self.items)) for one in self._each(item))
        for (item, pairing, size), own_id in zip(each, ids, strict=True):
            yield item, self._record(unit_of[item], item, own_id, pairing, size)

    def _each(self, item: int) -> Iterator[tuple[list[str], str, int | None]]:
        """For each record of an item the words of its id, its pairing and its size."""
        _, _, pairing, size, _, held = self.items[item]
        for values in product(*(values for _, values in held)):
            chosen = dict(zip((argument for argument, _ in held), values, strict=True))
            words = [shown(name, value) for name, value in chosen.items()]
            yield words, chosen.get("pairing", pairing), chosen.get("size", size)

    def _record(
        self, unit: Unit, item: int, item_id: str, pairing: str, size: int | None
    ) -> ItemRecord:
        subject, title, _, _, ways, _ = self.items[item]
        return ItemRecord(
            id=item_id,
            rung=Rung(max(unit.rung, Rung.PREFLIGHT)),
            subject=subject,
            title=title,
            outcome=Outcome.ERROR,
            nodes=unit.nodes,
            pairing=pairing,
            size_bytes=size,
            ways=tuple(ways),
        )


def write(store: Store, items: Sequence[pytest.Item]) -> None:
    """Write the worksheet, before the controller learns the items; all workers write the same."""
    path = store.folder / _FILE
    if not path.exists():
        sheet = of(items)
        units = [[u.items, u.rung, u.nodes, u.case] for u in sheet.units]
        write_whole(path, json.dumps({"units": units, "items": sheet.items}))


def of(items: Sequence[pytest.Item]) -> Worksheet:
    return Worksheet(tuple(units_of(items)), [_row(item) for item in items])


def read(store: Store) -> Worksheet:
    data = store.read_json(_FILE)
    units = (Unit(tuple(i), rung, tuple(nodes), case) for i, rung, nodes, case in data["units"])
    return Worksheet(tuple(units), data["items"])


def units_of(items: Sequence[pytest.Item]) -> list[Unit]:
    """Group items into units: items that share a run of a tool, or a node on rung 0, in order."""
    found: dict[object, list[int]] = {}
    for place, item in enumerate(items):
        found.setdefault(_shared(item) or place, []).append(place)
    return [unit_of(items[places[0]], tuple(places)) for places in found.values()]


def by_case(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the items so that those of the same cases follow each other, if some hold others.

    What was measured and read for the first of them need not be read again for the next one.
    """
    about = [item.stash.get(ABOUT, None) for item in items]
    if not any(one and one.held for one in about):
        return [*items]
    first: dict[str, int] = {}

    def place(at: int) -> int:
        one = about[at]
        is_measured = one is not None and one.subject.kind == MEASURES
        return first.setdefault(_shared(items[at]), at) if is_measured else at

    return [items[at] for at in sorted(range(len(items)), key=place)]


def _shared(item: pytest.Item) -> str:
    """The key that the items of a unit share; empty for an item that is a unit of its own."""
    about = item.stash.get(ABOUT, None)
    if about is None:
        return ""
    nodes = ":".join(about.nodes)
    if about.subject.kind != "measures":
        return f"{about.rung} {nodes}" if nodes else ""
    # ``about.pairing`` may be a link or a GPU, and one run of a tool measures all of those.
    callspec = getattr(item, "callspec", None)
    pairing = callspec.params.get("pairing") if callspec else None
    if isinstance(pairing, All):
        pairing = None
    return f"{about.subject.name}[{nodes}{f'-{pairing}' if pairing else ''}]"


def unit_of(first: pytest.Item, places: tuple[int, ...]) -> Unit:
    """Return the unit of these items, or of those of them that are left."""
    about = first.stash.get(ABOUT, None)
    if about is None:
        return Unit(places, -1, ())
    case = _shared(first) if about.subject.kind == "measures" else ""
    return Unit(places, about.rung, about.nodes, case)


def _row(item: pytest.Item) -> list[Any]:
    about = item.stash.get(ABOUT, None)
    if about is None:
        return ["", item.name, "", None, (), ()]
    held = [[each.argument, _plain(each.values)] for each in about.held]
    return [about.subject.name, about.title, about.pairing, about.size_bytes, about.ways, held]


def _plain(values: Sequence[object]) -> list[object]:
    return [value if isinstance(value, int) else str(value) for value in values]
