"""The ladder of a run: its units, and the questions of each row by the required checks."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace

import pytest
from testing.acceptance import H200, HOMELAB, METAX, TCPX, make_project
from testing.core_values import ROOT, cluster

from railgauge.config import thresholds
from railgauge.core.model import Outcome, Pair
from railgauge.core.question import LIMITS, RATIO, READ, Question
from railgauge.planning import plan
from railgauge.planning.collected import NO_SUBJECT, About, Subject
from railgauge.planning.required import ItemKey, LevelScope, required_checks
from railgauge.planning.sub_items import All
from railgauge.run.ladder import Ladder, begun

ASKS_ITEMS = """
import pickle
from pathlib import Path
from railgauge.plugin import asked_items
from railgauge.plugin.opening import SETTINGS


def pytest_collection_finish(session):
    settings = session.config.stash[SETTINGS]
    found = asked_items.of(session.items), settings.declared, settings.level
    Path("items.pickle").write_bytes(pickle.dumps(found))
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """``collected(*options)``: the scope of a run, and the items that pytest collects for it."""
    project = make_project(tmp_path_factory.mktemp("ladder") / "project")
    project.write("conftest.py", (ROOT / "conftest.py").read_text() + ASKS_ITEMS)

    def collected(*options):
        run = project.run("--collect-only", "-q", *options)
        assert run.code == 0, run.output[-3000:]
        items, declared, level = pickle.loads((project.folder / "items.pickle").read_bytes())
        platform = thresholds.load(declared.platform, ROOT / "thresholds")
        return LevelScope(platform, declared, level), items

    return collected


HELD = ("--most-items", "0")


@pytest.mark.parametrize(
    "options",
    [
        (*H200, "--level", "smoke"),
        (*H200, "--level", "smoke", *HELD),
        (*TCPX, "--level", "nightly"),
        (*METAX, "--level", "nightly", *HELD),
        (*HOMELAB, "--level", "signoff"),
    ],
    ids=lambda options: " ".join(options[1:]),
)
def test_the_rows_ask_what_the_level_requires(collected, options):
    """Each required check is in the one row that is about it, and no row asks for more."""
    scope, items = collected(*options)
    ladder = Ladder(scope, items)
    rows = [row for unit in ladder.units for row in ladder.rows(unit)]
    wanted = {one.key: one.question for one in required_checks(scope) if not one.why_not}
    found = []
    for row in rows:
        read = [one.case for one in row.item.questions if one.kind == READ]
        asked = [one for one in row.item.questions if one.kind != READ]
        assert read[:1] == ([row.case] if row.case else [])
        assert {one.case for one in asked if one.case} <= set(read)
        one = row.item
        keys = [ItemKey(one.subject, w, one.nodes, one.pairing, one.size_bytes) for w in one.ways]
        assert asked == [wanted[key] for key in keys]
        found += keys
    assert Counter(found) == Counter(wanted.keys())
    places = [row.place for row in rows]
    ids = list(ladder.ids())
    assert sorted(places) == list(range(len(ids)))
    assert [row.item.id for row in rows] == [ids[place] for place in places]
    assert {case for unit in ladder.units for case in ladder.cases(unit)} == {
        question.case for question in wanted.values() if question.case
    }


def test_sub_items_have_the_rows_that_are_items_in_a_smaller_run(collected):
    options = (*METAX, "--level", "nightly")
    whole, held = (Ladder(*collected(*options, *more)) for more in ((), HELD))
    assert sorted(held.ids()) == sorted(whole.ids())
    by_id = [
        {row.item.id: row.item for unit in one.units for row in one.rows(unit)}
        for one in (whole, held)
    ]
    assert by_id[0] == by_id[1]
    assert len(held.units) < len(whole.units)
    orders = [[unit for unit in one.units if unit.kind == REDUCE] for one in (whole, held)]
    assert [unit.case for unit in orders[0]] == [unit.case for unit in orders[1]], "by rounds"


# --- units of made-up items ---

PLATFORM = thresholds.load("h200", ROOT / "thresholds")


def scope_of(platform, level="nightly"):
    declared = cluster("a", "b", "c")
    return LevelScope(platform, declared, plan.level(platform, declared, level))


SCOPE = scope_of(PLATFORM)
WRITE, COPY, REDUCE = "host_write_bandwidth", "gpu_copy_bandwidth", "pair_all_reduce"


def measured(name, nodes, pairing="", size=None, *, way="size", rung=None, **more):
    at = PLATFORM.measurements[name].rung if rung is None else rung
    about = About(Subject("measures", name), (way,), at, "A title.", tuple(nodes), pairing, size)
    part = "-".join(map(str, (":".join(nodes), pairing, size)))
    return f"{name}-{way}[{part}]", replace(about, **more)


