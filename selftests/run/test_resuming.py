"""What a resumed run takes over, and what it measures again."""

import json
from dataclasses import replace

import pytest
from test_runner import bad, planned
from testing.core_values import case, cluster, transcript
from testing.fake_sessions import Fakes
from testing.run_folder import store_in

from railgauge.core.errors import (
    BadInput,
    CommandTimedOut,
    ConnectionLost,
    NodeUnreachable,
    ToolFailed,
)
from railgauge.core.question import CaseResult
from railgauge.core.run_files import MEASUREMENTS
from railgauge.facts import NodeFacts
from railgauge.facts.model import NicFacts
from railgauge.leases.files import held_open, is_held
from railgauge.planning.pairing import ALTERNATING
from railgauge.run import invocation
from railgauge.run.case_files import case_file
from railgauge.run.invocation import Invocation
from railgauge.run.resume import Earlier
from railgauge.run.runner import Runner
from railgauge.run.store import VOUCHED, Store
from railgauge.run.survey import found_to_json
from railgauge.transport.sessions import Sessions

GOOD = (transcript(),)
LOST = (transcript(exit_code=None, error="connection-lost"),)
SLOW = (transcript(exit_code=None, error="command-timed-out"),)


def begun(reports, name, resumes=""):
    store = Store(reports / name)
    invocation.write(
        store,
        Invocation(
            1, "h.yaml", "a", "b", None, "smoke", None, None, 1, (), False, False, "", "", resumes
        ),
    )
    return store


def test_a_run_of_an_earlier_version_keeps_its_directions(tmp_path):
    """Its invocation names no scheme; with another one its pairs would be other items."""
    file = begun(tmp_path, "old").folder / invocation.FILE
    saved = json.loads(file.read_text())
    assert saved.pop("directions") == ALTERNATING
    file.write_text(json.dumps(saved))
    assert Earlier(tmp_path / "old").invocation.directions == ALTERNATING


def runner_after(tmp_path, fakes, earlier):
    folder = tmp_path / "new"
    sessions = Sessions(cluster(), fakes.connect)
    return Runner(sessions, store_in(folder), planned, earlier=Earlier(earlier))


@pytest.mark.parametrize(
    ("left", "lacking"),
    [
        (CaseResult((GOOD, GOOD, GOOD)), 0),
        (CaseResult((GOOD, GOOD)), 1),
        (CaseResult((GOOD,), ConnectionLost("gone")), 2),
        (CaseResult((), NodeUnreachable("no route")), 3),
        (CaseResult((GOOD, LOST)), 2),
        (CaseResult((GOOD, GOOD, LOST)), 1),
        (CaseResult((GOOD, (bad(),))), 0),
        (CaseResult((GOOD, SLOW)), 0),
        (CaseResult((), CommandTimedOut("too long")), 0),
        (CaseResult((GOOD,), ToolFailed("broken")), 0),
    ],
)
def test_only_repeats_that_a_lost_node_left_open_are_measured(tmp_path, left, lacking):
    """A missed limit and a tool that failed or hung are evidence, and are not tried again."""
    wanted, fakes = case(repeats=3), Fakes()
    begun(tmp_path, "old").save(wanted, left)
    result = runner_after(tmp_path, fakes, tmp_path / "old").measure(wanted)
    assert len(fakes.done("run")) == lacking
    if lacking:
        assert result.error is None
        assert len(result.runs) == 3
        assert result.runs[: 3 - lacking] == left.runs[: 3 - lacking]
    else:
        assert (result.runs, str(result.error)) == (left.runs, str(left.error))


def test_the_newest_run_counts_and_what_it_lacks_is_in_the_one_before(tmp_path):
    one, two = case(), case("n1", "n3")
    first, second = begun(tmp_path, "first"), begun(tmp_path, "second", resumes="first")
    first.save(one, CaseResult((LOST,)))
    first.save(two, CaseResult((GOOD,)))
    second.save(one, CaseResult((GOOD,)))
    earlier = Earlier(tmp_path / "second")
    assert earlier(one) == earlier(two) == CaseResult((GOOD,))


def test_a_missing_run_of_the_chain_is_refused(tmp_path):
    begun(tmp_path, "second", resumes="../../first")
    with pytest.raises(BadInput, match=r"first/invocation\.json: is missing or incomplete"):
        Earlier(tmp_path / "second")


