"""The folder of a run is as the run left it: which changes are refused, and which are none."""

import operator
import os
import shutil
from pathlib import Path

import pytest
from test_resuming import GOOD, LOST, SLOW, edit, measured, refused
from testing.core_values import case

from railgauge.core.codec import to_plain
from railgauge.core.digests import sha256_of
from railgauge.core.errors import BadInput
from railgauge.core.question import CaseResult
from railgauge.core.run_files import MEASUREMENTS
from railgauge.run import invocation
from railgauge.run.case_files import case_file
from railgauge.run.resume import Earlier
from railgauge.run.store import VOUCHED, Store
from railgauge.run.unchanged import refuse_changed


def test_a_folder_that_was_left_as_it_was_is_taken_over(tmp_path):
    store, _ = measured(tmp_path, times=3)
    again = Earlier(tmp_path / "old")
    again.refuse_changed()
    with (store.folder / MEASUREMENTS).open("a") as file:
        file.write('{"id": "ite')  # the run was killed here, and another worker continued
    again.refuse_changed()
    store.append_bound(MEASUREMENTS, {"id": "more"})
    with (store.folder / VOUCHED).open("a") as file:
        file.write('{"na')
    store.save(case("n1", "n9"), CaseResult((GOOD,)))
    again.refuse_changed()
    store.keep(case("n1", "n2"), CaseResult((GOOD, GOOD)))  # one repeat more
    again.refuse_changed()


def killed_while_it_wrote(path):
    """The process had vouched for the file, and was killed before it gave it its name."""
    path.rename(path.with_name(f".{path.name}.4711"))


def test_a_file_that_was_being_written_when_the_run_was_killed_is_evidence(tmp_path):
    store, path = measured(tmp_path)
    before = path.read_bytes()
    store.keep(case("n1", "n2"), CaseResult((GOOD, SLOW)))
    killed_while_it_wrote(path)
    Earlier(tmp_path / "old").refuse_changed()
    assert Earlier(tmp_path / "old")(case("n1", "n2")).runs == (GOOD, SLOW)
    path.write_bytes(before)  # the file of the repeat before
    Earlier(tmp_path / "old").refuse_changed()
    assert Earlier(tmp_path / "old")(case("n1", "n2")).runs == (GOOD, SLOW)


def test_a_disk_that_fails_while_the_run_vouches_leaves_the_file(tmp_path, monkeypatch):
    store, path = measured(tmp_path)
    fsync = os.fsync

    def fail(file):
        if Path(f"/proc/self/fd/{file}").readlink().name == VOUCHED:
            raise OSError(28, "No space left on device")
        fsync(file)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        store.keep(case("n1", "n2"), CaseResult((GOOD, SLOW)))
    Earlier(tmp_path / "old").refuse_changed()
    assert Earlier(tmp_path / "old")(case("n1", "n2")).runs == (GOOD, SLOW)
    assert path.is_file()


@pytest.mark.parametrize("than", [operator.lt, operator.gt])
def test_a_file_of_that_name_that_the_run_did_not_write_is_none(tmp_path, than):
    """Whether its digest is smaller or larger than the one that the run vouches for."""
    _, path = measured(tmp_path)
    was = sha256_of(path)
    while not than(sha256_of(path), was):
        path.write_text(f"{path.read_text()} ")
    killed_while_it_wrote(path)
    assert refused(tmp_path).startswith(f"{path}: is missing: it is in {VOUCHED}")


def test_only_the_last_survey_was_being_written(tmp_path):
    store, _ = measured(tmp_path)
    path = store.folder / "environment.json"
    store.write_evidence(path.name, {"nodes": {}})
    killed_while_it_wrote(path)
    Earlier(tmp_path / "old").refuse_changed()
    Store(store.folder / "confirm", run=store.folder).save(case("n1", "n8"), CaseResult((GOOD,)))
    message = refused(tmp_path)
    assert message.startswith(f"{path}: is missing: it is in {VOUCHED}; restore it")
    assert "files that" not in message


