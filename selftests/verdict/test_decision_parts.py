"""The verdict of a shard, of a merged run, of a soak, and of a run with accepted deviations."""

from dataclasses import replace

import pytest
from test_decision import DECLARED, HOMELAB, ONE, answering, decided, run_plan
from test_deviations import ENDED, accepted
from testing.core_values import ROOT, cluster, item, judgement, without_closing_items

from railgauge.config import thresholds
from railgauge.core.model import Fabric, Outcome
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.model import SoakResults
from railgauge.planning import part, plan
from railgauge.planning.required import SUBNET
from railgauge.planning.soak import SoakPlan
from railgauge.verdict.decision import closed, decide, not_applicable, not_run
from railgauge.verdict.history import MergedPart

H200 = without_closing_items(thresholds.load("h200", ROOT / "thresholds"))
NAMES = tuple(f"n{number}" for number in range(1, 9))
LEAVES = {"leaf1": NAMES[:4], "leaf2": NAMES[4:]}
EIGHT = cluster(*NAMES, groups=LEAVES)
SCANNED = replace(EIGHT, fabric=Fabric("n5", "", "topology"))
SOAK = SoakPlan("24h", 7, 86400.0)


# --- what a shard does not have ---


def reasons(declared, number, level="signoff"):
    """What does not apply to one of three shards: a leaf, the other leaf, the pairs between."""
    shard = part.shard(f"{number}/3", declared)
    return not_applicable(H200, part.of_level(shard, plan.level(H200, declared, level)))


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("memlock", (3,)),  # facts of nodes
        ("fabric_errors", (1, 3)),  # node n5 scans, of the second leaf
        ("node_all_reduce", (3,)),
        ("pair_all_reduce", ()),
        ("host_write_bandwidth", ()),
        ("group_all_reduce", ()),
    ],
)
def test_a_shard_says_what_it_has_none_of(name, lacking):
    assert name in {**H200.expected, **H200.measurements}
    for number in (1, 2, 3):
        reason = f"shard {number}/3 has none of it" if number in lacking else None
        assert reasons(SCANNED, number).get(name) == reason


def test_a_group_is_lacking_where_the_whole_cluster_has_one():
    """Two shards of one bin: the group of all nodes belongs to one of them."""
    one_group = cluster(*NAMES)
    whole = plan.level(H200, one_group, "signoff")
    first, second = (
        not_applicable(H200, part.of_level(part.shard(f"{number}/2", one_group), whole))
        for number in (1, 2)
    )
    assert "group_all_reduce" not in first
    assert second["group_all_reduce"] == "shard 2/2 has none of it"


def test_the_shard_that_should_scan_owes_the_scan_and_the_others_have_none_of_it():
    first, second, third = (reasons(EIGHT, number) for number in (1, 2, 3))
    assert not set(SUBNET) & set(first)
    for number, other in ((2, second), (3, third)):
        assert {other[name] for name in SUBNET} == {f"shard {number}/3 has none of it"}


def test_each_shard_gives_the_reason_of_the_whole_for_no_scan():
    of = replace(EIGHT, no_fabric="the provider runs it")
    whole = not_applicable(H200, plan.level(H200, of, "signoff"))
    assert {whole[name] for name in SUBNET} == {
        "the hostfile gives a reason for no scan of the subnet: the provider runs it"
    }
    for number in (1, 2, 3):
        assert {name: reasons(of, number)[name] for name in SUBNET} == {n: whole[n] for n in SUBNET}


def test_a_whole_level_has_all_of_it():
    assert "has none of it" not in str(not_applicable(H200, plan.level(H200, SCANNED, "signoff")))
    of_two = plan.level(H200, cluster("n1", "n2"), "signoff")
    assert not_applicable(H200, of_two)["group_all_reduce"].startswith("the hostfile has no group")
    whole = plan.level(H200, cluster("n1"), "signoff")
    alone = part.of_level(part.shard("1/1", cluster("n1")), whole)
    assert not_applicable(H200, alone)["pair_all_reduce"] == "the hostfile has no pair to measure"


def test_a_shard_s_verdict_names_it_and_is_incomplete_at_best():
    run = replace(run_plan(answering()), part=part.shard("1/1", DECLARED))
    result = decide(run, RunResults(answering(), {}, ONE, DECLARED))
    assert (result.part, result.verdict) == ({"shard": "1/1"}, "incomplete")
    assert result.scope == "shard 1/1, no GPU"
    assert result.counts.passed == result.counts.planned == 3
    assert decided(answering()).part is None


# --- a run that was merged, and one of an earlier version ---


def test_a_check_that_no_merged_run_has_measured_has_that_reason():
    records = answering()
    del records["1"]
    results = RunResults(records, {}, ONE, DECLARED)
    for parts, why in (
        ((MergedPart("run-0", "then", "later"),), "no run that was merged has measured it"),
        ((), "no item of this run asked for it"),
    ):
        (absent,) = not_run(replace(run_plan(records), parts=parts), results)
        assert absent.reason == why


def test_a_run_that_does_not_say_that_it_sampled_owes_every_node():
    many = cluster(*(f"n{number:02}" for number in range(64)))
    assert run_plan(()).level_of(H200, many).measured == tuple(node.name for node in many.nodes)
    sampled = replace(run_plan(()), sampled=True).level_of(H200, many)
    assert 2 <= len(sampled.measured) < 64


# --- a soak, and deviations ---


def test_a_soak_that_was_not_begun_is_owed():
    run = replace(run_plan(answering()), soak=SOAK)
    results = RunResults(answering(), {}, ONE, DECLARED)
    (owed,) = closed(run, results)
    assert (owed.subject, owed.reason) == ("soak", "the run ended before its soak")
    result = decide(run, results)
    assert (result.verdict, result.counts.not_run, result.soak) == ("incomplete", 1, None)
    assert list(closed(run_plan(answering()), results)) == []


def test_failures_of_a_soak_count_and_are_explained_by_the_soak():
    missed = item(
        "soak/0003/a", Outcome.FAILED, reason="slow",
        judgements=(judgement(Outcome.FAILED, reason="slow"),),
    )  # fmt: skip
    soaked = SoakResults((missed,), (), (), {"rounds": 3}, ("three rounds",))
    run = replace(run_plan(answering(HOMELAB)), soak=SOAK)
    result = decide(run, RunResults(answering(HOMELAB), {}, HOMELAB, DECLARED, soak=soaked))
    assert (result.verdict, result.counts.failed, result.counts.not_run) == ("rejected", 1, 0)
    assert (result.soak, result.notes[-1], result.causes) == ({"rounds": 3}, "three rounds", ())


def test_an_end_of_run_check_of_the_ladder_that_failed_has_a_cause(monkeypatch):
    own = item("peers::behind_peers[n1]", Outcome.FAILED, nodes=("n1",), reason="behind")
    monkeypatch.setattr("railgauge.verdict.at_end.items", lambda results: iter((own,)))
    assert [cause.evidence for cause in decided(answering()).causes] == [(own.id,)]


def test_a_deviation_is_in_the_verdict_with_what_it_does():
    run = replace(run_plan(answering()), ended=ENDED)
    results = RunResults(answering(), {}, ONE, DECLARED, deviations=(accepted(),))
    (effect,) = decide(run, results).deviations
    assert effect.deviation == accepted()
    assert decided(answering()).deviations == ()
