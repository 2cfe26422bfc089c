"""The checks of a single run: its files agree, and its records follow from its evidence."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
from testing import small_runs as small
from testing.core_values import case, item

from railgauge.bundle import run_check
from railgauge.bundle.run_check import checked
from railgauge.config.deviations import Deviation
from railgauge.core.codec import to_plain
from railgauge.core.errors import NoEvidence, NotVerified
from railgauge.core.model import Case
from railgauge.core.question import FACT, KERNEL, LIMITS, Question
from railgauge.run.run_folder import RunFolder

SETTING, LOG = small.SETTING, small.LOG
REASON = "cpu_governor is powersave, should be performance"
LATER = Deviation("n1", "RMA 4711", "A. E.", "2999-01-31", cause="gpu-xid")


def refused(run):
    """Where and why a run does not verify."""
    with pytest.raises(NotVerified) as raised:
        checked(run, run.platform())
    return f"{raised.value.where}: {raised.value.what}"


@pytest.fixture
def run(tmp_path):
    return small.made(tmp_path / "r1", 1, wrong=["n2"], logged={"n1": small.FALLEN})


@pytest.fixture
def planned(run):
    return list(run.plan().planned)


def test_an_unchanged_run_is_judged_anew(run):
    found = checked(run, run.platform())
    assert (found.verdict.verdict, found.verdict.counts.failed) == ("rejected", 2)
    assert found.records == run.records()


def test_the_kind_of_evidence_is_that_of_the_nodes(run):
    message = refused(small.edited(run, "run.json", evidence="simulated"))
    assert message.startswith("run/run.json: ")


@pytest.mark.parametrize("field", ["evidence", "cluster", "platform"])
def test_the_survey_is_of_this_run(run, field):
    message = refused(small.edited(run, "environment.json", **{field: "simulated"}))
    assert message.startswith(f"run/environment.json: has {field} 'simulated'")


def test_a_run_that_ended_before_its_survey_has_none(run):
    (run.folder / "environment.json").unlink()
    assert "is recorded as" in refused(RunFolder(run.folder))


def test_a_record_that_was_not_planned_is_refused(run, planned):
    message = refused(small.edited(run, "run.json", planned=planned[1:]))
    assert message == f"run/records.jsonl: {planned[0]} was not planned"


def test_a_required_item_without_a_record_is_refused(run, planned):
    name = SETTING.format("n3")
    planned.remove(name)
    message = refused(small.edited(small.recorded(run, name), "run.json", planned=planned))
    assert "which the level requires" in message


def test_a_closing_item_without_a_record_is_refused(run, planned):
    name = LOG.format("n3")
    planned.remove(name)
    small.log_file(run, "n3").unlink()
    message = refused(small.edited(small.recorded(run, name), "run.json", planned=planned))
    assert f"has no record of {name}, which the level requires" in message


def test_a_part_uses_the_nodes_of_its_places(tmp_path):
    part = small.only("n1", partners=("n2",))
    good = small.made(tmp_path / "r1", 1, part=part)
    assert checked(good, good.platform()).verdict.verdict == "qualified"
    for number, uses in enumerate((("n1", "n2", "n3"), ("n1",)), 2):
        other = small.made(tmp_path / f"r{number}", 1, part=replace(part, uses=uses))
        assert refused(other) == "run/run.json: uses other nodes than only n1, with n2 has"


def test_a_run_with_deviations_ends_after_its_last_measurement(tmp_path):
    early = {"ended": "2026-11-23T01:30:00+00:00"}
    late = small.made(tmp_path / "r1", 1, change=early)
    assert checked(late, late.platform()).verdict.verdict == "accepted"
    given = small.made(tmp_path / "r2", 1, change=early, given=[LATER])
    assert "was begun at" in refused(given)


def test_a_record_that_does_not_fit_its_id_is_refused(run):
    message = refused(small.recorded(run, SETTING.format("n3"), rung=1))
    assert "is on rung 1, but its subject is on rung 0" in message


def test_missing_or_surplus_evidence_is_refused(run):
    mine, spare = small.log_file(run, "n1"), small.log_file(run, "n9")
    shutil.copy(mine, spare)
    assert "belongs to no item" in refused(run)
    spare.unlink()
    mine.unlink()
    assert "is missing, and an item is based on it" in refused(run)


@pytest.mark.parametrize(
    ("below", "why"),
    [
        ("confirm/transcripts", "belongs to no repeated measurement"),
        ("soak/0001/transcripts", "is evidence of a soak that the run did not have"),
    ],
)
def test_evidence_of_what_the_run_did_not_do_is_refused(run, below, why):
    (run.folder / below).mkdir(parents=True)
    shutil.copy(small.log_file(run, "n1"), run.folder / below)
    assert why in refused(run)


def test_a_record_of_a_soak_that_did_not_happen_is_refused(run, planned):
    name = "soak/0001/tests/preflight/test_host.py::test_cpu_governor[n1]"
    lines = (run.folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    extra = json.loads(lines[0]) | {"id": name}
    text = "".join(f"{line}\n" for line in (*lines, json.dumps(extra)))
    (run.folder / "records.jsonl").write_text(text, encoding="utf-8")
    assert refused(small.edited(run, "run.json", planned=[*planned, name]))


# --- records ---


@pytest.mark.parametrize("software", [None, "0.0.1"])
def test_an_outcome_that_the_evidence_does_not_give_is_refused(run, software):
    if software:
        run = small.edited(run, "run.json", software=software)
    name = SETTING.format("n2")
    message = refused(small.recorded(run, name, outcome="passed", reason="", judgements=[]))
    assert (
        message == f"run/records.jsonl: {name} is recorded as passed, but its evidence gives failed"
    )


def test_values_that_the_evidence_does_not_give_are_refused(run):
    name = SETTING.format("n1")
    message = refused(small.recorded(run, name, reason="fine"))
    assert message.endswith(f"{name} is recorded with values that differ from its evidence")


OTHERS = ("0.0.1", "9.9.9")


@pytest.mark.parametrize("field", ["title", "reason", "remedy"])
def test_texts_are_compared_only_with_those_of_the_same_version(run, field):
    names = [SETTING.format(node) for node in small.NODES]
    for name in names:
        run = small.recorded(run, name, **{field: "other words"})
    if field != "title":  # a test has one title, which is its protocol's
        assert "values that differ" in refused(run)
    for software in OTHERS:
        other = small.edited(run, "run.json", software=software)
        assert checked(other, other.platform()).verdict.counts.failed == 2


def test_the_title_of_a_closing_item_is_a_text_too(run):
    for node in small.NODES:
        run = small.recorded(run, LOG.format(node), title="other words")
    assert "values that differ" in refused(run)
    for software in OTHERS:
        other = small.edited(run, "run.json", software=software)
        assert checked(other, other.platform()).verdict.counts.failed == 2


@pytest.mark.parametrize("field", ["reason", "limit"])
def test_texts_of_judgements_are_compared_in_the_same_version_only(run, field):
    name = SETTING.format("n2")
    made = to_plain(run.records()[name].judgements)
    other = small.recorded(run, name, judgements=[one | {field: "x"} for one in made])
    assert "values that differ" in refused(other)
    for software in OTHERS:
        other = small.edited(run, "run.json", software=software)
        assert checked(other, other.platform()).verdict.counts.failed == 2
    other = small.recorded(other, name, judgements=[one | {"measured": "x"} for one in made])
    assert "values that differ" in refused(other)


# --- commands ---


class Held:
    """The planned commands, to which every transcript fits; it keeps what it was shown."""

    def __init__(self, *given):
        self.given, self.shown = given, []
        Held.last = self

    def refuse_others(self, asked, runs, folder):
        self.shown.append((asked, runs, folder))


def test_every_transcript_of_an_item_is_compared_with_the_planned_commands(monkeypatch):
    monkeypatch.setattr(run_check, "Commands", Held)
    one, other, log = case("n1", "n2"), case("n2", "n3"), Case("kernel_log", ("n1",), None, ())
    measured = Question(LIMITS, case=one, other=other)
    items = [
        item("a", questions=(measured, Question(FACT), Question(LIMITS, case=one))),
        item("b", questions=(Question(LIMITS, case=case("n1", "n3")), Question(KERNEL, case=log))),
    ]
    stored = {one: ("1",), other: ("2",)}

    def result(asked, folder):
        if asked not in stored:
            raise NoEvidence("gone")
        return SimpleNamespace(runs=(*stored[asked], folder))

    contents = SimpleNamespace(
        platform=lambda: "platform",
        cluster=lambda: "cluster",
        elsewhere=lambda: "elsewhere",
        asked=lambda: [SimpleNamespace(question=Question(LIMITS, case=other))],
        result=result,
    )
    run_check._refuse_other_commands(contents, items)
    assert Held.last.given == ("platform", "cluster", "elsewhere")
    assert Held.last.shown == [
        (one, ("1", ""), ""),
        (other, ("2", ""), ""),
        (other, ("2", "confirm"), "confirm"),
    ]


def test_transcripts_are_compared_with_the_commands_in_every_run(run, monkeypatch):
    def refuse(contents, records):
        assert contents is run
        raise NotVerified(f"{len(list(records))} records", where="here")

    monkeypatch.setattr(run_check, "_refuse_other_commands", refuse)
    assert refused(run) == "here: 6 records"
