"""A forger with a trusted key who names another version, or claims more than the records hold."""

from __future__ import annotations

import json

import pytest
from testing import bundle_bench as bench
from testing import forger_bench as forger
from testing.bundle_bench import edit_records

HOSTS = bench.HOSTS


def other_version(content):
    run = json.loads(content["run/run.json"])
    content["run/run.json"] = json.dumps({**run, "software": "0.0.1"}).encode()


def other_texts(records):
    for item in records:
        if item["outcome"] == "failed":
            item.update(reason="in other words", remedy="do something")


def other_values(records):
    failed = next(item for item in records if item["outcome"] == "failed")
    failed["judgements"][0]["measured"] = "a little below"


def other_outcome(records):
    next(item for item in records if item["outcome"] == "failed")["outcome"] = "marginal"


def test_texts_of_another_version_are_not_compared_and_the_report_notes_it(
    red, refused, verify, tmp_path
):
    def change(content):
        other_version(content)
        edit_records(other_texts)(content)

    path = forger.sealed(red.path, tmp_path / "older", refused.key, change)
    code, out, err = verify(path, "--key", refused.public)
    assert (code, err) == (1, "")
    assert "texts      not compared: railgauge 0.0.1 made the run" in out
    assert "rejected: it stands" in out


def test_texts_of_this_version_are_compared(red, refused):
    assert "with values that differ" in refused(red, edit_records(other_texts))


@pytest.mark.parametrize("edit", [other_values, other_outcome])
def test_a_named_version_excuses_nothing_but_texts(red, refused, edit):
    def change(content):
        other_version(content)
        edit_records(edit)(content)

    assert "run/records.jsonl: tests/" in refused(red, change)


def test_the_verdict_of_another_version_is_compared_by_its_figures(red, refused):
    def after(content):
        verdict = json.loads(content["run/verdict.json"])
        content["run/verdict.json"] = json.dumps({**verdict, "verdict": "accepted"}).encode()

    assert "differs from the verdict of the evidence" in refused(red, other_version, after=after)


# --- what in-toto's own readers see ---


def no_failure(predicate):
    predicate["passedTests"] = sorted([*predicate["passedTests"], *predicate["failedTests"]])
    predicate["failedTests"] = []


@pytest.mark.parametrize(
    ("say", "why"),
    [
        (
            lambda message: message.update(result="PASSED"),
            "has a result that differs from the records",
        ),
        (no_failure, "has a passedTests that differs from the records"),
        (lambda message: message["warnedTests"].clear(), "has a warnedTests that differs"),
        (lambda message: message["configuration"].pop(), "has a configuration that differs"),
        (lambda message: message.update(url="https://example.org"), "has the unknown field 'url'"),
    ],
)
def test_a_statement_that_differs_from_the_records_is_refused(red, refused, say, why):
    message = refused(red, lambda content: None, say=say)
    assert f"statement.dsse.json: {why}" in message
