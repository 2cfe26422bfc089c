"""Which nodes a run shows to be good, and which partners a later run may have had."""

from __future__ import annotations

import pytest
from testing.core_values import item

from railgauge.core.errors import BadInput
from railgauge.core.model import Outcome
from railgauge.core.terms import Verdict
from railgauge.diagnosis import Cause
from railgauge.diagnosis.model import Where
from railgauge.judging.stamp import Evidence
from railgauge.planning.part import LevelPart
from railgauge.verdict.counts import RunVerdict, count
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.known_good import (
    DecidedRun,
    doubts,
    good,
    measured,
    refuse_doubtful_partners,
)


def own(node, outcome=Outcome.PASSED):
    return item(f"own[{node}]", outcome, nodes=(node,))


def pair(one, other, outcome=Outcome.PASSED):
    return item(f"pair[{one}:{other}]", outcome, nodes=(one, other))


def cause(node, *evidence, peer="", name="slow-node"):
    return Cause(name, Where(node, peer=peer), "says", evidence, (), "likely", "", "do", "basis")


def run(*items, causes=(), only=(), partners=(), verdict=Verdict.REJECTED, name="r"):
    nodes = tuple(sorted({node for one in items for node in one.nodes} | {*only, *partners}))
    part = LevelPart(nodes, only=only, partners=partners) if only else None
    plan = RunPlan(2, name, Evidence.HARDWARE, "smoke", None, (), "1", part=part)
    records = {one.id: one for one in items}
    decided = RunVerdict(
        run_id=name,
        cluster="c",
        platform="p",
        evidence=Evidence.HARDWARE,
        level="smoke",
        verdict=verdict,
        counts=count(records, records),
        coverage={},
        not_applicable={},
        causes=causes,
    )
    return DecidedRun(plan, decided, records)


def test_all_nodes_of_a_run_without_a_fault_are_good():
    assert good(run(own("a"), own("b"), pair("a", "b")), ()) == ("a", "b")


def test_a_node_that_is_named_or_left_open_is_in_doubt():
    items = (own("a"), own("b"), own("c"), pair("a", "b", Outcome.FAILED))
    assert good(run(*items, causes=[cause("a", "pair[a:b]")]), ()) == ("b", "c")
    assert good(run(*items, causes=[cause("a|b", "pair[a:b]")]), ()) == ("c",)
    assert good(run(*items, causes=[cause("a", "pair[a:b]", peer="b")]), ()) == ("c",)
    assert good(run(*items, causes=[cause("", "pair[a:b]", name="x")]), ()) == ("c",)


def test_items_of_the_node_to_qualify_do_not_count_against_its_partners():
    items = (own("a"), own("b"), own("c"), pair("a", "b", Outcome.FAILED))
    assert good(run(*items, causes=[cause("a", "pair[a:b]")]), ("a",)) == ("b", "c")
    assert good(run(*items), ("a",)) == ("b", "c")
    # It is not known which of the two it is.
    assert good(run(*items, causes=[cause("a|b", "pair[a:b]")]), ("a",)) == ("c",)


@pytest.mark.parametrize(
    "outcome", [Outcome.FAILED, Outcome.ERROR, Outcome.BLOCKED, Outcome.NOT_RUN, Outcome.FLAKY]
)
def test_a_node_is_in_doubt_by_an_item_of_its_own(outcome):
    reasons = doubts(run(own("a"), own("b", outcome)), ())
    assert set(reasons) == {"b"}
    assert "own[b] is" in reasons["b"]


def test_a_failure_without_a_cause_leaves_its_nodes_in_doubt():
    assert good(run(own("a"), own("b"), own("c"), pair("a", "b", Outcome.FAILED)), ()) == ("c",)


def test_a_node_that_passed_nothing_by_itself_is_not_known():
    assert good(run(own("a"), pair("a", "b")), ()) == ("a",)
    assert good(run(own("a"), pair("b", "a")), ()) == ("a",)


def test_the_first_node_of_a_pair_is_good_where_the_other_is_named():
    items = (own("a"), own("b"), pair("a", "b", Outcome.FAILED))
    assert good(run(*items, causes=[cause("b", "pair[a:b]")]), ()) == ("a",)


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED])
def test_an_item_of_no_node_says_nothing_of_any(outcome):
    fabric = item("links", outcome, nodes=())
    assert good(run(own("a"), fabric), ()) == ("a",)
    assert doubts(run(own("a"), fabric), ()) == {}


def test_the_node_to_qualify_is_left_out_of_the_doubts():
    assert doubts(run(own("a", Outcome.FAILED)), ("a",)) == {}


def test_a_node_that_passed_nothing_is_not_measured():
    assert measured(run(own("a", Outcome.FAILED), own("b"))) == {"b"}


def test_evidence_that_the_run_does_not_have_names_no_node():
    causes = [cause("", "gone", "own[b]", name="x")]
    assert good(run(own("a"), own("b", Outcome.FAILED), causes=causes), ()) == ("a",)


def test_an_accepted_failure_of_a_qualified_node_keeps_it_fit_to_be_a_partner():
    accepted = run(own("c", Outcome.FAILED), only=("c",), verdict=Verdict.QUALIFIED_WITH_DEVIATIONS)
    refuse_doubtful_partners([run(*SIGNED, causes=CAUSES), accepted, again("a", "c")])


SIGNED = (own("a", Outcome.FAILED), own("b"), own("c"), own("d"), pair("c", "d", Outcome.FAILED))
CAUSES = (cause("a", "own[a]"), cause("c", "pair[c:d]"))


def again(node, *partners, verdict=Verdict.QUALIFIED, name="again"):
    items = (own(node), *(pair(node, partner) for partner in partners))
    return run(*items, only=(node,), partners=partners, verdict=verdict, name=name)


def test_a_partner_that_was_good_may_be_measured_with():
    refuse_doubtful_partners([run(*SIGNED, causes=CAUSES), again("a", "b", "d")])


def test_a_partner_that_was_not_good_is_refused():
    with pytest.raises(BadInput, match=r"has measured a with c, which .* named by slow-node"):
        refuse_doubtful_partners([run(*SIGNED, causes=CAUSES), again("a", "b", "c")])
    with pytest.raises(BadInput, match=r"with x, which .* passed nothing by itself"):
        refuse_doubtful_partners([run(*SIGNED, causes=CAUSES), again("a", "x")])
    with pytest.raises(BadInput) as refused:
        refuse_doubtful_partners([again("a", "x")])
    assert refused.value.where == "again"
    assert "--partners-from" in refused.value.remedy


def test_a_partner_is_good_again_when_a_run_of_its_own_has_qualified_it():
    signed = run(*SIGNED, causes=CAUSES)
    refuse_doubtful_partners([signed, again("c", "b"), again("a", "c")])
    failed = run(
        own("c", Outcome.FAILED),
        only=("c",),
        partners=("b",),
        verdict=Verdict.NOT_QUALIFIED,
        causes=(cause("c", "own[c]"),),
    )
    with pytest.raises(BadInput, match="with c"):
        refuse_doubtful_partners([signed, failed, again("a", "c")])
