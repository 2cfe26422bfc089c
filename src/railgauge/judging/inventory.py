"""The parts of a cluster, and which of them differ from their peers. Pure.

Nothing here decides a verdict: versions are judged by the expectations of the platform file. With
seven GPUs of VBIOS 96.00.D9.00.02 and one of 96.00.61.00.01, the remark on the one names both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from railgauge.core.naming import listed
from railgauge.core.spreadsheet import csv_text
from railgauge.facts import FactsByNode, NodeFacts
from railgauge.facts.parts import InventoryPart, PartKind

FILE = "inventory.csv"
VALUES = tuple(
    item.name for item in fields(InventoryPart) if item.name not in ("kind", "name", "missing")
)
COLUMNS = ("node", "kind", "name", *VALUES, "odd", "not_read")
_WORDS = {
    "part_number": "part number",
    "firmware": "firmware",
    "model": "model",
    "serial": "serial number",
    "uuid": "UUID",
    "address": "PCI address",
    "slot": "slot",
}


@dataclass(frozen=True, slots=True)
class InventoryRow:
    """One part of one node. ``odd`` has a sentence for each difference from its peers."""

    node: str
    part: InventoryPart
    odd: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The part's name with its node: ``mx01 gpu3``, or ``mx01`` for the node itself."""
        return self.node if self.part.kind is PartKind.NODE else f"{self.node} {self.part.name}"

    @property
    def not_read(self) -> str:
        """The fields without a value, each with the reason: ``serial number: only root ...``."""
        by_reason: defaultdict[str, list[str]] = defaultdict(list)
        for item, reason in self.part.missing.items():
            by_reason[reason].append(word(item, self.part.kind))
        return "; ".join(f"{', '.join(words)}: {why}" for why, words in by_reason.items())

    def cells(self) -> tuple[str, ...]:
        """The row of ``inventory.csv``, with the columns ``COLUMNS``."""
        values = (getattr(self.part, item) or "" for item in VALUES)
        named = (self.node, str(self.part.kind), self.part.name)
        return (*named, *values, "; ".join(self.odd), self.not_read)


