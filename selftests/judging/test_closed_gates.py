"""What evidence shows to be wrong on a node blocks the rungs above it there."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT, item, judgement

from railgauge.config import thresholds
from railgauge.core.model import Outcome
from railgauge.core.terms import Rung
from railgauge.judging.gates import Gates, ended

H200 = thresholds.load("h200", ROOT / "thresholds")
FAILED, ERROR, PASSED = Outcome.FAILED, Outcome.ERROR, Outcome.PASSED
FACT_B = "facts[b]"


def fact(node, outcome=PASSED, **more):
    more = {"by_evidence": True, "rung": Rung.PREFLIGHT, "subject": "kernel", **more}
    return item(f"facts[{node}]", outcome, nodes=(node,), **more)


def rdma(one, other, outcome=PASSED, **more):
    name = f"rdma[{one}:{other}-mlx5_0-8MiB]"
    return item(name, outcome, nodes=(one, other), by_evidence=True, **more)


def gates(*items):
    """The gates after these items, each at its place in the ladder."""
    made = Gates()
    for place, one in enumerate(items):
        made.note(ended(one, place, one.nodes))
    return made


@pytest.mark.parametrize("outcome", [FAILED, ERROR])
def test_failed_items_below_are_named(outcome):
    found = gates(fact("a"), fact("b", outcome))
    assert found.blockers(1, ("a", "b")) == found.blockers(2, ("b",)) == (FACT_B,)


def test_other_nodes_are_not_blocked():
    assert gates(fact("b", FAILED)).blockers(1, ("a", "c")) == ()


def test_the_same_rung_and_those_above_do_not_block():
    found = gates(rdma("a", "b", FAILED), replace(rdma("b", "c", FAILED), rung=Rung.GPUDIRECT))
    assert found.blockers(1, ("a", "b")) == found.blockers(0, ("a",)) == ()


def test_a_pair_s_failure_blocks_both_of_its_nodes_above():
    slow = rdma("a", "c", FAILED)
    for node in "ac":
        assert gates(slow).blockers(2, (node, "b")) == (slow.id,)


@pytest.mark.parametrize(
    "outcome", [PASSED, Outcome.MARGINAL, Outcome.RECORD_ONLY, Outcome.BLOCKED, Outcome.NOT_RUN]
)
def test_only_items_that_failed_themselves_block(outcome):
    """A blocked item blocks nothing; the failure that blocked it does."""
    assert gates(fact("a", outcome)).blockers(1, ("a", "b")) == ()


def test_blockers_are_named_once_and_in_the_order_of_the_ladder():
    """Whatever ended first, and comes first in the alphabet."""
    wrong, found = [fact("b", FAILED), fact("a", FAILED), rdma("a", "b", FAILED)], Gates()
    for place, one in reversed([*enumerate(wrong)]):
        found.note(ended(one, place, one.nodes))
    assert found.blockers(2, ("a", "b")) == tuple(one.id for one in wrong)


def test_the_latest_end_of_an_item_counts():
    """The item failed, its worker died before it reported, and another worker ran it again."""
    assert gates(fact("a", ERROR), fact("a")).blockers(1, ("a", "b")) == ()
    assert gates(fact("a"), fact("a", ERROR)).blockers(1, ("a", "b")) == ("facts[a]",)


def test_measurements_inside_a_node_are_not_blocked_by_its_partner():
    """``b`` is slow with both; ``a`` and ``c`` are fine with each other."""
    slow = [rdma("a", "b", FAILED), rdma("b", "c", FAILED)]
    found, both = gates(*slow, rdma("a", "c")), tuple(one.id for one in slow)
    assert found.blockers(3, ("a",)) == found.blockers(3, ("c",)) == ()
    assert found.blockers(3, ("b",)) == found.blockers(4, ("a", "c")) == both


# --- gates follow evidence ---


@pytest.mark.parametrize("outcome", [FAILED, ERROR])
def test_a_failure_without_evidence_closes_no_gate(outcome):
    """An assert of a site's own, or an error of a fixture; what it had compared was fine."""
    for judged in ((), (judgement(),)):
        other = fact("b", outcome, by_evidence=False, judgements=judged, error_kind="bug")
        assert gates(other).blockers(1, ("a", "b")) == ()


def test_a_missed_limit_closes_the_gate_whatever_the_outcome_of_the_test():
    missed = (judgement(), judgement(FAILED))
    other = fact("b", ERROR, by_evidence=False, judgements=missed, error_kind="bug")
    assert gates(other).blockers(1, ("a", "b")) == (FACT_B,)


@pytest.mark.parametrize("outcome", [FAILED, ERROR, Outcome.NOT_RUN])
def test_a_result_of_evidence_stays(outcome):
    """A fixture failed after the test, or the item was given up when its workers had died."""
    later = fact("b", outcome, by_evidence=False, error_kind="bug")
    assert gates(fact("b", FAILED), later).blockers(1, ("a", "b")) == (FACT_B,)


def test_a_pass_by_evidence_clears_a_node_whatever_the_outcome_of_the_test():
    slow = rdma("a", "b", FAILED)
    fine = replace(rdma("a", "c", FAILED), by_evidence=False, judgements=(judgement(),))
    assert gates(slow, fine).blockers(3, ("a",)) == ()
    assert gates(slow, replace(fine, judgements=())).blockers(3, ("a",)) == (slow.id,)


# --- what is measured behind its gate, to check its results ---

NODE, PAIR = H200.measurements["node_all_reduce"], H200.measurements["pair_all_reduce"]


@pytest.mark.parametrize(
    ("subject", "inside", "between"),
    [("kernel", True, True), ("port_state", True, False), ("gpu_count", False, False)],
)
def test_failed_items_may_leave_collectives_possible(subject, inside, between):
    found = gates(fact("a"), fact("b", FAILED, subject=subject))
    assert found.blockers(3, ("b",)) == (FACT_B,)
    assert found.is_checked(NODE, ("b",)) is inside
    assert found.is_checked(PAIR, ("a", "b")) is between
    assert found.is_checked(PAIR, ("a", "c")), "on other nodes nothing is prevented"


def test_a_measurement_that_counts_no_wrong_results_is_not_made_behind_its_gate():
    found = gates(fact("b", FAILED))
    others = [H200.measurements[one] for one in ("gpu_copy_bandwidth", "host_write_bandwidth")]
    over_paths = replace(others[1], tool=PAIR.tool)
    assert not any(found.is_checked(one, ("a", "b")) for one in (*others, over_paths))


def test_an_item_that_ran_again_and_passed_prevents_nothing_any_more():
    gone = fact("b", ERROR, error_kind="node-unreachable")
    assert not gates(gone).is_checked(PAIR, ("a", "b"))
    assert gates(gone, fact("b")).is_checked(PAIR, ("a", "b"))


def test_an_unchecked_item_behind_its_gate_prevents_those_above():
    hung = replace(fact("b", Outcome.BLOCKED), by_evidence=False, error_kind="command-timed-out")
    hung = replace(hung, rung=Rung.INTRANODE, blocked_by=("x",))
    assert not gates(hung).is_checked(PAIR, ("a", "b"))


def test_an_error_of_a_fixture_prevents_nothing():
    other = fact("b", ERROR, by_evidence=False, subject="gpu_count", error_kind="bug")
    assert gates(other).is_checked(NODE, ("b",))
