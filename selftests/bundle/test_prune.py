"""``railgauge prune``: what is deleted, what stays, and that nothing needed is deleted."""

from __future__ import annotations

import hashlib
import json
import os
import shutil

import pytest
from testing.histories import write_run

from railgauge.bundle import make
from railgauge.leases.files import held_open

KEPT = {
    "cluster.json", "evidence.railgauge", "manifest.json", "measurements.jsonl", "run.json",
    "thresholds.json", "verdict.json",
}  # fmt: skip


@pytest.fixture
def reports(healthy, red, tmp_path):
    """A folder with an old and a new run of one cluster, and ``latest``."""
    folder = tmp_path / "reports"
    for one in (healthy, red):
        source = one.run.latest.resolve()
        shutil.copytree(source, folder / source.name)
    (folder / "latest").symlink_to(names(folder)[-1])
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir() if not path.is_symlink() and path.is_dir())


def old(reports):
    return reports / names(reports)[0]


def every(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_nothing_is_changed_without_yes(railgauge, reports):
    before = every(reports)
    code, out, err = railgauge("prune", "--keep", 1, reports)
    assert (code, err, every(reports)) == (0, "", before)
    assert out.splitlines()[0].startswith(f"{old(reports).name}: ")
    assert "would go" in out
    assert out.splitlines()[-1] == "nothing was changed: give --yes to do it"


def test_an_old_run_becomes_what_trend_compare_and_evidence_need(railgauge, reports):
    before = old(reports)
    read = {name: (before / name).read_bytes() for name in KEPT - {"evidence.railgauge"}}
    newest = every(reports / names(reports)[-1])
    code, out, _ = railgauge("prune", "--keep", 1, reports, "--yes")
    assert code == 0
    assert "1 runs: " in out
    assert set(every(before)) == KEPT
    assert {name: (before / name).read_bytes() for name in read} == read
    assert every(reports / names(reports)[-1]) == newest
    code, out, _ = railgauge("verify", before / "evidence.railgauge", "--unsigned")
    assert (code, "accepted: it stands" in out) == (0, True)
    code, out, _ = railgauge("trend", "--root", reports.parent, "--json")
    (fleet,) = json.loads(out)["fleets"]
    assert (code, len(fleet["nights"])) == (0, 2)
    code, out, _ = railgauge("compare", before, reports / names(reports)[-1])
    assert code in (0, 1)
    assert "series compared" in out


def test_commands_that_read_a_bundle_find_it_in_a_reduced_folder(railgauge, reports, tmp_path):
    before, page = old(reports), tmp_path / "page.html"
    whole = railgauge("inventory", before)[1]
    railgauge("prune", "--keep", 1, reports, "--yes")
    code, _, err = railgauge("certificate", before, "-o", page)
    assert (code, err, page.is_file()) == (0, "", True)
    assert railgauge("inventory", before)[:2] == (0, whole)
    for command in (("metrics",), ("bundle", "--unsigned", "-o", tmp_path / "again.railgauge")):
        code, _, err = railgauge(*command, before)
        assert code == 2
        assert err.count("\n") == 1
        assert "was reduced by railgauge prune; railgauge verify" in err


def test_a_second_time_there_is_nothing_to_do(railgauge, reports):
    railgauge("prune", "--keep", 1, reports, "--yes")
    before = every(reports)
    code, out, _ = railgauge("prune", "--keep", 1, reports, "--yes")
    assert (code, every(reports)) == (0, before)
    assert "0 runs: 0 files" in out
    assert "reduced before: 1" in out


def test_a_pruning_that_was_cut_off_is_carried_on(railgauge, reports):
    """The bundle is there, some of the files too."""
    railgauge("bundle", old(reports), "--unsigned", "-o", old(reports) / "evidence.railgauge")
    assert railgauge("prune", "--keep", 1, reports, "--yes")[0] == 0
    assert set(every(old(reports))) == KEPT


def test_the_newest_runs_stay_whole(railgauge, reports):
    before = every(reports)
    assert railgauge("prune", "--keep", 2, reports, "--yes")[0] == 0
    assert every(reports) == before


def test_each_cluster_keeps_its_own(railgauge, reports):
    """A night of another cluster does not count; it has no evidence and is not reduced."""
    write_run(
        reports / "20990101-020000-other",
        {
            "run_id": "20990101-020000-other", "cluster": "other", "platform": "h200",
            "evidence": "hardware", "level": "nightly",
        },
        [],
    )  # fmt: skip
    (reports / "20990101-020000-other" / "manifest.json").write_text('{"sha256": {}}')
    _, out, _ = railgauge("prune", "--keep", 1, reports, "--json")
    assert [one["run"] for one in json.loads(out)["old"]] == [old(reports).name]


def test_bundles_links_and_files_of_others_stay(railgauge, reports, tmp_path):
    """Even where somebody has added them to the manifest, with their true digests."""
    outside, folder = tmp_path / "precious", old(reports)
    outside.mkdir()
    for path in (outside / "file.txt", folder / "notes.txt", folder / "signed.railgauge"):
        path.write_text("mine")
    shutil.rmtree(folder / "plots")
    (folder / "plots").symlink_to(outside, target_is_directory=True)
    (folder / "junit.xml").unlink()
    (folder / "junit.xml").symlink_to(outside / "file.txt")
    (reports / "night.railgauge").write_text("mine")
    manifest = json.loads((folder / "manifest.json").read_text())
    listed = ("plots/file.txt", "junit.xml", "signed.railgauge", "../../precious/file.txt")
    manifest["sha256"] |= dict.fromkeys(listed, hashlib.sha256(b"mine").hexdigest())
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, out, _ = railgauge("prune", "--keep", 1, reports, "--yes")
    assert code == 0, out
    assert set(every(folder)) == {*KEPT, "notes.txt", "signed.railgauge", "plots", "junit.xml"}
    assert (folder / "plots").is_symlink()
    assert (folder / "junit.xml").is_symlink()
    for path in (outside / "file.txt", folder / "signed.railgauge", reports / "night.railgauge"):
        assert path.read_text() == "mine"


def test_a_link_to_a_run_is_no_run(railgauge, reports, tmp_path):
    away = tmp_path / "away"
    shutil.move(old(reports), away)
    (reports / "00010101-000000-link").symlink_to(away, target_is_directory=True)
    before = every(away)
    assert railgauge("prune", "--keep", 1, reports, "--yes")[0] == 0
    assert every(away) == before


def test_a_changed_report_is_kept(railgauge, reports):
    (old(reports) / "report.html").write_text("annotated")
    assert railgauge("prune", "--keep", 1, reports, "--yes")[0] == 0
    assert set(every(old(reports))) == {*KEPT, "report.html"}


def test_changed_evidence_is_not_reduced(railgauge, reports):
    path = next((old(reports) / "transcripts").glob("*write*.json"))
    path.write_text(path.read_text().replace("37", "39"))
    before = every(old(reports))
    code, out, err = railgauge("prune", "--keep", 1, reports, "--yes")
    assert (code, err, every(old(reports))) == (1, "", before)
    assert "NOT REDUCED: " in out
    assert "was changed after the run" in out


def test_the_bundle_of_another_run_is_not_taken_for_its_own(railgauge, reports, red):
    shutil.copy(red.path, old(reports) / "evidence.railgauge")
    before = every(old(reports))
    code, out, _ = railgauge("prune", "--keep", 1, reports, "--yes")
    assert (code, every(old(reports))) == (1, before)
    assert "is the bundle of another run" in out


def test_a_run_in_progress_is_left_alone(railgauge, reports):
    with held_open(old(reports) / "invocation.json"):
        before = every(reports)
        code, out, _ = railgauge("prune", "--keep", 1, reports, "--yes")
    assert (code, every(reports)) == (0, before)
    assert f"left alone: {old(reports).name}: it has not ended" in out


def test_a_run_that_an_unfinished_one_carries_on_is_left_alone(railgauge, reports):
    going = reports / "20990101-020000-going"
    going.mkdir()
    data = json.loads((old(reports) / "invocation.json").read_text())
    (going / "invocation.json").write_text(json.dumps({**data, "resumes": old(reports).name}))
    before = every(old(reports))
    _, out, _ = railgauge("prune", "--keep", 1, reports, "--yes")
    assert every(old(reports)) == before
    assert "a run that is not finished, needs it" in out


def test_latest_is_never_reduced(railgauge, reports):
    (reports / "latest").unlink()
    (reports / "latest").symlink_to(old(reports).name)
    before = every(old(reports))
    railgauge("prune", "--keep", 1, reports, "--yes")
    assert every(old(reports)) == before


def test_nothing_is_deleted_where_the_bundle_cannot_be_written(railgauge, reports, monkeypatch):
    def full(*words, **more):
        raise OSError(28, os.strerror(28), "evidence.railgauge")

    monkeypatch.setattr(make, "_write", full)
    before = every(old(reports))
    code, out, _ = railgauge("prune", "--keep", 1, reports, "--yes")
    assert (code, every(old(reports))) == (1, before)
    assert "No space left on device" in out


@pytest.mark.parametrize("words", [("--keep", "0"), ("--keep", "-1"), ("--keep", "all"), ()])
def test_keep_must_be_a_number(railgauge, reports, words):
    code, out, err = railgauge("prune", *words, reports)
    assert (code, out) == (2, "")
    assert "--keep" in err


def test_a_folder_must_be_one(railgauge, reports, tmp_path):
    for path in (tmp_path / "nowhere", reports / "latest"):
        code, out, err = railgauge("prune", "--keep", 1, path)
        assert (code, out) == (2, "")
        assert "is not a folder of runs" in err
        assert len(err.splitlines()) == 1


def test_the_folder_of_one_run_is_refused(railgauge, reports):
    """Its folders are no runs: without an error there would just be nothing to prune."""
    code, out, err = railgauge("prune", "--keep", 1, (reports / "latest").resolve())
    assert (code, out) == (2, "")
    assert "is the folder of one run; name the folder that it is in" in err
    assert len(err.splitlines()) == 1
