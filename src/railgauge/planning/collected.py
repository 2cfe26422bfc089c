"""The subjects and places of a run's items, from their tests and parameters. Pure.

An item is about one subject at one place. In a large run it has sub-items, its rows
(``planning.sub_items``); each row is about one pair, part and message size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from railgauge.config.thresholds import Platform
from railgauge.core.model import Case, Pairing
from railgauge.core.terms import Rung, Scope
from railgauge.core.units import format_size
from railgauge.planning import plan, required
from railgauge.planning.marks import MEASURES
from railgauge.planning.sub_items import PAIR, All, id_at


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a test: its kind (``measures`` or ``expects``) and its name.

    Expectations are on rung 0. An item of no test of the ladder has an empty subject.
    """

    kind: str
    name: str


NO_SUBJECT = Subject("", "")


@dataclass(frozen=True, slots=True)
class About:
    """The subject and place of one item, from its parameters, and the ways in which it asks.

    ``spans`` are arguments of which the item has all values; it has no pairing or size then. A row
    of such an item has a ``row_id``. ``is_skipped``: a mark of its test makes pytest skip it.
    """

    subject: Subject
    ways: tuple[str, ...]
    rung: Rung
    title: str
    nodes: tuple[str, ...] = ()
    pairing: str = ""
    size_bytes: int | None = None
    spans: tuple[All, ...] = ()
    row_id: str = ""
    is_skipped: bool = False

    @property
    def rows(self) -> int:
        """How many records the item has."""
        return prod(len(each.values) for each in self.spans)

    @property
    def is_measured(self) -> bool:
        return self.subject.kind == MEASURES


def each_row(item_id: str, about: About) -> Iterator[tuple[About, dict[str, Any]]]:
    """The subject and place of each row of an item, and the values of its arguments.

    An item without sub-items is its own row.
    """
    names = [each.argument for each in about.spans]
    for values in product(*(each.values for each in about.spans)):
        chosen = dict(zip(names, values, strict=True))
        words = [shown(name, value) for name, value in chosen.items()]
        yield _row(about, id_at(item_id, about.spans, words), chosen), chosen


def each_place(item_id: str, about: About) -> Iterator[tuple[str, About]]:
    """The items of the single pairs, for an item that has those of a node; else the item itself."""
    pairs = next((each for each in about.spans if each.argument == PAIR), None)
    if pairs is None:
        yield item_id, about
        return
    spans = tuple(each for each in about.spans if each is not pairs)
    for pair in pairs.values:
        words = [str(pair) if each is pairs else str(each) for each in about.spans]
        own_id = id_at(item_id, about.spans, words)
        yield own_id, replace(about, nodes=plan.nodes_of(pair), spans=spans)


def _row(about: About, row_id: str, chosen: Mapping[str, Any]) -> About:
    pair = chosen.get(PAIR)
    return replace(
        about,
        nodes=plan.nodes_of(pair) if pair else about.nodes,
        pairing=required.part_label(chosen) or about.pairing,
        size_bytes=chosen.get("size", about.size_bytes),
        spans=(),
        row_id=row_id,
    )


def shown(name: str, value: object) -> str:
    """A value of an argument as the id of an item has it."""
    if name == "gpu" and not isinstance(value, All):
        return required.gpu_label(value)
    return format_size(value) if name == "size" and isinstance(value, int) else str(value)


class CaseFinder:
    """Finds the measurement of an item, or of its row."""

    def __init__(self, platform: Platform, level: str) -> None:
        self._platform, self._level = platform, level
        self._pairings: dict[str, dict[str, Pairing | None]] = {}

    def case(self, about: About) -> Case:
        """The case of an item that measures and has no sub-items."""
        measurement = self._platform.measurements[about.subject.name]
        pairing = self._paths(measurement.name).get(about.pairing)
        return plan.case_on(measurement, self._level, about.nodes, pairing)

    def _paths(self, name: str) -> Mapping[str, Pairing | None]:
        if name not in self._pairings:
            measurement = self._platform.measurements[name]
            every = plan.paths(self._platform, measurement, self._level)
            is_path = measurement.scope == Scope.PATH
            self._pairings[name] = {str(one): one for one in every} if is_path else {}
        return self._pairings[name]
