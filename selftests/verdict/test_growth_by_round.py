"""Counters in a soak: the readings between its rounds show in which of them they grew."""

from dataclasses import replace

import pytest
from test_growth_items import (
    AFTER,
    ASKED,
    BEFORE,
    MARKS,
    OTHER_BOOT,
    output,
    reading,
    results,
)

from railgauge.core.model import Outcome
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.diagnosis.model import SoakResults, SoakRound
from railgauge.planning.counters import stack_of
from railgauge.run.counters import thinned
from railgauge.verdict.growth import made_of

BETWEEN = Role.COUNTERS_BETWEEN
# Round 1 from 12:10, round 2 from 12:20, …, each of nine minutes.
ROUNDS = tuple(
    SoakRound(n, f"2026-11-23T12:{n}0:00.000+00:00", f"2026-11-23T12:{n}9:00.000+00:00", 3, 3, 3, 0)
    for n in range(1, 5)
)
SOAK = SoakResults((), (), ROUNDS, {}, ())


def run_of(*counts, boots=()):
    """A ladder, then a reading before round 1 and after each; the last one ends the run."""
    first, *between = counts
    times = [f"12:{n}9:30" for n in range(len(between))]
    readings = [
        reading("n2", BETWEEN, count, at) for count, at in zip(between[:-1], times, strict=False)
    ]
    return (reading("n2", BEFORE, first), *readings, reading("n2", AFTER, between[-1], "13:00:00"))


def of_n2(*runs, **changes):
    found = replace(results(kept={"n2": CaseResult(runs)}, **changes), soak=SOAK)
    return {item.nodes[0]: item for item in made_of(found)}["n2"]


def test_the_round_in_which_counters_grew_is_reported_with_its_time():
    item = of_n2(run_of(0, 0, 0, 0, 5, 5, 5))
    assert item.outcome is Outcome.FAILED
    assert "in 1.00 h of the run: by 20 in round 3 of the soak (2026-11-23 12:30:00 UTC)" in (
        item.reason
    )


def test_growth_in_the_ladder_and_in_several_rounds_is_distinguished():
    reason = of_n2(run_of(0, 2, 2, 4, 4, 4, 4)).reason
    assert "by 8 in the ladder, by 8 in round 2 of the soak" in reason


def test_growth_after_the_last_round_is_distinguished():
    assert "by 12 after the soak" in of_n2(run_of(0, 0, 0, 0, 0, 0, 3)).reason


def test_a_round_that_begins_with_a_reading_belongs_to_both_its_sides():
    times = ["12:10:00", "12:20:00"]
    between = [reading("n2", BETWEEN, count, at) for count, at in zip((1, 3), times, strict=True)]
    reason = of_n2((reading("n2", BEFORE), *between, reading("n2", AFTER, 3, "13:00:00"))).reason
    assert "by 4 in round 1 of the soak" in reason
    assert "by 8 in rounds 1 to 2 of the soak" in reason


def test_two_readings_at_one_moment_are_valid():
    between = reading("n2", BETWEEN, 0, "12:10:00")
    run = (reading("n2", BEFORE), between, between, reading("n2", AFTER, 0, "13:00:00"))
    assert of_n2(run).outcome is Outcome.PASSED


def test_no_round_is_named_without_readings_between_the_rounds():
    assert (
        "of the soak"
        not in of_n2((reading("n2", BEFORE), reading("n2", AFTER, 3, "13:00:00"))).reason
    )


def test_readings_that_were_left_out_join_their_rounds():
    run = run_of(0, 0, 0, 0, 5, 5, 5)
    reason = of_n2((run[0], run[1], run[4], *run[5:])).reason
    assert "by 20 in rounds 1 to 3 of the soak (from 2026-11-23 12:10:00 UTC)" in reason


def test_a_healthy_soak_passes_and_a_limit_is_for_the_whole_run():
    assert of_n2(run_of(3, 3, 3, 3, 3, 3, 3)).outcome is Outcome.PASSED
    five = replace(ASKED.growth["rdma_retransmits"], ceiling=20)
    platform = replace(ASKED, growth={"rdma_retransmits": five})
    assert of_n2(run_of(0, 1, 2, 3, 4, 5, 5), platform=platform).outcome is Outcome.PASSED
    assert of_n2(run_of(0, 1, 2, 3, 4, 5, 6), platform=platform).outcome is Outcome.FAILED


LIES = {
    "went back between": (run_of(0, 5, 0, 5, 5, 5, 5), "went back from 5 to 0"),
    "another boot": (
        (*run_of(0, 0, 0)[:1], reading("n2", BETWEEN, 0, "12:30:00", OTHER_BOOT), run_of(0, 0)[-1]),
        "was rebooted",
    ),
    "another node": (
        (*run_of(0, 0)[:1], reading("n1", BETWEEN, 0, "12:30:00"), run_of(0, 0)[-1]),
        "output of another command",
    ),
    "time": (
        (*run_of(0, 0)[:1], reading("n2", BETWEEN, 0, "14:30:00"), run_of(0, 0)[-1]), "not later",
    ),
    "role": (
        (*run_of(0, 0)[:1], reading("n2", BEFORE, 0, "12:30:00"), run_of(0, 0)[-1]),
        "output of another command",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_readings_between_that_prove_nothing_are_an_error(name):
    run, words = LIES[name]
    item = of_n2(run)
    assert (item.outcome, item.error_kind) == (Outcome.ERROR, "counters-unread"), item.reason
    assert words in item.reason


def test_a_soak_that_was_interrupted_and_resumed_names_the_rounds_of_both():
    earlier = run_of(0, 0, 0, 5, 5)
    own = (reading("n2", BEFORE, 9, "13:30:00"), reading("n2", AFTER, 9, "14:00:00"))
    item = of_n2(earlier, own, marks=MARKS)
    assert item.outcome is Outcome.FAILED
    assert "of an earlier run: by 20 in round 2 of the soak" in item.reason
    assert of_n2(earlier[:-1], own, marks=MARKS).error_kind == "counters-unread"


# --- what is kept of the readings ---


def kept(*counts):
    """The counts of the readings that are kept while rounds are added."""
    run = (reading("n2", BEFORE, counts[0]),)
    for at, count in enumerate(counts[1:]):
        run = thinned((*run, reading("n2", BETWEEN, count, f"12:{at:02}:00")), stack_of(ASKED))
    shown = [one.stdout for one in run]
    return [next(n for n in range(100) if output(n) == text) for text in shown], len(run)


@pytest.mark.parametrize(
    ("counts", "due"),
    [
        ((0,), [0]),
        ((0, 0), [0, 0]),
        ((0, 0, 0, 0, 0, 0), [0, 0]),
        ((0, 0, 0, 5), [0, 0, 5]),
        ((0, 0, 5, 5, 5, 5), [0, 0, 5, 5]),
        ((0, 1, 2, 3, 4, 5), [0, 1, 5]),
        ((0, 0, 1, 2, 3, 3, 3, 4), [0, 0, 1, 3, 3, 4]),
    ],
)
def test_a_reading_is_kept_where_growth_begins_and_ends(counts, due):
    assert kept(*counts)[0] == due


def test_the_readings_of_a_healthy_soak_do_not_grow_with_its_rounds():
    assert kept(*[7] * 300)[1] == 2
