"""The controller learns from its workers which items they collected."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from railgauge.core.model import Outcome
from railgauge.leases.files import Leases
from railgauge.planning.held import All
from railgauge.plugin import worksheet
from railgauge.plugin.items import ABOUT, About, Subject
from railgauge.run.store import Store


def item(name, about=None, **params):
    stash = pytest.Stash()
    if about:
        stash[ABOUT] = about
    return SimpleNamespace(name=name, stash=stash, callspec=SimpleNamespace(params=params))


def measured(rung, name, nodes, pairing="", size=None):
    subject = Subject("measures", name)
    return About(subject, ("size",), rung, f"Title of {name}.", tuple(nodes), pairing, size)


def expected(name, *nodes):
    return About(Subject("expects", name), ("fact",), 0, f"Title of {name}.", nodes, "", None)


ITEMS = [
    item("kernel[a]", expected("kernel", "a")),
    item("kernel[b]", expected("kernel", "b")),
    item("memlock[a]", expected("memlock", "a")),
    item("write[a:b-mlx5_0-2B]", measured(1, "write", "ab", "mlx5_0", 2), pairing="mlx5_0"),
    item("write[a:b-mlx5_1-2B]", measured(1, "write", "ab", "mlx5_1", 2), pairing="mlx5_1"),
    item("write[a:b-mlx5_0-4B]", measured(1, "write", "ab", "mlx5_0", 4), pairing="mlx5_0"),
    item("traffic[a:b-mlx5_0]", measured(1, "write", "ab", "mlx5_0"), pairing="mlx5_0"),
    item("link[a-gpu0>gpu1]", measured(3, "copy", "a", "gpu0>gpu1"), link="gpu0>gpu1"),
    item("link[a-gpu1>gpu0]", measured(3, "copy", "a", "gpu1>gpu0"), link="gpu1>gpu0"),
    item("of somebody else"),
    item("fabric", expected("fabric")),
]


def test_items_of_one_case_or_of_one_node_s_preflight_are_a_unit():
    units = [(unit.items, unit.rung, unit.nodes, unit.case) for unit in worksheet.units_of(ITEMS)]
    assert units == [
        ((0, 2), 0, ("a",), ""),
        ((1,), 0, ("b",), ""),
        ((3, 5, 6), 1, ("a", "b"), "write[a:b-mlx5_0]"),
        ((4,), 1, ("a", "b"), "write[a:b-mlx5_1]"),
        ((7, 8), 3, ("a",), "copy[a]"),
        ((9,), -1, (), ""),
        ((10,), 0, (), ""),
    ]


@pytest.fixture
def store(tmp_path):
    Leases(tmp_path / "leases")
    return Store(tmp_path)


def test_what_a_worker_writes_is_what_the_controller_reads(store):
    worksheet.write(store, ITEMS)
    sheet = worksheet.read(store)
    assert list(sheet.units) == worksheet.units_of(ITEMS)
    records = dict(sheet.records(sheet.ids([one.name for one in ITEMS])))
    assert [one.id for one in records.values()] == [one.name for one in ITEMS]
    record = records[5]
    assert (record.rung, record.subject, record.nodes) == (1, "write", ("a", "b"))
    assert (record.pairing, record.size_bytes, record.outcome) == ("mlx5_0", 4, Outcome.ERROR)
    assert records[9].title == "of somebody else"


HOLDER = "write[a:b-all-pairings-all-sizes]"
HELD = (All("pairing", ("mlx5_0", "mlx5_1")), All("size", (2, 4 * 2**20)))


def test_an_item_that_holds_others_has_their_ids_and_records(store):
    about = replace(measured(1, "write", "ab"), held=HELD)
    worksheet.write(store, [*ITEMS[:1], item(HOLDER, about, pairing=HELD[0], size=HELD[1])])
    sheet = worksheet.read(store)
    assert sheet.units[1].case == "write[a:b]"
    ids = [f"write[a:b-{nic}-{size}]" for nic in ("mlx5_0", "mlx5_1") for size in ("2B", "4MiB")]
    assert sheet.ids(["kernel[a]", HOLDER]) == ["kernel[a]", *ids]
    items, (_, *found) = zip(*sheet.records(["kernel[a]", *ids]), strict=True)
    assert items == (0, 1, 1, 1, 1)
    assert [record.id for record in found] == ids
    assert [record.pairing for record in found] == ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]
    assert [record.size_bytes for record in found] == 2 * [2, 4 * 2**20]


def test_items_of_the_same_cases_follow_each_other_if_some_hold_others():
    def held(test, nodes):
        about = replace(measured(1, "write", nodes), held=HELD[:1])
        return item(f"{test}[{nodes}]", about, pairing=HELD[0])

    tests = [held(test, nodes) for test in ("bandwidth", "traffic") for nodes in ("ab", "cd")]
    order = worksheet.by_case([*ITEMS[:3], *tests, ITEMS[-1]])
    assert order == [*ITEMS[:3], tests[0], tests[2], tests[1], tests[3], ITEMS[-1]]
    assert worksheet.by_case(ITEMS) == ITEMS


def test_it_is_written_once(store):
    worksheet.write(store, ITEMS)
    worksheet.write(store, ITEMS[:1])
    assert len(worksheet.read(store).items) == len(ITEMS)
