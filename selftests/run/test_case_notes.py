"""What is noted of a case when it is measured is what its file of transcripts says."""

import json
from types import SimpleNamespace

import pytest
from testing.core_values import case, transcript
from testing.run_folder import store_in

from railgauge.core.question import CaseResult
from railgauge.run.case_files import case_file
from railgauge.run.case_notes import CaseNotes, ShownRun, note_of
from railgauge.run.store import kept_of

NOW, LATER = "2026-11-30T05:00:00+00:00", "2026-11-30T05:00:09+00:00"
SHOWS = (
    " local address: LID 0x03 QPN 0x0101 PSN 0x0000{n}1\n"
    " remote address: LID 0x04 QPN 0x0202 PSN 0x00{n}002\n"
)
CASE = case("a", "b", repeats=2)
PLATFORM = SimpleNamespace(measurements={CASE.measurement: SimpleNamespace(tool="perftest")})


def repeat(number, began):
    side = {"stdout": SHOWS.format(n=number), "started_at": began, "duration_s": 0.1 + number / 3}
    return transcript("a", **side), transcript("b", role="server", **side)


@pytest.fixture
def notes():
    return CaseNotes(PLATFORM)


@pytest.fixture
def stored(tmp_path, notes):
    """The store, after a case of two repeats was measured and noted."""
    store = store_in(tmp_path)
    result = CaseResult((repeat(1, NOW), repeat(2, LATER)))
    assert notes.take(CASE, store.save(CASE, result)).runs == result.runs
    return store


def test_a_note_is_what_the_file_says(notes, stored):
    name = case_file(CASE)
    read = note_of(PLATFORM, kept_of(json.loads((stored.folder / name).read_text())))
    assert notes.of(name) == read
    assert notes.starts(CASE) == read.starts == (NOW, LATER)


def test_only_the_side_that_reports_is_noted_once_for_each_repeat(notes, stored):
    noted = notes.of(case_file(CASE))
    assert [(one.number, one.node) for one in noted.shown] == [("1", "a"), ("2", "a")]
    assert all(isinstance(one, ShownRun) and one.shows for one in noted.shown)


def test_a_case_of_another_process_has_no_note(notes):
    assert notes.of(case_file(CASE)) is None
    assert notes.starts(CASE) is None


def test_what_the_platform_does_not_limit_shows_nothing(stored):
    (kept,) = [kept_of(json.loads((stored.folder / case_file(CASE)).read_text()))]
    assert note_of(SimpleNamespace(measurements={}), kept).shown == ()
