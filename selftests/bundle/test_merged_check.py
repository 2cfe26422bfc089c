"""Small runs, merged: what cannot be merged, and content that does not follow from the parts."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from testing import bundle_bench
from testing import small_runs as small
from testing.small_runs import AGAIN, judged, printed, unverified, written

from railgauge.bundle import merging, recorded
from railgauge.config.deviations import Deviation
from railgauge.core.errors import BadInput
from railgauge.planning.needs import Candidate
from railgauge.planning.soak import SoakPlan
from railgauge.run.run_folder import RunFolder

pytest_plugins = ["testing.small_merges"]

SETTING, LOG = small.SETTING, small.LOG
EVENT = Deviation("n1", "RMA 4711", "A. E.", "2999-01-31", cause="gpu-xid")


# --- what cannot be merged ---


def test_a_run_that_is_given_twice_is_refused(signed, into):
    assert printed(signed, signed, folder=into) == "r1: is given twice"


def test_a_replay_is_refused_because_it_measured_nothing(make, signed, into):
    replayed = make("r2", 2, part=AGAIN, change={"evidence": "replayed"})
    line = printed(signed, replayed, folder=into)
    assert line == "r2: is a replay: merge the runs that measured"


def test_a_run_with_a_soak_is_refused(make, signed, into):
    soaked = make("r2", 2, part=AGAIN, change={"soak": SoakPlan("24h", 7, 86400.0)})
    assert printed(signed, soaked, folder=into) == "r2: has a soak, which cannot be merged"


def test_a_part_that_does_not_verify_is_named(signed, again, into):
    forged = small.recorded(signed, SETTING.format("n1"), outcome="passed", reason="")
    line = printed(forged, again, folder=into)
    assert line.startswith("r1: run/records.jsonl: ")
    assert "recorded as passed, but its evidence gives failed" in line


def test_a_partner_that_was_not_good_is_refused(make, into):
    signed = make("r1", 1, wrong=["n1", "n3"])
    line = printed(signed, make("r2", 2, part=AGAIN), folder=into)
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
        *(("size of the lab", {"asked": {"lab_nodes": number}}) for number in (4, 1, -1)),
        *(("seed of the lab", {"asked": {"lab_seed": number}}) for number in (4, 1, -1)),
        ("set of deviations", {"given": [EVENT]}),
    ],
)
def test_runs_of_another_plan_or_under_other_limits_are_refused(make, signed, into, what, more):
    other = make("r2", 2, part=AGAIN, **more)
    line = printed(signed, other, folder=into)
    assert line.startswith(f"r2: has another {what} than r1")
    assert "merge runs of one cluster, under one plan and its limits" in line


@pytest.mark.parametrize(
    ("what", "part"),
    [
        ("set of nodes", {"nodes": ("n1", "n2", "n3", "n4")}),
        ("set of nodes", {"groups": {"leaf": ("n1",)}}),
    ],
)
def test_runs_of_other_clusters_are_refused(make, signed, into, what, part):
    other = make("r2", 2, part=replace(AGAIN, **part))
    assert printed(signed, other, folder=into).startswith(f"r2: has another {what} than r1;")


def test_clusters_with_other_names_or_platforms_are_refused(signed, again, into):
    for length in (40, 41):
        other = small.edited(again, "cluster.json", name="p" * length)
        named = f": {'p' * length}, not bench-cluster" if length == 40 else ""
        assert f"r2: has another cluster than r1{named};" in printed(signed, other, folder=into)


def test_shards_of_other_numbers_are_refused(shards, make, into):
    other = make("s4", 4, part=replace(small.shard(3), of=5))
    line = printed(*shards[:2], other, folder=into)
    assert line.startswith("s4: has another number of shards than s1: 5, not 3")


def test_shards_and_a_run_with_only_have_no_number_in_common(shards, make, into):
    again = make("r5", 5, part=small.only("n1", partners=("n3",), leaves=True))
    found = judged(written(into, *shards, again))
    assert found.verdict.verdict == "accepted"
    assert len(found.verdict.measured_again) == 1


def test_a_run_without_its_invocation_is_refused(signed, again, into):
    (again.folder / "invocation.json").unlink()
    assert "r2: does not say how it was started" in printed(signed, again, folder=into)


# --- the runs that are given ---


def test_the_folder_of_a_run_that_ended_is_opened(signed):
    with merging.opened([signed.folder]) as (one,):
        assert one.plan() == signed.plan()


def unopened(path):
    """Where and why what is given cannot be merged, and what to do."""
    with pytest.raises(BadInput) as raised, merging.opened([path]):
        pass
    return raised.value.where, raised.value.what, raised.value.remedy


@pytest.mark.parametrize("name", ["run.json", "thresholds.json"])
def test_a_run_whose_files_were_changed_is_refused(signed, name):
    place = str(signed.folder / name)
    remedy = "restore it as the run left it, or start a new run"
    small.edited(signed, name, more=1)
    changed = "was changed after the run wrote it: its SHA-256 is not in manifest.json"
    assert unopened(signed.folder) == (place, changed, remedy)
    (signed.folder / name).unlink()
    missing = "is missing: it is in manifest.json"
    assert unopened(signed.folder) == (place, missing, remedy)


def test_a_run_of_a_newer_version_is_refused(signed):
    small.edited(signed, "cluster.json", schema_version=99)
    assert "version" in unopened(signed.folder)[1]


def test_a_run_that_did_not_end_is_refused(signed):
    (signed.folder / "manifest.json").unlink()
    where, what, remedy = unopened(signed.folder)
    assert (where, what) == (str(signed.folder), "has no manifest.json: the run did not end")
    assert remedy.startswith("carry it on with pytest --resume")


def test_an_unchanged_bundle_is_opened(signed, tmp_path):
    path, other = tmp_path / "b.railgauge", tmp_path / "c.railgauge"
    bundle_bench.bundle(signed.folder, path, "--unsigned")
    with merging.opened([path]) as (one,):
        assert one.records() == signed.records()
    edit = bundle_bench.edit_json("run/run.json", lambda data: data.update(operator="nobody"))
    bundle_bench.changed(path, other, edit)
    assert "its SHA-256 differs" in unopened(other)[1]


def test_a_path_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    def denied(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(recorded.archive, "opened", denied)
    (tmp_path / "y").touch()
    assert unopened(tmp_path / "y")[:2] == (
        str(tmp_path / "y"),
        "cannot be read: Permission denied",
    )


def test_a_path_without_a_run_is_refused(tmp_path):
    path = tmp_path / "x"
    assert unopened(path) == (str(path), "does not exist", "name a run or a bundle")
    path.write_text("words", encoding="utf-8")
    assert "x" in unopened(path)[0]


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
def test_a_plan_that_its_parts_do_not_give_is_refused(done, fields):
    line = unverified(small.edited(done, "run.json", **fields))
    assert line == "run/run.json: differs from the plan that its parts give"


def listed_parts(done):
    return json.loads(done.bytes("run.json"))["parts"]


def test_a_list_that_hides_a_replacement_is_refused(done):
    parts = listed_parts(done)
    parts[1]["replaces"] = []
    line = unverified(small.edited(done, "run.json", parts=parts))
    assert line == "run/run.json: differs from the plan that its parts give"


def test_a_missing_part_is_found(done):
    line = unverified(small.edited(done, "run.json", parts=listed_parts(done)[1:]))
    assert line


def test_parts_in_another_order_are_refused(shards, into):
    done = written(into, *shards)
    line = unverified(small.edited(done, "run.json", parts=listed_parts(done)[::-1]))
    assert "is not in the order in which the runs began" in line


def test_a_part_that_is_another_run_or_merged_itself_is_refused(done, into):
    part = RunFolder(into / "parts" / "r2")
    for run_id in ("r9", "r0"):
        small.edited(part, "run.json", run_id=run_id)
        line = unverified(RunFolder(into))
        assert line == "run/run.json: names r2, but its part is another run"
    small.edited(part, "run.json", run_id="r2", parts=listed_parts(done)[:1], part=None)
    assert unverified(RunFolder(into)).startswith("run/run.json: names r2, but its part")


@pytest.mark.parametrize("title", ["A", "~"])
def test_a_part_under_other_limits_is_refused(done, into, title):
    small.edited(RunFolder(into / "parts" / "r2"), "thresholds.json", title=title)
    assert unverified(done) == "run/run.json: is merged from r2, which has other limits"


def test_a_part_that_does_not_verify_is_named_with_its_file(done, into):
    part = RunFolder(into / "parts" / "r1")
    small.recorded(part, SETTING.format("n1"), outcome="passed", reason="", judgements=[])
    assert unverified(done).startswith("run/parts/r1/records.jsonl: ")


def test_a_part_without_the_reading_at_its_end_is_refused(done, into):
    small.log_file(RunFolder(into / "parts" / "r1"), "n1").unlink()
    assert unverified(done).startswith("run/parts/r1/transcripts/")


@pytest.mark.parametrize("below", ["transcripts", "confirm/transcripts"])
def test_evidence_of_none_of_its_parts_is_refused(done, into, below):
    (into / below).mkdir(parents=True)
    shutil.copy(small.log_file(RunFolder(into / "parts" / "r1"), "n1"), into / below)
    assert unverified(done) == "run/: has evidence that is of none of its parts"


def test_parts_that_are_not_of_one_plan_are_refused(done, into):
    small.edited(RunFolder(into / "parts" / "r2"), "invocation.json", lab_seed=4)
    assert "r2: has another seed of the lab than r1" in unverified(done)


def test_a_part_whose_partners_were_not_good_is_refused(make, into, monkeypatch):
    signed = make("r1", 1, wrong=["n1", "n3"])
    monkeypatch.setattr(merging, "refuse_doubtful_partners", lambda runs: None)
    done = written(into, signed, make("r2", 2, part=AGAIN))
    assert "has measured n1 with n3, which the runs before it do not show" in unverified(done)


def test_a_cluster_or_survey_that_differs_from_its_parts_is_refused(done, into):
    cluster = done.bytes("cluster.json")
    nodes = json.loads(cluster)["nodes"]
    other = small.edited(done, "cluster.json", nodes=[node | {"address": "x"} for node in nodes])
    assert unverified(other) == "run/: has another cluster than its parts"
    (into / "cluster.json").write_bytes(cluster)
    every = json.loads(done.bytes("environment.json"))["nodes"]
    every["n2"]["facts"]["kernel"] = "6.9"
    other = small.edited(done, "environment.json", nodes=every)
    assert unverified(other) == "run/: has another survey than its parts"


def test_a_record_that_the_parts_do_not_give_is_refused(done):
    name = LOG.format("n1")
    line = unverified(small.recorded(done, name, outcome="passed", reason="", judgements=[]))
    assert line.endswith(f"{name} is recorded as passed, but its evidence gives failed")


def test_what_could_not_be_judged_beside_a_failure_is_compared_if_it_was_kept(make, into):
    """Early runs did not keep it."""
    done = written(into, make("r1", 1, logged={"n1": small.FALLEN}, unread=["n2"]),
                   make("r2", 2, part=AGAIN, unread=["n1"]))  # fmt: skip
    name = LOG.format("n1")
    kept = done.records()[name].beside
    assert kept == "the run ended before this item (in r2)"
    assert judged(small.recorded(done, name, beside="")).records[name].beside == kept
    line = unverified(small.recorded(done, name, beside="something else"))
    assert line.endswith(f"{name} is recorded with values that differ from its evidence")


def test_texts_of_another_version_are_not_compared(make, into):
    older = {"change": {"software": "0.0.1"}}
    done = written(into, make("r1", 1, logged={"n1": small.FALLEN}, unread=["n2"], **older),
                   make("r2", 2, part=AGAIN, unread=["n1"], **older))  # fmt: skip
    name = LOG.format("n1")
    assert judged(small.recorded(done, name, beside="other words")).records[name].beside


@pytest.mark.parametrize(
    ("field", "what"), [("lab_nodes", "size of the lab"), ("lab_seed", "seed of the lab")]
)
def test_labs_that_differ_are_refused_if_both_runs_record_them(make, into, field, what):
    runs = make("r1", 1, asked={field: 3}), make("r2", 2, part=AGAIN, asked={field: 4})
    assert printed(*runs, folder=into).startswith(f"r2: has another {what} than r1: 4, not 3;")
