"""Drift over the rounds of a soak is found if there is any, and only then."""

from __future__ import annotations

import random

from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import LIMITS, Question
from railgauge.core.terms import Rung
from railgauge.judging.record import ItemRecord
from railgauge.run.soak import drift
from railgauge.run.soak.causes import of_drift

NODES = ("a", "b", "c", "d")
BETTER = {"busbw": "higher", "lat_avg": "lower"}


def item(subject: str, nodes: tuple[str, ...], value: float, metric: str = "busbw") -> ItemRecord:
    judged = Judgement(
        metric, Outcome.PASSED, "", "", "", unit="GB/s", values=(value,), better=BETTER[metric]
    )
    asked = (Question(LIMITS),)
    return ItemRecord(
        f"{subject}[{':'.join(nodes)}]", Rung.COLLECTIVE, subject, subject, Outcome.PASSED, nodes,
        judgements=(judged,), questions=asked,
    )  # fmt: skip


def rounds(count: int, share_of_b, noise: float = 0.002):
    """``share_of_b(round)`` is what node b reaches of the others; partners are drawn anew."""
    draw = random.Random(3)
    for number in range(1, count + 1):
        nodes = list(NODES)
        draw.shuffle(nodes)
        share = {n: share_of_b(number) if n == "b" else 1.0 for n in NODES}
        records = [
            item("node_sum", (n,), 400 * share[n] * draw.gauss(1, noise)) for n in sorted(nodes)
        ]
        records += [
            item("pair_sum", pair, 50 * min(share[n] for n in pair) * draw.gauss(1, noise))
            for pair in (tuple(nodes[:2]), tuple(nodes[2:]))
        ]
        yield drift.night_of(number, records)


def test_a_node_that_gets_slower_within_its_limits_fails():
    trend = drift.trend_of(list(rounds(20, lambda number: 0.95 if number > 8 else 1.0)))
    judged = drift.judgement(trend)
    assert judged.outcome is Outcome.FAILED
    assert "since round 0009" in judged.reason
    cause = of_drift(trend, "soak/drift::drift[all]")[0]
    assert (cause.cause, cause.where.node, cause.confidence) == ("slow-node", "b", "likely")
    assert cause.evidence == ("soak/drift::drift[all]",)


def test_rounds_that_are_alike_pass():
    trend = drift.trend_of(list(rounds(40, lambda number: 1.0)))
    judged = drift.judgement(trend)
    assert (judged.outcome, judged.reason) == (Outcome.PASSED, "")
    assert "0 of 8 series got worse in 40 rounds" in judged.measured


def test_a_node_that_got_faster_or_recovered_is_no_failure():
    faster = drift.trend_of(list(rounds(20, lambda number: 1.05 if number > 8 else 1.0)))
    assert drift.judgement(faster).outcome is Outcome.PASSED
    back = drift.trend_of(list(rounds(30, lambda number: 0.9 if 8 < number < 20 else 1.0)))
    assert drift.judgement(back).outcome is Outcome.PASSED


def test_too_few_rounds_show_no_drift():
    nights = list(rounds(drift.FEWEST_ROUNDS, lambda number: 1.0))
    assert drift.trend_of(nights[:-1]) is None
    assert drift.trend_of(nights) is not None


def test_values_that_are_no_speeds_have_no_series():
    record = item("pair_sum", ("a", "b"), 5.0)
    silent = ItemRecord(record.id, record.rung, "x", "x", Outcome.BLOCKED, record.nodes)
    zero = item("node_sum", ("a",), 0.0)
    values = drift.night_of(1, [record, silent, zero]).values
    assert {key.nodes for key in values} == {("a",), ("b",)}
