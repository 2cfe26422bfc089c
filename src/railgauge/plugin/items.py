"""Makes items of test functions: the subject, the hardware and the rung of each.

A mark names the subjects of a test: ``measures(NAME, ...)`` measurements of the platform file,
``expects(NAME, ...)`` expectations. The test's arguments (``ARGUMENTS``) select the declared
hardware over which it is parametrized; a family, which has several subjects, is parametrized over
those that apply too (``marks.MEMBER``).

Example: a test with the arguments ``pair``, ``pairing`` and ``size`` has an item for each pair of
the rounds, each pairing and each asserted message size, such as ``[a:b-mlx5_0-8MiB]``; in a family
it is ``[host_read_bandwidth-a:b-mlx5_0-8MiB]``.
"""

from __future__ import annotations

import gc
import inspect
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from railgauge.config.thresholds import Platform
from railgauge.core.terms import Rung
from railgauge.planning import expectations, plan, required, sub_items
from railgauge.planning.collected import About, Subject, shown
from railgauge.planning.marks import MEMBER, NEEDS, ways_of, wrong_family
from railgauge.planning.sub_items import All
from railgauge.run.settings import RunSettings
from railgauge.subnet.declared import declared_switches

MARKS = {
    "measures": "measures(name, ...): the measurements of the platform file that this test judges",
    "expects": "expects(name, ...): the expectations of the platform file that this test judges",
}
NEEDS_MARK = f"{NEEDS}(what, ...): hardware that must be declared for this test to be possible"


def subjects_of(marks: Sequence[pytest.Mark]) -> tuple[Subject, ...]:
    """The subjects that the marks of a test name; none unless there is exactly one such mark."""
    found = [mark for mark in marks if mark.name in MARKS]
    return tuple(Subject(found[0].name, name) for name in found[0].args) if len(found) == 1 else ()


def applies(
    settings: RunSettings,
    complaints: list[str],
    name: str,
    marks: Sequence[pytest.Mark],
    arguments: Sequence[str] = (),
) -> bool:
    """Whether a test applies to the platform; adds a complaint if a subject is unknown."""
    subjects = subjects_of(marks)
    if not subjects:
        complaints.append(f"{name}: needs one mark, measures(NAME, ...) or expects(NAME, ...)")
        return False
    names = [one.name for one in subjects]
    if what := wrong_family(subjects[0].kind, names, arguments):
        complaints.append(f"{name}: {what}")
        return False
    found = [_applies(settings, complaints, name, one, arguments) for one in subjects]
    return any(found)


def _applies(
    settings: RunSettings,
    complaints: list[str],
    name: str,
    subject: Subject,
    arguments: Sequence[str],
) -> bool:
    if subject.name in settings.not_applicable or subject.name in settings.not_limited:
        return False
    if settings.level.scan.is_missing and subject.name in required.SUBNET:
        return False  # the level still requires it, so it is reported as not run
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
    wanted = required.ways(platform.measurements[subject.name], settings.level.name)
    return all(way in wanted for way in ways_of(arguments))


@dataclass(frozen=True, slots=True)
class TestRows:
    """The rows of a test: the names of its arguments, and of each row their values."""

    __test__ = False

    names: Sequence[str]
    values: Sequence[tuple[Any, ...]]


def rows_of(settings: RunSettings, metafunc: pytest.Metafunc) -> TestRows | None:
    """The rows of a test of the ladder: one for each piece of declared hardware."""
    subjects = subjects_of(list(metafunc.definition.iter_markers()))
    if not subjects:
        return None
    names = [name for name in ARGUMENTS if name in metafunc.fixturenames]
    if len(subjects) == 1:
        return TestRows(names, _rows(settings, metafunc, names, subjects[0]))
    arguments = list(inspect.signature(metafunc.function).parameters)
    values: list[tuple[Any, ...]] = []
    for one in subjects:
        if _applies(settings, [], "", one, arguments):
            values += [(one.name, *row) for row in _rows(settings, metafunc, names, one)]
    return TestRows([MEMBER[subjects[0].kind], *names], values)


def _rows(
    settings: RunSettings, metafunc: pytest.Metafunc, names: Sequence[str], subject: Subject
) -> list[tuple[Any, ...]]:
    kept = _spanned(settings, metafunc)
    choices = [_parameters(settings, subject, name, is_spanned=name in kept) for name in names]
    rows: list[tuple[Any, ...]] = list(product(*choices))
    if {"pair", "pairing"} <= set(names) and sub_items.PAIR not in kept:
        pair, pairing = names.index("pair"), names.index("pairing")
        measurement = settings.platform.measurements[subject.name]
        over = plan.paths(settings.platform, measurement, settings.level.name)
        turn = plan.turns(settings.level, over)
        rows.sort(key=lambda row: turn(row[pair], _first(row[pairing])))
    return rows


class LadderRows:
    """Plugin that parametrizes the tests of the ladder over the declared hardware.

    It makes the ids of the rows itself, because pytest would escape letters that are not ASCII, and
    names of nodes may have such letters.
    """

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._is_naming = False

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if rows := rows_of(self._settings, metafunc):
            self._is_naming = True
            try:
                metafunc.parametrize(rows.names, rows.values)
            finally:
                self._is_naming = False

    def pytest_make_parametrize_id(self, val: object, argname: str) -> str | None:
        return shown(argname, val) if self._is_naming else None


