"""Exact Poisson bounds, against tables and the sum itself."""

from __future__ import annotations

import math

import pytest

from railgauge.run.soak.proof import at_most, confidence_below, hours_an_event, most_expected


@pytest.mark.parametrize(
    ("events", "confidence", "expected"),
    # Upper limits of Garwood (1936): half of the chi-square quantile with 2 (k + 1) degrees.
    [
        (0, 0.95, 2.995732),
        (1, 0.95, 4.743865),
        (2, 0.95, 6.295794),
        (5, 0.95, 10.513035),
        (10, 0.95, 16.962219),
        (0, 0.99, 4.605170),
        (1, 0.90, 3.889720),
    ],
)
def test_the_bounds_are_those_of_the_tables(events, confidence, expected):
    assert most_expected(events, confidence) == pytest.approx(expected, abs=1e-6)


def test_the_sum_is_exact():
    assert at_most(0, 3.0) == pytest.approx(math.exp(-3))
    assert at_most(2, 1.5) == pytest.approx(math.exp(-1.5) * (1 + 1.5 + 1.125))
    assert at_most(3, 0.0) == 1.0
    assert 0.0 < at_most(1000, 1000.0) < 1.0


def test_hours_and_confidence_agree():
    hours = hours_an_event(1, 24.0)
    assert confidence_below(1 / hours, 1, 24.0) == pytest.approx(0.95)
    assert hours_an_event(0, 24.0) == pytest.approx(8.0114, abs=1e-4)


def test_an_event_lowers_what_is_proven():
    proven = [hours_an_event(events, 24.0) for events in range(4)]
    assert proven == sorted(proven, reverse=True)
