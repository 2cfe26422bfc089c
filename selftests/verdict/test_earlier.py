"""A failure of an earlier run counts in the run that resumes it, whatever that one finds."""

from dataclasses import replace

import pytest
from test_decision import ONE, answering
from test_growth_items import results as counters
from test_growth_items import window
from test_kernel_items import BOOT, XID, facts, reading
from test_kernel_items import results as logs
from testing import assess_values
from testing.core_values import case, cluster, item, judgement, transcript
from testing.telemetry_scenes import HOT_PAIR
from testing.telemetry_scenes import results as sampled

from railgauge.core.errors import KernelLogUnread, NodeUnreachable
from railgauge.core.model import Outcome
from railgauge.core.question import LIMITS, READ, CaseResult, Question
from railgauge.diagnosis import RunResults
from railgauge.facts import NodeFacts
from railgauge.facts.boot import KernelMark
from railgauge.judging.record import EarlierOutcome, with_earlier
from railgauge.verdict import at_end
from railgauge.verdict.earlier import EarlierResults

NODES = ("n1", "n2", "n3")
FAILED, PASSED = Outcome.FAILED, Outcome.PASSED
LOW = judgement(FAILED, reason="358 Gb/s, limit 372", points_at=(("n1", "mlx5_0"),))
GOOD = judgement()


# --- both results of an item ---


def now(outcome=PASSED, *judgements, **changes):
    return item("a", outcome, judgements=judgements or (GOOD,), by_evidence=True, **changes)


def then(outcome=FAILED, *judgements, **changes):
    judged = judgements or (LOW,)
    return item("a", outcome, judgements=judged, **{"reason": "358 Gb/s, limit 372"} | changes)


def test_a_failure_of_an_earlier_run_stays_one_and_both_are_reported():
    found = with_earlier(now(), [("night-1", then())])
    assert found.outcome is FAILED
    assert found.reason == "failed in night-1: 358 Gb/s, limit 372; now passed"
    assert found.earlier == (EarlierOutcome("night-1", FAILED, "358 Gb/s, limit 372"),)
    assert [one.reason for one in found.judgements] == ["", "night-1: 358 Gb/s, limit 372"]
    assert found.by_evidence


def test_each_of_three_runs_is_reported():
    before = [
        ("night-1", then()),
        ("night-2", then(reason="", outcome=PASSED)),
        ("night-3", then()),
    ]
    found = with_earlier(now(Outcome.MARGINAL, reason="close"), before)
    assert found.reason == "failed in night-1: 358 Gb/s, limit 372; now marginal: close"
    other = judgement(FAILED, metric="lat_avg", reason="2 us")
    found = with_earlier(found, [("night-4", then(FAILED, other, reason="2 us"))])
    assert found.reason.startswith("failed in night-4: 2 us; failed in night-1: 358 Gb/s")
    assert [one.run for one in found.earlier] == ["night-1", "night-4"]


@pytest.mark.parametrize(
    "outcome",
    [
        PASSED,
        Outcome.MARGINAL,
        Outcome.RECORD_ONLY,
        Outcome.NOT_RUN,
        Outcome.BLOCKED,
        Outcome.ERROR,
    ],
)
def test_an_earlier_result_that_did_not_fail_changes_nothing(outcome):
    """A node that was not reached, or a log that could not be read, is measured again."""
    assert with_earlier(now(), [("night-1", then(outcome))]) == now()


@pytest.mark.parametrize("outcome", list(Outcome))
def test_an_item_that_failed_earlier_fails_whatever_it_is_now(outcome):
    found = with_earlier(now(outcome, blocked_by=("b",)), [("night-1", then())])
    assert found.outcome is FAILED
    assert found.blocked_by == (("b",) if outcome is FAILED else ())