def fact(name, *nodes, **more):
    about = About(Subject("expects", name), ("fact",), 0, "A title.", nodes)
    return f"{name}[{':'.join(nodes)}]", replace(about, **more)


def ladder(*items):
    return Ladder(SCOPE, items)


def test_items_of_one_case_or_of_one_node_s_preflight_are_a_unit():
    made = ladder(
        fact("kernel", "a"),
        fact("kernel", "b"),
        fact("memlock", "a"),
        measured(WRITE, "ab", "mlx5_0", 2),
        measured(WRITE, "ab", "mlx5_1", 2),
        measured(WRITE, "ab", "mlx5_0", 4),
        measured(WRITE, "ab", "mlx5_0", way="traffic"),
        measured(COPY, "a", "gpu0>gpu1", way="link"),
        measured(COPY, "a", "gpu1>gpu0", way="link"),
        ("of somebody else", About(NO_SUBJECT, (), 0, "x")),
        fact("fabric"),
    )
    found = sorted((unit.items, unit.rung, unit.nodes, unit.case) for unit in made.units)
    assert found == [
        ((0, 2), 0, ("a",), ""),
        ((1,), 0, ("b",), ""),
        ((3, 5, 6), 1, ("a", "b"), f"{WRITE}[a:b-mlx5_0]"),
        ((4,), 1, ("a", "b"), f"{WRITE}[a:b-mlx5_1]"),
        ((7, 8), 3, ("a",), f"{COPY}[a]"),
    ]


def test_items_that_pytest_skips_are_in_no_unit_and_have_their_places():
    skipped = measured(WRITE, "ab", "mlx5_0", 2, is_skipped=True)
    made = ladder(skipped, measured(WRITE, "ab", "mlx5_0", 4), fact("kernel", "a", is_skipped=True))
    assert [unit.items for unit in made.units] == [(1,)]
    assert len(list(made.ids())) == len(list(made.records())) == 3
    assert [row.place for row in made.rows(made.units[0])] == [1]


HOLDER = f"{WRITE}[a:b-all-pairings-all-sizes]"
ALL = (All("pairing", ("mlx5_0", "mlx5_1")), All("size", (2, 4 * 2**20)))


def test_an_item_that_holds_others_is_one_unit_with_their_ids_records_and_cases():
    about = replace(measured(WRITE, "ab")[1], spans=ALL)
    made = ladder(fact("kernel", "a"), (HOLDER, about), measured(COPY, "a"))
    unit = made.units[1]
    assert (unit.case, unit.items) == (f"{WRITE}[a:b]", (1,))
    ids = [f"{WRITE}[a:b-{nic}-{size}]" for nic in ("mlx5_0", "mlx5_1") for size in ("2B", "4MiB")]
    assert list(made.ids())[1:5] == [record.id for record in made.records()][1:5] == ids
    rows = list(made.rows(unit))
    assert [row.place for row in rows] == [1, 2, 3, 4]
    assert [row.item.pairing for row in rows] == ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]
    assert [row.item.size_bytes for row in rows] == 2 * [2, 4 * 2**20]
    assert [row.place for row in made.rows(made.units[2])] == [5]


def test_the_pairs_of_a_node_that_an_item_holds_are_a_unit_each():
    pairs = All("pair", (Pair("a", "b"), Pair("a", "c")), "a")
    about = replace(measured(WRITE, ())[1], spans=(pairs, *ALL))
    made = ladder((f"{WRITE}[{'-'.join(map(str, about.spans))}]", about), measured(COPY, "a"))
    assert {unit.case: unit.items for unit in made.units} == {
        f"{WRITE}[a:b]": (0,), f"{WRITE}[a:c]": (1,), f"{COPY}[a]": (2,),
    }  # fmt: skip
    of = {unit.case: [row.place for row in made.rows(unit)] for unit in made.units}
    assert of == {f"{WRITE}[a:b]": [0, 1, 2, 3], f"{WRITE}[a:c]": [4, 5, 6, 7], f"{COPY}[a]": [8]}
    assert list(made.ids())[4] == f"{WRITE}[a:c-mlx5_0-2B]"


def test_the_items_at_one_place_with_all_pairings_share_a_unit():
    sizes = replace(measured(WRITE, "ab")[1], spans=ALL)
    traffic = replace(measured(WRITE, "ab", way="traffic")[1], spans=ALL[:1])
    made = ladder((HOLDER, sizes), (f"traffic[a:b-{ALL[0]}]", traffic))
    (unit,) = made.units
    assert unit.items == (0, 1)
    assert [row.place for row in made.rows(unit)] == [0, 1, 2, 3, 4, 5]
    assert [case.nodes for case in made.cases(unit)] == [("a", "b")] * len(made.cases(unit))


