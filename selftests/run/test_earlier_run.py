"""What is read in the folder of an earlier run, and which folders are refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from test_resuming import GOOD, LOST, SLOW, begun
from testing.core_values import case, cluster

from railgauge.config import deviations
from railgauge.config.deviations import Deviation
from railgauge.config.hostfile import cluster_to_json
from railgauge.core.codec import to_plain
from railgauge.core.errors import BadBundle, BadInput, ConnectionLost, NodeUnreachable
from railgauge.core.question import CaseResult
from railgauge.judging.stamp import Evidence
from railgauge.leases.files import held_open
from railgauge.planning.pairing import ALTERNATING
from railgauge.run import invocation, resume
from railgauge.run.resume import Earlier
from railgauge.verdict.decision import RunPlan

ONE, TWO, THREE = (f"{i}f0c6c1e-8a0d-4a3e-9f3a-5d1c2b7e9a10" for i in "123")
AS_LEFT = "restore it as the run left it, or start a new run"


@pytest.fixture
def old(tmp_path):
    store = begun(tmp_path, "old")
    (store.folder / "leases").mkdir()
    return store


def refusal(call, *args):
    """Where and why something is refused, and what to do."""
    with pytest.raises(BadInput) as error:
        call(*args)
    return error.value.where, error.value.what, error.value.remedy


# --- which run is carried on ---


def test_a_run_is_found_by_its_name_in_the_reports_or_by_its_path(tmp_path):
    reports, here = tmp_path / "reports", tmp_path / "here"
    one, two = begun(reports, "one").folder, begun(here, "two").folder
    both = begun(reports, "both").folder
    begun(here, "both")
    (reports / "latest").symlink_to("one")
    for named, due in {"one": one, "two": two, "both": both, str(two): two, "latest": one}.items():
        assert resume.find(named, reports, here) == due
    (here / "three").mkdir()
    where, what, remedy = refusal(resume.find, "three", reports, here)
    assert (where, what) == (
        "--resume",
        "three is not a run that can be carried on: it has no invocation.json",
    )
    assert remedy == f"name a folder in {reports}, or latest, or start a new run"


def test_the_runs_of_a_chain_are_the_newest_first(tmp_path):
    for name, before in (("one", ""), ("two", "one"), ("three", "elsewhere/two")):
        begun(tmp_path, name, before)
    earlier = Earlier(tmp_path / "three")
    folders = [run.folder for run in earlier.runs]
    assert folders == [tmp_path / name for name in ("three", "two", "one")]
    assert (earlier.name, earlier.folder) == ("three", tmp_path / "three")
    assert earlier.invocation.resumes == "elsewhere/two"


def test_runs_that_carry_each_other_on_are_read_once(tmp_path):
    begun(tmp_path, "one", "two")
    begun(tmp_path, "two", "one")
    assert [run.folder.name for run in Earlier(tmp_path / "one").runs] == ["one", "two"]


@pytest.mark.parametrize("text", ["", "[]", '"words"'])
def test_a_run_without_its_invocation_is_refused(old, text):
    (old.folder / invocation.FILE).write_text(text)
    assert refusal(Earlier, old.folder) == (
        str(old.folder / invocation.FILE),
        "is missing or incomplete, and a later run carries this run on",
        "restore the folder, or start a new run",
    )


@pytest.mark.parametrize("version", [0, 2, "1"])
def test_a_run_of_another_version_is_refused(old, version):
    path = old.folder / invocation.FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": version}))
    assert refusal(Earlier, old.folder)[:2] == (str(path), "is of another version of railgauge")


def test_options_that_an_early_version_did_not_have_were_not_given(old):
    """Its invocation has none of the later options: nothing was confirmed, sampled or soaked."""
    path = old.folder / invocation.FILE
    late = ("resumes", "confirm", "directions", "sampled", "soak", "soak_below", "soak_seed")
    late += ("shard", "only", "partners", "partners_from")
    saved = json.loads(path.read_text())
    path.write_text(json.dumps({name: saved[name] for name in saved if name not in late}))
    read = Earlier(old.folder).invocation
    due = dict.fromkeys(late) | {"resumes": "", "confirm": False, "sampled": False}
    assert {name: getattr(read, name) for name in late} == due | {"directions": ALTERNATING}


def test_a_fault_in_the_invocation_is_named_with_its_file(old):
    path = old.folder / invocation.FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {"level": 3}))
    with pytest.raises(BadInput, match=re.escape(str(path))):
        Earlier(old.folder)


# --- a run that has not ended, or has left something behind ---


def test_a_run_that_has_not_ended_is_refused(old):
    earlier = Earlier(old.folder)
    earlier.refuse_unfinished()
    held = held_open(old.folder / invocation.FILE)
    assert refusal(earlier.refuse_unfinished) == (
        "--resume old",
        "this run has not ended",
        "wait until it ends, or interrupt it",
    )
    held.close()
    earlier.refuse_unfinished()


def test_only_the_newest_run_of_a_chain_can_be_in_progress(tmp_path, old):
    """A run that was resumed has ended: a process that reads its file now is no obstacle."""
    begun(tmp_path, "new", "old")
    held = held_open(old.folder / invocation.FILE)
    Earlier(tmp_path / "new").refuse_unfinished()
    held.close()


@pytest.mark.parametrize(
    "changes", [[{"undone": False}], [{"undone": True}, {}], ["words"], [{"undone": True}, None]]
)
def test_a_run_whose_preparations_are_not_undone_is_refused(tmp_path, old, changes):
    begun(tmp_path, "new", "old")
    earlier = Earlier(tmp_path / "new")
    old.write_json("prepared.json", {"changes": [{"undone": True}, {"undone": True}]})
    earlier.refuse_unfinished()
    old.write_json("prepared.json", {"changes": changes})
    assert refusal(earlier.refuse_unfinished) == (
        "--resume new",
        "its preparations are not undone",
        f"railgauge undo {old.folder}",
    )


def test_a_journal_without_changes_is_none_of_a_run(old):
    old.write_json("prepared.json", {"changes": {}})
    where, what, remedy = refusal(Earlier(old.folder).refuse_unfinished)
    assert where == str(old.folder / "prepared.json")
    assert (what, remedy) == ("is no file of a run: it has no changes", AS_LEFT)


# --- its tests ---

ITEMS = [f"tests/pair/test_pair.py::test_write[{n}]" for n in "abc"]


def planned(old, items):
    plan = RunPlan(2, "old", Evidence.HARDWARE, "smoke", None, tuple(items), "0.1")
    old.write_json("run.json", to_plain(plan))
    return Earlier(old.folder).refuse_other_items


def test_the_same_tests_in_another_order_are_those_of_the_run(old):
    Earlier(old.folder).refuse_other_items(ITEMS)  # it ended before its plan
    refuse = planned(old, [*ITEMS, "kernel::kernel_log[n1]"])
    refuse(ITEMS[::-1])


@pytest.mark.parametrize(
    ("now", "says"),
    [
        (ITEMS[:1], f"lacks a test: {ITEMS[1]} (tests that differ: 2)"),
        ([*ITEMS, "tests/z.py::z"], "has a test that the run did not have: tests/z.py::z"),
        ([], f"lacks a test: {ITEMS[0]} (tests that differ: 3)"),
        ([*ITEMS[:2], "tests/z.py::z"], f"lacks a test: {ITEMS[2]} (tests that differ: 2)"),
    ],
)
def test_other_tests_are_refused_by_name(old, now, says):
    where, what, remedy = refusal(planned(old, ITEMS), now)
    assert what.startswith(says)
    assert (where, remedy) == (
        "--resume old",
        "name the same tests as in that run, or start a new run",
    )


def test_a_plan_that_is_none_of_a_run_is_refused(old):
    old.write_json("run.json", {"planned": {}})
    with pytest.raises(BadBundle, match=re.escape(str(old.folder / "run.json"))):
        Earlier(old.folder).refuse_other_items(ITEMS)


def test_the_tests_are_those_of_the_newest_run(tmp_path, old):
    planned(old, ITEMS[:1])
    planned(begun(tmp_path, "new", "old"), ITEMS)(ITEMS)


# --- its measurements ---


@pytest.mark.parametrize(
    ("kept", "taken"),
    [
        (CaseResult((GOOD, (*LOST, *GOOD))), CaseResult((GOOD,))),
        (CaseResult((GOOD, (*GOOD, *LOST))), CaseResult((GOOD,))),
        (CaseResult((LOST, GOOD)), CaseResult((LOST, GOOD))),
        (CaseResult((GOOD,), NodeUnreachable("no route")), CaseResult((GOOD,))),
        (CaseResult((SLOW,)), CaseResult((SLOW,))),
        (CaseResult(()), CaseResult(())),
    ],
)
def test_a_last_repeat_that_a_lost_node_ended_is_not_taken_over(old, kept, taken):
    wanted = case(repeats=3)
    old.save(wanted, kept)
    assert Earlier(old.folder)(wanted) == taken


def test_measurements_beyond_those_taken_over_are_listed_by_run(tmp_path, old):
    new = begun(tmp_path, "new", "old")
    wanted = case(repeats=3)
    new.save(wanted, CaseResult((GOOD,)))
    old.save(wanted, CaseResult((GOOD, LOST)))
    earlier = Earlier(tmp_path / "new")
    left = dict(earlier.left(wanted, earlier(wanted)))
    assert {run: kept.runs for run, kept in left.items()} == {"old": (GOOD, LOST)}
    assert dict(earlier.left(wanted, None)).keys() == {"old", "new"}
    assert list(earlier.left(case("n1", "n9"), None)) == []
    assert list(earlier.left(wanted, CaseResult((GOOD, LOST)))) == []


# --- what was read of the nodes themselves ---


def test_readings_of_each_run_are_the_oldest_first_up_to_one_that_failed(tmp_path, old):
    new, newest = begun(tmp_path, "new", "old"), begun(tmp_path, "newest", "new")
    read = case("n1", repeats=1)
    old.save(read, CaseResult((GOOD, (*GOOD, *GOOD))))
    newest.save(read, CaseResult(((*GOOD, *LOST, *GOOD),)))
    earlier = Earlier(tmp_path / "newest")
    assert earlier.readings(read) == ((*GOOD, *GOOD), (), GOOD)
    new.save(read, CaseResult((), ConnectionLost("gone")))
    assert Earlier(tmp_path / "newest").readings(read)[1] == ()


# --- its other files ---


def test_the_deviations_of_a_run_are_those_that_it_kept(old):
    assert Earlier(old.folder).deviations() == ()
    given = (Deviation("n1", "RMA 4711", "A. E.", "2999-01-31", cause="gpu-xid"),)
    old.write_json(deviations.FILE, deviations.to_json(given))
    assert Earlier(old.folder).deviations() == given
    (old.folder / deviations.FILE).write_text("{")
    with pytest.raises(BadInput):
        Earlier(old.folder).deviations()


def test_the_cluster_of_each_run_is_the_newest_first(tmp_path, old):
    begun(tmp_path, "between", "old")
    new = begun(tmp_path, "new", "between")
    one, two = cluster("n1"), replace(cluster("n1"), name="other")
    old.write_json("cluster.json", cluster_to_json(one))
    new.write_json("cluster.json", cluster_to_json(two))
    found = [(run, each.name) for run, each in Earlier(tmp_path / "new").clusters()]
    assert found == [("new", "other"), ("old", one.name)]


@pytest.mark.parametrize("text", [b"{}", b" "])
def test_a_file_that_a_later_run_has_kept_is_compared(tmp_path, old, text):
    new = begun(tmp_path, "new", "old")
    Earlier(tmp_path / "new").refuse_changed()
    kept = new.folder / "earlier/old/invocation.json"
    kept.parent.mkdir(parents=True)
    kept.write_bytes((old.folder / invocation.FILE).read_bytes())
    new.write_manifest({})
    Earlier(tmp_path / "new").refuse_changed()
    kept.write_bytes(text)
    (new.folder / "manifest.json").unlink()
    new.write_manifest({})
    assert refusal(Earlier(tmp_path / "new").refuse_changed) == (
        str(old.folder / invocation.FILE),
        "differs from what new has kept of it",
        AS_LEFT,
    )


def test_a_file_that_a_later_run_has_kept_may_not_be_missing(tmp_path, old):
    new = begun(tmp_path, "new", "old")
    kept = new.folder / "earlier/old/environment.json"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"{}")
    new.write_manifest({})
    where, what, _ = refusal(Earlier(tmp_path / "new").refuse_changed)
    assert (where, what) == (
        str(old.folder / "environment.json"),
        "differs from what new has kept of it",
    )
