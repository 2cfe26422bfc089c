"""What the collected items are about: items of this process, or those that a worker wrote.

With ``-n`` only the workers of pytest-xdist collect items; the controller reads them from a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from railgauge.core.model import Pair
from railgauge.core.terms import Rung
from railgauge.planning.collected import NO_SUBJECT, About, Subject
from railgauge.planning.sub_items import PAIR, All
from railgauge.plugin.items import ABOUT
from railgauge.run.ladder import Items
from railgauge.run.store import Store, put_whole

# In a folder that is deleted at the end of the run.
_FILE = "leases/items.json"


def of(items: Sequence[pytest.Item]) -> Items:
    return [(item.nodeid, _about(item)) for item in items]


def by_node(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the items so that those of the same node follow each other, if some have sub-items.

    So the results of a node, once read, are still in memory for its next item.
    """
    about = [_about(item) for item in items]
    if not any(one.spans for one in about):
        return [*items]
    first: dict[object, int] = {}

    def place(at: int) -> int:
        one = about[at]
        where = one.nodes or tuple(each.of for each in one.spans)
        return first.setdefault((one.subject, where), at) if one.is_measured else at

    return [items[at] for at in sorted(range(len(items)), key=place)]


def write(store: Store, items: Sequence[pytest.Item]) -> None:
    """Write the items before the controller gets their ids; all workers write the same.

    What the items of a test share is written once.
    """
    path = store.folder / _FILE
    if path.exists():
        return
    shared: dict[str, int] = {}
    rows = []
    for item in items:
        about = _about(item)
        test = shared.setdefault(json.dumps(_of_test(about)), len(shared))
        rows.append([test, about.nodes, about.pairing, about.size_bytes])
    tests = [json.loads(one) for one in shared]
    # Names are not masked: a worker waits for the measurements of a node by its name.
    put_whole(path, json.dumps({"tests": store.plain(tests), "items": rows}))


def read(store: Store, ids: Sequence[str]) -> Items:
    """The items that a worker has written; ``ids`` are theirs."""
    data = store.read_json(_FILE)
    return list(zip(ids, _read(data["tests"], data["items"]), strict=True))


def _read(tests: Sequence[Mapping[str, Any]], rows: Sequence[Sequence[Any]]) -> Iterator[About]:
    shared = [_test(test) for test in tests]
    for test, nodes, pairing, size in rows:
        yield replace(shared[test], nodes=tuple(nodes), pairing=pairing, size_bytes=size)


def _of_test(about: About) -> dict[str, Any]:
    spans = [[each.argument, list(map(_plain, each.values)), each.of] for each in about.spans]
    subject = [about.subject.kind, about.subject.name]
    plain = {"subject": subject, "ways": about.ways, "rung": about.rung, "title": about.title}
    return {**plain, "spans": spans, "is_skipped": about.is_skipped}


def _test(plain: Mapping[str, Any]) -> About:
    return About(
        subject=Subject(*plain["subject"]),
        ways=tuple(plain["ways"]),
        rung=Rung(plain["rung"]),
        title=plain["title"],
        spans=tuple(_all(*each) for each in plain["spans"]),
        is_skipped=plain["is_skipped"],
    )


def _all(argument: str, values: Sequence[Any], of: str) -> All:
    found = (Pair(*value) for value in values) if argument == PAIR else values
    return All(argument, tuple(found), of)


def _plain(value: object) -> object:
    if isinstance(value, Pair):
        return [value.source, value.target]
    return value if isinstance(value, int) else str(value)


def _about(item: pytest.Item) -> About:
    """What an item is about; an item of any other test only has its name."""
    return item.stash.get(ABOUT, None) or About(NO_SUBJECT, (), Rung.PREFLIGHT, item.name)
