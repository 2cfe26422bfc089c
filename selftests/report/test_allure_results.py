"""Allure's results agree with the record, whatever Allure's own plugin wrote."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from railgauge.core.model import Judgement, Outcome
from railgauge.core.terms import Rung
from railgauge.diagnosis import Cause
from railgauge.diagnosis.model import Where
from railgauge.judging.record import ItemRecord
from railgauge.report.allure import results
from railgauge.report.allure.surroundings import _CATEGORIES
from railgauge.report.junit import message
from railgauge.report.lines import of_items
from railgauge.report.plots import Plot

PASSES = (Outcome.PASSED, Outcome.MARGINAL)
JUDGED = Judgement(
    metric="bw_average",
    unit="Gb/s",
    values=(235.18, 240.0),
    measured="235.18 Gb/s",
    limit=">= 372.60 Gb/s",
    basis="000: 4.1: the table",
    outcome=Outcome.FAILED,
    reason="bw_average 235.18 Gb/s, limit >= 372.60 Gb/s",
    pointer="/measurements/write/limits/0",
)
ITEM = ItemRecord(
    id="tests/network/test_rdma.py::test_write[n1:n2-mlx5_0-8MiB]",
    rung=Rung.NETWORK,
    subject="write",
    title="Writes run at line rate.",
    outcome=Outcome.FAILED,
    nodes=("n1", "n2"),
    pairing="mlx5_0",
    judgements=(JUDGED,),
    reason=JUDGED.reason,
    transcript="transcripts/write_n1+n2-mlx5_0.txt",
)
CAUSE = Cause(
    cause="slow-nic",
    where=Where("n1", "mlx5_0"),
    says="",
    evidence=(ITEM.id,),
    explains=(),
    confidence="certain",
    would_decide="",
    remedy="what to do",
    basis="",
)
PLOT = Plot("rung1-size-write", 1, "write: bw_average against message size", "", "<svg/>", "write")
# What Allure's plugin wrote for ITEM, with a step that a test of a site's own made.
BEGUN = {
    "uuid": "u1",
    "name": "test_write[n1:n2-mlx5_0-8MiB]",
    "fullName": "tests.network.test_rdma#test_write",
    "historyId": "of the plugin",
    "status": "passed",
    "statusDetails": {"message": "XPASS", "trace": "code of this suite"},
    "parameters": [{"name": "size", "value": "<Size object at 0x7f>"}],
    "labels": [{"name": "host", "value": "control"}, {"name": "owner", "value": "site"}],
    "steps": [{"name": "of the site", "status": "passed"}],
    "links": [{"type": "issue", "url": "of the site"}],
    "start": 1000,
    "stop": 2000,
}


def written(folder, *records, begun=(BEGUN,), causes=(), plots=()):
    """The results of a run's folder by item, after the end of the run."""
    at = folder / "allure-results"
    at.mkdir(exist_ok=True)
    for number, base in enumerate(begun):
        (at / f"{number}-result.json").write_text(json.dumps(base), encoding="utf-8")
    verdict = SimpleNamespace(evidence="simulated", causes=causes, deviations=())
    run = results.ReportedRun(folder, at, verdict, 5000, plots)
    results.write(run, of_items({record.id: record for record in records}))
    read = [json.loads(path.read_text("utf-8")) for path in sorted(at.glob("*-result.json"))]
    return {one["name"]: one for one in read}


def only(folder, *records, **more):
    (result,) = written(folder, *records, **more).values()
    return result


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("given", ["passed", "skipped", "failed"])
def test_nothing_but_a_pass_looks_like_one(tmp_path, outcome, given):
    record = replace(ITEM, outcome=outcome)
    result = only(tmp_path, record, begun=[{**BEGUN, "status": given}])
    assert (result["status"] == "passed") is (outcome in PASSES)
    assert result["status"] in ("passed", "failed", "broken")
    assert (result["status"] == "failed") is (outcome is Outcome.FAILED)


@pytest.mark.parametrize("outcome", Outcome)
def test_the_message_is_that_of_junit_and_no_trace_remains(tmp_path, outcome):
    record = replace(ITEM, outcome=outcome)
    details = only(tmp_path, record).get("statusDetails")
    assert details == (None if outcome in PASSES else {"message": message(record)})


WORDS = {
    Outcome.FAILED: "limit is 3",
    Outcome.ERROR: "n1 printed nothing",
    Outcome.BLOCKED: "blocked by tests/a.py::test_a[n1]",
    Outcome.NOT_RUN: "the run was ended",
    Outcome.FLAKY: "passed only when run again; first: not run",
    Outcome.RECORD_ONLY: "record only: busbw 3 GB/s",
}


@pytest.mark.parametrize("outcome", [one for one in Outcome if one not in PASSES])
def test_an_item_that_did_not_pass_is_in_the_category_of_its_outcome(tmp_path, outcome):
    result = only(tmp_path, replace(ITEM, outcome=outcome, reason=WORDS[outcome]), causes=[CAUSE])
    found = [
        one["name"].partition(":")[0]
        for one in _CATEGORIES
        if result["status"] in one["matchedStatuses"]
        and re.search(one.get("messageRegex", ""), result["statusDetails"]["message"])
    ]
    assert found == [str(outcome).replace("_", " ").capitalize()]


def test_additions_of_a_site_s_test_remain_and_the_rest_is_of_the_record(tmp_path):
    result = only(tmp_path, ITEM)
    assert (result["uuid"], result["start"], result["stop"]) == ("u1", 1000, 2000)
    assert [one["name"] for one in result["steps"]] == [
        "bw_average: measured 235.18 Gb/s, limit >= 372.60 Gb/s: failed",
        "of the site",
    ]
    assert [one["url"] for one in result["links"]] == [
        "../thresholds.json#/measurements/write/limits/0",
        "of the site",
    ]
    assert result["parameters"] == [{"name": "item", "value": "n1:n2-mlx5_0-8MiB"}]
    labels = {one["name"]: one["value"] for one in result["labels"]}
    assert labels == {
        "parentSuite": "SIMULATED evidence",
        "suite": "rung 1: network",
        "subSuite": "write",
        "tag": "simulated",
        "severity": "critical",
        "owner": "site",
    }