ENDED = pytest.mark.parametrize("ended", [False, True], ids=["killed", "ended"])


@ENDED
def test_a_transcript_that_was_deleted_is_missed(tmp_path, ended):
    store, path = measured(tmp_path, times=3)
    if ended:
        store.write_manifest({})
    path.unlink()
    (store.folder / case_file(case("n1", "n4"))).unlink()
    message = refused(tmp_path)
    assert message.startswith(
        f"{path}: is missing: it is in {'manifest.json' if ended else VOUCHED}"
    )
    assert "(files that are missing or changed: 2)" in message


def test_a_transcript_that_was_taken_out_of_the_manifest_as_well(tmp_path):
    store, path = measured(tmp_path, times=2)
    path.unlink()
    store.write_manifest({})
    message = f"{path}: is missing: it is in {VOUCHED}, and not in manifest.json"
    assert refused(tmp_path).startswith(message)


def test_a_missing_file_beside_one_that_was_being_written_is_noticed(tmp_path):
    store, path = measured(tmp_path, times=2)
    killed_while_it_wrote(path)
    other = store.folder / case_file(case("n1", "n3"))
    other.unlink()
    assert refused(tmp_path).startswith(f"{other}: is missing: it is in {VOUCHED}")


@ENDED
@pytest.mark.parametrize("most", [0, 100])
def test_half_a_transcript_is_a_changed_one(tmp_path, ended, most):
    """A file gets its name when all of it is on the disk."""
    store, path = measured(tmp_path)
    if ended:
        store.write_manifest({})
    path.write_text(path.read_text()[:most])
    assert str(path) in refused(tmp_path)


def test_repeats_that_were_cut_off_are_missed(tmp_path):
    """The file of the repeats before is one that the run had written, but not the last one."""
    store, path = measured(tmp_path)
    before = path.read_bytes()
    store.keep(case("n1", "n2"), CaseResult((GOOD, SLOW)))
    path.write_bytes(before)
    assert str(path) in refused(tmp_path)


def soaked(reports):
    store, _ = measured(reports)
    rounds = [Store(store.folder / f"soak/000{n}", run=store.folder) for n in (1, 2, 3)]
    for one in rounds:
        one.save(case("n1", "n2"), CaseResult((LOST,)))
    return store, rounds


@ENDED
def test_a_round_of_a_soak_that_was_deleted_is_missed(tmp_path, ended):
    store, rounds = soaked(tmp_path)
    if ended:
        store.write_manifest({})
    Earlier(tmp_path / "old").refuse_changed()
    shutil.rmtree(rounds[1].folder)
    assert str(rounds[1].folder) in refused(tmp_path)


@ENDED
def test_evidence_of_a_soak_is_vouched_for_as_well(tmp_path, ended):
    store, rounds = soaked(tmp_path)
    if ended:
        store.write_manifest({})
    path = rounds[2].folder / case_file(case("n1", "n2"))
    edit(path, '"error": "connection-lost"', '"error": ""')
    assert str(path) in refused(tmp_path)


def test_each_round_of_an_early_soak_vouched_for_itself(tmp_path):
    store, _ = measured(tmp_path)
    early = Store(store.folder / "soak/0001")
    early.save(case("n1", "n2"), CaseResult((GOOD,)))
    Earlier(tmp_path / "old").refuse_changed()
    path = early.folder / case_file(case("n1", "n2"))
    edit(path, '"exit_code": 0', '"exit_code": 1')
    assert str(path) in refused(tmp_path)


def test_a_connection_that_was_lost_in_a_soak_is_not_tried_again(tmp_path):
    """The same happened in the ladder: there the node is measured again."""
    store, _ = soaked(tmp_path)
    store.save(case("n1", "n2"), CaseResult((LOST,)))
    earlier = Earlier(tmp_path / "old")
    assert earlier(case("n1", "n2")).runs == ()
    assert earlier(case("n1", "n2"), "soak/0002").runs == (LOST,)


