"""Small runs, merged: what the folder has, what cannot be merged, and what does not verify."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from testing import small_runs as small

from railgauge.bundle import merged, merging
from railgauge.bundle.contents import FolderContents
from railgauge.bundle.errors import NotVerified
from railgauge.bundle.run_check import checked
from railgauge.config.deviations import Deviation
from railgauge.core.errors import BadInput, FactMissing
from railgauge.core.model import Outcome
from railgauge.planning.needs import Candidate
from railgauge.planning.soak import SoakPlan

SETTING, LOG = small.SETTING, small.LOG
EVENT = Deviation("n1", "RMA 4711", "A. E.", "2999-01-31", cause="gpu-xid")
AGAIN = small.only("n1", partners=("n3",))


def written(folder, *runs):
    """The run that these were merged to."""
    merging.write(runs, folder)
    return FolderContents(folder)


def said(*runs, folder):
    """Why these runs cannot be merged."""
    with pytest.raises(BadInput) as told:
        merging.write(runs, folder)
    assert not folder.exists()
    return str(told.value)


def judged(run):
    return checked(run, run.platform())


def unverified(run):
    """Where and why a merged run does not verify."""
    with pytest.raises(NotVerified) as told:
        judged(run)
    return f"{told.value.where}: {told.value.what}"


@pytest.fixture
def make(tmp_path):
    def make(name, hour, **more):
        return small.made(tmp_path / "runs" / name, hour, **more)

    return make


@pytest.fixture
def signed(make):
    """A sign-off in which one node failed by a setting and by the end of the run."""
    return make("r1", 1, wrong=["n1"], logged={"n1": small.FALLEN}, change={"operator": "M. Ohm"})


@pytest.fixture
def again(make):
    return make("r2", 2, part=AGAIN)


@pytest.fixture
def into(tmp_path):
    return tmp_path / "m"


@pytest.fixture
def done(signed, again, into):
    return written(into, again, signed)


@pytest.fixture
def shards(make):
    return [make(f"s{i}", i, part=small.shard(i)) for i in (1, 2, 3)]


# --- what a merged run is ---


def test_it_is_what_its_parts_give_in_the_order_in_which_they_began(done, signed, again):
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


def test_what_was_replaced_is_told_with_its_first_result(done):
    (line,) = judged(done).verdict.measured_again
    assert line.startswith("n1: 1 failed (cpu_governor is powersave")
    assert "in r1, ended 2026-11-24T01:30:00+00:00; 1 passed in r2, begun 2026-11-24T02" in line


def test_a_deviation_of_both_runs_covers_such_an_end(make, into):
    more = {"given": [EVENT]}
    runs = make("r1", 1, logged={"n1": small.FALLEN}, **more), make("r2", 2, part=AGAIN, **more)
    found = judged(written(into, *runs))
    assert found.verdict.verdict == "accepted with deviations"
    assert found.verdict.deviations[0].covers == (LOG.format("n1"),)
    assert FolderContents(into).deviations() == (EVENT,)


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


def test_what_no_run_measured_is_not_run(shards, into):
    found = judged(written(into, shards[0]))
    absent = {one.id for one in found.records.values() if one.outcome is Outcome.NOT_RUN}
    assert len(absent) == 4
    assert {LOG.format("n2"), LOG.format("n3")} <= absent
    assert found.verdict.verdict == "incomplete"


def test_its_files_are_those_of_its_parts(done, signed, again, into):
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


def test_its_measurements_are_those_of_its_records(done, into):
    lines = (into / "measurements.jsonl").read_text(encoding="utf-8").splitlines()
    made = [json.loads(line) for line in lines]
    due = [(name, one.measured) for name, i in done.records().items() for one in i.judgements]
    assert [(one["id"], one["measured"]) for one in made] == due
    assert {one["evidence"] for one in made} == {"hardware"}
    assert all("schema_version" in one for one in made)


def test_its_survey_is_the_latest_that_judged_a_node(make, into):
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


# --- what cannot be merged ---


def test_a_run_that_is_given_twice(signed, into):
    assert said(signed, signed, folder=into) == "r1: is given twice"


def test_a_replay_measured_nothing(make, signed, into):
    replayed = make("r2", 2, part=AGAIN, change={"evidence": "replayed"})
    line = said(signed, replayed, folder=into)
    assert line == "r2: is a replay: merge the runs that measured"


def test_a_run_with_a_soak(make, signed, into):
    soaked = make("r2", 2, part=AGAIN, change={"soak": SoakPlan("24h", 7, 86400.0)})
    assert said(signed, soaked, folder=into) == "r2: has a soak, which cannot be merged"


def test_a_part_that_does_not_verify_is_named(signed, again, into):
    forged = small.recorded(signed, SETTING.format("n1"), outcome="passed", reason="")
    line = said(forged, again, folder=into)
    assert line.startswith("r1: run/records.jsonl: ")
    assert "recorded as passed, but its evidence gives failed" in line


def test_a_partner_that_was_not_good(make, into):
    signed = make("r1", 1, wrong=["n1", "n3"])
    line = said(signed, make("r2", 2, part=AGAIN), folder=into)
    assert line.startswith("r2: has measured n1 with n3, which the runs before it do not show")


@pytest.mark.parametrize(
    ("what", "more"),
    [
        ("hostfile", {"asked": {"hostfile_sha256": "9"}}),
        ("platform file", {"asked": {"thresholds_sha256": "9"}}),
        ("level", {"change": {"level": "nightly"}}),
        ("number of rounds", {"change": {"rounds": 2}}),
        ("scheme of directions", {"change": {"directions": 1}}),
        ("set of tests", {"change": {"tests": (Candidate("warp", "measures", ()),)}}),
        ("version of railgauge", {"change": {"software": "0.0.1"}}),
        ("kind of evidence", {"change": {"evidence": "simulated"}}),
        ("size of the lab", {"asked": {"lab_nodes": 4}}),
        ("seed of the lab", {"asked": {"lab_seed": 4}}),
        ("set of deviations", {"given": [EVENT]}),
    ],
)
def test_runs_of_another_plan_or_under_other_limits(make, signed, into, what, more):
    other = make("r2", 2, part=AGAIN, **more)
    line = said(signed, other, folder=into)
    assert line.startswith(f"r2: has another {what} than r1")
    assert "merge runs of one cluster, under one plan and its limits" in line


@pytest.mark.parametrize(
    ("what", "part"),
    [
        ("set of nodes", {"nodes": ("n1", "n2", "n3", "n4")}),
        ("set of nodes", {"groups": {"leaf": ("n1",)}}),
    ],
)
def test_runs_of_other_clusters(make, signed, into, what, part):
    other = make("r2", 2, part=replace(AGAIN, **part))
    assert said(signed, other, folder=into).startswith(f"r2: has another {what} than r1;")


def test_runs_of_clusters_with_other_names_or_platforms(signed, again, into):
    for length in (40, 41):
        other = small.edited(again, "cluster.json", name="p" * length)
        named = f": {'p' * length}, not bench-cluster" if length == 40 else ""
        assert f"r2: has another cluster than r1{named};" in said(signed, other, folder=into)


def test_shards_of_other_numbers(shards, make, into):
    other = make("s4", 4, part=replace(small.shard(3), of=5))
    line = said(*shards[:2], other, folder=into)
    assert line.startswith("s4: has another number of shards than s1: 5, not 3")


def test_shards_and_a_run_with_only_have_no_number_in_common(shards, make, into):
    again = make("r5", 5, part=small.only("n1", partners=("n3",), leaves=True))
    found = judged(written(into, *shards, again))
    assert found.verdict.verdict == "accepted"
    assert len(found.verdict.measured_again) == 1


def test_a_run_that_does_not_say_how_it_was_started(signed, again, into):
    (again.folder / "invocation.json").unlink()
    assert "r2: does not say how it was started" in said(signed, again, folder=into)


# --- the runs that are given ---


def test_the_folder_of_a_run_that_ended(signed):
    with merging.opened([signed.folder]) as (one,):
        assert one.plan() == signed.plan()


@pytest.mark.parametrize("name", ["run.json", "thresholds.json"])
def test_a_run_that_is_not_as_it_was_left(signed, name):
    small.edited(signed, name, more=1)
    with pytest.raises(BadInput, match=f"{name}: was changed after the run"), \
            merging.opened([signed.folder]):  # fmt: skip
        pass
    (signed.folder / name).unlink()
    with pytest.raises(BadInput, match=f"{name}: is missing"), merging.opened([signed.folder]):
        pass


def test_a_run_that_did_not_end(signed):
    (signed.folder / "manifest.json").unlink()
    with pytest.raises(BadInput, match="the run did not end") as told, \
            merging.opened([signed.folder]):  # fmt: skip
        pass
    assert told.value.remedy.startswith("carry it on with pytest --resume")


def test_what_is_no_run(tmp_path):
    with pytest.raises(BadInput, match="does not exist"), merging.opened([tmp_path / "x"]):
        pass
    (tmp_path / "y").write_text("words", encoding="utf-8")
    with pytest.raises(BadInput, match=r"y"), merging.opened([tmp_path / "y"]):
        pass


# --- what does not follow from the parts ---


@pytest.mark.parametrize(
    "fields",
    [
        {"ended": "2026-11-24T02:31:00+00:00"},
        {"began": "2026-11-24T00:31:00+00:00"},
        {"operator": "somebody else"},
        {"sampled": True},
        {"rounds": 3},
    ],
)
def test_a_plan_that_its_parts_do_not_give(done, fields):
    line = unverified(small.edited(done, "run.json", **fields))
    assert line == "run/run.json: differs from the plan that its parts give"


def told(done):
    return json.loads(done.bytes("run.json"))["parts"]


def test_a_list_that_hides_what_was_replaced(done):
    parts = told(done)
    parts[1]["replaces"] = []
    line = unverified(small.edited(done, "run.json", parts=parts))
    assert line == "run/run.json: differs from the plan that its parts give"


def test_a_part_that_is_left_out(done):
    line = unverified(small.edited(done, "run.json", parts=told(done)[1:]))
    assert line


def test_parts_in_another_order(shards, into):
    done = written(into, *shards)
    line = unverified(small.edited(done, "run.json", parts=told(done)[::-1]))
    assert "is not in the order in which the runs began" in line


def test_a_part_that_is_another_run_or_merged_itself(done, into):
    part = FolderContents(into / "parts" / "r2")
    for run_id in ("r9", "r0"):
        small.edited(part, "run.json", run_id=run_id)
        line = unverified(FolderContents(into))
        assert line == "run/run.json: names r2, but its part is another run"
    small.edited(part, "run.json", run_id="r2", parts=told(done)[:1], part=None)
    assert unverified(FolderContents(into)).startswith("run/run.json: names r2, but its part")


@pytest.mark.parametrize("title", ["A", "~"])
def test_a_part_under_other_limits(done, into, title):
    small.edited(FolderContents(into / "parts" / "r2"), "thresholds.json", title=title)
    assert unverified(done) == "run/run.json: is merged of r2, which has other limits"


def test_a_part_that_does_not_verify_is_named_with_its_file(done, into):
    part = FolderContents(into / "parts" / "r1")
    small.recorded(part, SETTING.format("n1"), outcome="passed", reason="", judgements=[])
    assert unverified(done).startswith("run/parts/r1/records.jsonl: ")


def test_a_part_without_the_reading_at_its_end(done, into):
    small.log_file(FolderContents(into / "parts" / "r1"), "n1").unlink()
    assert unverified(done).startswith("run/parts/r1/transcripts/")


@pytest.mark.parametrize("below", ["transcripts", "confirm/transcripts"])
def test_evidence_that_is_of_none_of_its_parts(done, into, below):
    (into / below).mkdir(parents=True)
    shutil.copy(small.log_file(FolderContents(into / "parts" / "r1"), "n1"), into / below)
    assert unverified(done) == "run/: has evidence that is of none of its parts"


def test_parts_that_are_not_of_one_plan(done, into):
    small.edited(FolderContents(into / "parts" / "r2"), "invocation.json", lab_seed=4)
    assert "r2: has another seed of the lab than r1" in unverified(done)


def test_a_part_whose_partners_were_not_good(make, into, monkeypatch):
    signed = make("r1", 1, wrong=["n1", "n3"])
    monkeypatch.setattr(merging, "refuse_doubtful_partners", lambda runs: None)
    done = written(into, signed, make("r2", 2, part=AGAIN))
    assert "has measured n1 with n3, which the runs before it do not show" in unverified(done)


def test_another_cluster_or_survey_than_its_parts_have(done, into):
    cluster = done.bytes("cluster.json")
    nodes = json.loads(cluster)["nodes"]
    other = small.edited(done, "cluster.json", nodes=[node | {"address": "x"} for node in nodes])
    assert unverified(other) == "run/: has another cluster than its parts"
    (into / "cluster.json").write_bytes(cluster)
    every = json.loads(done.bytes("environment.json"))["nodes"]
    every["n2"]["facts"]["kernel"] = "6.9"
    other = small.edited(done, "environment.json", nodes=every)
    assert unverified(other) == "run/: has another survey than its parts"


def test_a_record_that_the_parts_do_not_give(done):
    name = LOG.format("n1")
    line = unverified(small.recorded(done, name, outcome="passed", reason="", judgements=[]))
    assert line.endswith(f"{name} is recorded as passed, but its evidence gives failed")
