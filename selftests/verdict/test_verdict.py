"""The verdict comes from the record only, and every item counts."""

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.core_values import ROOT, cluster, item, judgement

from railgauge.config import thresholds
from railgauge.core.model import Outcome
from railgauge.core.terms import Verdict
from railgauge.judging import record
from railgauge.judging.record import merged, worst_of
from railgauge.verdict import counts as verdict
from railgauge.verdict.counts import count, verdict_of

outcomes = st.sampled_from(list(Outcome))
runs = st.dictionaries(st.text("abcd", min_size=1, max_size=2), st.one_of(st.none(), outcomes))


def records_of(run):
    return {name: item(name, outcome) for name, outcome in run.items() if outcome}


def decided(*found):
    records = {str(i): item(str(i), outcome) for i, outcome in enumerate(found)}
    return verdict_of(count(records, records))


@given(runs)
def test_every_planned_item_is_counted_exactly_once(run):
    counts = asdict(count(run, records_of(run)))
    planned, asserted = counts.pop("planned"), counts.pop("asserted")
    assert planned == len(run) == sum(counts.values())
    assert asserted == counts["passed"] + counts["marginal"] + counts["failed"]


@given(runs)
def test_a_run_is_accepted_if_it_has_items_and_all_passed(run):
    result = verdict_of(count(run, records_of(run)))
    good = {Outcome.PASSED, Outcome.MARGINAL}
    assert (result == Verdict.ACCEPTED) == bool(run and set(run.values()) <= good)
    assert (result == Verdict.REJECTED) == (Outcome.FAILED in run.values())


@given(st.lists(outcomes, min_size=1), outcomes)
def test_one_more_item_never_makes_a_verdict_better(found, more):
    order = [Verdict.ACCEPTED, Verdict.INCOMPLETE, Verdict.REJECTED]
    assert order.index(decided(*found)) <= order.index(decided(*found, more))


def test_an_item_without_a_record_did_not_run():
    counts = count(["a", "b"], {"a": item("a")})
    assert (counts.planned, counts.passed, counts.not_run) == (2, 1, 1)
    assert verdict_of(counts) == Verdict.INCOMPLETE


def test_a_record_that_was_not_planned_does_not_count():
    counts = count(["a"], {"b": item("b")})
    assert (counts.passed, counts.not_run) == (0, 1)


def test_an_empty_plan_is_not_accepted():
    assert verdict_of(count([], {})) == Verdict.INCOMPLETE


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        (Outcome.PASSED, Verdict.ACCEPTED),
        (Outcome.MARGINAL, Verdict.ACCEPTED),
        (Outcome.RECORD_ONLY, Verdict.INCOMPLETE),
        (Outcome.FLAKY, Verdict.INCOMPLETE),
        (Outcome.NOT_RUN, Verdict.INCOMPLETE),
        (Outcome.BLOCKED, Verdict.INCOMPLETE),
        (Outcome.ERROR, Verdict.INCOMPLETE),
        (Outcome.FAILED, Verdict.REJECTED),
    ],
)
def test_one_item_among_passed_ones_decides(outcome, result):
    assert decided(Outcome.PASSED, outcome, Outcome.PASSED) == result


def test_exit_codes_are_those_of_the_contract():
    codes = {verdict: verdict.exit_code for verdict in Verdict}
    assert codes == {
        Verdict.ACCEPTED: 0,
        Verdict.REJECTED: 1,
        Verdict.INCOMPLETE: 10,
        Verdict.WITH_DEVIATIONS: 11,
        Verdict.QUALIFIED: 0,
        Verdict.NOT_QUALIFIED: 1,
        Verdict.QUALIFIED_WITH_DEVIATIONS: 11,
    }
    accepted = {verdict for verdict in Verdict if verdict.is_accepted}
    assert accepted == {Verdict.ACCEPTED, Verdict.WITH_DEVIATIONS}


# --- one item, run again ---

GOOD = (Outcome.PASSED, Outcome.MARGINAL)


@given(outcomes, outcomes)
def test_an_item_that_passes_only_when_run_again_is_never_accepted(first, again):
    result = merged(item("a", first), item("a", again)).outcome
    order = list(Outcome)
    if first in GOOD:
        assert order.index(result) >= max(order.index(first), order.index(again))
    elif first is Outcome.NOT_RUN:
        assert result is again
    elif again in GOOD:
        assert result is Outcome.FLAKY
    else:
        assert result is max(first, again, key=order.index)


def test_a_flaky_item_has_the_reason_of_its_first_run():
    first = item("a", Outcome.FAILED, reason="358 Gb/s, limit 372")
    assert "358 Gb/s, limit 372" in merged(first, item("a")).reason


def test_the_first_run_stands_as_it_is():
    assert merged(None, item("a", Outcome.FAILED)) == item("a", Outcome.FAILED)


