"""Gates of a merged run, which the results of the other runs close or open."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import ROOT, judgement
from testing.merged_runs import ITEM, PAIR, fact, pair, run

from railgauge.config import thresholds
from railgauge.core.model import Outcome
from railgauge.core.question import CORRECT, FACT, LIMITS, Question
from railgauge.core.terms import Rung
from railgauge.verdict.merged import assemble, gated

H200 = thresholds.load("h200", ROOT / "thresholds")


def asked(kind):
    return (Question(kind, placement="a"),)


def records_of(*parts):
    found = assemble(parts)
    return gated(found, found.records, H200)


@pytest.mark.parametrize(
    ("below", "reason"),
    [("a", ITEM.format("a")), ("ab", f"{ITEM.format('a')} and 1 more")],
)
def test_an_item_that_passed_above_a_failure_of_another_run_is_blocked(below, reason):
    """The order of the runs does not matter."""
    passed = pair("a", "b", by_evidence=True, questions=asked(LIMITS), judgements=(judgement(),))
    failed = [fact(node, Outcome.FAILED) for node in below]
    for runs in (
        (run("r1", 1, *failed), run("r2", 2, passed)),
        (run("r1", 1, passed), run("r2", 2, *failed)),
    ):
        item = records_of(*runs)[passed.id]
        assert item == replace(
            passed,
            outcome=Outcome.BLOCKED,
            reason=f"blocked by {reason}",
            blocked_by=tuple(one.id for one in failed),
            judgements=(),
            questions=(),
            by_evidence=False,
        )


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.ERROR])
@pytest.mark.parametrize("kinds", [(), (CORRECT,), (FACT,), (LIMITS,)])
def test_a_failure_of_a_node_on_a_lower_rung_closes_the_gate(outcome, kinds):
    below = fact("a", outcome, questions=tuple(q for kind in kinds for q in asked(kind)))
    found = records_of(run("r1", 1, below), run("r2", 2, pair("a", "b")))
    assert found[PAIR.format("a:b")].outcome is Outcome.BLOCKED


@pytest.mark.parametrize(
    "other",
    [
        pair("b", "c", Outcome.FAILED),
        replace(pair("b", "c", Outcome.FAILED), rung=Rung.COLLECTIVE),
        replace(fact("b", Outcome.FAILED), subject="fabric_links"),
        fact("b", Outcome.ERROR, by_evidence=False),
        fact("c", Outcome.FAILED),
        fact("b", Outcome.MARGINAL),
    ],
    ids=[
        "the same rung",
        "a higher rung",
        "the subnet",
        "no evidence",
        "another node",
        "no failure",
    ],
)
def test_a_failure_of_another_run_on_other_nodes_closes_no_gate(other):
    found = records_of(run("r1", 1, other), run("r2", 2, pair("a", "b")))
    assert found[PAIR.format("a:b")].outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("others", "outcome"),
    [((), Outcome.BLOCKED), ((pair("a", "c"),), Outcome.PASSED)],
    ids=["nothing else is known of its NIC", "it was fine with another partner"],
)
def test_a_failed_pair_of_another_run_closes_a_gate_inside_a_suspected_node(others, outcome):
    inside = replace(fact("a"), rung=Rung.INTRANODE)
    inside = replace(inside, id="tests/intranode/test_node.py::test_x[a]")
    found = records_of(run("r1", 1, pair("a", "b", Outcome.FAILED)), run("r2", 2, inside, *others))
    assert found[inside.id].outcome is outcome


def test_the_gates_of_one_run_stay_as_they_were_in_it():
    """Other limits may make an item fail below one that was measured."""
    items = fact("a", Outcome.FAILED), pair("a", "b")
    found = records_of(run("r1", 1, *items), run("r2", 2, fact("b")))
    assert found[PAIR.format("a:b")].outcome is Outcome.PASSED


def test_the_scan_of_the_subnet_has_no_gate():
    scan = replace(pair("a", "b"), subject="fabric_links")
    found = records_of(run("r1", 1, fact("a", Outcome.FAILED)), run("r2", 2, scan))
    assert found[scan.id] == scan


def test_a_failure_is_never_hidden_behind_a_gate():
    one = run("r1", 1, fact("a", Outcome.ERROR))
    found = records_of(one, run("r2", 2, pair("a", "b", Outcome.FAILED)))
    assert found[PAIR.format("a:b")].outcome is Outcome.FAILED


def test_a_run_without_gates_keeps_what_it_measured_behind_them():
    one = run("r1", 1, fact("a", Outcome.FAILED))
    found = records_of(one, run("r2", 2, pair("a", "b"), no_gates=True))
    assert found[PAIR.format("a:b")].outcome is Outcome.PASSED


def test_an_item_whose_blockers_pass_now_has_not_been_run():
    stuck = pair("a", "b", Outcome.BLOCKED, blocked_by=(ITEM.format("a"),))
    first = run("r1", 1, fact("a", Outcome.FAILED), fact("b"), stuck)
    found = records_of(first, run("r2", 2, fact("a"), only=("a",)))
    item = found[PAIR.format("a:b")]
    assert item.outcome is Outcome.NOT_RUN
    assert not item.blocked_by
    assert item.reason == "it was blocked, and was not measured when its gate had opened"
    found = records_of(first, run("r2", 2, fact("a", Outcome.ERROR), only=("a",)))
    assert found[PAIR.format("a:b")].outcome is Outcome.BLOCKED


def blocked(*names, suffix="", **more):
    """The pair a:b behind items of these nodes; ``suffix`` is the rest of its reason."""
    ids = tuple(ITEM.format(name) for name in names)
    rest = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    reason = f"blocked by {ids[0]}{rest}{suffix}"
    return pair("a", "b", Outcome.BLOCKED, blocked_by=ids, reason=reason, **more)


RIGHT = "; its results are right"


@pytest.mark.parametrize(
    ("own", "other", "before", "now"),
    [
        ({"a": Outcome.FAILED}, {}, "a", "a"),
        ({"a": Outcome.ERROR}, {}, "a", "a"),
        ({"a": Outcome.FLAKY}, {}, "a", "a"),
        ({"a": Outcome.FAILED}, {"b": Outcome.FAILED}, "a", "ab"),
        ({"a": Outcome.FAILED, "b": Outcome.PASSED}, {}, "ba", "a"),
        ({}, {"a": Outcome.FAILED, "b": Outcome.PASSED}, "ba", "a"),
    ],
)
def test_a_blocked_item_names_its_current_blockers(own, other, before, now):
    """Once each, and nothing that has passed since."""
    checked = {"questions": asked(CORRECT), "judgements": (judgement(),), "suffix": RIGHT}
    stuck = blocked(*before, **checked)
    runs = [
        run(name, hour, *more, *(fact(node, outcome) for node, outcome in items.items()))
        for name, hour, items, more in (("r1", 1, own, [stuck]), ("r2", 2, other, []))
    ]
    assert records_of(*runs)[stuck.id] == blocked(*now, **checked)


def test_an_item_whose_gate_opens_loses_the_check_of_its_results():
    """Its results could not be checked behind the gate: that error is no result of this run."""
    stuck = blocked(
        "a",
        suffix="; whether its results are right is unknown: no route",
        questions=asked(CORRECT),
        judgements=(judgement(),),
        error_kind="node-unreachable",
        error_where="b: ssh",
        remedy="see to it",
    )
    opened = records_of(run("r1", 1, stuck), run("r2", 2, fact("a")))[stuck.id]
    assert opened == pair("a", "b", Outcome.NOT_RUN, reason=opened.reason)


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED])
def test_an_item_that_something_else_skipped_stays_blocked_with_its_reason(outcome):
    skipped = pair("a", "b", Outcome.BLOCKED, reason="blocked by the site's plugin")
    assert (
        records_of(run("r1", 1, skipped), run("r2", 2, fact("a", outcome)))[skipped.id] == skipped
    )
