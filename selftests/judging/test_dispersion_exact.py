"""Spread, drift and groups at their edges, against values computed by hand."""

import math

import pytest

from railgauge.core.errors import Implausible
from railgauge.judging import dispersion
from railgauge.judging.dispersion import (
    Drift,
    Groups,
    best_split,
    drift,
    kendall_z,
    spread,
    two_groups,
    unexplained_max,
)

# --- spread ---


def test_two_samples_have_a_deviation():
    assert spread([90.0, 110.0]).cv == pytest.approx(math.sqrt(200) / 100)


def test_the_first_impossible_sample_is_named():
    with pytest.raises(Implausible, match="a sample is -2; samples"):
        spread([1.0, -2.0, -3.0])


# --- drift ---


def test_fewer_than_two_samples_have_no_drift_and_two_have_one():
    assert drift([]) == drift([100.0]) == Drift(0.0, 0.0)
    assert drift([100.0, 110.0]) == Drift(10 / 105, 0.0)


def test_the_normal_score_is_corrected_for_ties_and_continuity():
    """Of 45 pairs all rise but 5 ties; variance (n (n-1) (2n+5) - sum of t (t-1) (2t+5)) / 18."""
    points = [1, 2, 2, 3, 3, 3, 4, 5, 5, 6]
    variance = (10 * 9 * 25 - (2 * 1 * 9 + 3 * 2 * 11 + 2 * 1 * 9)) / 18
    assert kendall_z(points) == pytest.approx(39 / math.sqrt(variance))
    assert kendall_z(points[::-1]) == pytest.approx(-39 / math.sqrt(variance))


@pytest.mark.parametrize(("count", "points"), [(399, 399), (400, 400), (401, 200), (402, 201)])
def test_above_400_samples_stretches_of_equal_length_are_compared(count, points):
    """The last sample of an odd number is in no stretch."""
    assert drift([float(n) for n in range(1, count + 1)]).z == kendall_z(range(points))


# --- two groups ---


def test_the_unexplained_share_is_that_of_the_next_smaller_simulated_number():
    """The values of ``testing/dispersion_nulls.py``."""
    simulated = {
        (4,): 2.5e-5, (5,): 3e-4, (6,): 0.0011, (7,): 0.0018, (8, 9): 0.0028, (10, 13): 0.0056,
        (14, 15): 0.012, (16, 19): 0.017, (20, 24): 0.023, (25, 29): 0.031, (30, 39): 0.034,
        (40, 99): 0.055, (100, 10_000): 0.12,
    }  # fmt: skip
    for numbers, most in simulated.items():
        assert {unexplained_max(n) for n in numbers} == {most}


def test_four_samples_that_are_pairwise_equal_are_two_groups():
    assert two_groups([200.0, 100.0, 200.0, 100.0]) == Groups(100.0, 200.0, 2, 2)


def test_groups_just_as_far_apart_as_the_limit_says_are_two():
    values = [100.0, 100.0, 200.0, 200.0]
    assert two_groups(values, apart_min=0.5)
    assert two_groups(values, apart_min=0.501) is None


def test_a_split_that_leaves_just_what_one_group_may_leave_is_one(monkeypatch):
    values = [100.0, 103.0, 110.0, 112.0]
    left = best_split(values)[1]
    monkeypatch.setattr(dispersion, "unexplained_max", lambda n: left)
    assert two_groups(values)
    monkeypatch.setattr(dispersion, "unexplained_max", lambda n: math.nextafter(left, 0))
    assert two_groups(values) is None


@pytest.mark.parametrize(
    ("groups", "unexplained", "wide"),
    [
        (Groups(1.0, 3.0, 4, 4), 0.25, True),
        (Groups(1.0, 3.0, 4, 20), 0.25, True),
        (Groups(1.0, 3.0, 20, 4), 0.1, True),
        (Groups(1.0, 9.0, 4, 4), 0.1, True),
        (Groups(1.0, 3.0, 6, 6), 0.1, True),
        (Groups(1.0, 2.5, 4, 4), 0.1, False),
        (Groups(1.0, 3.0, 4, 4), 0.26, False),
        (Groups(1.0, 3.0, 3, 3), 0.1, False),
        (Groups(1.0, 3.0, 4, 30), 0.1, False),
        (Groups(1.0, 3.0, 5, 28), 0.1, False),
    ],
)
def test_groups_lie_wide_by_all_three_measures(groups, unexplained, wide):
    assert dispersion._lie_wide(groups, unexplained) is wide


@pytest.mark.parametrize("scale", [1.0, 1e100])
def test_the_share_that_a_split_leaves_does_not_depend_on_the_scale(scale):
    size, unexplained = best_split([one * scale for one in (1.0, 2.0, 9.0, 10.0)])
    assert (size, unexplained) == (2, pytest.approx(1 / 65))


def test_large_values_that_differ_little_lose_no_digits():
    base = 8e15
    size, unexplained = best_split([base, base + 1, base + 8, base + 9])
    assert (size, unexplained) == (2, pytest.approx(1 / 65))