def test_a_record_has_no_result_until_its_item_is_judged():
    item_id, about = measured(WRITE, "ab", "mlx5_0", 4)
    record = begun(about, item_id)
    assert (record.id, record.rung, record.subject) == (item_id, 1, WRITE)
    assert (record.nodes, record.pairing, record.size_bytes) == (("a", "b"), "mlx5_0", 4)
    assert (record.outcome, record.ways, record.questions) == (Outcome.ERROR, ("size",), ())
    assert list(ladder((item_id, about)).records()) == [record]


def test_an_item_that_the_level_does_not_require_is_measured_and_read():
    """An item of a site's own asks for another size; its test says what it wants to know."""
    made = ladder(measured(WRITE, "ab", "mlx5_0", 3))
    (row,) = made.rows(made.units[0])
    assert row.item.questions == (Question(READ, row.case),)
    assert (row.case.measurement, row.case.nodes) == (WRITE, ("a", "b"))


@pytest.mark.parametrize("name", ["metax-c500", "mi300x"])
def test_a_ratio_names_the_measurement_with_which_it_is_compared(name):
    scope = scope_of(thresholds.load(name, ROOT / "thresholds"), "signoff")
    ratios = [(one, each) for one in scope.platform.measurements.values() for each in one.asserts]
    found = [(one, ratio) for one, ratio in ratios if ratio.per == RATIO]
    assert found
    for one, ratio in found:
        nodes = plan.nodes_of(plan.places(one, scope.level)[0])
        made = Ladder(scope, [measured(one.name, nodes, way=RATIO, rung=one.rung)])
        (unit,) = made.units
        (other,) = made.compared(unit)
        assert other.measurement == ratio.over
        (row,) = made.rows(unit)
        assert [asked.kind for asked in row.item.questions] == [READ, READ, RATIO]
        assert row.item.questions[1].case == row.item.questions[2].other == other
        alone = Ladder(scope, [measured(one.name, nodes, way=LIMITS, rung=one.rung)])
        assert alone.compared(alone.units[0]) == (), "the item that compares was not collected"


# --- the order of units ---


def test_pairs_are_measured_by_rounds_in_whatever_order_they_were_collected():
    scope = scope_of(PLATFORM, "signoff")
    measurement = PLATFORM.measurements[REDUCE]
    every = [plan.nodes_of(place) for place in plan.places(measurement, scope.level)]
    other = ("c", "z")  # a test of a site's own
    made = Ladder(scope, [measured(REDUCE, nodes) for nodes in sorted([*every, other])])
    assert [unit.nodes for unit in made.units] == [*every, other]


def test_measurements_come_in_the_order_in_which_they_were_collected():
    names = (WRITE, "host_read_bandwidth", COPY)
    items = [measured(name, nodes, size=4) for name in names for nodes in ("ab", "bc")]
    kinds = [unit.kind for unit in ladder(fact("kernel", "a"), *items).units]
    assert list(dict.fromkeys(kinds)) == ["", *names]


def test_groups_come_after_the_pairs_of_their_rung():
    group = measured(REDUCE, "abc", rung=4)
    made = ladder(group, measured(REDUCE, "ab", rung=4), measured(WRITE, "ab", "mlx5_0", 1))
    assert [(unit.rung, unit.nodes) for unit in made.units] == [
        (1, ("a", "b")), (4, ("a", "b")), (4, ("a", "b", "c")),
    ]  # fmt: skip


# --- gates ---


def test_the_nodes_of_a_scan_of_the_subnet_have_no_gate():
    scans = [one.name for one in PLATFORM.measurements.values() if one.scope == "fabric"]
    made = ladder(fact("kernel", "a"), measured(scans[0], "a", way="fabric"), measured(COPY, "a"))
    assert [made.gated(unit) for unit in made.units] == [("a",), (), ("a",)]
    (row,) = made.rows(made.units[1])
    assert (row.gated, row.item.nodes) == ((), ("a",))


def test_a_unit_is_below_others_if_one_of_its_nodes_has_a_higher_rung():
    made = ladder(
        fact("kernel", "a"),
        fact("kernel", "c"),
        measured(WRITE, "ab", "mlx5_0", 2),
        measured(WRITE, "cd", "mlx5_0", 2),
        measured(COPY, "b", way="link"),
    )
    below = [unit.items for unit in made.units if made.is_below_others(unit)]
    assert below == [(0,), (1,), (2,)]
