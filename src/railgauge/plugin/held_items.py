"""Runs an item that holds others: they are made when pytest comes to it (``planning.held``).

They pass through all hooks, as if they had been collected.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from math import prod
from typing import Any, cast

import pytest

from railgauge.planning.demand import DemandInputs, count
from railgauge.planning.held import id_at
from railgauge.plugin.items import ABOUT, shown, with_values
from railgauge.plugin.recording import DRAFT, Draft

_PLACE = pytest.StashKey[int]()


def wanted(config: pytest.Config, scope: DemandInputs) -> bool:
    """Whether items hold others: not if the user selects items by their names."""
    said = config.option
    if said.keyword or said.deselect or any("[" in arg for arg in config.args):
        return False
    return count(scope) > int(said.most_items)


def ids_of(item: pytest.Item) -> list[str]:
    """The ids of an item's records."""
    return [id_at(item.nodeid, _held(item), words) for words, _ in _each(item)]


def place(session: pytest.Session) -> int:
    """Note where the items that hold others are; return how many items will run."""
    for number, item in enumerate(session.items):
        if _held(item):
            item.stash[_PLACE] = number
    return _will_run(session.items)


def told(items: Sequence[pytest.Item]) -> str:
    """What a collection says of items that hold others; empty if there are none."""
    if not any(map(_held, items)):
        return ""
    return (
        f"{_will_run(items):,} items will run, for {len(items):,} that are collected: one of these "
        "may hold all pairings and message sizes of a test at one place"
    )


def _will_run(items: Sequence[pytest.Item]) -> int:
    return sum(prod(len(each.values) for each in _held(item)) for item in items)


def holds(item: pytest.Item) -> bool:
    return bool(_held(item))


def _held(item: pytest.Item) -> Sequence[Any]:
    about = item.stash.get(ABOUT, None)
    return about.held if about else ()


def _each(item: pytest.Item) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """The words of each id, and the values of the test's arguments."""
    names = [each.argument for each in _held(item)]
    for values in product(*(each.values for each in _held(item))):
        chosen = dict(zip(names, values, strict=True))
        yield [shown(name, value) for name, value in chosen.items()], chosen


def run_of(item: pytest.Item, following: pytest.Item | None) -> Iterator[tuple[Any, Any]]:
    """The items to run for an item, each with the next one, until the session is to stop."""
    every = [_made(item, *one) for one in _each(item)] if holds(item) else [item]
    for one, after in zip(every, [*every[1:], following], strict=True):
        yield one, after
        if item.session.shouldfail or item.session.shouldstop:
            return


@contextmanager
def standing_in(item: pytest.Item, one: pytest.Item) -> Iterator[None]:
    """Have one of the items in the session's list, where pytest-xdist looks for its name."""
    if one is item:
        yield
        return
    items = item.session.items
    items[item.stash[_PLACE]] = one
    try:
        yield
    finally:
        items[item.stash[_PLACE]] = item


def run(item: pytest.Item, following: pytest.Item | None) -> None:
    """Run all items that an item holds."""
    for one, after in run_of(item, following):
        with standing_in(item, one):
            item.config.hook.pytest_runtest_protocol(item=one, nextitem=after)


def _made(item: pytest.Item, words: Sequence[str], chosen: dict[str, Any]) -> pytest.Item:
    holder = cast("pytest.Function", item)
    name = id_at(holder.name, _held(item), words)
    params = {**holder.callspec.params, **chosen}
    # Newer versions of pytest make the id of an item from its callspec, older ones from its name.
    own_id = name.removeprefix(f"{holder.originalname}[").removesuffix("]")
    callspec = dataclasses.replace(holder.callspec, params=params, _idlist=(own_id,))
    one = pytest.Function.from_parent(
        holder.parent,
        name=name,
        callspec=callspec,
        fixtureinfo=holder._fixtureinfo,
        keywords={name: True},
        originalname=holder.originalname,
    )
    one.stash[ABOUT] = with_values(item.stash[ABOUT], params)
    one.stash[DRAFT] = Draft()
    return cast("pytest.Item", one)
