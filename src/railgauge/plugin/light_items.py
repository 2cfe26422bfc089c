"""Items that take little memory until pytest asks more of them than their name and parameters.

pytest holds 3.5 KiB for an item, and a sign-off of 128 nodes has 330,000 of them, whose tests
differ in nothing but their parameters. Here pytest makes one item of a test, with all of its
checks, and the other rows are made after this pattern: each has its name and its values. The first
time that anything else of it is asked for, such as its markers or its fixtures, pytest's own
constructor makes it whole. After its run it is light again.

Example: the rows of ``test_x[a:b-mlx5_0]`` are ``test_x[a:b-mlx5_0]``, ``test_x[a:b-mlx5_1]``, …
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from railgauge.plugin.items import TestRows, rows_of
from railgauge.run.settings import RunSettings

# pytest has no public way to make an item after another one, so some private names are used here.
# Attributes of an item that its constructor does not set.
_NOTED_BY_PYTEST = ("_instance", "location")
_OF_LIGHT_ITEMS = frozenset({"parent", "path", "config", "session"})
# What pytest's constructor fills beside the dictionary of an item's attributes.
_FILLED = {slot for kind in pytest.Function.__mro__ for slot in vars(kind).get("__slots__", ())}
_FILLED -= {"__dict__", *_OF_LIGHT_ITEMS}
_ALONE = 1  # a test of one row is made by pytest


class LightItem(pytest.Function):
    """A row of a test, made after the item ``_pattern`` of another row.

    ``_place`` is its place among the rows.
    """

    __slots__ = ("_is_whole", "_notes", "_own_id", "_pattern", "_place", "_row")
    _notes: pytest.Stash
    _own_id: str
    _pattern: Any
    _place: int
    _row: tuple[Any, ...]
    _is_whole: bool

    @classmethod
    def made_after(
        cls, pattern: pytest.Function, own_id: str, place: int, row: tuple[Any, ...]
    ) -> LightItem:
        made = cls.__new__(cls)
        made._pattern, made._place, made._row, made._is_whole = pattern, place, row, False
        made._own_id, made._notes = own_id, pytest.Stash()
        made.parent, made.path = pattern.parent, pattern.path
        made.config, made.session = pattern.config, pattern.session
        return made

    @property
    def nodeid(self) -> str:
        """The id, which stays the same object: allure-pytest knows an item by that."""
        return self._own_id

    def __hash__(self) -> int:
        """pytest's own hash is that of the id, which a light item does not keep."""
        return object.__hash__(self)

    def __repr__(self) -> str:
        return f"<Function {self.name}>"

    def __getattr__(self, name: str) -> Any:
        """Return what a light item lacks: python asks here for that alone."""
        if name in LightItem.__slots__ or self._is_whole:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        match name:
            case "name":
                return self._own_id[len(self._pattern.nodeid) - len(self._pattern.name) :]
            case "callspec":
                return self._callspec()
            case "originalname" | "fixturenames" | "_fixtureinfo":
                return getattr(self._pattern, name)
            case "stash":
                return self._notes
        self._become_whole()
        return getattr(self, name)

    def _callspec(self) -> Any:
        like = self._pattern.callspec
        return replace(
            like,
            params=dict(zip(like.params, self._row, strict=True)),
            indices=dict.fromkeys(like.indices, self._place),
            _idlist=[self.name.removeprefix(f"{self._pattern.originalname}[")[:-1]],
        )

    def _become_whole(self) -> None:
        name, like, callspec = self.name, self._pattern, self._callspec()
        self._is_whole = True
        self.__init__(  # type: ignore[misc]
            name,
            self.parent,
            callspec=callspec,
            keywords={callspec.id: True},
            fixtureinfo=like._fixtureinfo,
            originalname=like.originalname,
        )
        self.stash = self._notes

    def let_go(self) -> None:
        """Become light again: the item has run, and its reports say what is known of it.

        What a plugin of the site has noted on the item stays.
        """
        if not self._is_whole:
            return
        known = {*vars(self._pattern), *_NOTED_BY_PYTEST}
        kept = {name: value for name, value in vars(self).items() if name not in known}
        self._notes = self.stash
        vars(self).clear()  # which ends the circles of references between what it had
        del self.__dict__
        for name in _FILLED:
            delattr(self, name)
        self._is_whole = False
        for name, value in kept.items():
            setattr(self, name, value)


class LightRows:
    """Plugin that makes the rows of the ladder's tests light items."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._rows: TestRows | None = None
        self._is_pytest_to_make_all = False

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Let pytest make an item of the first row, or of all."""
        rows = rows_of(self._settings, metafunc)
        if rows is None:
            return
        values, ids = rows.values, rows.ids
        is_light = len(ids) > _ALONE or ids[:1] != [rows.pattern_id]
        if ids and is_light and not self._is_pytest_to_make_all and rows.are_plain:
            self._rows, values, ids = rows, values[:1], [rows.pattern_id]
        metafunc.parametrize(rows.names, values, ids=ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_pycollect_makeitem(
        self, collector: pytest.Collector, name: str, obj: object
    ) -> Generator[None, Any, Any]:
        self._rows = None
        made = yield
        rows, self._rows = self._rows, None
        if rows is None:
            return made
        if _is_pattern(made, rows):
            return list(_made_after(made[0], rows))
        return self._made_by_pytest(collector, name, obj)

    def _made_by_pytest(self, collector: pytest.Collector, name: str, obj: object) -> Any:
        self._is_pytest_to_make_all = True
        try:
            make = collector.ihook.pytest_pycollect_makeitem
            return make(collector=collector, name=name, obj=obj)
        finally:
            self._is_pytest_to_make_all = False


def _is_pattern(made: Any, rows: TestRows) -> bool:
    """Whether nothing but these rows has parametrized a test, of which pytest made the first."""
    if not isinstance(made, list) or len(made) != 1 or type(made[0]) is not pytest.Function:
        return False
    (item,) = made
    return [*item.callspec.params] == [*rows.names] and item.callspec.id == rows.pattern_id


def _made_after(pattern: pytest.Function, rows: TestRows) -> Iterator[LightItem]:
    function = pattern.nodeid.removesuffix(f"[{rows.pattern_id}]")
    for place, (row, row_id) in enumerate(zip(rows.values, rows.ids, strict=True)):
        yield LightItem.made_after(pattern, f"{function}[{row_id}]", place, row)
