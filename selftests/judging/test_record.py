"""An item's record, from its judgements and the error that ended it; nothing is hidden."""

import json

import pytest
from testing.core_values import item, judgement

from railgauge.core.errors import BadInput, FactMissing, NoEvidence
from railgauge.core.model import Outcome
from railgauge.core.question import FACT, Question
from railgauge.core.run_files import MEASUREMENTS
from railgauge.core.terms import Rung
from railgauge.judging import record
from railgauge.judging.record import (
    ItemRecord,
    blank,
    measurement,
    merged,
    settled,
    with_error,
    worst_of,
)

GOOD, MISSED = judgement(), judgement(Outcome.FAILED, reason="358 Gb/s, limit 372")
CLOSE = judgement(Outcome.MARGINAL, reason="within 1% of the limit")
NOTED = judgement(Outcome.RECORD_ONLY, reason="the limit is being calibrated")
LOST = FactMissing("was not surveyed", where="n1", remedy="run the survey")


@pytest.mark.parametrize(
    ("judgements", "error", "outcome", "reason"),
    [
        ([GOOD], None, Outcome.PASSED, ""),
        ([GOOD, CLOSE], None, Outcome.MARGINAL, "within 1% of the limit"),
        ([CLOSE, GOOD], None, Outcome.MARGINAL, "within 1% of the limit"),
        ([GOOD, MISSED], None, Outcome.FAILED, "358 Gb/s, limit 372"),
        ([MISSED, MISSED], None, Outcome.FAILED, "358 Gb/s, limit 372; 358 Gb/s, limit 372"),
        ([MISSED, CLOSE], None, Outcome.FAILED, "358 Gb/s, limit 372"),
        ([MISSED], LOST, Outcome.FAILED, "358 Gb/s, limit 372"),
        ([MISSED, NOTED], None, Outcome.FAILED, "358 Gb/s, limit 372"),
        ([GOOD], LOST, Outcome.ERROR, "n1: was not surveyed"),
        ([NOTED], LOST, Outcome.ERROR, "n1: was not surveyed"),
        ([], LOST, Outcome.ERROR, "n1: was not surveyed"),
        ([GOOD, NOTED], None, Outcome.RECORD_ONLY, "record only: "),
        ([NOTED], None, Outcome.RECORD_ONLY, "record only: bw_average 390 Gb/s"),
        ([], None, Outcome.ERROR, ""),
    ],
)
def test_an_item_is_settled_by_the_worst_that_is_known(judgements, error, outcome, reason):
    begun = item("a", Outcome.BLOCKED, by_evidence=False)
    made = settled(begun, judgements, error)
    assert (made.outcome, made.judgements, made.by_evidence) == (outcome, tuple(judgements), True)
    assert made.reason.startswith(reason)
    assert bool(made.reason) is bool(reason)
    assert (made.error_kind == "fact-missing") is (outcome is Outcome.ERROR and error is not None)


def test_what_could_not_be_judged_of_a_failed_item_is_kept_beside_its_reason():
    assert settled(item("a"), [MISSED], LOST).beside == str(LOST) != ""
    assert settled(item("a"), [MISSED], None).beside == ""
    assert settled(item("a"), [GOOD], LOST).beside == ""


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_a_value_that_met_a_limit_is_asserted(outcome):
    compared = outcome in (Outcome.PASSED, Outcome.MARGINAL, Outcome.FAILED)
    assert item("a", outcome).asserted is compared


def test_an_error_has_its_place_kind_and_remedy():
    made = with_error(item("a"), LOST)
    assert (made.outcome, made.reason) == (Outcome.ERROR, "n1: was not surveyed")
    assert (made.error_kind, made.error_where, made.remedy) == (
        "fact-missing", "n1", "run the survey",
    )  # fmt: skip
    assert not made.by_evidence
    assert with_error(item("a"), NoEvidence("nothing")).reason == "nothing"


def test_a_blank_item_keeps_what_it_is_about_and_nothing_that_was_found():
    begun = item("a", questions=(Question(FACT),), ways=("run",), pairing="mlx5_0")
    ended = [settled(begun, [MISSED], error) for error in (None, LOST)]
    for done in (*ended, with_error(begun, LOST), begun):
        assert blank(done) == ItemRecord(
            "a", 1, "host_write_bandwidth", "A title", Outcome.ERROR, ("n1", "n2"), "mlx5_0",
            questions=(Question(FACT),), ways=("run",),
        )  # fmt: skip