def test_an_error_now_is_reported_beside_the_earlier_failure():
    lost = now(Outcome.ERROR, reason="no route", error_kind="node-unreachable", remedy="look")
    found = with_earlier(lost, [("night-1", then())])
    assert (found.outcome, found.beside, found.error_kind) == (FAILED, "no route", "")
    flaky = with_earlier(lost, [("night-1", then(Outcome.FLAKY))])
    assert (flaky.outcome, flaky.error_kind) == (Outcome.ERROR, "node-unreachable")


def test_an_item_that_passed_only_when_it_ran_again_is_flaky():
    assert with_earlier(now(), [("night-1", then(Outcome.FLAKY))]).outcome is Outcome.FLAKY


def test_the_same_failure_now_and_earlier_is_reported_once():
    failed = now(FAILED, LOW, reason="358 Gb/s, limit 372")
    assert with_earlier(failed, [("night-1", then())]) == failed
    elsewhere = replace(LOW, points_at=(("n2", "mlx5_0"),))
    assert with_earlier(failed, [("night-1", then(FAILED, elsewhere))]).earlier


# --- items of tests ---


def surveyed(**memlock):
    return {n: NodeFacts(n, memlock=memlock.get(n, "unlimited")) for n in NODES}


def of_facts(found, records=None):
    return RunResults(records or {}, found, ONE, cluster(*NODES))


def on_n1(items):
    return next(one for one in items.values() if one.nodes == ("n1",))


def test_a_fact_that_was_wrong_counts_though_it_is_right_now():
    add = EarlierResults({"night-1": of_facts(surveyed(n1="65536"))})
    found = add(on_n1(answering(by_evidence=True)))
    assert found.outcome is FAILED
    assert found.reason.startswith("failed in night-1: memlock is 65536, should be unlimited; now")
    others = [one for one in answering(by_evidence=True).values() if one.nodes != ("n1",)]
    assert list(map(add, others)) == others


@pytest.mark.parametrize(
    "found", [{}, {"n1": NodeUnreachable("no route", where="n1")}, {"n1": NodeFacts("n1")}]
)
def test_a_fact_that_was_not_read_is_read_again(found):
    add = EarlierResults({"night-1": of_facts(found)})
    passed = on_n1(answering(by_evidence=True))
    assert add(passed) == passed


def test_a_record_is_believed_only_where_no_evidence_shows_it():
    passed = on_n1(answering(by_evidence=True))
    recorded = replace(passed, outcome=FAILED, reason="it says so")
    add = EarlierResults({"night-1": of_facts(surveyed(), {passed.id: recorded})})
    assert add(passed) == passed
    of_a_test = replace(recorded, by_evidence=False)
    add = EarlierResults({"night-1": of_facts(surveyed(), {passed.id: of_a_test})})
    assert add(passed).reason == "failed in night-1: it says so; now passed"
    flaky = replace(recorded, outcome=Outcome.FLAKY)
    add = EarlierResults({"night-1": of_facts(surveyed(), {passed.id: flaky})})
    assert add(passed).outcome is Outcome.FLAKY


@pytest.mark.parametrize("outcome", [Outcome.BLOCKED, Outcome.NOT_RUN, Outcome.ERROR])
def test_an_item_that_is_not_judged_now_keeps_its_failure(outcome):
    passed = on_n1(answering(by_evidence=True))
    recorded = replace(passed, outcome=FAILED, reason="358 Gb/s")
    add = EarlierResults({"night-1": of_facts(surveyed(), {passed.id: recorded})})
    shut = replace(passed, outcome=outcome, questions=(), by_evidence=False)
    assert add(shut).outcome is FAILED
    assert add(add(shut)) == add(shut)


def test_a_measurement_that_was_taken_over_is_judged_once():
    asked = (Question(READ, case()), Question(LIMITS, case(), 8388608))
    measured = item("a", questions=asked, by_evidence=True)
    add = EarlierResults({"night-1": of_facts(surveyed())})
    assert add(measured) == measured