@pytest.mark.parametrize("name", [invocation.FILE, "environment.json"])
def test_invocation_and_survey_of_a_killed_run_are_vouched_for(tmp_path, name):
    store, _ = measured(tmp_path)
    store.write_evidence("environment.json", {"nodes": {"n1": {"facts": {"kernel": "6.8"}}}})
    Earlier(tmp_path / "old").refuse_changed()
    path = store.folder / name
    path.write_bytes(path.read_bytes() + b" ")
    assert refused(tmp_path).startswith(f"{path}: was changed after the run wrote it")
    if name != invocation.FILE:
        path.unlink()
        assert refused(tmp_path).startswith(f"{path}: is missing")


def recorded(store, number, **more):
    """The record of an item as a run writes it."""
    question = {"kind": "read", "case": to_plain(case("n1", f"n{number + 2}")), "other": None}
    line = {
        "id": f"item {number}",
        "by_evidence": True,
        "judgements": [{}],
        "questions": [question],
    }
    store.append("records.jsonl", {**line, **more})


def test_evidence_of_judged_items_is_required(tmp_path):
    """Without a transcript, the line that vouches for it and all after it: the record is left."""
    store, _ = measured(tmp_path, times=3)
    for number in range(3):
        recorded(store, number)
    Earlier(tmp_path / "old").refuse_changed()
    last = store.folder / case_file(case("n1", "n4"))
    last.unlink()
    path = store.folder / VOUCHED
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    message = f"{last}: is missing: an item in records.jsonl is based on it"
    assert refused(tmp_path).startswith(message)


def test_recorded_items_need_their_lines(tmp_path):
    store, _ = measured(tmp_path, times=2)
    recorded(store, 0)
    recorded(store, 1)
    path = store.folder / MEASUREMENTS
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    assert refused(tmp_path).startswith(f"{path}: has no line of item 1, which has a record")


def test_a_run_that_lost_its_manifest_has_a_record_of_every_item(tmp_path):
    """Killed after its verdict, or its manifest was deleted: all of its items had ended."""
    store, _ = measured(tmp_path, times=2)
    store.write_json("run.json", {"planned": ["item 0", "item 1"]})
    recorded(store, 0)
    Earlier(tmp_path / "old").refuse_changed()
    store.write_json("verdict.json", {})
    path = store.folder / "records.jsonl"
    assert refused(tmp_path).startswith(f"{path}: has no record of item 1, but the run has reached")
    recorded(store, 1)
    Earlier(tmp_path / "old").refuse_changed()


@pytest.mark.parametrize("where", ["transcripts", "confirm/transcripts", "soak/0004/transcripts"])
def test_evidence_that_is_not_in_the_manifest_is_refused(tmp_path, where):
    store, path = measured(tmp_path)
    store.write_manifest({})
    more = store.folder / where / "more.json"
    more.parent.mkdir(parents=True, exist_ok=True)
    more.write_bytes(path.read_bytes())
    assert refused(tmp_path).startswith(f"{more}: is not of the run: it is not in manifest.json")


def test_files_that_commands_write_into_the_folder_change_nothing(tmp_path):
    store, _ = measured(tmp_path)
    store.write_json("prepared.json", {"changes": [{"undone": False}]})
    store.write_manifest({})
    store.write_json("prepared.json", {"changes": [{"undone": True}]})
    assert refused(tmp_path).startswith(f"{store.folder / 'prepared.json'}: was changed")
    store.renew_in_manifest("prepared.json")  # as railgauge undo does
    (store.folder / "allure-report").mkdir()
    (store.folder / "allure-report" / "index.html").write_text("")
    (store.folder / "evidence.railgauge").write_bytes(b"x")
    Earlier(tmp_path / "old").refuse_changed()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not valid JSON"),
        ("{", "is not valid JSON"),
        ('{"sha256": []}', "has no digests"),
        ("[]", "has no digests"),
    ],
)
def test_a_manifest_that_says_nothing_is_refused(tmp_path, text, says):
    """It was on the disk as a whole before it got its name."""
    store, _ = measured(tmp_path)
    (store.folder / "manifest.json").write_text(text)
    assert f"{store.folder / 'manifest.json'}: {says}" in refused(tmp_path)


