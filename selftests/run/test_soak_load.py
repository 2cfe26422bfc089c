"""The time under load: only from evidence, and no second counts twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from railgauge.core.model import Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.run.soak.load import Stretch, of_case, of_nodes, seconds, stretches

NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


def stretch(start_s: float, end_s: float) -> Stretch:
    return Stretch(NOON + timedelta(seconds=start_s), NOON + timedelta(seconds=end_s))


def test_times_that_overlap_count_once():
    found = stretches([stretch(0, 100), stretch(50, 120), stretch(10, 20)])
    assert found == (stretch(0, 120),)
    assert seconds(found) == 120


def test_evidence_that_is_given_twice_counts_once():
    once = [stretch(0, 100), stretch(110, 200)]
    assert seconds(stretches([*once, *once])) == seconds(stretches(once)) == 200


def test_a_long_pause_is_no_load():
    found = stretches([stretch(0, 100), stretch(161, 200), stretch(260, 300)])
    assert found == (stretch(0, 100), stretch(161, 300))
    assert seconds(found) == 239


def test_stretches_are_joined_in_any_order():
    found = [stretch(0, 10), stretch(20, 30), stretch(500, 510), stretch(520, 530)]
    assert stretches(reversed(found)) == stretches(found)
    assert stretches(stretches(found)) == stretches(found)


def test_a_node_is_under_load_in_its_own_measurements_without_the_pauses_between():
    found = [
        (stretch(0, 30), ("a", "b")),
        (stretch(30, 60), ("c", "d")),
        (stretch(60, 90), ("a", "b", "c", "d")),
    ]
    assert seconds(stretches(one for one, _ in found)) == 90
    assert of_nodes(found) == 4 * 60
    assert of_nodes([*found, *found]) == 4 * 60, "evidence that is given twice counts once"
    assert of_nodes([(stretch(0, 30), ())]) == 0


def output(started_at: str, duration_s: float) -> Transcript:
    return Transcript("a", ("x",), 0, "", "", duration_s, started_at)


def test_a_start_that_cannot_be_read_is_no_time():
    kept = CaseResult(
        ((output("2026-01-31T12:00:00+00:00", 5), output("soon", 1e9)), (output("", 9),))
    )
    assert list(of_case(kept)) == [stretch(0, 5)]
    assert list(of_case(None)) == []


def test_a_duration_is_never_negative_or_endless():
    negative, endless = (output("2026-01-31T12:00:00+00:00", lasted) for lasted in (-5, 1e30))
    assert [one.seconds for one in of_case(CaseResult(((negative,),)))] == [0]
    assert list(of_case(CaseResult(((endless,),)))) == []


def test_a_sampler_that_ran_on_from_an_earlier_measurement_does_not_count():
    """It began before the others of its round, in whose order a bundle holds them."""
    sampler = replace(output("2026-01-31T11:00:00+00:00", 3600), role=Role.TELEMETRY)
    kept = CaseResult(((output("2026-01-31T12:00:00+00:00", 5), sampler),))
    assert [one.seconds for one in of_case(kept)] == [5]


@given(
    st.lists(
        st.tuples(st.integers(-7200, 7200), st.integers(0, 300), st.integers(0, 600)), min_size=1
    )
)
def test_however_the_wall_clock_is_set_no_more_is_counted_than_was_measured(measured):
    """Of each measurement: by how much the clock was set before, how long it took, the pause.

    The times of runs that carry one another on have no other clock in common.
    """
    now, found, truth = 0, [], 0
    for set_by, lasted, pause in measured:
        now += set_by
        found.append(stretch(now, now + lasted))
        now += lasted + pause
        truth += lasted
    assert seconds(stretches(found)) <= truth + 60 * (len(measured) - 1)