@given(st.lists(outcomes, min_size=1))
def test_an_item_is_as_good_as_its_worst_judgement(found):
    order = list(Outcome)
    assert worst_of([judgement(outcome) for outcome in found]) is max(found, key=order.index)


def test_an_item_without_a_judgement_is_an_error():
    assert worst_of([]) is Outcome.ERROR


# --- the record travels ---


def test_a_record_comes_back_from_json_as_it_was():
    numbers = judgement(values=(1.0, 2.0), worst=1.0, margin=0.1, size_bytes=8, unit="Gb/s")
    full = item(
        "a", Outcome.BLOCKED, judgements=(numbers, judgement()), blocked_by=("b",), size_bytes=8
    )
    assert record.from_json(json.loads(json.dumps(full.to_json()))) == full


def test_a_record_is_plain_data():
    allowed = (str, int, float, bool, list, dict, type(None))

    def plain(value):
        inner = value.values() if isinstance(value, dict) else value
        return type(value) in allowed and (
            not isinstance(value, (dict, list)) or all(map(plain, inner))
        )

    assert plain(item("a", judgements=(judgement(values=(1.0,)),)).to_json())


# --- coverage and the list of the worst ---


def test_coverage_counts_what_was_asserted_of_what_is_declared():
    platform = thresholds.load("metax-c500", ROOT / "thresholds")
    three = cluster("n1", "n2", "n3")
    found = [
        item("a", pairing="mlx5_0", size_bytes=8388608),
        item("b", Outcome.FAILED, nodes=("n2", "n1"), pairing="mlx5_1", size_bytes=8388608),
        item("c", Outcome.ERROR, nodes=("n2", "n3"), pairing="gpu0-mlx5_0", size_bytes=2),
        item("d", rung=0, nodes=("n3",)),
    ]
    shares = verdict.coverage(three, platform, found)
    assert shares == {
        "nodes": {"tested": 3, "declared": 3},
        "pairs": {"tested": 1, "declared": 3},
        "pairings": {"tested": 2, "declared": 20},
        "sizes": {"tested": 1, "declared": 30},
        "rungs": {"tested": 2, "declared": 6},
        "rails": {"tested": 2, "declared": 2},
    }


def test_coverage_of_a_cluster_with_leaves_knows_them():
    platform = thresholds.load("metax-c500", ROOT / "thresholds")
    of = cluster("n1", "n2", "n3", "n4", groups={"a": ("n1", "n2"), "b": ("n3", "n4")})
    found = [
        item("a", nodes=("n2", "n1"), pairing="mlx5_0"),
        item("b", nodes=("n1", "n3"), pairing="gpu0-mlx5_0"),
        item("c", Outcome.ERROR, nodes=("n2", "n3"), pairing="mlx5_1"),
        item("d", nodes=("n1", "n2"), pairing="not-declared"),
    ]
    shares = verdict.coverage(of, platform, found)
    assert {name: shares[name] for name in ("leaves", "rails")} == {
        "leaves": {"tested": 2, "declared": 2},
        "rails": {"tested": 1, "declared": 2},
    }
    assert shares["pairs_within_leaves"] == {"tested": 1, "declared": 2}
    assert shares["pairs_between_leaves"] == {"tested": 1, "declared": 4}


def test_the_worst_measurements_come_first():
    def measured(name, margin, **changes):
        found = judgement(margin=margin, metric=name, **changes)
        return item(name, judgements=(found,), size_bytes=8388608, pairing="mlx5_0")

    lines = verdict.worst_measurements(
        [
            measured("a", 0.05),
            measured("b", -0.6),
            measured("c", 0.01),
            measured("d", -0.9, outcome=Outcome.RECORD_ONLY),
            item("e", judgements=(judgement(),)),
        ],
        most=2,
    )
    assert [(line.id, line.margin) for line in lines] == [("b", -0.6), ("c", 0.01)]
    assert lines[0].where == "n1:n2 mlx5_0 8MiB"


def test_verdict_json_has_what_the_contract_says():
    counts = count(["a"], {"a": item("a")})
    full = verdict.RunVerdict(
        "run-1", "prod", "bench", "hardware", "smoke", verdict_of(counts), counts, {}, {}
    )
    data = json.loads(json.dumps(full.to_json()))
    assert {
        "schema_version", "run_id", "cluster", "platform", "evidence", "verdict", "counts",
        "coverage", "causes", "scope",
    } <= set(data)  # fmt: skip
    assert set(data["counts"]) == {
        "planned", "asserted", "passed", "marginal", "failed", "error", "blocked", "flaky",
        "record_only", "not_run",
    }  # fmt: skip
    assert full.exit_code == 0
    assert replace(full, verdict=Verdict.REJECTED).exit_code == 1
