"""The records of several runs as those of one: order, conflicts, gates, and what was read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import item

from railgauge.core.errors import BadInput
from railgauge.core.model import Outcome
from railgauge.core.terms import Rung
from railgauge.judging.stamp import Evidence
from railgauge.planning.part import LevelPart
from railgauge.verdict import history
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.merged import PartRun, assemble, combined, gated, in_order, read_in_parts

FACT, PAIR = "tests/preflight/test_os.py::test_os[{}]", "tests/network/test_rdma.py::test_w[{}]"


def fact(node, outcome=Outcome.PASSED, **more):
    return item(FACT.format(node), outcome, rung=Rung.PREFLIGHT, nodes=(node,), **more)


def pair(one, other, outcome=Outcome.PASSED, **more):
    name = PAIR.format(f"{one}:{other}")
    return item(name, outcome, rung=Rung.NETWORK, nodes=(one, other), **more)


def run(name, hour, *items, only=(), ended=None, no_gates=False):
    plan = RunPlan(
        schema_version=2,
        run_id=name,
        evidence=Evidence.HARDWARE,
        level="smoke",
        rounds=None,
        planned=tuple(one.id for one in items),
        software="1",
        began=f"2026-11-24T{hour:02}:00:00+00:00",
        ended=ended or f"2026-11-24T{hour:02}:30:00+00:00",
        part=LevelPart(("a", "b", "c"), {}, ("a", "b"), only=only) if only else None,
    )
    return PartRun(plan, {one.id: one for one in items}, no_gates)


def records_of(*parts):
    found = assemble(parts)
    return gated(found, found.records)


def test_items_of_all_runs_lowest_rung_first():
    found = assemble([run("r1", 1, pair("a", "b"), fact("a")), run("r2", 2, fact("b"))])
    assert list(found.records) == [FACT.format("a"), FACT.format("b"), PAIR.format("a:b")]
    assert found.part_of[FACT.format("b")] == 1
    assert [part.run_id for part in found.parts] == ["r1", "r2"]


def test_an_item_that_two_runs_have_measured_is_refused_by_name():
    with pytest.raises(BadInput, match=r"r2: has measured .*\[a\], and r1 has too"):
        assemble([run("r1", 1, fact("a")), run("r2", 2, fact("a", Outcome.FAILED))])


def test_what_one_run_did_not_come_to_is_taken_from_the_other():
    other = run("r2", 2, fact("a"))
    found = assemble([run("r1", 1, fact("a", Outcome.NOT_RUN)), other])
    assert found.records[FACT.format("a")].outcome is Outcome.PASSED
    found = assemble([run("r1", 1, fact("a")), run("r2", 2, fact("a", Outcome.NOT_RUN))])
    assert found.records[FACT.format("a")].outcome is Outcome.PASSED


def test_a_run_twice_and_runs_out_of_order_are_refused():
    one, two = run("r1", 1), run("r2", 2)
    with pytest.raises(BadInput, match="r1: is given twice"):
        assemble([one, one])
    with pytest.raises(BadInput, match="order"):
        assemble([two, one])
    assert in_order([two, one]) == [one, two]


@pytest.mark.parametrize("field", ["began", "ended"])
def test_a_run_without_its_times_is_refused(field):
    one = run("r1", 1)
    with pytest.raises(BadInput, match="when it began and ended"):
        assemble([replace(one, plan=replace(one.plan, **{field: ""}))])


def test_a_time_without_its_offset_is_refused():
    one = run("r1", 1)
    with pytest.raises(BadInput, match="offset"):
        assemble([replace(one, plan=replace(one.plan, began="2026-11-24T01:00:00"))])


# --- measured again ---


def test_a_later_run_of_a_node_replaces_what_the_earlier_one_measured_of_it():
    first = run("r1", 1, fact("a", Outcome.FAILED, reason="odd"), fact("b"), pair("a", "b"))
    again = run("r2", 2, fact("a"), pair("a", "b", Outcome.MARGINAL), only=("a",))
    found = assemble([first, again])
    assert {name: one.outcome for name, one in found.records.items()} == {
        FACT.format("a"): Outcome.PASSED,
        FACT.format("b"): Outcome.PASSED,
        PAIR.format("a:b"): Outcome.MARGINAL,
    }
    (told,) = found.parts[1].replaces
    assert (told.node, told.run, told.ended) == ("a", "r1", first.plan.ended)
    assert told.before == {"failed": 1, "passed": 1}
    assert told.reason == "odd"
    assert told.now == {"marginal": 1, "passed": 1}
    (_, line) = history.notes(found.parts)
    assert line.startswith("MEASURED AGAIN, a: 1 failed, 1 passed (odd) in r1, ended 2026-11-24")
    assert "1 marginal, 1 passed in r2, begun 2026-11-24T02" in line


def test_it_cannot_replace_what_is_not_about_its_nodes():
    first = run("r1", 1, fact("b", Outcome.FAILED))
    with pytest.raises(BadInput, match="has measured"):
        assemble([first, run("r2", 2, fact("b"), only=("a",))])


def test_what_it_did_not_measure_stays_as_it_was():
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


def test_the_latest_of_two_later_runs_counts():
    first = run("r1", 1, fact("a", Outcome.FAILED))
    runs = [
        first,
        run("r2", 2, fact("a"), only=("a",)),
        run("r3", 3, fact("a", Outcome.ERROR), only=("a",)),
    ]
    found = assemble(runs)
    assert found.records[FACT.format("a")].outcome is Outcome.ERROR
    assert [part.replaces[0].run for part in found.parts[1:]] == ["r1", "r2"]


# --- gates ---


def test_what_passed_above_a_failure_that_another_run_found_is_blocked():
    found = records_of(run("r1", 1, fact("a", Outcome.FAILED)), run("r2", 2, pair("a", "b")))
    told = found[PAIR.format("a:b")]
    assert told.outcome is Outcome.BLOCKED
    assert told.blocked_by == (FACT.format("a"),)
    assert not told.by_evidence
    assert not told.questions


def test_a_failure_is_never_hidden_behind_a_gate():
    one = run("r1", 1, fact("a", Outcome.ERROR))
    found = records_of(one, run("r2", 2, pair("a", "b", Outcome.FAILED)))
    assert found[PAIR.format("a:b")].outcome is Outcome.FAILED


def test_a_run_without_gates_keeps_what_it_measured_behind_them():
    one = run("r1", 1, fact("a", Outcome.FAILED))
    found = records_of(one, run("r2", 2, pair("a", "b"), no_gates=True))
    assert found[PAIR.format("a:b")].outcome is Outcome.PASSED


def test_what_was_blocked_by_what_passes_now_has_not_been_run():
    stuck = pair("a", "b", Outcome.BLOCKED, blocked_by=(FACT.format("a"),))
    first = run("r1", 1, fact("a", Outcome.FAILED), fact("b"), stuck)
    found = records_of(first, run("r2", 2, fact("a"), only=("a",)))
    told = found[PAIR.format("a:b")]
    assert told.outcome is Outcome.NOT_RUN
    assert not told.blocked_by
    found = records_of(first, run("r2", 2, fact("a", Outcome.ERROR), only=("a",)))
    assert found[PAIR.format("a:b")].outcome is Outcome.BLOCKED


# --- what was read from the nodes at the end ---


def log(outcome, reason=""):
    return item("kernel::kernel_log[a]", outcome, nodes=("a",), reason=reason)


@pytest.mark.parametrize("worst", [Outcome.FAILED, Outcome.ERROR, Outcome.NOT_RUN])
def test_the_worst_reading_of_a_node_counts(worst):
    told = combined([log(Outcome.PASSED), log(worst, "why"), log(Outcome.MARGINAL)])
    assert told.outcome is worst
    assert told.reason == "why"


def test_readings_count_from_every_run_but_those_before_a_later_measurement():
    one, two = run("r1", 1), run("r2", 2)
    read = [[log(Outcome.FAILED)], [log(Outcome.PASSED)]]
    assert read_in_parts([one, two], read)["kernel::kernel_log[a]"].outcome is Outcome.FAILED
    again = run("r2", 2, only=("a",))
    assert read_in_parts([one, again], read)["kernel::kernel_log[a]"].outcome is Outcome.PASSED
    partner = run("r2", 2, only=("b",))
    assert read_in_parts([one, partner], read)["kernel::kernel_log[a]"].outcome is Outcome.FAILED