@dataclass(frozen=True, slots=True)
class Inventory:
    """All parts of a cluster, and the nodes that are not in it, with the reason."""

    rows: tuple[InventoryRow, ...]
    lacking: tuple[tuple[str, str], ...]

    @property
    def odd(self) -> tuple[InventoryRow, ...]:
        return tuple(row for row in self.rows if row.odd)

    @property
    def unread(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Fields that were not read, with reason and places: ``serial number: only root ...``."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for row in self.rows:
            for item in filter(None, row.not_read.split("; ")):
                found[f"{row.part.kind} {item}"].append(row.place)
        return tuple((what, tuple(places)) for what, places in found.items())

    def csv(self) -> str:
        return csv_text([COLUMNS, *(row.cells() for row in self.rows)])


def word(item: str, kind: PartKind) -> str:
    """The name of a field in the field's words: the UUID of a NIC is its GUID."""
    special = {
        ("uuid", PartKind.NIC): "GUID",
        ("uuid", PartKind.BMC): "GUID",
        ("firmware", PartKind.GPU): "VBIOS",
        ("firmware", PartKind.NODE): "BIOS",
    }
    return special.get((item, kind)) or _WORDS[item]


def inventory(found: FactsByNode) -> Inventory:
    """Return the parts of all nodes, sorted by name, with remarks on what is odd."""
    found = {name: found[name] for name in sorted(found)}  # the order of environment.json
    known = {name: facts for name, facts in found.items() if isinstance(facts, NodeFacts)}
    rows = [InventoryRow(name, one) for name, facts in known.items() for one in facts.parts]
    odd = _remarks(rows)
    marked = tuple(InventoryRow(r.node, r.part, tuple(odd[i])) for i, r in enumerate(rows))
    return Inventory(marked, tuple(_lacking(found)))


def _lacking(found: FactsByNode) -> Iterator[tuple[str, str]]:
    for name, facts in found.items():
        if not isinstance(facts, NodeFacts):
            yield name, f"the node was not surveyed: {facts}"
            continue
        for item in ("parts", "gpus", "gpus.#", "nics", "netdevs"):
            if reason := facts.missing.get(item):
                what = "inventory" if item == "parts" else item.partition(".")[0]
                yield name, f"{what}: {reason}"


_Grouping = Callable[[InventoryRow], tuple[str, ...]]


def _remarks(rows: list[InventoryRow]) -> defaultdict[int, list[str]]:
    found: defaultdict[int, list[str]] = defaultdict(list)
    for item, group in _COMPARED.items():
        for members in _grouped(rows, group):
            for at, remark in _unlike(rows, members, item):
                found[at].append(remark)
    for item in ("serial", "uuid"):
        for members in _grouped(rows, _kind):
            for at, remark in _twice(rows, members, item):
                found[at].append(remark)
    for members in _grouped(rows, _model):
        for at, remark in _without_serial(rows, members):
            found[at].append(remark)
    return found


def _grouped(rows: list[InventoryRow], group: _Grouping) -> Iterable[list[int]]:
    found: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        found[group(row)].append(at)
    return found.values()


def _kind(row: InventoryRow) -> tuple[str, ...]:
    return (str(row.part.kind),)


def _name(row: InventoryRow) -> tuple[str, ...]:
    """All GPUs are compared; a NIC is compared with the NICs of its name on other nodes.

    A disk is not compared: a node has disks of several models, and their names may change at each
    boot.
    """
    own = {PartKind.NIC: row.part.name, PartKind.DISK: f"{row.node} {row.part.name}"}
    return (str(row.part.kind), own.get(row.part.kind, ""))


def _model(row: InventoryRow) -> tuple[str, ...]:
    return (str(row.part.kind), row.part.model or "")


# What should be alike, and among which parts.
_COMPARED: Mapping[str, _Grouping] = {"model": _name, "part_number": _model, "firmware": _model}


def _unlike(rows: list[InventoryRow], members: list[int], item: str) -> Iterator[tuple[int, str]]:
    values = {at: value for at in members if (value := getattr(rows[at].part, item))}
    counts = Counter(values.values())
    if len(counts) < 2:  # noqa: PLR2004 - all alike
        return
    (most, often), *_ = counts.most_common(1)
    for at, value in values.items():
        name = word(item, rows[at].part.kind)
        if counts[value] < often:
            yield at, f"{name} {value}, but {often} of {len(values)} have {most}"
        elif list(counts.values()).count(often) > 1:
            yield at, f"{name} {value}, and as many peers have another"


def _twice(rows: list[InventoryRow], members: list[int], item: str) -> Iterator[tuple[int, str]]:
    having: defaultdict[str, list[int]] = defaultdict(list)
    for at in members:
        if value := getattr(rows[at].part, item):
            having[value].append(at)
    for places in having.values():
        for at in places:
            others = [rows[other].place for other in places if not _is_one(rows[at], rows[other])]
            if others:
                yield at, f"the {word(item, rows[at].part.kind)} is also that of {listed(others)}"


def _is_one(row: InventoryRow, other: InventoryRow) -> bool:
    """Whether two rows are one device: the ports of a NIC, or the partitions of a GPU."""
    mine, yours = row.part.address, other.part.address
    if row.node != other.node:
        return False
    return row is other or (mine or "-").rpartition(".")[0] == (yours or "+").rpartition(".")[0]


def _without_serial(rows: list[InventoryRow], members: list[int]) -> Iterator[tuple[int, str]]:
    having = sum(rows[at].part.serial is not None for at in members)
    for at in members:
        if having and rows[at].part.serial is None:
            yield at, f"no serial number, but {having} of {len(members)} have one"
