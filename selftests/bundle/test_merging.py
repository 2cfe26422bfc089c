"""Small runs, merged: what the folder of the merged run has."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from testing import small_runs as small
from testing.small_runs import AGAIN, judged, written

from railgauge.bundle import merged
from railgauge.config.deviations import Deviation
from railgauge.core.errors import BadBundle, FactMissing
from railgauge.core.model import Outcome
from railgauge.judging.kernel_log import ITEMS as LOGS
from railgauge.run.run_folder import RunFolder

pytest_plugins = ["testing.small_merges"]

SETTING, LOG = small.SETTING, small.LOG
EVENT = Deviation("n1", "RMA 4711", "A. E.", "2999-01-31", cause="gpu-xid")


# --- what a merged run is ---


def test_a_merged_run_follows_from_its_parts_in_the_order_of_their_start(done, signed, again):
    found = judged(done)
    assert found.records == done.records()
    outcomes = {name: one.outcome for name, one in found.records.items()}
    assert outcomes.pop(LOG.format("n1")) is Outcome.FAILED
    assert set(outcomes.values()) == {Outcome.PASSED}
    assert len(outcomes) == 5
    plan = done.plan()
    assert [part.run_id for part in plan.parts] == ["r1", "r2"]
    assert (plan.run_id, plan.part, plan.operator) == ("m", None, "M. Ohm")
    assert (plan.began, plan.ended) == (signed.plan().began, again.plan().ended)
    assert list(plan.planned) == list(found.records)


def test_what_the_end_of_a_run_shows_is_not_erased_by_a_later_one(done):
    one = done.records()[LOG.format("n1")]
    assert one.reason.endswith("(in r1); passed in r2")
    assert [made.outcome for made in one.judgements] == [Outcome.FAILED, Outcome.PASSED]
    assert judged(done).verdict.verdict == "rejected"


def test_a_replaced_item_is_reported_with_its_first_result(done):
    (line,) = judged(done).verdict.measured_again
    assert line.startswith("n1: 1 failed (cpu_governor is powersave")
    assert "in r1, ended 2026-11-24T01:30:00+00:00; 1 passed in r2, begun 2026-11-24T02" in line


def test_a_deviation_of_a_node_outside_the_later_run_is_kept(make, into):
    """One that the cluster does not have is bad input all the same."""
    more = {"given": [replace(EVENT, subject="n2")]}
    runs = make("r1", 1, wrong=["n1"], **more), make("r2", 2, part=AGAIN, **more)
    assert "n2" not in [node.name for node in runs[1].cluster().nodes]
    assert judged(written(into, *runs)).verdict.verdict == "accepted"
    with pytest.raises(BadBundle, match="has no node n9"):
        make("r3", 3, part=AGAIN, given=[replace(EVENT, subject="n9")])


def test_a_deviation_of_both_runs_covers_such_an_end(make, into):
    more = {"given": [EVENT]}
    runs = make("r1", 1, logged={"n1": small.FALLEN}, **more), make("r2", 2, part=AGAIN, **more)
    found = judged(written(into, *runs))
    assert found.verdict.verdict == "accepted with deviations"
    assert found.verdict.deviations[0].covers == (LOG.format("n1"),)
    assert RunFolder(into).deviations() == (EVENT,)


def test_an_end_that_was_not_read_is_not_run(make, into):
    runs = make("r1", 1, unread=["n1"]), make("r2", 2, part=AGAIN)
    found = judged(written(into, *runs))
    assert found.records[LOG.format("n1")].outcome is Outcome.NOT_RUN
    assert found.verdict.verdict == "incomplete"


def test_the_end_of_a_machine_that_was_exchanged_counts(make, into):
    signed = make("r1", 1, logged={"n1": small.FALLEN})
    again = make("r2", 2, part=AGAIN, machines={"n1": "another"})
    found = judged(written(into, signed, again))
    assert found.records[LOG.format("n1")].outcome is Outcome.FAILED
    assert found.records[SETTING.format("n1")].outcome is Outcome.PASSED


def test_a_merged_run_is_merged_again_as_its_parts(signed, again, make, tmp_path):
    first = written(tmp_path / "m1", signed, again)
    third = make("r3", 3, part=small.only("n1", partners=("n2",)))
    both = written(tmp_path / "m2", third, first)
    assert [part.run_id for part in both.plan().parts] == ["r1", "r2", "r3"]
    assert both.records()[LOG.format("n1")].reason.endswith("(in r1); passed in r2, r3")
    assert [line.partition(" in ")[2][:2] for line in judged(both).verdict.measured_again] == [
        *("r1", "r2"),
    ]


def test_shards_are_one_run(shards, into):
    found = judged(written(into, *reversed(shards)))
    assert found.verdict.verdict == "accepted"
    assert found.verdict.counts.planned == 6
    assert found.verdict.measured_again == ()
    assert found.verdict.notes[0].startswith("MERGED of 3 runs: s1 (shard 1/3, 2026-11-24T01")


def test_the_plan_has_the_latest_end_and_all_operators(make):
    """The run ends at the latest end, whatever its offset, and is sampled if any part is."""
    changes = (
        {"operator": "A. E.", "ended": "2026-11-24T09:30:00+08:00"},
        {"operator": "M. Ohm", "ended": "2026-11-24T02:30:00+00:00", "sampled": True},
        {"operator": "A. E.", "ended": "2026-11-24T03:30:00+03:00"},
        {"ended": "2026-11-24T02:00:00+00:00", "software": "0.2.9"},
    )
    runs = [make(f"r{i}", i, change=one) for i, one in enumerate(changes, 1)]
    plan = merged.plan_of("m", runs, ())
    assert (plan.ended, plan.operator) == (changes[1]["ended"], "A. E., M. Ohm")
    assert (plan.sampled, merged.plan_of("m", runs[2:], ()).sampled) == (True, False)
    assert (plan.began, plan.planned, plan.parts) == (runs[0].plan().began, (), ())
    assert plan.software == runs[0].plan().software


def test_what_no_run_measured_is_not_run(shards, into):
    found = judged(written(into, shards[0]))
    absent = {one.id for one in found.records.values() if one.outcome is Outcome.NOT_RUN}
    assert len(absent) == 4
    assert {LOG.format("n2"), LOG.format("n3")} <= absent
    assert found.verdict.verdict == "incomplete"


def test_files_of_a_merged_run_are_those_of_its_parts(done, signed, again, into):
    for run in (signed, again):
        part = into / "parts" / run.folder.name
        names = {path.relative_to(part).as_posix() for path in part.rglob("*") if path.is_file()}
        assert "hostfile.yaml" not in names
        assert "verdict.json" not in names
        assert {"run.json", "records.jsonl", "thresholds.json", "cluster.json"} <= names
        assert {"environment.json", "invocation.json"} <= names
        assert all((part / n).read_bytes() == (run.folder / n).read_bytes() for n in names)
        logs = {f"transcripts/{small.log_file(run, node).name}" for node in run.found}
        assert {name for name in names if name.startswith("transcripts/")} >= logs
    assert (into / "hostfile.yaml").read_bytes() == (signed.folder / "hostfile.yaml").read_bytes()
    assert (into / "thresholds.json").read_bytes() == signed.bytes("thresholds.json")
    assert not (into / "deviations.json").exists()
    assert not (into / "transcripts").exists()
    assert "serial-n1" in (into / "inventory.csv").read_text(encoding="utf-8")


def test_other_evidence_of_a_part_is_kept(signed, again, into):
    (signed.folder / "confirm" / "transcripts").mkdir(parents=True)
    (signed.folder / "reboots.jsonl").write_text("", encoding="utf-8")
    (signed.folder / "plots").mkdir()
    (signed.folder / "plots" / "run.json").write_text("{}", encoding="utf-8")
    written(into, signed, again)
    assert (into / "parts" / "r1" / "reboots.jsonl").exists()
    assert not (into / "parts" / "r1" / "plots").exists()


def test_measurements_of_a_merged_run_are_those_of_its_records(done, into):
    lines = (into / "measurements.jsonl").read_text(encoding="utf-8").splitlines()
    made = [json.loads(line) for line in lines]
    due = [(name, one.measured) for name, i in done.records().items() for one in i.judgements]
    assert [(one["id"], one["measured"]) for one in made] == due
    assert {one["evidence"] for one in made} == {"hardware"}
    assert all("schema_version" in one for one in made)


def test_the_survey_of_a_node_is_the_latest_that_judged_it(make, into):
    """Facts of a partner are not judged: they are those of the run that has judged them."""
    parts = {"n1": "a", "n3": "c"}
    runs = make("r1", 1, machines=parts), make("r2", 2, part=AGAIN, machines=parts)
    there = small.edited(
        runs[1],
        "environment.json",
        nodes={
            node: {"facts": one["facts"] | {"kernel": f"{node} later"}, "error": None}
            for node, one in json.loads(runs[1].bytes("environment.json"))["nodes"].items()
        },
    )
    done = written(into, runs[0], there)
    assert [done.found[node].kernel for node in small.NODES] == ["n1 later", None, None]
    head = json.loads((into / "environment.json").read_text(encoding="utf-8"))
    assert (head["evidence"], head["cluster"], head["platform"], head["schema_version"]) == (
        *("hardware", "bench-cluster", "connectx4-homelab", 1),
    )


def test_an_item_is_judged_by_what_was_measured_in_its_own_run(done, monkeypatch):
    """The merged run's facts, the given limits and the whole fabric are used too."""
    used = {}
    monkeypatch.setattr(merged, "Assessor", lambda *words: words)
    monkeypatch.setattr(merged, "gated", lambda found, judged, platform: judged)
    limits = replace(done.platform(), title="other limits")
    merged.remade(done, done.plan(), limits, lambda one, by: used.setdefault(one.id, by) and one)
    for node, part in (("n1", done.parts[1]), ("n2", done.parts[0])):
        platform, found, result, fabric = used[SETTING.format(node)]
        assert result(LOGS.case_of("n1")) == part.result(LOGS.case_of("n1"))
        assert (platform, found, fabric) == (limits, done.found, small.WHOLE.fabric)
    first, second = (part.result(LOGS.case_of("n1")) for part in done.parts)
    assert first != second