def test_a_failed_step_shows_its_evidence(tmp_path):
    shown = {one["name"]: one["value"] for one in only(tmp_path, ITEM)["steps"][0]["parameters"]}
    assert shown == {"basis": "000: 4.1: the table", "samples": "235.18 240", "unit": "Gb/s"}


def test_a_run_that_is_ended_twice_has_the_same_results(tmp_path):
    first = written(tmp_path, ITEM, causes=[CAUSE])
    again = written(tmp_path, ITEM, begun=(), causes=[CAUSE])
    message = again[BEGUN["name"]]["statusDetails"]["message"]
    assert message == first[BEGUN["name"]]["statusDetails"]["message"]
    assert message.count("[cause: ") == 1
    assert len(again[BEGUN["name"]]["steps"]) == 1
    assert "cause: slow-nic" not in str(written(tmp_path, ITEM, begun=()))


def test_items_that_passed_are_in_groups_of_their_own(tmp_path):
    """Allure opens a group with a failure, and draws all that is in it."""
    fine = replace(ITEM, id=ITEM.id.replace("8MiB", "1MiB"), outcome=Outcome.PASSED)
    groups = [
        next(label["value"] for label in one["labels"] if label["name"] == "subSuite")
        for one in written(tmp_path, ITEM, fine).values()
    ]
    assert sorted(groups) == ["write", "write: passed"]


def test_the_later_of_two_results_of_an_item_remains(tmp_path):
    earlier = {**BEGUN, "uuid": "u0", "start": 1, "stop": 2}
    assert only(tmp_path, ITEM, begun=[BEGUN, earlier])["uuid"] == "u1"
    assert only(tmp_path, ITEM, begun=[earlier, BEGUN])["uuid"] == "u1"


def test_a_result_of_something_else_is_not_touched(tmp_path):
    other = {**BEGUN, "fullName": "tests.network.test_own#test_write", "uuid": "u2"}
    (tmp_path / "allure-results").mkdir()
    kept = tmp_path / "allure-results" / "9-result.json"
    kept.write_text(json.dumps(other))
    written(tmp_path, ITEM)
    assert json.loads(kept.read_text()) == other


def test_items_that_no_test_ran_have_results_of_their_own(tmp_path):
    """Allure takes two results with the same test and parameters for a test and its retry."""
    nodes = ("n1", "n2", "n3")
    items = [
        replace(ITEM, id=f"gpus::telemetry[{node}]", nodes=(node,), outcome=Outcome.NOT_RUN)
        for node in nodes
    ]
    found = list(written(tmp_path, *items, begun=()).values())
    assert len({one["historyId"] for one in found}) == len(nodes)
    assert len({(one["testCaseId"], str(one["parameters"])) for one in found}) == len(nodes)
    assert {one["start"] for one in found} == {5000}


def test_the_cause_is_below_the_message_and_a_tag(tmp_path):
    second = replace(CAUSE, cause="slow-node")
    result = only(tmp_path, ITEM, causes=[CAUSE, second])
    expected = f"{message(ITEM)}\n[cause: slow-nic, n1, mlx5_0] what to do"
    assert result["statusDetails"]["message"] == expected
    tags = [one["value"] for one in result["labels"] if one["name"] == "tag"]
    assert tags == ["simulated", "cause: slow-nic"]


def test_an_item_that_a_cause_explains_is_marked_and_others_are_not(tmp_path):
    explained = replace(ITEM, id="tests/b.py::test_b[1]", outcome=Outcome.BLOCKED)
    other = replace(ITEM, id="tests/b.py::test_b[2]")
    causes = [replace(CAUSE, explains=(explained.id,))]
    found = written(tmp_path, explained, other, begun=(), causes=causes)
    assert "[cause: slow-nic" in found["test_b[1]"]["statusDetails"]["message"]
    assert "cause" not in str(found["test_b[2]"])


def test_items_of_one_measurement_share_its_file_and_plots(tmp_path):
    (tmp_path / "transcripts").mkdir()
    for name in ("write_n1+n2-mlx5_0.txt", "write_n1+n2-mlx5_0.csv", "read_n1+n2.txt"):
        (tmp_path / "transcripts" / name).write_text(name)
    larger = replace(ITEM, id=ITEM.id.replace("8MiB", "64MiB"))
    passed = replace(
        ITEM,
        id="tests/a.py::test_a[1]",
        transcript="transcripts/read_n1+n2.txt",
        outcome=Outcome.PASSED,
        subject="read",
    )
    other = replace(PLOT, name="rung1-size-read", subject="read")
    found = written(tmp_path, ITEM, larger, passed, plots=[PLOT, other])
    shared = [
        "write_n1+n2-mlx5_0-attachment.txt",
        "write_n1+n2-mlx5_0-attachment.csv",
        "rung1-size-write-attachment.svg",
    ]
    for record in (ITEM, larger):
        attached = found[record.id.partition("::")[2]]["attachments"]
        assert [one["source"] for one in attached] == shared
    assert found["test_a[1]"]["attachments"] == []
    files = {path.name for path in (tmp_path / "allure-results").glob("*attachment*")}
    assert files == set(shared[:2])


def test_text_that_is_no_unicode_is_written(tmp_path):
    assert only(tmp_path, replace(ITEM, reason="\udcff"))["status"] == "failed"
