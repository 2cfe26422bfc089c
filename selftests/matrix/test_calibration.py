"""The interval of a share is that of Clopper and Pearson, and a band says whether it holds."""

import pytest
from calibration import calibration, interval


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    [(10, 10, 0.6915, 1.0), (0, 10, 0.0, 0.3085), (8, 10, 0.4439, 0.9748), (296, 296, 0.9876, 1)],
)
def test_the_interval_is_exact(right, of, low, high):
    assert interval(right, of) == pytest.approx((low, high), abs=1e-4)


def test_each_band_says_whether_its_probability_lies_within():
    pairs = [(0.98, True)] * 9 + [(0.98, False)] + [(0.9999, True)] * 90 + [(0.9999, False)] * 10
    first, second = calibration([*pairs, (0.5, False)])
    assert first.startswith("   10 causes with a probability of 0.97 to 0.99: 9 right, 90.00%")
    assert first.endswith("predicted 98.000%, within it")
    assert second.endswith("predicted 99.990%, outside of it")


def test_a_probability_of_one_counts():
    (line,) = calibration([(1.0, True)])
    assert line.endswith("within it")