def test_a_transcript_is_that_of_the_run_that_measured_it(done):
    kept = {SETTING.format("n1"): "transcripts/a.json", SETTING.format("n2"): ""}

    def judge(item, _by):
        return replace(item, transcript=kept.get(item.id, ""))

    found = merged.remade(done, done.plan(), done.platform(), judge).records
    assert [found[name].transcript for name in kept] == ["parts/r2/transcripts/a.json", ""]


def test_the_end_is_made_of_all_items_those_that_did_not_run_too(shards, into, monkeypatch):
    done, given = written(into, *shards[:1]), []
    monkeypatch.setattr(merged.decision, "closed", lambda *words: given.append(words) or ())
    run = merged.plan_of("m", done.parts, ())
    merged.remade(done, run, done.platform(), lambda item, _by: item)
    ((planned, results),) = given
    assert planned.planned == tuple(results.records)
    absent = [one for one in results.records.values() if one.outcome is Outcome.NOT_RUN]
    assert [one.nodes for one in absent] == [("n2",), ("n3",)]


def test_the_cluster_is_that_of_the_run_of_the_whole_level(signed, again):
    other = small.edited(again, "cluster.json", source="other.yaml")
    for parts in ((signed, other), (other, signed)):
        assert merged.cluster_of(parts).source == "bench.yaml"


def test_shards_alone_have_the_cluster_of_the_first(shards):
    first, *_, last = shards
    other = small.edited(last, "cluster.json", source="other.yaml")
    assert merged.cluster_of((first, other)).source == "bench.yaml"


def test_a_node_that_no_run_has_surveyed_has_no_facts(shards, into):
    done = written(into, shards[0])
    assert isinstance(done.found["n3"], FactMissing)
    assert done.found["n3"].where == "n3"


def test_a_node_of_its_cluster_is_as_the_latest_run_has_reached_it(signed, again, into):
    nodes = json.loads(again.bytes("cluster.json"))["nodes"]
    moved = [node | {"address": f"new-{node['name']}"} for node in nodes]
    done = written(into, signed, small.edited(again, "cluster.json", nodes=moved))
    assert [node.address for node in done.cluster().nodes] == ["new-n1", "n2", "new-n3"]


def test_nodes_of_shards_that_no_run_used_have_only_their_names(shards):
    whole = merged.cluster_of(shards[:1])
    addresses = [(node.name, node.address) for node in whole.nodes]
    assert addresses == [("n1", "n1"), ("n2", ""), ("n3", "")]
    assert whole.groups == small.LEAVES
