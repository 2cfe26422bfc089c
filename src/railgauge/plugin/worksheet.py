"""Tells the controller what the items of a run are about, since only workers collect them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from railgauge.core.model import Outcome
from railgauge.core.terms import Rung
from railgauge.judging.record import ItemRecord
from railgauge.planning.work_queue import Unit
from railgauge.plugin.items import ABOUT
from railgauge.run.store import Store, write_whole

# In a folder that is deleted at the end of the run.
_FILE = "leases/worksheet.json"


@dataclass(frozen=True, slots=True)
class Worksheet:
    """The units of a run, and for each item its subject, title, pairing, size and ways."""

    units: tuple[Unit, ...]
    items: Sequence[Sequence[Any]]

    def record(self, item: int, item_id: str) -> ItemRecord:
        """The record of an item without a result."""
        unit = next(unit for unit in self.units if item in unit.items)
        return self._record(unit, item, item_id)

    def records(self, ids: Sequence[str]) -> Iterator[ItemRecord]:
        """The records of all items, each without a result."""
        unit_of = {item: unit for unit in self.units for item in unit.items}
        for item, item_id in enumerate(ids):
            yield self._record(unit_of[item], item, item_id)

    def _record(self, unit: Unit, item: int, item_id: str) -> ItemRecord:
        subject, title, pairing, size, ways = self.items[item]
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
    return [_unit(items[places[0]], tuple(places)) for places in found.values()]


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
    return f"{about.subject.name}[{nodes}{f'-{pairing}' if pairing else ''}]"


def _unit(first: pytest.Item, places: tuple[int, ...]) -> Unit:
    about = first.stash.get(ABOUT, None)
    if about is None:
        return Unit(places, -1, ())
    case = _shared(first) if about.subject.kind == "measures" else ""
    return Unit(places, about.rung, about.nodes, case)


def _row(item: pytest.Item) -> list[Any]:
    about = item.stash.get(ABOUT, None)
    if about is None:
        return ["", item.name, "", None, ()]
    return [about.subject.name, about.title, about.pairing, about.size_bytes, about.ways]
