"""End-of-run checks of a merged run: the readings of every run count, each with its run."""

from dataclasses import replace

import pytest
import test_growth_items as counted
import test_kernel_items as logged
from test_decision import NODES, run_plan
from test_deviations import ENDED, accepted
from testing import telemetry_scenes as sampled
from testing.core_values import cluster
from testing.gpu_samples import OTHER_BOOT

from railgauge.core.errors import ConnectionLost
from railgauge.core.model import Outcome
from railgauge.core.question import CaseResult
from railgauge.facts import NodeFacts
from railgauge.judging.record import blank
from railgauge.verdict import at_end, decision
from railgauge.verdict.deviations import DeviationState

LOGS, COUNTS = logged.ITEMS, counted.ITEMS


def items(found):
    return {one.id: one for one in at_end.items(found)}


def log_of(node, *parts, **more):
    """The item of a node's kernel log in a run that was merged of these."""
    return items(merged(*parts, **more))[LOGS.item_id(node)]


def merged(*parts, **more):
    """The results of a run that was merged of these; they are named r1, r2 and so on."""
    runs = {f"r{number}": part for number, part in enumerate(parts, 1)}
    return replace(parts[-1], kept=lambda case: None, parts=runs, **more)


def fallen(node="n1", **more):
    return logged.results(kept={node: logged.reading(node, logged.XID)}, **more)


def decided(found, **more):
    return decision.decide(replace(run_plan(found.records), ended=ENDED, **more), found)


# --- read at the end of each run ---


def test_a_clean_later_reading_does_not_erase_an_earlier_one_that_failed():
    one = log_of("n1", fallen(), logged.results())
    assert one.outcome is Outcome.FAILED
    assert one.reason.endswith("(in r1); passed in r2")
    assert [judged.outcome for judged in one.judgements] == [Outcome.FAILED, Outcome.PASSED]
    assert one.judgements[0].reason.endswith("(in r1)")
    assert one.by_evidence
    found = decided(merged(fallen(), logged.results()))
    assert (found.verdict, [cause.cause for cause in found.causes]) == ("rejected", ["gpu-xid"])
    assert "(in r1)" in found.causes[0].says


def test_a_later_reading_that_failed_counts_as_well():
    one = log_of("n1", logged.results(), fallen(), fallen())
    assert one.outcome is Outcome.FAILED
    assert one.reason.count("(in r2)") == one.reason.count("(in r3)") == 1
    assert one.reason.endswith("; passed in r1")
    assert log_of("n2", logged.results(), fallen()).outcome is Outcome.PASSED


def test_what_every_run_has_read_and_found_to_be_good_names_no_run():
    one = log_of("n1", logged.results(), logged.results())
    assert (one.outcome, one.reason, len(one.judgements)) == (Outcome.PASSED, "", 2)
    alone = replace(logged.results(), cluster=cluster("n2"))
    assert log_of("n1", fallen(), alone, cluster=cluster(*NODES)) == items(fallen())[one.id]


def test_counters_that_grew_in_one_run_grew():
    grown = counted.results(kept={"n2": CaseResult((counted.window("n2", 4),))})
    found = items(merged(grown, counted.results()))
    one = found[COUNTS.item_id("n2")]
    assert (one.outcome, found[COUNTS.item_id("n1")].outcome) == (Outcome.FAILED, Outcome.PASSED)
    assert one.reason.endswith("(in r1); passed in r2")
    assert decided(merged(grown, counted.results())).verdict == "rejected"


def test_an_end_of_run_check_that_one_run_did_not_reach_is_not_run():
    """As after Ctrl-C: what the node's kernel logged in that time is not known."""
    stopped = logged.results(kept=dict.fromkeys(NODES))
    for parts in ((stopped, logged.results()), (logged.results(), stopped)):
        one = log_of("n1", *parts)
        assert one.outcome is Outcome.NOT_RUN
        assert one.reason.startswith("the run ended before this item (in r")
        assert decided(merged(*parts)).verdict == "incomplete"
    one = log_of("n1", stopped, fallen())
    assert (one.outcome, one.beside) == (
        Outcome.FAILED,
        "the run ended before this item (in r1)",
    )