def test_a_manifest_that_lists_a_file_twice_is_refused(tmp_path):
    """Of two digests the last one would count, whichever the run has written."""
    store, path = measured(tmp_path)
    store.write_manifest({})
    name = path.relative_to(store.folder).as_posix()
    edit(path, '"exit_code": 0', '"exit_code": 1')
    manifest = store.folder / "manifest.json"
    digest = f'"{name}": "{sha256_of(path)}"'
    text = manifest.read_text()
    manifest.write_text(text.replace("\n }", f",\n  {digest}\n }}", 1))
    assert f"{manifest}: is not valid JSON: a key is given twice" in refused(tmp_path)


def test_a_transcript_that_the_run_did_not_write_is_refused(tmp_path):
    store, path = measured(tmp_path)
    more = store.folder / case_file(case("n1", "n7"))
    more.write_text(path.read_text())
    assert str(more) in refused(tmp_path)
    more.unlink()
    (store.folder / VOUCHED).unlink()
    what = "was changed after the run wrote it: its SHA-256 is not in"
    assert f"{path}: {what} {VOUCHED}" in refused(tmp_path)


def test_transcripts_of_suspects_are_vouched_for_as_well(tmp_path):
    measured(tmp_path)
    again = Store(tmp_path / "old" / "confirm")
    again.save(case("n1", "n2"), CaseResult((GOOD,)))
    Earlier(tmp_path / "old").refuse_changed()
    edit(again.folder / case_file(case("n1", "n2")), '"exit_code": 0', '"exit_code": 1')
    assert str(again.folder) in refused(tmp_path)


def test_lines_are_bound_anew_when_some_are_taken_out(tmp_path):
    """The files of an item whose worker died, before the item runs again."""
    store, _ = measured(tmp_path, times=3)
    store.take_out(MEASUREMENTS, lambda line: line["id"] == "item 1")
    store.append_bound(MEASUREMENTS, {"id": "item 1"})
    Earlier(tmp_path / "old").refuse_changed()
    ids = [line["id"] for line in store.lines(MEASUREMENTS)[0]]
    assert ids == ["item 0", "item 2", "item 1"]


def test_a_run_that_ended_has_a_manifest_of_all_that_is_taken_over(tmp_path):
    store, _ = measured(tmp_path, times=2)
    store.write_json("environment.json", {"nodes": {}})
    store.write_manifest({})
    Earlier(tmp_path / "old").refuse_changed()
    for name in ("environment.json", MEASUREMENTS, invocation.FILE):
        before = (store.folder / name).read_bytes()
        (store.folder / name).write_bytes(before + b" ")
        assert str(store.folder / name) in refused(tmp_path)
        (store.folder / name).write_bytes(before)


def test_only_the_requested_files_are_read(tmp_path):
    """``compare`` and ``inventory`` read some files, also of a run that was reduced since."""
    store, path = measured(tmp_path)
    store.write_json("environment.json", {})
    names = ("environment.json", "run.json")
    refuse_changed(store.folder, names)  # it has not ended
    store.write_manifest({})
    path.unlink()
    refuse_changed(store.folder, names)
    store.write_json("environment.json", {"nodes": {}})
    with pytest.raises(BadInput, match=r"environment\.json: was changed after the run wrote it"):
        refuse_changed(store.folder, names)
    (store.folder / "environment.json").unlink()
    refuse_changed(store.folder, names)


def test_files_that_are_not_read_may_differ(tmp_path):
    store, path = measured(tmp_path)
    (store.folder / "report.html").write_text("a page")
    refuse_changed(store.folder, besides=("report.html",))  # it has not ended
    store.write_manifest({})
    (store.folder / "report.html").unlink()
    refuse_changed(store.folder, besides=("report.html", "plots/"))
    with pytest.raises(BadInput, match=r"report\.html: is missing"):
        refuse_changed(store.folder, besides=("plots/",))
    path.unlink()
    with pytest.raises(BadInput, match="is missing"):
        refuse_changed(store.folder, besides=("report.html",))
