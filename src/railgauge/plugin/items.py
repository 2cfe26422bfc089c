"""Makes items of test functions: the subject, the hardware and the rung of each.

A mark names the subject of a test: ``measures(NAME)`` a measurement of the platform file,
``expects(NAME)`` an expectation. The test's arguments (``ARGUMENTS``) select the declared hardware
over which it is parametrized.

Example: a test with the arguments ``pair``, ``pairing`` and ``size`` has an item for each pair of
the rounds, each pairing and each asserted message size, such as ``[a:b-mlx5_0-8MiB]``.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import pytest

from railgauge.config.thresholds import Platform
from railgauge.core.terms import Rung
from railgauge.core.units import format_size
from railgauge.planning import demand, expectations, held, plan
from railgauge.planning.held import All
from railgauge.planning.marks import NEEDS, ways_of
from railgauge.run.settings import RunSettings
from railgauge.subnet.declared import declared_switches

MARKS = {
    "measures": "measures(name): the measurement of the platform file that this test judges",
    "expects": "expects(name): the expectation of the platform file that this test judges",
}
NEEDS_MARK = f"{NEEDS}(what, ...): hardware that must be declared for this test to be possible"


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a test: its kind (``measures`` or ``expects``) and its name.

    Expectations are on rung 0.
    """

    kind: str
    name: str


def subject_of(marks: Sequence[pytest.Mark]) -> Subject | None:
    """The subject that the marks of a test name; ``None`` if there is not exactly one."""
    found = [mark for mark in marks if mark.name in MARKS]
    if len(found) != 1 or len(found[0].args) != 1:
        return None
    return Subject(found[0].name, found[0].args[0])


def applies(
    settings: RunSettings,
    complaints: list[str],
    name: str,
    marks: Sequence[pytest.Mark],
    arguments: Sequence[str] = (),
) -> bool:
    """Whether a test applies to the platform; adds a complaint if its subject is unknown."""
    subject = subject_of(marks)
    if subject is None:
        complaints.append(f"{name}: needs one mark, measures(NAME) or expects(NAME)")
        return False
    if subject.name in settings.not_applicable or subject.name in settings.not_limited:
        return False
    if settings.level.lacks_scan and subject.name in demand.SUBNET:
        return False  # the level still demands it, so it is reported as not run
    platform = settings.platform
    known = platform.measurements if subject.kind == "measures" else platform.expected
    if subject.name not in known:
        section = "measurements" if subject.kind == "measures" else "expected"
        complaints.append(
            f"{name}: {subject.name!r} is neither under '{section}' nor under 'not_applicable'"
        )
        return False
    if subject.kind == "expects":
        return True
    wanted = demand.ways(platform.measurements[subject.name], settings.level.name)
    return all(way in wanted for way in ways_of(arguments))


@dataclass(frozen=True, slots=True)
class TestRows:
    """The rows of a test: the names of its arguments, and of each row their values and its id."""

    __test__ = False

    names: Sequence[str]
    values: Sequence[tuple[Any, ...]]
    ids: Sequence[str]

    @property
    def are_plain(self) -> bool:
        """Whether the ids can be taken as they are: pytest escapes some, and numbers equal ones."""
        every = "".join(self.ids)
        is_plain = every.isprintable() and "\\" not in every
        return is_plain and len({*self.ids}) == len(self.ids)

    @property
    def pattern_id(self) -> str:
        """The id of the row that pytest makes; it would escape letters that are not ASCII."""
        return self.ids[0] if self.ids[0].isascii() else "row"


def rows_of(settings: RunSettings, metafunc: pytest.Metafunc) -> TestRows | None:
    """The rows of a test of the ladder: one for each piece of declared hardware."""
    subject = subject_of(list(metafunc.definition.iter_markers()))
    if subject is None:
        return None
    names = [name for name in ARGUMENTS if name in metafunc.fixturenames]
    may_hold = settings.holds_items and not _fixtures_ask_for(held.ARGUMENTS, metafunc)
    choices = [_parameters(settings, subject, name, may_hold=may_hold) for name in names]
    words = [
        [shown(name, value) for value in each] for name, each in zip(names, choices, strict=True)
    ]
    ids = ["-".join(row) for row in product(*words)]
    rows: list[tuple[tuple[Any, ...], str]] = list(zip(product(*choices), ids, strict=True))
    if {"pair", "pairing"} <= set(names):
        pair, pairing = names.index("pair"), names.index("pairing")
        measurement = settings.platform.measurements[subject.name]
        over = plan.paths(settings.platform, measurement, settings.level.name)
        turn = plan.turns(settings.level, over)
        rows.sort(key=lambda row: turn(row[0][pair], _first(row[0][pairing])))
    return TestRows(names, [row for row, _ in rows], [name for _, name in rows])


# The arguments over which a test may be parametrized, in the order of the ids. Pairs are ordered by
# round, so that consecutive items use different nodes; see ``plan.turns`` for pairs and pairings.
ARGUMENTS = ("pair", "group", "node", "switch", "pairing", "gpu", "nic", "adapter", "link", "size")