def test_a_record_has_no_defaults_that_look_like_results():
    bare = ItemRecord("a", 0, "memlock", "A title", Outcome.PASSED)
    assert not bare.by_evidence
    assert bare.duration_s == 0
    assert not any((bare.nodes, bare.pairing, bare.reason, bare.error_kind, bare.transcript))


def test_running_again_replaces_only_what_never_ran():
    first = item("a", Outcome.NOT_RUN)
    assert merged(first, item("a")) == item("a")
    assert merged(item("a", Outcome.FAILED), item("a")).reason == (
        "passed only when run again; first: failed"
    )
    kept = merged(item("a", Outcome.FAILED, reason="slow"), item("a", Outcome.ERROR, reason="lost"))
    assert (kept.outcome, kept.reason) == (Outcome.FAILED, "slow")


def test_of_two_runs_that_ended_alike_the_later_is_kept():
    first, again = (item("a", Outcome.FAILED, reason=word) for word in ("first", "again"))
    assert merged(first, again).reason == "again"


def test_the_worst_outcome_is_that_of_the_order_not_of_the_alphabet():
    assert worst_of([GOOD, NOTED]) is Outcome.RECORD_ONLY
    assert worst_of([MISSED, NOTED, GOOD]) is Outcome.FAILED


def test_a_line_of_measurements_has_the_item_the_values_and_the_limit():
    judged = judgement(
        values=(1.0, 2.0), unit="Gb/s", better="higher", floor=3.0, ceiling=4.0,
        physical_ceiling=5.0, margin=0.5, pointer="/limits/0", not_shown=("MTU",),
    )  # fmt: skip
    assert json.loads(json.dumps(measurement(item("a", size_bytes=8, pairing="gpu0"), judged))) == {
        "id": "a", "subject": "host_write_bandwidth", "nodes": ["n1", "n2"], "pairing": "gpu0",
        "size_bytes": 8, "metric": "bw_average", "unit": "Gb/s", "better": "higher",
        "values": [1.0, 2.0], "measured": "390 Gb/s", "limit": ">= 372", "basis": "000: 4.1",
        "floor": 3.0, "ceiling": 4.0, "physical_ceiling": 5.0, "margin": 0.5, "outcome": "passed",
        "pointer": "/limits/0", "not_shown": ["MTU"], "ideal": None,
    }  # fmt: skip


def test_invalid_records_are_refused_with_their_place():
    plain = item("a").to_json()
    with pytest.raises(BadInput, match=r"records\.jsonl line 3"):
        record.from_json({**plain, "outcome": "fine"}, "records.jsonl line 3")


def test_files_rungs_and_schema_are_those_of_the_contract():
    assert (record.FILE, MEASUREMENTS) == ("records.jsonl", "measurements.jsonl")
    assert (record.SCHEMA_VERSION, record.OWN_ERROR) == (2, "bug")
    assert [(rung, rung.folder) for rung in Rung] == [
        (0, "preflight"), (1, "network"), (2, "gpudirect"), (3, "intranode"), (4, "collective"),
        (5, "application"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pairing", "nodes", "parts"),
    [
        ("gpu4-mlx5_1:gpu0-mlx5_0", ("n1", "n2"), ("gpu4-mlx5_1", "gpu0-mlx5_0")),
        ("mlx5_0:mlx5_1", ("n2", "n1"), ("mlx5_1", "mlx5_0")),
        ("gpu3-mlx5_0", ("n1", "n2"), ("gpu3-mlx5_0", "gpu3-mlx5_0")),
        ("", ("n1", "n2"), ("", "")),
        ("0000:2d:01.0", ("n1",), ("0000:2d:01.0", "0000:2d:01.0")),
    ],
)
def test_each_node_has_its_own_end_of_a_path_between_two_rails(pairing, nodes, parts):
    record_of = item("a", pairing=pairing, nodes=nodes)
    assert (record_of.part_at("n1"), record_of.part_at("n2")) == parts
    assert record_of.part_at("n1|n2") == pairing