def test_a_node_that_no_run_has_read_has_not_been():
    alone = replace(logged.results(), cluster=cluster("n1"))
    one = log_of("n3", alone, cluster=cluster(*NODES))
    assert (one.outcome, one.reason, one.questions) == (Outcome.NOT_RUN, at_end.NOT_READ, ())


def test_a_platform_that_does_not_ask_for_them_has_none():
    of_parts = merged(fallen(platform=logged.ONE), platform=logged.ONE)
    assert items(of_parts) == {}


def test_the_end_of_run_checks_of_a_run_are_none_of_its_measurements():
    """A logged line is reported with the measurement that ran, and not with other readings."""
    part = fallen()
    grown = {one.id: one for one in items(part).values()}
    asked = {name: blank(one) for name, one in grown.items()}
    recorded = replace(part, records={**part.records, **asked})
    assert log_of("n1", recorded) == log_of("n1", part)


# --- accepted in writing ---


def test_a_deviation_covers_a_reading_of_one_of_the_runs():
    gone = accepted("n1", cause="gpu-xid")
    by_item = accepted("n1", item=LOGS.item_id("n1"))
    for one in (gone, by_item):
        found = decided(merged(fallen(), logged.results(), deviations=(one,)))
        assert found.verdict == "accepted with deviations"
        assert found.deviations[0].covers == (LOGS.item_id("n1"),)


def test_a_deviation_covers_no_reading_beside_one_that_is_missing():
    stopped = logged.results(kept=dict.fromkeys(NODES))
    gone = accepted("n1", cause="gpu-xid")
    found = decided(merged(fallen(), stopped, deviations=(gone,)))
    assert found.verdict == "rejected"
    assert found.deviations[0].state is DeviationState.REFUSED
    assert "a part of it could not be measured" in found.deviations[0].says


# --- sampled while it was measured ---


def gpus(*parts, **more):
    """The items of the nodes' GPUs in a run that was merged of these."""
    return {one.nodes[0]: one for one in items(merged(*parts, **more)).values()}


def test_a_gpu_that_was_throttled_in_one_run_was_throttled():
    """Also if a later run has made the measurement again, without throttling."""
    hot, cool = sampled.results(sampled.HOT_PAIR), sampled.results()
    for run, parts in ((1, (hot, cool)), (2, (cool, hot))):
        found = gpus(*parts)
        assert found["n2"].outcome is Outcome.FAILED
        assert f"of pair_all_reduce[n1:n2] in r{run}" in found["n2"].reason
        assert found["n1"].outcome is Outcome.PASSED
        assert "(160 samples of 4 measurements)" in found["n1"].judgements[0].measured


def test_samples_are_those_of_the_boot_in_their_run():
    """A node that was rebooted between two runs was sampled in both."""
    other = sampled.results()
    rebooted = replace(
        other,
        records={},
        found={**other.found, "n1": NodeFacts("n1", boot_id=OTHER_BOOT)},
    )
    assert gpus(sampled.results(), rebooted, records=other.records)["n1"].outcome is Outcome.PASSED


def test_a_measurement_without_samples_in_one_run_is_an_error():
    on = sampled.case(sampled.ON_NODE, "n1")
    lost = sampled.results({on: CaseResult(((sampled.client("n1"),),))})
    assert gpus(lost, sampled.results())["n1"].outcome is Outcome.ERROR
    broken = sampled.results({on: CaseResult((), ConnectionLost("gone", where="n1"))})
    assert gpus(broken, sampled.results())["n1"].outcome is Outcome.PASSED


@pytest.mark.parametrize("nodes", [("n1",), ("n1", "n2")])
def test_a_node_whose_measurements_no_run_has_made_is_not_run(nodes):
    one = sampled.results()
    mine = {name: i for name, i in one.records.items() if set(i.nodes) <= set(nodes)}
    found = gpus(replace(one, records=mine), records=one.records)
    assert found["n1"].outcome is Outcome.PASSED
    assert found["n2"].outcome is (Outcome.PASSED if "n2" in nodes else Outcome.NOT_RUN)