@pytest.mark.parametrize(("value", "outcome"), [(390, PASSED), (200, FAILED)])
def test_a_repeat_that_was_made_again_is_judged_as_well(monkeypatch, value, outcome):
    """What is kept of it apart, such as one whose node was lost afterwards."""
    assess_values.made_up_tool(monkeypatch)
    kept = {assess_values.CASE: CaseResult(((assess_values.out(value),),))}
    run = RunResults({}, surveyed(), assess_values.PLATFORM, cluster(*NODES), kept=kept.get)
    asked = (Question(READ, assess_values.CASE), Question(LIMITS, assess_values.CASE, 8388608))
    measured = item("a", questions=asked, by_evidence=True)
    add = EarlierResults({"night-1": run})
    assert add(measured).outcome is outcome
    assert add.runs == {"night-1": run}
    other = item("b", questions=(Question(READ, case("n1", "n3")),), by_evidence=True)
    assert add(other) == other


# --- what is read at the end of a run ---


def closed(results, **earlier):
    made = at_end.items(replace(results, earlier=earlier))
    return {one.nodes[0]: one for one in made}


def test_a_line_that_a_kernel_logged_then_counts_though_its_log_is_clean_now():
    found = closed(logs(), night=logs({"n2": reading("n2", XID)}))
    assert {n: one.outcome for n, one in found.items()} == {
        "n1": PASSED,
        "n2": FAILED,
        "n3": PASSED,
    }
    assert found["n2"].reason.startswith("failed in night: Xid 79 at gpu3")
    assert found["n2"].reason.endswith("; now passed")


def test_a_logged_fault_counts_also_if_the_log_is_not_read_now():
    for kept in ({"n2": CaseResult((), KernelLogUnread("no right"))}, {"n2": None}):
        found = closed(logs(kept), night=logs({"n2": reading("n2", XID)}))["n2"]
        assert found.outcome is FAILED


def test_a_log_that_could_not_be_read_then_is_read_now():
    lost = CaseResult((), KernelLogUnread("no right"))
    assert closed(logs(), night=logs({"n2": lost})) == closed(logs())


def test_the_same_line_read_again_is_reported_once():
    red = logs({"n2": reading("n2", XID)})
    assert closed(red, night=red) == closed(red)


def test_the_measurements_that_ran_then_are_those_taken_over():
    """A line from before the earlier run's survey counts if a measurement ran at its time."""
    ran = case("n2", "n1")
    asked = item("m", nodes=ran.nodes, questions=(Question(LIMITS, ran),))
    at = transcript("n2", started_at="2026-11-23T11:58:21.000+00:00", duration_s=60.0)
    own = logs(records={"m": asked})
    kept = own.kept
    taken = replace(own, kept=lambda c: CaseResult(((at,),)) if c == ran else kept(c))
    later = {"n2": facts("n2", kernel_log="11")}
    marks = (KernelMark("n2", "the first night", BOOT, "10"),)
    before = logs({"n2": reading("n2", XID)}, found=later, marks=marks)
    assert closed(taken, night=before)["n2"].outcome is FAILED
    assert closed(own, night=before)["n2"].outcome is PASSED  # else it was between two runs


def test_counters_that_grew_then_count_though_they_stand_still_now():
    found = closed(counters(), night=counters({"n2": CaseResult((window("n2", 7),))}))
    assert found["n2"].outcome is FAILED
    assert "rdma_retransmits" in {one.metric for one in found["n2"].judgements}


def test_a_gpu_that_throttled_then_counts_though_its_repeat_was_made_again():
    then_only = replace(sampled(), kept=HOT_PAIR.get, records={})
    found = closed(sampled(), night=then_only)
    assert (found["n1"].outcome, found["n2"].outcome) == (PASSED, FAILED)


def test_a_merged_run_counts_what_its_parts_have_carried_on():
    red = logs({"n2": reading("n2", XID)})
    merged = replace(logs(), parts={"morning": replace(logs(), earlier={"night": red})})
    read = {one.nodes[0]: one for one in at_end.items(merged)}
    assert read["n2"].outcome is FAILED
    assert "night" in read["n2"].reason