def _fixtures_ask_for(arguments: Collection[str], metafunc: pytest.Metafunc) -> bool:
    """Whether a fixture of a test asks for one of these; pytest sets it up once for each item."""
    known = metafunc._arg2fixturedefs.values()  # ``fixturenames`` does not say who asks
    return any(not {*arguments}.isdisjoint(one.argnames) for fixtures in known for one in fixtures)


_MEASURED = frozenset({"pair", "group", "node", "switch", "pairing", "size"})


def _parameters(
    settings: RunSettings, subject: Subject, argument: str, *, may_hold: bool
) -> Sequence[object]:
    """The values of an argument, which may be one value that holds all of them."""
    values = _choices(settings, subject, argument)
    is_held = may_hold and subject.kind == "measures" and argument in held.ARGUMENTS
    return [All(argument, tuple(values))] if is_held else values


def _first(value: Any) -> Any:
    return value.values[0] if isinstance(value, All) else value


def _choices(settings: RunSettings, subject: Subject, argument: str) -> Sequence[object]:
    platform = settings.platform
    if subject.kind == "measures" and argument in _MEASURED:
        return _measured_choices(settings, subject.name, argument)
    if argument == "node":
        return settings.level.nodes
    if argument == "link":
        return demand.links(platform)
    return expectations.choices_of(platform, argument)


def _measured_choices(settings: RunSettings, name: str, argument: str) -> Sequence[object]:
    measurement = settings.platform.measurements[name]
    if argument == "size":  # the sizes at which the platform asserts a limit
        sizes = measurement.extents[settings.level.name].sizes
        return [size for size in sizes if measurement.asserted("size", size)]
    if argument == "pairing":
        return plan.paths(settings.platform, measurement, settings.level.name)
    if argument == "switch":
        return declared_switches(settings.declared.fabric)
    return plan.places(measurement, settings.level)


def shown(name: str, value: object) -> str:
    """A value of an argument as the id of an item has it."""
    if name == "gpu":
        return demand.gpu_label(value)
    return format_size(value) if name == "size" and isinstance(value, int) else str(value)


@contextmanager
def all_to_stay() -> Iterator[None]:
    """Switch Python's garbage collector off during pytest's collection.

    All items live until the end of the session, so each pass would scan them and find nothing.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@dataclass(frozen=True, slots=True)
class About:
    """What one item is about, from its parameters, and in which ways it asks for that.

    ``held`` are arguments of which the item holds all values; it has no pairing or size then. A row
    of such an item has a ``row_id``.
    """

    subject: Subject
    ways: tuple[str, ...]
    rung: Rung
    title: str
    nodes: tuple[str, ...]
    pairing: str
    size_bytes: int | None
    held: tuple[All, ...] = ()
    row_id: str = ""

    @property
    def rows(self) -> int:
        """How many records the item has."""
        return prod(len(each.values) for each in self.held)


ABOUT = pytest.StashKey[About]()


@dataclass(frozen=True, slots=True)
class _Test:
    """The properties that all items of one test function share."""

    subject: Subject
    ways: tuple[str, ...]
    rung: Rung
    title: str


def describe(
    platform: Platform, items: Iterable[pytest.Item]
) -> Iterator[tuple[pytest.Item, About]]:
    """Pair each item of the ladder with what it is about; other tests are left out.

    Marks are read once for each test function, because it may have thousands of items.
    """
    known: dict[tuple[int, str], _Test | None] = {}
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        key = id(item.parent), item.originalname
        if key not in known:
            known[key] = _test(platform, item)
        if test := known[key]:
            yield item, _about(test, item.callspec.params if hasattr(item, "callspec") else {})


def _test(platform: Platform, item: pytest.Function) -> _Test | None:
    subject = subject_of(list(item.iter_markers()))
    if subject is None:
        return None
    measured = platform.measurements.get(subject.name)
    return _Test(
        subject,
        ways=ways_of(list(inspect.signature(item.function).parameters)),
        rung=measured.rung if measured and subject.kind == "measures" else Rung.PREFLIGHT,
        title=(item.function.__doc__ or item.originalname).strip().splitlines()[0],
    )


def _about(test: _Test, params: Mapping[str, Any]) -> About:
    kept = tuple(value for name in held.ARGUMENTS if isinstance(value := params.get(name), All))
    values = {name: value for name, value in params.items() if value not in kept}
    return About(
        subject=test.subject,
        ways=test.ways,
        rung=test.rung,
        title=test.title,
        nodes=_nodes(values),
        pairing=demand.part_label(values),
        size_bytes=values.get("size"),
        held=kept,
    )


def with_values(about: About, values: Mapping[str, Any], row_id: str) -> About:
    """What a row of an item is about, from its parameters."""
    label, size = demand.part_label(values), values.get("size")
    return replace(about, pairing=label, size_bytes=size, held=(), row_id=row_id)


def _nodes(values: Mapping[str, Any]) -> tuple[str, ...]:
    place = values.get("pair") or values.get("group") or values.get("node")
    return plan.nodes_of(place) if place else ()
