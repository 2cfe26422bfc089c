"""The folder of a run: an incomplete file is never read as complete."""

import json
import multiprocessing
import os
import threading
from pathlib import Path

import pytest
from testing.core_values import case, transcript
from testing.run_folder import store_in

from railgauge.core.errors import NodeUnreachable
from railgauge.core.question import CaseResult
from railgauge.leases.files import locked
from railgauge.run.folders import new_folder, point_latest
from railgauge.run.store import write_whole

SPAWN = multiprocessing.get_context("fork")


@pytest.fixture
def store(tmp_path):
    return store_in(tmp_path)


# --- cases ---


def test_a_case_comes_back_as_it_was_saved(store):
    runs = (
        (transcript(), transcript("n2", role="server", environment={"A": "b c"})),
        (transcript(exit_code=None, error="connection-lost", stderr="gone\n", stdout="é\x00"),),
    )
    store.save(case(), CaseResult(runs))
    assert store.load(case()) == CaseResult(runs)


def test_an_error_comes_back_with_its_kind_place_and_remedy(store):
    error = NodeUnreachable("no route", where="n2", remedy="look at the cable")
    store.save(case(), CaseResult((), error))
    loaded = store.load(case())
    assert type(loaded.error) is NodeUnreachable
    assert str(loaded.error) == str(error)
    assert "no route" in (store.folder / store.transcript_name(case())).read_text()


def test_a_case_that_was_not_measured_is_not_there(store):
    assert store.load(case()) is None


@pytest.mark.parametrize(
    "other",
    [
        case("n2", "n1"),
        case("n1", "n3"),
        case(pairing=None),
        case(measurement="gpu_write_bandwidth"),
        case(sizes=(65536, 8388608)),
        case(repeats=3),
    ],
)
def test_another_case_s_result_is_not_taken(store, other):
    store.save(case(), CaseResult(((transcript(),),)))
    assert store.load(other) is None


def test_names_that_look_alike_do_not_share_a_file(store):
    one, two = case("a", "b_c"), case("a_b", "c")
    store.save(one, CaseResult(((transcript("a"),),)))
    store.save(two, CaseResult(((transcript("a_b"),),)))
    assert store.load(one).runs[0][0].node == "a"
    assert store.load(two).runs[0][0].node == "a_b"


def test_the_readable_transcript_has_the_command_and_its_whole_output(store):
    run = (transcript(stdout="table\n", stderr="warning\n"), transcript("n2", role="server"))
    store.save(case(), CaseResult((run, run)))
    text = (store.folder / store.transcript_name(case())).read_text()
    for part in ("$ ib_write_bw n2", "table", "### stderr\nwarning", "run 2, server on n2"):
        assert part in text


def test_transcripts_with_broken_characters_are_kept(store):
    store.save(case(), CaseResult(((transcript(stdout="\udcff\n"),),)))
    assert store.load(case()).runs[0][0].stdout in ("?\n", "\udcff\n")


# --- complete files ---


def _write_over_and_over(path, letter, times):
    for _ in range(times):
        write_whole(path, letter * 200_000)


def test_a_reader_sees_one_whole_version_or_the_other(tmp_path):
    path = tmp_path / "file"
    write_whole(path, "a" * 200_000)
    writers = [SPAWN.Process(target=_write_over_and_over, args=(path, x, 60)) for x in "bc"]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        text = path.read_text()
        assert len(text) == 200_000
        assert len(set(text)) == 1
        seen.add(text[0])
    assert seen & {"b", "c"}


def test_a_write_that_fails_leaves_the_old_version(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, "old")

    write = os.write

    def broken(file, data):
        write(file, data[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", broken)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new text")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# --- lines ---


def _append(folder, worker, times):
    store = store_in(folder)
    for number in range(times):
        store.append("x.jsonl", {"worker": worker, "number": number, "pad": "y" * 5000})


def test_lines_of_several_processes_do_not_mix(store):
    workers = [SPAWN.Process(target=_append, args=(store.folder, w, 40)) for w in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    lines, _ = store.lines("x.jsonl")
    assert sorted((line["worker"], line["number"]) for line in lines) == [
        (worker, number) for worker in range(4) for number in range(40)
    ]


def test_a_line_waits_for_the_writer_before_it(store):
    writer = threading.Thread(target=store.append, args=("x.jsonl", {"n": 1}), daemon=True)
    with locked(store.folder / "leases" / "x.jsonl.lock"):
        writer.start()
        writer.join(0.1)
        assert store.lines("x.jsonl")[0] == []
    writer.join(5)
    assert store.lines("x.jsonl")[0] == [{"n": 1}]


def test_reading_goes_on_where_it_ended(store):
    store.append("x.jsonl", {"n": 1})
    lines, offset = store.lines("x.jsonl")
    assert lines == [{"n": 1}]
    assert store.lines("x.jsonl", offset) == ([], offset)
    store.append("x.jsonl", {"n": 2})
    assert store.lines("x.jsonl", offset)[0] == [{"n": 2}]


def test_a_file_that_is_not_there_has_no_lines(store):
    assert store.lines("none.jsonl") == ([], 0)


def test_a_line_that_is_still_being_written_waits(store):
    store.append("x.jsonl", {"n": 1})
    with (store.folder / "x.jsonl").open("ab") as file:
        file.write(b'{"n": 2')
    lines, offset = store.lines("x.jsonl")
    assert lines == [{"n": 1}]
    with (store.folder / "x.jsonl").open("ab") as file:
        file.write(b"}\n")
    assert store.lines("x.jsonl", offset)[0] == [{"n": 2}]


def test_half_a_line_of_a_killed_writer_costs_only_itself(store):
    store.append("x.jsonl", {"n": 1})
    with (store.folder / "x.jsonl").open("ab") as file:
        file.write(b'{"n": 2, "te')
    store.append("x.jsonl", {"n": 3})
    lines, offset = store.lines("x.jsonl")
    assert lines == [{"n": 1}, {"n": 3}]
    assert offset == (store.folder / "x.jsonl").stat().st_size


# --- folders ---


def test_every_run_has_a_folder_of_its_own(tmp_path):
    names = [new_folder(tmp_path, "run").name for _ in range(3)]
    assert names == ["run", "run-2", "run-3"]


def test_latest_leads_to_the_newest_and_can_be_moved(tmp_path):
    for name in ("one", "two"):
        folder = new_folder(tmp_path, name)
        point_latest(tmp_path, folder)
        assert (tmp_path / "latest").resolve() == folder
    assert (tmp_path / "latest").readlink() == Path("two")


def test_json_is_readable_and_sorted(store):
    store.write_json("a.json", {"b": "é", "a": 1})
    text = (store.folder / "a.json").read_text(encoding="utf-8")
    assert text.index('"a"') < text.index('"b"')
    assert "é" in text
    assert store.read_json("a.json") == json.loads(text)


def test_lines_are_taken_out_again(tmp_path):
    """A killed writer's incomplete last line is dropped; later lines are appended."""
    store = store_in(tmp_path)
    for number in range(4):
        store.append("a.jsonl", {"number": number})
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write('{"numb')
    store.take_out("a.jsonl", lambda line: line["number"] % 2)
    store.append("a.jsonl", {"number": 9})
    text = (tmp_path / "a.jsonl").read_text()
    assert text == '{"number": 0}\n{"number": 2}\n{"number": 9}\n'