def _spanned(settings: RunSettings, metafunc: pytest.Metafunc) -> Collection[str]:
    """The arguments of a test of which one item has all values.

    pytest sets up a fixture once for each item, so no fixture may ask for such an argument.
    """
    if not settings.has_sub_items or _fixtures_ask_for(sub_items.PARTS, metafunc):
        return ()
    return (
        sub_items.PARTS
        if _fixtures_ask_for([sub_items.PAIR], metafunc)
        else (sub_items.PAIR, *sub_items.PARTS)
    )


# The arguments over which a test may be parametrized, in the order of the ids. Pairs are ordered by
# round, so that consecutive items use different nodes; see ``plan.turns`` for pairs and pairings.
ARGUMENTS = ("pair", "group", "node", "switch", "pairing", "gpu", "nic", "adapter", "link", "size")


def _fixtures_ask_for(arguments: Collection[str], metafunc: pytest.Metafunc) -> bool:
    """Whether a fixture of a test asks for one of these."""
    known = metafunc._arg2fixturedefs.values()  # ``fixturenames`` does not show which fixture asks
    return any(not {*arguments}.isdisjoint(one.argnames) for fixtures in known for one in fixtures)


_MEASURED = frozenset({"pair", "group", "node", "switch", "pairing", "size"})


def _parameters(
    settings: RunSettings, subject: Subject, argument: str, *, is_spanned: bool
) -> Sequence[object]:
    """The values of an argument, which may be values that stand for several each."""
    values = _choices(settings, subject, argument)
    if not is_spanned:
        return values
    if argument != sub_items.PAIR:
        return [All(argument, tuple(values))]
    of = defaultdict[str, list[object]](list)
    for pair in values:
        of[pair.source].append(pair)
    return [All(argument, tuple(pairs), source) for source, pairs in of.items()]


def _first(value: Any) -> Any:
    return value.values[0] if isinstance(value, All) else value


def _choices(settings: RunSettings, subject: Subject, argument: str) -> Sequence[Any]:
    platform = settings.platform
    if subject.kind == "measures" and argument in _MEASURED:
        return _measured_choices(settings, subject.name, argument)
    if argument == "node":
        return settings.level.nodes
    if argument == "link":
        return required.links(platform)
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


ABOUT = pytest.StashKey[About]()


@dataclass(frozen=True, slots=True)
class _Test:
    """The properties that all items of one test function share."""

    subject: Subject
    ways: tuple[str, ...]
    rung: Rung
    title: str
    is_skipped: bool


def describe(
    platform: Platform, items: Iterable[pytest.Item]
) -> Iterator[tuple[pytest.Item, About]]:
    """Pair each item of the ladder with what it is about; other tests are left out.

    Marks are read once for each test function, because it may have thousands of items.
    """
    known: dict[tuple[int, str], Mapping[object, _Test]] = {}
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        key = id(item.parent), item.originalname
        if key not in known:
            known[key] = _tests(platform, item)
        params = item.callspec.params if hasattr(item, "callspec") else {}
        member = next((params[name] for name in MEMBER.values() if name in params), None)
        if test := known[key].get(member):
            yield item, _about(test, params)


def _tests(platform: Platform, item: pytest.Function) -> Mapping[object, _Test]:
    """What the items of each subject share; that of a test of one subject is under ``None``."""
    subjects = subjects_of(list(item.iter_markers()))
    if len(subjects) == 1:
        return {None: _test(platform, item, subjects[0])}
    return {one.name: _test(platform, item, one) for one in subjects}


def _test(platform: Platform, item: pytest.Function, subject: Subject) -> _Test:
    measured = platform.measurements.get(subject.name)
    return _Test(
        subject,
        ways=ways_of(list(inspect.signature(item.function).parameters)),
        rung=measured.rung if measured and subject.kind == "measures" else Rung.PREFLIGHT,
        title=_title(inspect.cleandoc(item.function.__doc__ or item.originalname), subject.name),
        is_skipped=item.get_closest_marker("skip") is not None,
    )


def _title(text: str, name: str) -> str:
    """What follows ``NAME:`` in the docstring of a subject's test, else the first line of it."""
    own = re.search(rf"^{re.escape(name)}: (.*(?:\n +.*)*)", text, re.MULTILINE)
    return " ".join(own[1].split()) if own else text.partition("\n")[0]


def _about(test: _Test, params: Mapping[str, Any]) -> About:
    kept = tuple(value for value in params.values() if isinstance(value, All))
    values = {name: value for name, value in params.items() if value not in kept}
    return About(
        subject=test.subject,
        ways=test.ways,
        rung=test.rung,
        title=test.title,
        nodes=_nodes(values),
        pairing=required.part_label(values),
        size_bytes=values.get("size"),
        spans=kept,
        is_skipped=test.is_skipped,
    )


def _nodes(values: Mapping[str, Any]) -> tuple[str, ...]:
    place = values.get("pair") or values.get("group") or values.get("node")
    return plan.nodes_of(place) if place else ()
