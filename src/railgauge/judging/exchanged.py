"""Parts exchanged between two inventories of a cluster, by place and serial number. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from railgauge.judging.inventory import Inventory, InventoryRow, word

_Place = tuple[str, str, str]
_COMPARED = ("model", "part_number", "firmware", "slot")


@dataclass(frozen=True, slots=True)
class PartChange:
    """One difference: at ``place`` (``mx01 gpu3``), a part was ``exchanged``, or ``changed``, …

    ``kind`` is ``exchanged``, ``added``, ``removed``, ``changed`` or ``not known``.
    """

    place: str
    kind: str
    says: str


def changes(before: Inventory, after: Inventory) -> tuple[PartChange, ...]:
    """Return the differences in the order of the first inventory, then the added parts."""
    old, new = _by_place(before.rows), _by_place(after.rows)
    nodes = {row.node for row in before.rows} & {row.node for row in after.rows}
    return (
        *_of_nodes(before, after),
        *_changed(old, new, nodes, before, after),
        *_added(old, new, nodes, before),
    )


def _by_place(rows: Iterable[InventoryRow]) -> dict[_Place, InventoryRow]:
    """A part's place is its PCI address; a part without one has its name."""
    return {(r.node, str(r.part.kind), r.part.address or r.part.name): r for r in rows}


def _of_nodes(before: Inventory, after: Inventory) -> Iterator[PartChange]:
    old, new = ({row.node for row in one.rows} for one in (before, after))
    lacking = {**dict(before.lacking), **dict(after.lacking)}
    for node in dict.fromkeys(row.node for row in (*before.rows, *after.rows)):
        if node in old and node in new:
            continue
        where = "first" if node in new else "second"
        if node in lacking:
            says = f"it is not in the {where} inventory: {lacking[node]}"
            yield PartChange(node, "not known", says)
        else:
            kind = "added" if node in new else "removed"
            yield PartChange(node, kind, f"it is not in the {where} inventory")


def _changed(
    old: Mapping[_Place, InventoryRow],
    new: Mapping[_Place, InventoryRow],
    nodes: set[str],
    before: Inventory,
    after: Inventory,
) -> Iterator[PartChange]:
    was, now = _homes(before), _homes(after)
    for key, row in old.items():
        if row.node not in nodes:
            continue
        if key not in new:
            yield PartChange(row.place, "removed", f"{_who(row)}{_elsewhere(row, now)}")
            continue
        yield from _at_place(row, new[key], was, now)


def _at_place(
    row: InventoryRow,
    later: InventoryRow,
    was: Mapping[str, list[str]],
    now: Mapping[str, list[str]],
) -> Iterator[PartChange]:
    differ = _differ(row, later)
    if differ is None:
        if not (row.part.serial or row.part.uuid or later.part.serial or later.part.uuid):
            return  # such a part has no identifier; the summary counts them
        yield PartChange(row.place, "not known", _one_sided(row, later))
    elif differ:
        gone = _elsewhere(row, now)
        came = _elsewhere(later, was).replace("is now", "was before")
        yield PartChange(row.place, "exchanged", f"{_who(row)}{gone} -> {_who(later)}{came}")
        return
    for item in _COMPARED:
        one, other = getattr(row.part, item), getattr(later.part, item)
        if one and other and one != other:
            yield PartChange(row.place, "changed", f"{word(item, row.part.kind)} {one} -> {other}")


def _differ(row: InventoryRow, later: InventoryRow) -> bool | None:
    """Whether two parts are different ones; ``None`` if they have no identifier in common."""
    for item in ("serial", "uuid"):
        one, other = getattr(row.part, item), getattr(later.part, item)
        if one and other:
            return bool(one != other)
    return None


def _one_sided(row: InventoryRow, later: InventoryRow) -> str:
    lacks = later if (row.part.serial or row.part.uuid) else row
    which = "second" if lacks is later else "first"
    return f"whether it was exchanged: the {which} inventory has neither serial number nor UUID"


def _added(
    old: Mapping[_Place, InventoryRow],
    new: Mapping[_Place, InventoryRow],
    nodes: set[str],
    before: Inventory,
) -> Iterator[PartChange]:
    was = _homes(before)
    for key, row in new.items():
        if key not in old and row.node in nodes:
            came = _elsewhere(row, was).replace("is now", "was before")
            yield PartChange(row.place, "added", f"{_who(row)}{came}")


def _homes(inventory: Inventory) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in inventory.rows:
        if row.part.serial:
            found[f"{row.part.kind} {row.part.serial}"].append(row.place)
    return found


def _elsewhere(row: InventoryRow, homes: Mapping[str, list[str]]) -> str:
    places = homes.get(f"{row.part.kind} {row.part.serial}", []) if row.part.serial else []
    others = [place for place in places if place != row.place]
    return f" (is now {', '.join(others)})" if others else ""


def _who(row: InventoryRow) -> str:
    if row.part.serial:
        return f"serial number {row.part.serial}"
    if row.part.uuid:
        return f"{word('uuid', row.part.kind)} {row.part.uuid}"
    return row.part.model or "a part without an identifier"