def test_repeats_are_kept_as_they_end(tmp_path):
    """A run killed in the second repeat keeps the first."""
    wanted, fakes = case(repeats=3), Fakes(reports=[transcript(), KeyboardInterrupt()])
    begun(tmp_path, "old")
    runner = runner_after(tmp_path, fakes, tmp_path / "old")
    with pytest.raises(KeyboardInterrupt):
        runner.measure(wanted)
    assert len(Store(tmp_path / "new").load(wanted).runs) == 1
    assert len(runner.measure(wanted).runs) == 3
    assert len(fakes.done("run")) == 1 + 1 + 2


@pytest.mark.parametrize("name", ["run.json", "environment.json", "manifest.json"])
@pytest.mark.parametrize("version", [99, "2"])
def test_a_file_of_a_newer_version_is_refused(tmp_path, name, version):
    begun(tmp_path, "old").write_json(name, {"schema_version": version})
    with pytest.raises(BadInput, match=rf"{name}: has schema version {version}, but") as caught:
        Earlier(tmp_path / "old").refuse_unfinished()
    assert "use the version of railgauge that made it" in str(caught.value.remedy)


def measured(reports, times=1):
    """A run that was interrupted after some cases; the path of the first case's transcripts."""
    store = begun(reports, "old")
    (store.folder / "leases").mkdir()
    for number in range(times):
        store.save(case("n1", f"n{number + 2}"), CaseResult((GOOD,)))
        store.append_bound(MEASUREMENTS, {"id": f"item {number}", "values": [1.5, 2.0]})
    return store, store.folder / case_file(case("n1", "n2"))


def refused(reports):
    with pytest.raises(BadInput) as caught:
        Earlier(reports / "old").refuse_changed()
    return str(caught.value)


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("ended", [False, True], ids=["cut off", "ended"])
def test_transcripts_that_were_exchanged_are_refused_by_name(tmp_path, ended):
    store, path = measured(tmp_path, times=2)
    other = store.folder / case_file(case("n1", "n3"))
    if ended:
        store.write_manifest({})
    one, two = path.read_text(), other.read_text()
    path.write_text(two)
    other.write_text(one)
    assert refused(tmp_path).startswith(f"{path}: was changed after the run wrote it")
    path.write_text(one)
    other.write_text(two)
    Earlier(tmp_path / "old").refuse_changed()
    edit(path, '"exit_code": 0', '"exit_code": 1')
    assert str(path) in refused(tmp_path)


@pytest.mark.parametrize(
    ("name", "change", "line"),
    [
        (MEASUREMENTS, lambda lines: [lines[0].replace("1.5", "9.5"), *lines[1:]], 1),
        (MEASUREMENTS, lambda lines: [lines[0], lines[2]], 2),
        (MEASUREMENTS, lambda lines: [lines[1], lines[0], lines[2]], 1),
        (MEASUREMENTS, lambda lines: [lines[0], lines[0], *lines[1:]], 2),
        (MEASUREMENTS, lambda lines: [lines[0], "garbage", *lines[2:]], 2),
        (VOUCHED, lambda lines: lines[1:], 1),
        (VOUCHED, lambda lines: [lines[0].replace("a", "b"), *lines[1:]], 1),
    ],
)
def test_lines_that_were_changed_are_refused(tmp_path, name, change, line):
    store, _ = measured(tmp_path, times=3)
    path = store.folder / name
    path.write_text("".join(f"{one}\n" for one in change(path.read_text().splitlines())))
    assert refused(tmp_path).startswith(f"{path}: line {line} does not fit the lines before it")


def test_facts_that_differ_from_the_earlier_survey_are_recorded(tmp_path):
    facts = NodeFacts("n1", kernel="6.8", nics=(NicFacts("mlx5_0", lid=1),))
    nodes = found_to_json({"n1": facts, "n2": facts})
    begun(tmp_path, "old").write_json("environment.json", {"nodes": nodes})
    now = replace(facts, kernel="6.9", nics=(NicFacts("mlx5_0", lid=7),))
    changes = dict(Earlier(tmp_path / "old").facts_changed({"n1": now, "n2": facts}))
    assert changes == {"n1": 'kernel: "6.8" -> "6.9", nics.0.lid: 1 -> 7'}


def test_a_held_file_is_held_until_it_is_closed(tmp_path):
    path = tmp_path / "file"
    held = held_open(path)
    assert is_held(path)
    held.close()
    assert not is_held(path)
