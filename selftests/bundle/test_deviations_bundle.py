"""Bundles with accepted deviations: applied again, redacted, replayed, and what forges them."""

from __future__ import annotations

import json

import pytest
from testing import bundle_bench as bench
from testing.acceptance import BARE, ONE_PAIR, make_project
from testing.bundle_bench import Bundled, edit_json, edit_records, forged

DEVIATIONS = "run/deviations.json"
ITEM = "tests/preflight/test_host.py::test_cpu_governor[viper]"
FILE = """
- subject: viper
  cause: cpu-governor
  reason: the BMC caps the governor
  who: A. Engineer
  until: 2999-12-31
"""


@pytest.fixture(scope="module")
def deviating(runs_folder):
    """One failure, at viper, which is accepted."""
    project = make_project(runs_folder / "deviating")
    project.write("accepted.yaml", FILE)
    given = ("--no-gates", "--lab-fault", "governor@viper", "--deviations", "accepted.yaml")
    run = project.run(*ONE_PAIR, *BARE, *given)
    assert run.code == 11, run.output[-2000:]
    path = runs_folder / "deviating.railgauge"
    bench.bundle(run.latest, path, "--unsigned")
    return Bundled(run, path)


def edit_deviation(**changes):
    return edit_json(DEVIATIONS, lambda data: data["deviations"][0].update(changes))


def edit_listed(**changes):
    return edit_json("run/verdict.json", lambda data: data["deviations"][0].update(changes))


def both(*changes):
    def change(content):
        for one in changes:
            one(content)

    return change


def test_the_verdict_is_confirmed_with_the_deviations(deviating, verify):
    code, out, _ = verify(deviating.path)
    assert code == 11
    assert "verdict    accepted with deviations: it stands" in out
    expected = (
        "viper: cpu-governor: accepted until 2999-12-31, covers 1 failed item; A. Engineer: the BMC"
    )
    assert f"deviation  {expected}" in out
    code, out, _ = verify(deviating.path, "--json")
    assert (code, json.loads(out)["verdict"]) == (11, deviating.run.verdict)


def test_deviations_without_a_key_are_vouched_for_by_nobody(deviating, capsys):
    assert bench.main(["verify", str(deviating.path)]) == 10
    assert "NOBODY VOUCHES" in capsys.readouterr().out


def test_deviations_are_in_the_configuration_of_the_statement(deviating):
    predicate = bench.payload(bench.files(deviating.path))["predicate"]
    assert predicate["result"] == "WARNED"
    assert predicate["failedTests"] == [ITEM]
    assert DEVIATIONS in [one["name"] for one in predicate["configuration"]]


def test_redacted_deviations_are_about_the_same_node(deviating, verify, tmp_path):
    path = tmp_path / "redacted"
    bench.bundle(deviating.run.latest, path, "--unsigned", "--redact", "hosts")
    code, out, _ = verify(path)
    assert code == 11
    assert "deviation  host00" in out
    assert "viper" not in out


def test_a_replay_applies_them_on_the_day_of_the_run(deviating):
    replay = f"--replay={deviating.path}"
    again = deviating.project.run(*BARE, replay, "--no-gates")
    assert (again.code, again.verdict["verdict"]) == (11, "accepted with deviations")
    ended = json.loads((again.latest / "run.json").read_text())["ended"]
    assert ended == json.loads((deviating.run.latest / "run.json").read_text())["ended"]
    deviating.project.write("past.yaml", FILE.replace("2999", "2020"))
    past = deviating.project.run(*BARE, replay, "--no-gates", "--deviations", "past.yaml")
    assert (past.code, past.verdict["deviations"][0]["state"]) == (1, "expired")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        # The date is over, and the verdict still says that it counts.
        (edit_deviation(until="2020-01-31"), "verdict.json: differs from the verdict of the evid"),
        (edit_listed(until="2999-11-30"), "verdict.json: differs from the verdict"),
        (edit_listed(covers=[]), "verdict.json: differs from the verdict"),
        (edit_listed(state="applied", says="and all others"), "verdict.json: differs"),
        # It is about another node, or one that is not there.
        (edit_deviation(subject="columbia"), "verdict.json: differs from the verdict"),
        (edit_deviation(subject="mx99"), "has no node mx99"),
        # It is for something that nobody can accept.
        (edit_deviation(cause="data-corruption"), "wrong results cannot be accepted"),
        (edit_deviation(cause="undiagnosed"), "cannot be accepted"),
        (edit_deviation(cause="made-up"), "no cause is named 'made-up'"),
        (edit_deviation(who=""), "who is empty"),
        (edit_deviation(until="never"), "until is 'never'"),
        (edit_json(DEVIATIONS, lambda data: data.update(schema_version=2)), "schema version 2"),
        (lambda content: content.pop(DEVIATIONS), "verdict.json: differs from the verdict"),
        # The run ended earlier than its measurements were made.
        (
            edit_json("run/run.json", lambda data: data.update(ended="2020-01-31T00:00:00+00:00")),
            "run.json: ended at 2020-01-31T00:00:00+00:00, but ",
        ),
        (edit_json("run/run.json", lambda data: data.update(ended="soon")), "does not say when"),
        (
            edit_json("run/run.json", lambda d: d.update(ended="0001-01-01T00:00:00+23:59")),
            "does not say when",
        ),
        (
            edit_json("run/run.json", lambda data: data.update(ended="2026-01-01T00:00:00")),
            "does not say when",
        ),
        (edit_json("run/run.json", lambda data: data.update(ended="")), "verdict.json: differs"),
    ],
)
def test_a_deviation_that_was_changed_is_refused(deviating, verify, tmp_path, change, says):
    code, out, err = verify(forged(deviating.path, tmp_path / "forged", change))
    assert code in (1, 2)
    assert out == ""
    assert says in err


def test_a_past_deviation_cannot_be_brought_back_by_an_earlier_end(deviating, verify, tmp_path):
    """The transcripts show the true day if day and verdict are both changed."""
    ended = edit_json("run/run.json", lambda data: data.update(ended="2020-01-01T00:00:00+00:00"))
    change = both(edit_deviation(until="2020-01-31"), edit_listed(until="2020-01-31"), ended)
    code, _, err = verify(forged(deviating.path, tmp_path / "forged", change))
    assert code == 1
    assert "was begun at" in err


def test_a_deviation_cannot_be_added_to_a_rejected_run(red, verify, tmp_path, deviating):
    added = bench.files(deviating.path)[DEVIATIONS]
    path = forged(red.path, tmp_path / "forged", lambda c: c.update({DEVIATIONS: added}))
    code, _, err = verify(path)
    assert (code, "verdict.json: differs" in err) == (1, True)


def test_a_record_cannot_hide_what_was_not_judged_beside_a_failure(deviating, verify, tmp_path):
    def claim(records):
        (failed,) = (one for one in records if one["outcome"] == "failed")
        failed["beside"] = "nothing of importance"

    code, _, err = verify(forged(deviating.path, tmp_path / "forged", edit_records(claim)))
    assert code == 1
    assert "values that differ from its evidence" in err
