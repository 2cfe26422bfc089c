"""The verdict of a run: which records count, in which order, and what does not apply."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT, cluster, item, judgement, without_closing_items

from railgauge.config import thresholds
from railgauge.config.thresholds.model import Peers
from railgauge.core.codec import from_plain, to_plain
from railgauge.core.errors import NodeUnreachable
from railgauge.core.limits import Basis
from railgauge.core.model import Fabric, Outcome
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.left_open.unplanned import unplanned
from railgauge.facts import NodeFacts
from railgauge.facts.boot import Reboot
from railgauge.planning import plan
from railgauge.planning.marks import EXPECTS, MEASURES
from railgauge.planning.needs import Candidate
from railgauge.planning.pairing import ALTERNATING, DIRECTED
from railgauge.planning.required import NOT_SCANNED, LevelScope, count, required_checks
from railgauge.verdict import at_end, decision
from railgauge.verdict.decision import (
    SUBNET,
    RunPlan,
    decide,
    limit_notes,
    not_applicable,
    not_run,
    subnet_notes,
)

NODES = ("n1", "n2", "n3")
DECLARED = cluster(*NODES)
HOMELAB = without_closing_items(thresholds.load("connectx4-homelab", ROOT / "thresholds"))
# A platform with one expectation and no measurement: the items of this file answer everything.
ONE = replace(HOMELAB, expected={"memlock": HOMELAB.expected["memlock"]}, measurements={})
PEERED = replace(ONE, peers=Peers(0.03, Basis("derived", "made up for a test")))


def run_plan(planned, level="smoke", rounds=None):
    return RunPlan(2, "run-1", "simulated", level, rounds, tuple(planned), "0", directions=DIRECTED)


def answering(platform=ONE, level="smoke", rounds=None, directions=DIRECTED, **changes):
    """One item for each required check."""
    wanted = plan.level(platform, DECLARED, level, rounds, directions)
    scope = LevelScope(platform, DECLARED, wanted)
    made = [
        item(
            f"{number}", rung=d.rung, subject=d.key.subject, nodes=d.key.nodes, ways=(d.key.way,),
            pairing=d.key.part, size_bytes=d.key.size_bytes, questions=(d.question,), **changes,
        )
        for number, d in enumerate(required_checks(scope))
    ]  # fmt: skip
    return {one.id: one for one in made}


def decided(records, planned=None, platform=ONE, **more):
    run = run_plan(records if planned is None else planned, **more)
    return decide(run, RunResults(records, {}, platform, DECLARED))


def test_a_run_is_accepted_if_all_required_checks_passed():
    result = decided(answering())
    assert (result.verdict, result.exit_code) == ("accepted", 0)
    assert (result.counts.planned, result.counts.passed, result.counts.not_run) == (3, 3, 0)


@pytest.mark.parametrize(
    ("outcome", "verdict", "code"),
    [
        (Outcome.FAILED, "rejected", 1),
        (Outcome.ERROR, "incomplete", 10),
        (Outcome.BLOCKED, "incomplete", 10),
        (Outcome.MARGINAL, "accepted", 0),
    ],
)
def test_one_item_that_ended_otherwise_decides(outcome, verdict, code):
    records = answering()
    records["1"] = replace(records["1"], outcome=outcome)
    result = decided(records)
    assert (result.verdict, result.exit_code, result.counts.planned) == (verdict, code, 3)


def test_a_planned_item_without_a_record_did_not_run():
    result = decided(answering(), planned=["0", "1", "2", "3"])
    assert (result.verdict, result.counts.planned, result.counts.not_run) == ("incomplete", 4, 1)


def test_a_record_that_was_not_planned_answers_nothing():
    result = decided(answering(), planned=["0", "2"])
    assert (result.verdict, result.counts.planned, result.counts.not_run) == ("incomplete", 3, 1)
    strange = {**answering(), "own": item("own", Outcome.FAILED)}
    result = decided(strange, planned=["0", "1", "2"])
    assert (result.verdict, result.causes) == ("accepted", ())
    assert decided(strange).causes != ()


def test_a_check_that_no_item_asked_for_is_named_and_counted_once():
    records = answering()
    del records["1"]
    results = RunResults(records, {}, ONE, DECLARED)
    (absent,) = not_run(run_plan(records), results)
    assert (absent.subject, absent.nodes) == ("memlock", ("n2",))
    assert decided(records, planned=["0", "2", absent.id]).counts.not_run == 1


def test_end_of_run_checks_are_made_again_from_the_other_items():
    records = answering(PEERED)
    kept = {name: item(name) for name in ("peers::behind_peers[n1]", "peers::behind_peers[n9]")}
    result = decided({**records, **kept}, platform=PEERED)
    assert (result.counts.planned, result.counts.passed, result.counts.error) == (6, 3, 3)
    assert result.verdict == "incomplete"


@pytest.mark.parametrize("shuffled", [False, True])
def test_end_of_run_checks_are_made_from_planned_items_in_their_order(shuffled, monkeypatch):
    records = answering(PEERED)
    seen = []
    monkeypatch.setattr(at_end, "items", lambda results: seen.append(results) or iter(()))
    strange = {"own": item("own"), **(dict(reversed(records.items())) if shuffled else records)}
    list(decision.closed(run_plan(records), RunResults(strange, {}, PEERED, DECLARED)))
    assert [list(results.records) for results in seen] == [list(records)]


def test_an_item_that_was_not_run_is_unknown_of_its_node():
    records = answering(HOMELAB)
    found = {name: one for name, one in records.items() if "n2" not in one.nodes}
    unplanned_lines = tuple(unplanned(HOMELAB, plan.level(HOMELAB, DECLARED, "smoke")))
    assert decided(records, platform=HOMELAB).unknown == unplanned_lines
    lines = set(decided(found, platform=HOMELAB).unknown) - set(unplanned_lines)
    assert {line.nodes for line in lines} == {"n2"}


def test_a_run_of_an_earlier_version_owes_the_directions_of_its_time():
    """Its plan does not name the scheme. Some of its nodes never sent, and it still verifies."""
    saved = to_plain(run_plan(()))
    del saved["directions"]
    earlier = from_plain(RunPlan, saved, "run.json")
    then = {str(pair) for pair in earlier.level_of(HOMELAB, DECLARED).pairs}
    now = {str(pair) for pair in run_plan(()).level_of(HOMELAB, DECLARED).pairs}
    assert then == {"n2:n3", "n2:n1", "n1:n3"}
    assert now == {"n2:n3", "n1:n2", "n3:n1"}
    records = answering(HOMELAB, directions=ALTERNATING)
    run = replace(earlier, planned=tuple(records))
    assert decide(run, RunResults(records, {}, HOMELAB, DECLARED)).verdict == "accepted"
    assert decided(records, platform=HOMELAB).verdict == "incomplete"


def test_the_order_of_the_records_changes_nothing():
    records = answering()
    for name in records:
        records[name] = replace(
            records[name], outcome=Outcome.FAILED, reason="memlock",
            judgements=(judgement(Outcome.FAILED, metric="memlock", reason="memlock"),),
        )  # fmt: skip
    backwards = dict(reversed(records.items()))
    one, other = (decided(each, planned=list(records)) for each in (records, backwards))
    assert one.to_json() == other.to_json()
    assert list(decision._ordered(run_plan(records), backwards)) == list(records)


def test_level_and_rounds_of_the_run_decide_what_is_required():
    for level, rounds in (("smoke", None), ("smoke", 2), ("nightly", None)):
        records = answering(HOMELAB, level, rounds)
        result = decided(records, platform=HOMELAB, level=level, rounds=rounds)
        assert (result.verdict, result.level, result.counts.planned) == (
            "accepted",
            level,
            len(records),
        )
    one = answering(HOMELAB, "smoke", 1)
    assert decided(one, platform=HOMELAB, rounds=2).verdict == "incomplete"
    assert decided(one, platform=HOMELAB, level="nightly").verdict == "incomplete"


def test_a_verdict_names_its_run_cluster_and_platform():
    result = decided(answering(HOMELAB), platform=HOMELAB)
    assert (result.run_id, result.cluster, result.platform) == (
        "run-1",
        DECLARED.name,
        HOMELAB.name,
    )
    assert (result.evidence, result.level, result.scope) == ("simulated", "smoke", "no GPU")
    assert result.coverage["nodes"] == {"tested": 3, "declared": 3}
    assert result.coverage["pairs"]["declared"] == 3
    assert result.coverage["pairs"]["tested"] > 0
    assert set(HOMELAB.not_applicable) <= set(result.not_applicable)
    assert result.causes == ()


def test_reboots_are_noted():
    records = answering()
    reboot = Reboot("n1", "a", "b", during="run-1")
    result = decide(run_plan(records), RunResults(records, {}, ONE, DECLARED, reboots=(reboot,)))
    assert result.verdict == "accepted"
    assert "n1 was rebooted during run-1" in result.notes[0]


def test_a_failure_has_a_cause_and_counts_in_the_coverage():
    lost = NodeUnreachable("no route", where="n1")
    records = answering()
    records["0"] = replace(
        records["0"], outcome=Outcome.ERROR, error_kind="node-unreachable", error_where="n1",
        reason="n1: no route",
    )  # fmt: skip
    found = {"n1": lost, "n2": NodeFacts("n2"), "n3": NodeFacts("n3")}
    result = decide(run_plan(records), RunResults(records, found, ONE, DECLARED))
    assert [(cause.cause, cause.where.node) for cause in result.causes] == [
        ("node-unreachable", "n1")
    ]
    assert result.coverage["nodes"]["tested"] == 2
    assert (result.counts.error, result.counts.passed) == (1, 2)


def test_a_verdict_lists_what_could_be_tested_and_has_no_limit():
    tests = (
        Candidate("own_check", MEASURES),
        Candidate("memlock", EXPECTS),
        Candidate("gpu_x", MEASURES, ("gpus",)),
    )
    records = answering()
    run = replace(run_plan(records), tests=tests)
    result = decide(run, RunResults(records, {}, ONE, DECLARED))
    assert (result.not_limited, result.verdict) == (
        ("growth", "kernel_log", "own_check"),
        "accepted",
    )
    assert result.not_applicable["gpu_x"] == "the platform declares no GPU"


def test_a_run_that_kept_no_tests_does_not_say_that_all_are_limited():
    assert decided(answering()).not_limited is None


# --- what is not asked, and why ---


def absent(platform=HOMELAB, of=DECLARED, level="smoke"):
    return not_applicable(platform, plan.level(platform, of, level))


def test_a_test_that_the_platform_file_rules_out_keeps_its_reason():
    ruled = replace(ONE, not_applicable={"gpu_model": "no GPU", "fabric_links": "no switch"})
    assert absent(ruled)["gpu_model"] == "no GPU"
    assert absent(ruled)["fabric_links"] == "no switch"


def test_no_test_of_the_subnet_applies_without_a_node_that_scans():
    reasons = absent(replace(ONE, not_applicable={}))
    assert {reasons[name] for name in SUBNET} == {
        "the hostfile names no node that scans the subnet, and no declared topology (fabric:)"
    }
    assert SUBNET == (
        "fabric_manager", "fabric_cabling", "fabric_links", "fabric_errors",
        "fabric_errors_growth",
    )  # fmt: skip
    of = replace(DECLARED, fabric=Fabric("n1", "", "topology"))
    h200 = thresholds.load("h200", ROOT / "thresholds")
    assert not set(SUBNET) & set(absent(replace(h200, not_applicable={}), of))


def test_the_reason_of_the_hostfile_for_no_scan_is_reported():
    of = replace(DECLARED, no_fabric="the provider runs it")
    reasons = absent(replace(ONE, not_applicable={}), of)
    says = "the hostfile gives a reason for no scan of the subnet: the provider runs it"
    assert reasons == dict.fromkeys(SUBNET, says)
    (note,) = subnet_notes(plan.level(ONE, of, "signoff"))
    assert note == "subnet not scanned: the provider runs it"


def test_a_sign_off_that_should_scan_and_does_not_says_so():
    assert decided(answering(level="signoff"), level="signoff").notes == (
        f"SUBNET NOT SCANNED, the sign-off is incomplete: {NOT_SCANNED}",
    )
    assert subnet_notes(plan.level(ONE, DECLARED, "smoke")) == ()


def test_a_measurement_of_other_levels_says_which_these_are():
    (one,) = [m for m in HOMELAB.measurements.values() if m.made_at("smoke")][:1]
    extent = one.extents["smoke"]
    others = replace(one, extents={"nightly": extent, "signoff": extent})
    reasons = absent(replace(HOMELAB, measurements={one.name: others}))
    assert reasons[one.name] == "measured only at level nightly and signoff"
    assert "measured only at level" not in str(
        absent(replace(HOMELAB, measurements={one.name: one}))
    )


def test_a_measurement_without_a_place_says_which_place_is_lacking():
    h200 = thresholds.load("h200", ROOT / "thresholds")
    alone, two = (absent(h200, cluster(*names)) for names in (("n1",), ("n1", "n2")))
    assert alone["pair_all_reduce"] == "the hostfile has no pair to measure"
    assert alone["host_write_bandwidth"] == "the hostfile has no pair to measure"
    group = "the hostfile has no group of more than two nodes to measure"
    assert alone["group_all_reduce"] == two["group_all_reduce"] == group
    assert "pair_all_reduce" not in two
    assert "node_all_reduce" not in alone
    assert "group_all_reduce" not in absent(h200)


def test_missing_checks_of_counters_are_reported_where_payload_moves_between_nodes():
    h200 = thresholds.load("h200", ROOT / "thresholds")
    of = replace(DECLARED, fabric=Fabric("n1", "", "topology"))
    scan = replace(h200.measurements["node_all_reduce"], name="scan", scope="fabric")
    every = {"scan": scan, **h200.measurements}
    every = {name: one for name, one in every.items() if one.made_at("smoke")}
    silent = {name: replace(one, traffic=None) for name, one in every.items()}
    reasons = absent(replace(h200, measurements=silent), of)
    named = {name for name in silent if f"{name} traffic" in reasons}
    between = {n for n, one in silent.items() if one.rung in (1, 2, 4) and one.scope != "fabric"}
    assert named == between
    assert {reasons[f"{name} traffic"] for name in named} == {
        "the platform file sets no expectation on the NICs' counters"
    }
    asked = {name for name, one in h200.measurements.items() if one.traffic}
    assert asked
    assert not {f"{name} traffic" for name in asked} & set(absent(h200, of))


def limited(*sources, record_only=()):
    """A platform whose limits have these sources, each in a measurement of its own."""
    (plain, *_) = HOMELAB.measurements.values()
    limits = [
        replace(plain.limits[0], basis=Basis(source, "made up"), record_only=source in record_only)
        for source in sources
    ]
    made = {f"m{n}": replace(plain, limits=(limit,)) for n, limit in enumerate(limits)}
    return replace(HOMELAB, measurements=made)


@pytest.mark.parametrize(
    ("sources", "derived"),
    [
        (("derived",), "1 of 1"),
        (("datasheet", "standard", "derived"), "3 of 3"),
        (("derived", "calibrated"), "1 of 2"),
        (("derived", "derived", "calibrated"), "2 of 3"),
    ],
)
def test_limits_that_nobody_measured_are_noted(sources, derived):
    (note,) = limit_notes(limited(*sources))
    assert note == (
        f"LIMITS NOT CALIBRATED: {derived} limits are derived from data sheets and the survey, "
        "not from a measurement (railgauge docs calibration)"
    )
    assert note in decided({}, platform=limited(*sources)).notes


@pytest.mark.parametrize(
    "sources", [(), ("calibrated",), ("derived", "004"), ("004",), ("datasheet", "calibrated", "0")]
)
def test_calibrated_limits_and_those_of_a_document_need_no_note(sources):
    assert limit_notes(limited(*sources)) == ()


def test_a_limit_that_is_only_recorded_does_not_count():
    only = limited("derived", "datasheet", record_only=("datasheet",))
    assert limit_notes(only)[0].startswith("LIMITS NOT CALIBRATED: 1 of 1 ")
    assert limit_notes(limited("derived", record_only=("derived",))) == ()


def test_the_file_and_its_schema_are_those_of_the_contract():
    assert (decision.FILE, decision.SCHEMA_VERSION) == ("run.json", 2)


def test_an_item_that_answers_a_required_check_is_counted_as_it():
    records = answering(HOMELAB)
    wanted = plan.level(HOMELAB, DECLARED, "smoke")
    assert len(records) == count(LevelScope(HOMELAB, DECLARED, wanted))
