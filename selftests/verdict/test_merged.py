"""The records of several runs as those of one: order, conflicts, and what was read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import item
from testing.merged_runs import ITEM, PAIR, fact, pair, run

from railgauge.core.errors import BadInput, NodeUnreachable
from railgauge.core.model import Outcome
from railgauge.core.terms import Rung
from railgauge.diagnosis import behind_peers
from railgauge.facts import NodeFacts
from railgauge.facts.parts import InventoryPart, PartKind
from railgauge.verdict import history
from railgauge.verdict.merged import WHOLE, assemble, in_order


def at(name, began, ended="", **more):
    """A run with these times."""
    one = run(name, 1, **more)
    return replace(one, plan=replace(one.plan, began=began, ended=ended or began))


def test_items_of_all_runs_are_merged_lowest_rung_first():
    found = assemble([run("r1", 1, pair("a", "b"), fact("a")), run("r2", 2, fact("b"))])
    assert list(found.records) == [ITEM.format("a"), ITEM.format("b"), PAIR.format("a:b")]
    assert found.part_of[ITEM.format("b")] == 1
    assert [part.run_id for part in found.parts] == ["r1", "r2"]


def test_the_merged_run_lists_what_each_run_measured_and_who_ran_it():
    whole, again = run("r1", 1), run("r2", 2, only=("a",), no_gates=True)
    whole = replace(whole, plan=replace(whole.plan, operator="M. Ohm"))
    one, two = assemble([whole, again]).parts
    assert (one.what, one.operator, one.no_gates) == (WHOLE, "M. Ohm", False)
    assert (two.what, two.operator, two.no_gates) == (again.plan.part.what, "", True)


@pytest.mark.parametrize(
    "other", ["host_write_bandwidth::plain[a]", "kernel::kernel_log[a]", "soak/tests/a.py::b[a]"]
)
def test_an_item_that_no_test_made_is_left_out(other):
    made = item(other, rung=Rung.PREFLIGHT, nodes=("a",))
    assert list(assemble([run("r1", 1, made, fact("a"))]).records) == [ITEM.format("a")]


def test_an_item_that_two_runs_have_measured_is_refused_by_name():
    with pytest.raises(BadInput, match=r"r2: has measured .*\[a\], and r1 has too") as error:
        assemble([run("r1", 1, fact("a")), run("r2", 2, fact("a", Outcome.FAILED))])
    assert error.value.remedy.endswith("only a run with --only replaces a measurement")


def test_an_item_that_one_run_did_not_reach_is_taken_from_the_other():
    other = run("r2", 2, fact("a"))
    found = assemble([run("r1", 1, fact("a", Outcome.NOT_RUN)), other])
    assert found.records[ITEM.format("a")].outcome is Outcome.PASSED
    found = assemble([run("r1", 1, fact("a")), run("r2", 2, fact("a", Outcome.NOT_RUN), fact("b"))])
    assert found.records[ITEM.format("a")].outcome is Outcome.PASSED
    assert found.records[ITEM.format("b")].outcome is Outcome.PASSED


def test_a_run_twice_and_runs_out_of_order_are_refused():
    one, two, three = run("r1", 1), run("r2", 2), run("r3", 3)
    with pytest.raises(BadInput, match="r1: is given twice"):
        assemble([one, one, two, two])
    with pytest.raises(BadInput, match="r2: is not in the order"):
        assemble([two, one, three])
    assert in_order([two, one]) == [one, two]


def test_a_run_without_a_beginning_comes_before_every_other_one():
    """Also before those of times before 1970, which no clock should show."""
    early, late = at("r1", "1969-12-31T00:00:00+00:00"), at("r2", "1970-01-02T00:00:00+00:00")
    unset = [at("r3", ""), at("r4", "")]
    assert in_order([late, unset[1], early, unset[0]]) == [*unset, early, late]


@pytest.mark.parametrize("field", ["began", "ended"])
def test_a_run_without_its_times_is_refused(field):
    one = run("r1", 1)
    with pytest.raises(BadInput, match="r1: does not say when it began and ended"):
        assemble([replace(one, plan=replace(one.plan, **{field: ""}))])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("2026-11-24T01:00:00", "'2026-11-24T01:00:00' is a time without its offset from UTC"),
        ("noon", "'noon' is not a time"),
        ("x" * 50, f"'{'x' * 40}' is not a time"),
    ],
)
def test_a_text_that_is_no_time_with_an_offset_is_refused(text, what):
    with pytest.raises(BadInput) as error:
        assemble([at("r1", text)])
    assert error.value.what == what


# --- measured again ---


def test_a_later_run_of_a_node_replaces_what_the_earlier_one_measured_of_it():
    first = run("r1", 1, fact("a", Outcome.FAILED, reason="odd"), fact("b"), pair("a", "b"))
    again = run("r2", 2, fact("a"), pair("a", "b", Outcome.MARGINAL), only=("a",))
    found = assemble([first, again])
    assert {name: one.outcome for name, one in found.records.items()} == {
        ITEM.format("a"): Outcome.PASSED,
        ITEM.format("b"): Outcome.PASSED,
        PAIR.format("a:b"): Outcome.MARGINAL,
    }
    (replaced,) = found.parts[1].replaces
    assert (replaced.node, replaced.run, replaced.ended) == ("a", "r1", first.plan.ended)
    assert replaced.before == {"failed": 1, "passed": 1}
    assert replaced.reason == "odd"
    assert replaced.now == {"marginal": 1, "passed": 1}
    (line,) = history.measured_again(found.parts)
    assert line.startswith("a: 1 failed, 1 passed (odd) in r1, ended 2026-11-24")
    assert "1 marginal, 1 passed in r2, begun 2026-11-24T02" in line


def test_a_later_run_replaces_only_items_about_its_nodes():
    first = run("r1", 1, fact("b", Outcome.FAILED))
    with pytest.raises(BadInput, match="has measured"):
        assemble([first, run("r2", 2, fact("b"), only=("a",))])


def test_items_that_the_later_run_did_not_measure_stay():
    first = run("r1", 1, fact("a", Outcome.FAILED), pair("a", "b", Outcome.FAILED))
    again = run("r2", 2, fact("a"), pair("a", "b", Outcome.NOT_RUN), only=("a",))
    assert assemble([first, again]).records[PAIR.format("a:b")].outcome is Outcome.FAILED


def test_an_older_run_of_the_node_is_refused():
    first = run("r1", 3, fact("a", Outcome.FAILED))
    with pytest.raises(BadInput, match=r"r2: began .* before r1 ended .* only a later"):
        assemble([run("r2", 1, fact("a"), only=("a",)), first])
    first = run("r1", 1, fact("a", Outcome.FAILED), ended="2026-11-24T05:00:00+00:00")
    with pytest.raises(BadInput, match="only a later"):
        assemble([first, run("r2", 2, fact("a"), only=("a",))])


def test_a_run_that_began_as_the_earlier_one_ended_is_later():
    first = run("r1", 1, fact("a", Outcome.FAILED), ended="2026-11-24T02:00:00+00:00")
    found = assemble([first, run("r2", 2, fact("a"), only=("a",))])
    assert found.records[ITEM.format("a")].outcome is Outcome.PASSED


def test_each_node_that_was_measured_again_is_reported_by_itself():
    """Nothing of ``c`` was replaced; the reason is that of the first of the worst items."""
    first = run(
        "r1",
        1,
        fact("a", Outcome.MARGINAL, reason="near"),
        fact("b", Outcome.FAILED, reason="odd"),
        pair("a", "b", Outcome.FAILED, reason="slow"),
        pair("a", "d", Outcome.FAILED, reason="late"),
    )
    items = [fact("a"), fact("b"), pair("a", "b"), pair("a", "d")]
    (_, again) = assemble([first, run("r2", 2, *items, only=("c", "a", "b"))]).parts
    assert [(one.node, one.before, one.reason) for one in again.replaces] == [
        ("a", {"failed": 2, "marginal": 1}, "slow"),
        ("b", {"failed": 2}, "odd"),
    ]


def test_a_run_that_failed_stays_listed_however_often_its_node_is_measured_again():
    """Replaced results are listed for each run that had measured them, with its own reason."""
    runs = [
        run("r1", 1, fact("a", Outcome.FAILED, reason="odd"), pair("a", "b", Outcome.BLOCKED)),
        run("r2", 2, pair("a", "b", Outcome.FAILED, reason="slow"), only=("a",)),
        run("r3", 3, fact("a"), pair("a", "b"), only=("a",)),
    ]
    _, second, third = assemble(runs).parts
    ((replaced,), (one, two)) = second.replaces, third.replaces
    assert (replaced.run, replaced.before, replaced.now) == ("r1", {"blocked": 1}, {"failed": 1})
    assert (one.run, one.ended, one.before, one.reason) == (
        *("r1", runs[0].plan.ended),
        *({"failed": 1}, "odd"),
    )
    assert (two.run, two.ended, two.before, two.reason) == (
        *("r2", runs[1].plan.ended),
        *({"failed": 1}, "slow"),
    )
    assert (one.now, two.now) == ({"passed": 1}, {"passed": 1})


@pytest.mark.parametrize("again", [("a",), ("a", "b")])
def test_a_node_that_was_behind_its_peers_is_reported_with_its_remeasurements(again):
    """The comparison is made again from all measurements, even if the later run made none."""

    def compared(node, outcome, **more):
        return item(behind_peers.ITEMS.item_id(node), outcome, nodes=(node,), **more)

    behind = compared("a", Outcome.FAILED, reason="40 % behind")
    first = run("r1", 1, fact("a"), behind, compared("b", Outcome.PASSED), pair("a", "b"))
    later = run("r2", 2, fact("a"), *(compared(n, Outcome.PASSED) for n in again), only=("a",))
    found = assemble([first, later])
    (replaced,) = found.parts[1].replaces
    assert (replaced.before, replaced.reason) == ({"failed": 1, "passed": 1}, "40 % behind")
    assert replaced.now == {"passed": 2}
    assert not [name for name in found.records if name.startswith("peers::")]
    (replaced,) = assemble([first, run("r2", 2, fact("a"), only=("a",))]).parts[1].replaces
    assert (replaced.before, replaced.now) == ({"failed": 1, "passed": 1}, {"passed": 1})


@pytest.mark.parametrize(("length", "shown"), [(160, "x" * 160), (161, "x" * 159 + "…")])
def test_a_long_reason_is_shortened(length, shown):
    first = run("r1", 1, fact("a", Outcome.FAILED, reason="x" * length))
    (replaced,) = assemble([first, run("r2", 2, fact("a"), only=("a",))]).parts[1].replaces
    assert replaced.reason == shown


def test_the_latest_of_two_later_runs_counts():
    first = run("r1", 1, fact("a", Outcome.FAILED))
    runs = [
        first,
        run("r2", 2, fact("a"), only=("a",)),
        run("r3", 3, fact("a", Outcome.ERROR), only=("a",)),
    ]
    found = assemble(runs)
    assert found.records[ITEM.format("a")].outcome is Outcome.ERROR
    assert [part.replaces[0].run for part in found.parts[1:]] == ["r1", "r2"]


# --- nodes that are other machines ---


def machine(name, uuid):
    return NodeFacts(name, parts=(InventoryPart(PartKind.NODE, "node", uuid=uuid),))


def test_runs_of_two_machines_of_one_name_are_not_one_run():
    first = run("one", 1, fact("a"), found={"a": machine("a", "1")})
    lost = run("two", 2, fact("b"), found={"a": NodeUnreachable("no", where="a")})
    same = run("two", 2, fact("b"), found={"a": machine("a", "1"), "b": machine("b", "2")})
    other = run("three", 3, pair("a", "b"), found={"a": machine("a", "9")})
    assert set(assemble([first, same]).records) == {fact("a").id, fact("b").id}
    away = {"b": NodeUnreachable("no", where="b"), "a": machine("a", "9")}
    late = run("three", 3, pair("a", "b"), found=away)
    for parts in (
        *([first, other], [first, late]),
        *([first, lost, other], [first, same, other]),
    ):
        with pytest.raises(
            BadInput, match=r"three: has another machine as a than .*: node"
        ) as error:
            assemble(parts)
        assert error.value.remedy == "measure it again with --only a"


def test_passes_of_a_former_machine_count_as_not_run():
    old = [fact("a"), fact("b"), pair("a", "b"), pair("a", "c"), pair("b", "c")]
    bad = pair("c", "a", Outcome.FAILED)
    first = run("one", 1, *old, bad, found={"a": machine("a", "1"), "b": machine("b", "2")})
    again = (fact("a"), pair("a", "b"))
    for uuid, outcome in (("1", Outcome.PASSED), ("9", Outcome.NOT_RUN)):
        later = run("two", 2, *again, only=("a",), found={"a": machine("a", uuid)})
        found = assemble([first, later]).records
        assert found[pair("a", "c").id].outcome is outcome
        assert {found[one.id].outcome for one in (*again, old[1], old[4])} == {Outcome.PASSED}
        assert found[bad.id].outcome is Outcome.FAILED
