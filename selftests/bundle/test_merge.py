"""Shards on the lab, merged: as an undivided run; and what cannot be merged."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from testing import bundle_bench as bench
from testing.acceptance import BARE, HOMELAB, SMOKE, make_project
from testing.core_values import one_line
from testing.fewer import measuring
from testing.merged_forgeries import forgeries

from railgauge.cli import main
from railgauge.judging import inventory
from railgauge.run.survey import found_from_json

FEW = measuring(
    "connectx4-homelab", "host_write_bandwidth", "host_send_bandwidth", "host_send_latency"
)
# The fault is found on rung 0 of one node, and closes the gate of pairs of all three shards.
RED = (*HOMELAB, *SMOKE, "--lab-fault", "governor@columbia")
SHARDS = 3


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = make_project(tmp_path_factory.mktemp("merged") / "site")
    FEW(made)
    return made


def latest(project):
    """The folder of the run that ended last."""
    return (project.folder / "reports" / "latest").resolve()


@pytest.fixture(scope="module")
def whole(project):
    project.run(*RED, *BARE)
    return latest(project)


@pytest.fixture(scope="module")
def shards(project):
    """The folders of the shards, in order."""
    made = [
        (project.run(*RED, *BARE, "--shard", f"{i}/{SHARDS}"), latest(project)) for i in (1, 2, 3)
    ]
    assert [run.code for run, _ in made] == [1, 10, 10]
    return [folder for _, folder in made]


@pytest.fixture(scope="module")
def merged(shards):
    """A merged run with all reports."""
    into = shards[0].parent / "20300101-000000-merged"
    # The order of the arguments does not matter.
    assert main(["merge", *map(str, reversed(shards)), "--into", str(into)]) == 1
    return into


@pytest.fixture
def refused(capsys, tmp_path):
    """``refused(run, …)``: the line with which these runs cannot be merged."""

    def refused(*runs: Path) -> str:
        into = tmp_path / "into"
        capsys.readouterr()
        assert main(["merge", *map(str, runs), "--into", str(into)]) == 2
        assert not into.exists()
        return one_line(capsys.readouterr().err)

    return refused


def records(folder):
    lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return {one["id"]: one for one in map(json.loads, lines)}


def verdict(folder):
    return json.loads((folder / "verdict.json").read_text(encoding="utf-8"))


def copied(source, folder, **files):
    """A copy of a run in which files were changed, with a manifest that fits them."""
    copy = folder / source.name
    shutil.copytree(source, copy)
    for name, change in files.items():
        path = copy / name.replace("__", "/")
        path = path.with_name(f"{path.name}.json") if not path.suffix else path
        data = json.loads(path.read_text(encoding="utf-8"))
        change(data)
        path.write_text(json.dumps(data), encoding="utf-8")
        sealed(copy, path)
    return copy


def sealed(run, path):
    manifest = run / "manifest.json"
    data = json.loads(manifest.read_text(encoding="utf-8"))
    name = path.relative_to(run).as_posix()
    data["sha256"][name] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(data), encoding="utf-8")


# --- what a merged run is ---


def test_a_merged_run_has_the_items_and_outcomes_of_an_undivided_run(whole, merged):
    due, found = records(whole), records(merged)
    assert {name: one["outcome"] for name, one in found.items()} == {
        name: one["outcome"] for name, one in due.items()
    }
    assert {one["outcome"] for one in due.values()} >= {"passed", "failed", "blocked"}
    assert {name: one["questions"] for name, one in found.items()} == {
        name: one["questions"] for name, one in due.items()
    }


def test_a_merged_run_has_the_verdict_of_an_undivided_run(whole, merged):
    due, found = verdict(whole), verdict(merged)
    assert found["notes"][0].startswith(f"MERGED of {SHARDS} runs: ")
    same = set(due) - {"run_id", "notes"}
    assert {name: found[name] for name in same} == {name: due[name] for name in same}
    assert found["notes"][1:] == due["notes"]
    assert found["evidence"] == "simulated"
    assert found["verdict"] == "rejected"


def test_a_shard_is_incomplete_at_best_and_names_its_part(shards):
    for number, folder in enumerate(shards, 1):
        recorded = verdict(folder)
        assert recorded["part"] == {"shard": f"{number}/{SHARDS}"}
        assert recorded["scope"].startswith(f"shard {number}/{SHARDS}")
        assert recorded["verdict"] == ("rejected" if number == 1 else "incomplete")
    counts = verdict(shards[1])["counts"]
    assert counts["asserted"] == counts["planned"] > 0  # and it is incomplete all the same


def test_a_shard_touches_only_its_nodes(shards):
    for folder in shards:
        plan = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        surveyed = json.loads((folder / "environment.json").read_text(encoding="utf-8"))["nodes"]
        assert set(surveyed) == set(plan["part"]["uses"])
    assert len(surveyed) == 2


def test_reports_of_a_merged_run_have_every_item(merged):
    names = set(records(merged))
    page = (merged / "report.html").read_text(encoding="utf-8")
    assert page.count('class=\\"') or page  # the rows are data of the page
    missing = [name for name in names if name.removeprefix("tests/").split("[")[0] not in page]
    assert not missing
    junit = (merged / "junit.xml").read_text(encoding="utf-8")
    assert junit.count("<testcase ") == len(names)
    assert len(list((merged / "allure-results").glob("*-result.json"))) == len(names)
    for name, one in records(merged).items():
        assert not one["transcript"] or (merged / one["transcript"]).is_file(), name
    manifest = json.loads((merged / "manifest.json").read_text(encoding="utf-8"))["sha256"]
    assert {"verdict.json", "report.html", "junit.xml"} <= set(manifest)


def test_evidence_of_a_merged_run_is_kept_by_part(merged, shards):
    for run in shards:
        part = merged / "parts" / run.name
        due = sorted(path.name for path in (run / "transcripts").glob("*.json"))
        assert sorted(path.name for path in (part / "transcripts").glob("*.json")) == due
        assert (part / "records.jsonl").read_bytes() == (run / "records.jsonl").read_bytes()
    assert not (merged / "transcripts").exists()


def test_the_bundle_of_a_merged_run_verifies_also_redacted(merged, verify, tmp_path):
    for number, options in enumerate([(), ("--redact", "hosts")]):
        path = tmp_path / f"{number}.railgauge"
        bench.bundle(merged, path, "--unsigned", *options)
        code, out, _ = verify(path)
        assert code == 1
        assert "verdict    rejected: it stands, asserted 30 of 42" in out
    content = bench.files(path)
    assert not [name for name in content if "columbia" in name or b"columbia" in content[name]]


def test_other_limits_judge_a_merged_run_again(merged, verify, project, tmp_path):
    path = tmp_path / "merged.railgauge"
    bench.bundle(merged, path, "--unsigned")
    limits = json.loads((merged / "thresholds.json").read_text(encoding="utf-8"))
    limits["expected"]["cpu_governor"]["equals"] = ["powersave"]
    other = tmp_path / "other.json"
    other.write_text(json.dumps(limits), encoding="utf-8")
    _, out, _ = verify(path, "--thresholds", str(other))
    assert "ANOTHER VERDICT" in out or "the same verdict" in out
    assert "test_cpu_governor[columbia]: failed -> passed" in out


def test_the_other_commands_read_a_merged_run(merged, shards, capsys, project):
    for words in (["certificate", str(merged), "-o", str(merged.parent / "c.html")], ["triage"]):
        main([*words, *([str(merged)] if len(words) == 1 else [])])
    page = (merged.parent / "c.html").read_text(encoding="utf-8")
    assert "Test certificate: not accepted" in page
    assert "MERGED of 3 runs" in page
    assert "columbia" in capsys.readouterr().out
    assert main(["metrics", str(merged)]) == 0
    assert 'run_id="20300101-000000-merged"' in capsys.readouterr().out
    assert main(["trend", "--root", str(project.folder), "--json"]) in (0, 1)
    report = json.loads(capsys.readouterr().out)
    left = {one[0] if isinstance(one, list) else one["folder"] for one in report["left_out"]}
    assert {run.name for run in shards} <= left
    assert merged.name not in left


def test_a_merged_run_cannot_be_replayed_or_resumed(merged, project, tmp_path):
    path = tmp_path / "merged.railgauge"
    bench.bundle(merged, path, "--unsigned")
    run = project.run("--replay", str(path))
    assert run.code == 4
    assert "which a replay cannot judge as one" in run.output
    run = project.run("--resume", merged.name)
    assert run.code == 4
    assert "is not a run that can be carried on" in run.output


def test_a_merged_run_is_merged_again_with_what_it_lacks(shards, merged, tmp_path, capsys):
    two, bundle = tmp_path / "20300101-000001-two", tmp_path / "third.railgauge"
    assert main(["merge", str(shards[0]), str(shards[2]), "--into", str(two)]) == 1
    recorded = verdict(two)
    lacking = [name for name, one in records(two).items() if one["outcome"] == "not_run"]
    assert recorded["counts"]["not_run"] == len(lacking) > 0
    reasons = {one["reason"] for one in records(two).values() if one["outcome"] == "not_run"}
    assert reasons == {"no run that was merged has measured it"}
    bench.bundle(shards[1], bundle, "--unsigned")
    three = tmp_path / "20300101-000002-three"
    assert main(["merge", str(two), str(bundle), "--into", str(three)]) == 1
    due = {name: one["outcome"] for name, one in records(merged).items()}
    assert {name: one["outcome"] for name, one in records(three).items()} == due


@pytest.mark.usefixtures("own_interpreter")
def test_folders_of_the_ladder_are_merged_too(project, tmp_path):
    healthy = (*HOMELAB, *SMOKE, *BARE)
    runs = []
    for folder in ("preflight", "network"):
        assert project.run(*healthy, f"tests/{folder}").code == 10
        runs.append(latest(project))
    into = tmp_path / "20300101-000003-folders"
    assert main(["merge", *map(str, runs), "--into", str(into)]) == 0
    assert verdict(into)["counts"]["asserted"] == 42
    kernel = [one for name, one in records(into).items() if name.startswith("kernel::")]
    assert {len(one["judgements"]) for one in kernel} == {2}  # both runs have read the logs


def test_a_shard_is_carried_on_with_its_options(project, shards, merged, tmp_path):
    stopped = project.run(*RED, *BARE, "--shard", "1/3", "-x")
    assert "not run" in stopped.stdout
    name = latest(project).name
    other = project.run(*BARE, "--resume", name, "--shard", "2/3")
    assert other.code == 4
    assert "--shard is 2/3 here and was 1/3 in the run" in other.output
    again = project.run(*BARE, "--resume", name)
    assert again.code == 1
    folder = latest(project)
    assert verdict(folder)["part"] == {"shard": "1/3"}
    into = tmp_path / "20300101-000004-resumed"
    assert main(["merge", str(folder), *map(str, shards[1:]), "--into", str(into)]) == 1
    due = {name: one["outcome"] for name, one in records(merged).items()}
    assert {name: one["outcome"] for name, one in records(into).items()} == due


# --- what cannot be merged ---


def test_a_part_that_is_given_twice_is_refused(shards, refused):
    assert f"{shards[0].name}: is given twice" in refused(shards[0], shards[1], shards[0])


def test_a_part_with_another_machine_of_the_same_name_is_refused(shards, tmp_path, refused):
    nodes = [json.loads((one / "environment.json").read_text())["nodes"] for one in shards]
    node = next(name for name in nodes[2] if name in nodes[0] or name in nodes[1])

    def exchange(data):
        for part in data["nodes"][node]["facts"]["parts"]:
            part.update(uuid="0d9e", serial="S9") if part["kind"] == "node" else None

    copy = copied(shards[2], tmp_path, environment=exchange)
    found = found_from_json(json.loads((copy / "environment.json").read_text())["nodes"])
    (copy / "inventory.csv").write_text(inventory.inventory(found).csv())
    sealed(copy, copy / "inventory.csv")
    message = refused(*shards[:2], copy)
    assert f"{copy.name}: has another machine as {node} than an earlier run: node" in message
    assert f"--only {node}" in message


def test_a_part_that_has_not_ended_is_refused(shards, refused, tmp_path):
    copy = copied(shards[1], tmp_path)
    (copy / "manifest.json").unlink()
    assert "the run did not end; carry it on with pytest --resume" in refused(shards[0], copy)


def test_a_part_that_was_cut_off_is_refused(shards, refused, tmp_path):
    copy = copied(shards[1], tmp_path)
    gone = next((copy / "transcripts").glob("host_write*.json"))
    gone.unlink()
    assert f"{gone.name}: is missing" in refused(shards[0], copy)


def test_a_part_without_a_record_is_refused(shards, refused, tmp_path):
    copy = copied(shards[1], tmp_path)
    path = copy / "records.jsonl"
    first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(rest), encoding="utf-8")
    sealed(copy, path)
    name = json.loads(first)["id"]
    message = refused(shards[0], copy)
    assert copy.name in message
    assert "which the level requires" in message or name in message


def test_a_part_with_a_forged_record_is_refused(shards, refused, tmp_path):
    copy = copied(shards[0], tmp_path)
    path = copy / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    bad = next(one for one in lines if one["outcome"] == "failed")
    good = next(one for one in lines if one["outcome"] == "passed" and one["judgements"])
    bad |= {"outcome": "passed", "reason": "", "judgements": good["judgements"]}
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines), encoding="utf-8")
    sealed(copy, path)
    message = refused(copy, shards[1])
    assert copy.name in message
    assert bad["id"] in message


def test_two_parts_that_have_measured_the_same_are_refused(whole, shards, refused):
    message = refused(whole, shards[1])
    assert "has measured tests/" in message
    assert "only a run with --only replaces" in message


def test_parts_of_different_versions_are_refused(shards, refused, tmp_path):
    copy = copied(shards[1], tmp_path, run=lambda data: data.update(software="0.0.1"))
    message = refused(shards[0], copy)
    assert "another version of railgauge" in message
    assert ": 0.0.1, not " in message


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--lab-seed", "7", "--shard", "2/3"), "another seed of the lab"),
        (("--shard", "2/4"), "another number of shards"),
        (("--lab-nodes", "2", "--shard", "1/1"), "another set of nodes"),
        (("--rounds", "1", "--shard", "2/3"), "another number of rounds"),
    ],
)
def test_parts_of_another_plan_are_refused(project, shards, refused, options, what):
    project.run(*RED, *BARE, *options)
    assert what in refused(shards[0], latest(project))


def test_other_limits_or_another_hostfile_are_refused(shards, refused, tmp_path, project):
    def other(name):
        return lambda data: data.update({name: "0" * 64})

    for name, what in (("thresholds", "platform file"), ("hostfile", "hostfile")):
        copy = copied(shards[1], tmp_path / name, invocation=other(f"{name}_sha256"))
        assert f"{shards[1].name}: has another {what} than" in refused(shards[0], copy)


def test_an_existing_folder_and_a_path_without_a_run_are_refused(shards, capsys, tmp_path, refused):
    assert main(["merge", str(shards[0]), "--into", str(tmp_path)]) == 2
    assert "exists; name a new folder" in one_line(capsys.readouterr().err)
    assert "does not exist" in refused(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    assert "empty" in refused(tmp_path / "empty")
    assert main(["merge", str(shards[0]), "--into", str(tmp_path / "a b")]) == 2
    assert "cannot be the id of a run" in one_line(capsys.readouterr().err)


# --- forged bundles of a merged run ---


@pytest.fixture(scope="module")
def bundled(merged, tmp_path_factory):
    path = tmp_path_factory.mktemp("forged") / "merged.railgauge"
    bench.bundle(merged, path, "--unsigned")
    return path


def test_a_forged_bundle_does_not_verify(bundled, verify, tmp_path, shards):
    first = shards[0].name

    for number, change in enumerate(forgeries(first)):
        path = bench.forged(bundled, tmp_path / f"{number}.railgauge", change)
        code, _, err = verify(path)
        assert code == 1, (number, err)
        assert "NOT VERIFIED" in err, (number, err)
        assert number > 1 or f"run/parts/{first}/records.jsonl: " in err
