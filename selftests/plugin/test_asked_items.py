"""The controller reads from a file of its workers what their items are about."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from testing.run_folder import store_in

from railgauge.core import masking
from railgauge.core.masking import Mask
from railgauge.core.model import Pair, Pairing
from railgauge.planning.collected import NO_SUBJECT, About, Subject, each_row
from railgauge.planning.sub_items import All
from railgauge.plugin import asked_items
from railgauge.plugin.items import ABOUT
from railgauge.run import store as storing

WRITE = Subject("measures", "write")


def item(name, about=None):
    stash = pytest.Stash()
    if about:
        stash[ABOUT] = about
    return SimpleNamespace(name=name, nodeid=f"tests/test_x.py::{name}", stash=stash)


def measured(nodes, pairing="", size=None, **more):
    about = About(WRITE, ("size", "traffic"), 1, "A title.", tuple(nodes), pairing, size)
    return replace(about, **more)


def fact(*nodes, **more):
    return About(Subject("expects", "kernel"), ("fact",), 0, "Of kernel.", nodes, **more)


ITEMS = [
    item("kernel[a]", fact("a")),
    item("kernel[b]", fact("b")),
    item("skipped[b]", fact("b", is_skipped=True)),
    item("write[a:b-mlx5_0-2B]", measured("ab", "mlx5_0", 2)),
    item("write[a:b-mlx5_0-4B]", measured("ab", "mlx5_0", 4)),
    item("write[b:a-mlx5_0-4B]", measured("ba", "mlx5_0", 4)),
    item("of somebody else"),
    item("fabric", fact()),
]
SPANS = (All("pairing", (Pairing("mlx5_0"), Pairing("mlx5_1", 3))), All("size", (2, 4 * 2**20)))
HOLDER = item("write[a:b-all-pairings-all-sizes]", measured("ab", spans=SPANS))


@pytest.fixture
def store(tmp_path):
    return store_in(tmp_path)


def ids(items):
    return [one.nodeid for one in items]


def rows(asked):
    """The rows of all items; what an item holds is text for whom reads it."""
    return [row for name, about in asked for row, _ in each_row(name, about)]


def test_what_a_worker_writes_is_what_the_controller_reads(store):
    asked_items.write(store, ITEMS)
    assert asked_items.read(store, ids(ITEMS)) == asked_items.of(ITEMS)


def test_an_item_that_holds_others_has_the_same_rows(store):
    asked_items.write(store, [*ITEMS, HOLDER])
    found = asked_items.read(store, ids([*ITEMS, HOLDER]))
    assert rows(found) == rows(asked_items.of([*ITEMS, HOLDER]))
    assert rows(found)[-1] == measured(
        "ab", "gpu3-mlx5_1", 4 * 2**20, row_id="tests/test_x.py::write[a:b-gpu3-mlx5_1-4MiB]"
    )
    assert found[-1][1].rows == 4


def test_an_item_that_holds_the_pairs_of_a_node_has_the_same_rows_at_each(store):
    pairs = All("pair", (Pair("a", "b"), Pair("a", "c")), "a")
    about = measured((), spans=(pairs, *SPANS))
    holder = item("write[all-pairs-of-a-all-pairings-all-sizes]", about)
    asked_items.write(store, [holder])
    ((_, read),) = found = asked_items.read(store, ids([holder]))
    assert read.spans[0] == pairs
    assert rows(found) == rows(asked_items.of([holder]))
    assert [row.nodes for row in rows(found)] == [("a", "b")] * 4 + [("a", "c")] * 4
    assert rows(found)[-1].row_id == "tests/test_x.py::write[a:c-gpu3-mlx5_1-4MiB]"


def test_an_item_of_no_test_of_the_ladder_only_has_its_name():
    assert asked_items.of([item("of somebody else")]) == [
        ("tests/test_x.py::of somebody else", About(NO_SUBJECT, (), 0, "of somebody else"))
    ]


def test_the_first_worker_writes_for_all(store):
    asked_items.write(store, ITEMS)
    asked_items.write(store, ITEMS[:1])
    assert len(asked_items.read(store, ids(ITEMS))) == len(ITEMS)


def test_items_that_do_not_fit_their_ids_are_an_error_of_the_suite(store):
    asked_items.write(store, ITEMS)
    with pytest.raises(ValueError, match="shorter"):
        asked_items.read(store, ids([*ITEMS, HOLDER]))


def test_a_node_whose_name_looks_like_a_secret_keeps_it(store, monkeypatch):
    """Otherwise the workers would wait forever for the decision about its measurement."""
    secret, mask = "Zq7vM2kX9pLw4tRb", Mask()
    mask.know({"API_TOKEN": secret})
    for module in (masking, storing):
        monkeypatch.setattr(module, "MASK_OF_PROCESS", mask)
    items = [item("x", measured(("a", secret), title=f"with {secret}"))]
    asked_items.write(store, items)
    ((_, about),) = asked_items.read(store, ids(items))
    assert (about.nodes, about.title) == (("a", secret), "with [secret]")


# --- the order of items ---


def of_pairs(test, node, spans):
    """An item of all pairs of a node, or of its first one."""
    if not spans:
        return item(f"{test}[{node}:z]", measured((node, "z")))
    pairs = All("pair", (Pair(node, "y"), Pair(node, "z")), node)
    return item(f"{test}[{pairs}]", measured((), spans=(pairs,)))


@pytest.mark.parametrize(("spans", "order"), [(True, [0, 2, 1, 3]), (False, [0, 1, 2, 3])])
def test_items_of_one_node_follow_each_other_if_some_have_sub_items(spans, order):
    tests = [of_pairs(test, node, spans) for test in ("bandwidth", "traffic") for node in "ab"]
    every = [*ITEMS[:3], *tests, ITEMS[-1]]
    expected = [*ITEMS[:3], *(tests[place] for place in order), ITEMS[-1]]
    assert ids(asked_items.by_node(every)) == ids(expected)


def test_facts_of_a_node_stay_where_they_are():
    facts = [item(f"{name}[{node}]", fact(node)) for name in ("x", "y") for node in "ab"]
    every = [*facts, HOLDER]
    assert asked_items.by_node(every) == every
