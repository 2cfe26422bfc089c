"""Accepted deviations: what they cover, and what nobody can accept."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_decision import DECLARED, ONE, answering, run_plan
from testing.core_values import item, judgement

from railgauge.config.deviations import Deviation, DeviationError
from railgauge.core.errors import MetricMissing
from railgauge.core.model import Outcome
from railgauge.core.question import FACT, Question
from railgauge.diagnosis import Cause, RunResults
from railgauge.diagnosis.model import Where
from railgauge.judging import record
from railgauge.judging.correctness import CORRUPTION
from railgauge.verdict import decision
from railgauge.verdict.deviations import (
    DeviationState,
    covered,
    effects,
    refuse_unusable,
)

ENDED = "2027-01-31T23:59:59+01:00"
WHO = {"reason": "RMA 4711", "who": "A. Engineer"}


def accepted(subject="n1", until="2027-01-31", cause="", **more):
    named = {} if more else {"cause": cause or "slow-node"}
    return Deviation(subject, until=until, **WHO, **named, **more)


def cause(where, evidence=(), name="slow-node", explains=()):
    return Cause(name, where, "says", tuple(evidence), tuple(explains), "certain", "", "do", "b")


def failed(name="a", **changes):
    missed = (judgement(Outcome.FAILED),)
    return item(name, Outcome.FAILED, **{"judgements": missed, "by_evidence": True, **changes})


def effect(deviation, causes, *records, ended=ENDED, others=()):
    found = effects([deviation, *others], causes, {one.id: one for one in records}, ended)
    return found[0]


def test_a_deviation_covers_what_its_cause_explains():
    slow = cause(Where("n1"), ["a"], explains=["b", "c"])
    records = (failed("a"), failed("b"), item("c", Outcome.BLOCKED), failed("d"))
    found = effect(accepted(), [slow], *records)
    assert (found.state, found.covers) == (DeviationState.APPLIED, ("a", "b"))
    assert found.effect == "accepted until 2027-01-31, covers 2 failed items"
    assert (found.head, found.signature) == ("n1: slow-node", "A. Engineer: RMA 4711")


def test_one_failed_item_is_one_item():
    found = effect(accepted(), [cause(Where("n1"), ["a"])], failed("a"))
    assert found.effect == "accepted until 2027-01-31, covers 1 failed item"
    found = effect(accepted(), [cause(Where("n1"), "ab")], failed("a"), failed("b", beside="x"))
    assert found.effect.endswith("covers 1 failed item; not 1 item: a part of it could not be "
                                 "measured (x)")  # fmt: skip
    open_ = [failed(name, beside="x") for name in "bcd"]
    for number in (2, 3):
        found = effect(accepted(), [cause(Where("n1"), "bcd"[:number])], *open_)
        assert found.effect.startswith(f"COVERS NOTHING; not {number} items: ")


def test_no_effect_is_listed_without_a_deviation():
    assert effects([], [], {}, ENDED) == ()


def test_the_first_cause_that_is_not_accepted_is_named():
    named = zip(("n1", "n2", "n3"), ("slow-node", "link-flap", "link-down"), strict=True)
    causes = [cause(Where(node), ["a"], name) for node, name in named]
    assert "; not 1 item: link-flap at n2" in effect(accepted(), causes, failed("a")).effect


@pytest.mark.parametrize(
    ("subject", "where", "is_covered"),
    [
        ("n1", Where("n1"), True),
        ("n1", Where("n1", "mlx5_0"), True),
        ("n1, mlx5_0", Where("n1", "mlx5_0"), True),
        ("n1, mlx5_1", Where("n1", "mlx5_0"), False),
        ("n1, mlx5_0", Where("n1"), False),
        ("n2", Where("n1"), False),
        ("n[1-3]", Where("n1"), True),
        ("n[1-3]", Where("n1|n2"), True),
        ("n1", Where("n1|n2"), False),
        ("n1", Where("n[1-2]"), False),
        ("n1", Where("n1", peer="n2"), False),
        ("n1 and n2", Where("n1", peer="n2"), True),
        ("the cluster", Where(""), True),
        ("n1", Where(""), False),
        ("the cluster", Where("n1"), False),
    ],
)
def test_a_deviation_is_about_all_the_parts_that_may_be_at_fault(subject, where, is_covered):
    found = effect(accepted(subject), [cause(where, ["a"])], failed("a"))
    assert (found.covers == ("a",)) is is_covered
    assert (found.state is DeviationState.UNMATCHED) is not is_covered


def test_another_cause_at_the_same_part_is_not_accepted():
    for name in ("link-down", "wrong-transport"):
        found = effect(accepted(cause=name), [cause(Where("n1"), ["a"])], failed("a"))
        assert found.state is DeviationState.UNMATCHED
        assert found.effect == "MATCHES NOTHING in this run"


def test_an_item_with_two_causes_needs_both_to_be_accepted():
    both = [cause(Where("n1"), ["a"]), cause(Where("n2"), ["a"], "link-flap")]
    found = effect(accepted(), both, failed("a"))
    assert (found.state, found.covers) == (DeviationState.REFUSED, ())
    assert "link-flap at n2 is not accepted, and explains it as well" in found.effect
    other = accepted("n2", cause="link-flap")
    assert effect(accepted(), both, failed("a"), others=[other]).covers == ("a",)
    late = replace(other, until="2027-01-30")
    assert effect(accepted(), both, failed("a"), others=[late]).covers == ()


# --- dates ---


@pytest.mark.parametrize(
    ("ended", "counts"),
    [
        ("2027-01-31T23:59:59+00:00", True),
        ("2027-02-01T00:00:00+00:00", False),
        ("2027-02-01T00:59:59+01:00", True),
        ("2027-01-31T23:30:00-08:00", False),
        ("2027-01-31T00:01:00-23:59", False),  # TZ=AAA23:59 on the next day
        ("2026-01-01T00:00:00+00:00", True),
    ],
)
def test_a_deviation_counts_until_the_end_of_its_day_in_utc(ended, counts):
    found = effect(accepted(), [cause(Where("n1"), ["a"])], failed("a"), ended=ended)
    assert (found.covers == ("a",)) is counts
    assert (found.state is DeviationState.EXPIRED) is not counts
    past = "EXPIRED on 2027-01-31, covers nothing; the run ended on 2027-02-01 (UTC)"
    assert (found.effect == past) is not counts
    assert str(found.to_json()["state"]) == ("applied" if counts else "expired")


def test_no_deviation_counts_without_the_end_of_the_run():
    found = effect(accepted(), [cause(Where("n1"), ["a"])], failed("a"), ended="")
    assert (found.state, found.covers) == (DeviationState.REFUSED, ())
    assert "did not record when it ended" in found.effect


# --- items ---


@pytest.mark.parametrize(
    ("subject", "is_covered"),
    [
        ("n1", True),
        ("n[1-2]", True),
        ("n1, mlx5_0", True),
        ("n1, gpu0", True),
        ("n1, mlx5_1", False),
        ("n3", False),
        ("n[1-3]", False),
    ],
)
def test_an_item_is_accepted_by_its_id_and_its_part(subject, is_covered):
    record = failed("t[n1:n2]", pairing="gpu0-mlx5_0")
    found = effect(accepted(subject, item="t[n1:n2]"), [cause(Where("n9"), ["t[n1:n2]"])], record)
    assert (found.covers == ("t[n1:n2]",)) is is_covered
    if not is_covered:
        assert "about another part" in found.effect


def test_no_pattern_stands_for_an_item():
    for name in ("t[*]", "t[n1", ".*", "T[N1:N2]", "t[n1:n3]"):
        found = effect(accepted(item=name), [], failed("t[n1:n2]"))
        assert found.state is DeviationState.UNMATCHED


# --- what nobody can accept ---


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (failed(judgements=(judgement(Outcome.FAILED, metric=CORRUPTION),)), "wrong results"),
        (
            failed(judgements=(judgement(), judgement(Outcome.FAILED, metric=CORRUPTION))),
            "wrong results",
        ),
        (
            failed(judgements=(judgement(Outcome.FAILED), judgement(Outcome.RECORD_ONLY))),
            "no limit yet",
        ),
        (failed(beside="n1: latency was not printed"), "could not be measured"),
        (failed(by_evidence=False), "no evidence"),
    ],
)
@pytest.mark.parametrize("named", [{"cause": "slow-node"}, {"item": "a"}])
def test_an_item_that_was_not_judged_completely_stays_a_failure(record, why, named):
    found = effect(accepted(**named), [cause(Where("n1"), ["a"])], record)
    assert (found.state, found.covers) == (DeviationState.REFUSED, ())
    assert why in found.effect


def test_a_miss_of_any_other_metric_can_be_accepted():
    for metric in ("#wrong rows", "bandwidth", "zeros"):
        record = failed(judgements=(judgement(Outcome.FAILED, metric=metric),))
        assert effect(accepted(), [cause(Where("n1"), ["a"])], record).covers == ("a",)


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.FAILED])
def test_nothing_but_a_failure_is_covered(outcome):
    record = replace(failed(), outcome=outcome)
    for one in (accepted(), accepted(item="a")):
        found = effect(one, [cause(Where("n1"), ["a"])], record)
        assert (found.state, found.covers) == (DeviationState.UNMATCHED, ())
    assert "what could not be measured stays open" in effect(
        accepted(), [cause(Where("n1"), ["a"])], record
    ).effect  # fmt: skip


def test_an_error_beside_a_failure_is_kept_in_the_record():
    error = MetricMissing("no latency was printed", where="n1")
    begun = item("a", questions=(Question(FACT),))
    record_ = record.settled(begun, (judgement(Outcome.FAILED, reason="slow"),), error)
    assert (record_.outcome, record_.reason) == (Outcome.FAILED, "slow")
    assert record_.beside == "n1: no latency was printed"
    assert record.blank(record_).beside == ""


def test_long_names_are_reported_in_part():
    one = accepted(f"{'a' * 90} and {'b' * 90}")
    with pytest.raises(DeviationError) as refused:
        refuse_unusable([one], DECLARED)
    assert refused.value.what.endswith(f"has no node {'a' * 80}")
    assert refused.value.where == f"deviation of {'a' * 80!r}"
    with pytest.raises(DeviationError, match=rf"no cause is named '{'c' * 60}'"):
        refuse_unusable([accepted(cause="c" * 70)], DECLARED)


@pytest.mark.parametrize(
    ("deviation", "why"),
    [
        (accepted(cause="data-corruption"), "wrong results cannot be accepted"),
        (accepted(cause="undiagnosed"), "name each item"),
        (accepted(cause="suite-error"), "says nothing about the hardware"),
        (accepted(cause="no-such-cause"), "no cause is named 'no-such-cause'"),
        (accepted("n9"), "has no node n9"),
        (accepted("n1, n2"), "n2 is a node: write several as"),
    ],
)
def test_a_deviation_that_the_cluster_cannot_have_is_refused(deviation, why):
    with pytest.raises(DeviationError, match=why) as refused:
        refuse_unusable([deviation], DECLARED)
    assert refused.value.where == f"deviation of {deviation.subject!r}"
    assert (refused.value.remedy == "railgauge causes lists them") is ("no cause" in why)
    refuse_unusable([accepted(), accepted(item="x"), accepted("the cluster")], DECLARED)


# --- the verdict ---


def decided(records, *deviations, ended=ENDED, planned=None):
    run = replace(run_plan(records if planned is None else planned), ended=ended)
    return decision.decide(run, RunResults(records, {}, ONE, DECLARED, deviations=deviations))


def with_failure(**changes):
    records = answering(judgements=(judgement(),), by_evidence=True)
    missed = (judgement(Outcome.FAILED, metric="memlock"),)
    changed = {"outcome": Outcome.FAILED, "judgements": missed, **changes}
    return {**records, "0": replace(records["0"], **changed)}


def test_an_accepted_failure_is_still_a_failure_and_the_run_accepted_with_deviations():
    result = decided(with_failure(), accepted(item="0"))
    assert (result.verdict, result.exit_code) == ("accepted with deviations", 11)
    assert (result.counts.failed, result.counts.asserted, result.counts.planned) == (1, 3, 3)
    (listed,) = result.to_json()["deviations"]
    assert listed == {
        "subject": "n1", "cause": "", "item": "0", **WHO, "until": "2027-01-31",
        "state": "applied", "covers": ["0"], "says": "",
    }  # fmt: skip
    assert covered(result.deviations) == {"0"}


def test_the_verdict_without_deviations_has_no_list_of_them():
    assert "deviations" not in decided(with_failure()).to_json()


def test_a_failure_that_is_not_accepted_rejects_the_run():
    records = with_failure()
    records["1"] = replace(records["0"], id="1", nodes=("n2",))
    assert decided(records, accepted(item="0")).verdict == "rejected"
    assert decided(records, accepted(item="0"), accepted("n2", item="1")).exit_code == 11


@pytest.mark.parametrize(
    "outcome",
    [Outcome.ERROR, Outcome.BLOCKED, Outcome.FLAKY, Outcome.RECORD_ONLY, Outcome.NOT_RUN],
)
def test_a_run_in_which_anything_was_not_asserted_is_incomplete(outcome):
    records = with_failure()
    records["1"] = replace(records["1"], outcome=outcome)
    result = decided(records, accepted(item="0"), accepted("n2", item="1"))
    assert (result.verdict, result.exit_code) == ("incomplete", 10)
    assert result.deviations[1].state is DeviationState.UNMATCHED


def test_a_planned_item_that_did_not_run_makes_it_incomplete():
    records = with_failure()
    assert decided(records, accepted(item="0"), planned=[*records, "x"]).verdict == "incomplete"


def test_a_run_in_which_nothing_failed_is_accepted_and_names_what_matched_nothing():
    result = decided(answering(), accepted())
    assert (result.verdict, result.exit_code) == ("accepted", 0)
    assert [one.state for one in result.deviations] == [DeviationState.UNMATCHED]


def test_a_run_after_the_date_of_a_deviation_is_rejected():
    result = decided(with_failure(), accepted(item="0"), ended="2027-02-01T00:00:00+00:00")
    assert (result.verdict, result.deviations[0].state) == ("rejected", DeviationState.EXPIRED)
