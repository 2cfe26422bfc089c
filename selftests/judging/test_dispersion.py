"""Spread, drift and two groups: known values, invariances, and false-alarm rates."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.core_values import TRANSCRIPTS, needs_transcripts
from testing.dispersion_nulls import FALSE_ALARM_RATE, NULLS, SHAPES, samples

from railgauge.core.errors import Implausible, MetricMissing
from railgauge.judging.dispersion import (
    best_split,
    drift,
    spread,
    two_groups,
    unexplained_max,
)
from railgauge.tools import tool

POSITIVE = st.floats(1e-3, 1e6)
LISTS = st.lists(POSITIVE, min_size=1, max_size=60)
NOT_MEASURED = [0.0, -1.0, math.nan, math.inf]
DRIFT_Z = statistics.NormalDist().inv_cdf(1 - FALSE_ALARM_RATE / 2)
# Four standard deviations above the expected number of alarms.
TRIALS = 6_000


def most_expected(trials: int) -> int:
    expected = trials * FALSE_ALARM_RATE
    return math.floor(expected + 4 * math.sqrt(expected))


def is_certain(found) -> bool:
    """Whether chance gives this score in less than ``FALSE_ALARM_RATE`` of all runs."""
    return abs(found.z) > DRIFT_Z


# --- spread ---


def test_spreads_of_known_samples_are_exact():
    found = spread([10, 20, 30, 40])
    assert (found.n, found.mean, found.median) == (4, 25, 25)
    assert found.cv == pytest.approx(12.909944 / 25)
    assert found.worst_over_median == pytest.approx(0.4)


def test_of_times_the_largest_is_the_worst():
    assert spread([10, 20, 30, 40], lower=True).worst_over_median == pytest.approx(0.625)


def test_one_sample_is_not_spread():
    found = spread([7.0])
    assert (found.cv, found.worst_over_median) == (0, 1)
    assert (found.mean, found.median) == (7.0, 7.0)


def test_no_sample_has_no_spread():
    with pytest.raises(MetricMissing):
        spread([])


@pytest.mark.parametrize("ask", [spread, drift, two_groups])
@pytest.mark.parametrize("value", NOT_MEASURED)
def test_impossible_samples_are_refused(ask, value):
    with pytest.raises(Implausible, match="must be finite and above 0"):
        ask([1.0, 2.0, value, 3.0, 4.0])


@given(LISTS, st.booleans())
def test_a_spread_is_in_order(values, lower):
    found = spread(values, lower)
    assert 0 < found.worst_over_median <= 1
    assert found.median == statistics.median(values)


@given(LISTS, st.randoms(use_true_random=False), st.sampled_from([2.0**-7, 2.0**9]))
def test_neither_order_nor_unit_matters_to_the_spread(values, chance, scale):
    before = spread(values)
    chance.shuffle(values)
    after = spread([scale * value for value in values])
    assert after.cv == pytest.approx(before.cv)
    assert after.worst_over_median == pytest.approx(before.worst_over_median)
    assert after.median == pytest.approx(scale * before.median)


# --- drift ---


def test_a_steady_fall_is_certain_and_has_its_size():
    found = drift([400 - i for i in range(41)])
    assert is_certain(found)
    assert found.change == pytest.approx(-40 / 380)
    assert found.z < -8


def test_outliers_neither_make_nor_hide_a_trend():
    values = [400.0 + 2 * i for i in range(30)]
    values[3], values[20], values[27] = 33.0, 33.0, 33.0
    found = drift(values)
    assert is_certain(found)
    assert found.change == pytest.approx(58 / statistics.median(values), rel=0.02)
    flat = [390.0] * 30
    flat[20] = flat[27] = 33.0
    assert not is_certain(drift(flat))
    assert drift(flat).change == 0


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [5.0] * 50])
def test_too_little_or_nothing_at_all_is_no_drift(values):
    assert not is_certain(drift(values))


def test_fewer_than_ten_samples_are_never_certain():
    assert not is_certain(drift(range(1, 10)))
    assert is_certain(drift(range(1, 11)))


def test_a_long_run_is_read_in_stretches():
    chance = random.Random(5)
    values = [400 - 0.002 * i + chance.gauss(0, 1) for i in range(5003)]
    found = drift(values)
    assert is_certain(found)
    assert found.change == pytest.approx(-10 / 395, rel=0.1)


@given(st.lists(POSITIVE, min_size=2, max_size=40), st.sampled_from([2.0**-7, 2.0**9]))
def test_a_run_backwards_drifts_the_other_way(values, scale):
    forth, back = drift(values), drift([scale * value for value in reversed(values)])
    assert back.z == pytest.approx(-forth.z)
    assert back.change == pytest.approx(-forth.change)


@pytest.mark.parametrize("shape", SHAPES)
def test_chance_makes_no_drift(shape):
    chance = random.Random(f"drift {shape}")
    alarms = sum(
        is_certain(drift(samples(chance, n, shape))) for n in (10, 20, 40) for _ in range(700)
    )
    print(f"{shape}: {alarms} of 2100 runs drift")  # noqa: T201
    assert alarms <= most_expected(2100)


# --- two groups ---


def test_two_groups_are_named_with_their_sizes_and_distance():
    found = two_groups([388.0, 36.0, 389.0, 36.5, 388.5, 388.2, 35.5, 387.9])
    assert found is not None
    assert (found.low, found.low_count, found.high_count) == (36.0, 3, 5)
    assert found.high == pytest.approx(388.2)
    assert found.apart == pytest.approx(1 - 36 / 388.2)


def rows_of(name: str) -> list[float]:
    text = (TRANSCRIPTS / f"h200-nccl-allreduce-8g-{name}.txt").read_text(encoding="utf-8")
    return [s.value for s in tool("ccl-tests").parse(text).samples if s.metric == "busbw"]


@needs_transcripts
@pytest.mark.parametrize("name", ["baseline", "tuned"])
def test_healthy_rows_of_document_001_are_one_group(name):
    assert two_groups(rows_of(name), apart_min=0) is None


@needs_transcripts
def test_disturbed_rows_of_document_001_are_two_groups():
    found = two_groups(rows_of("eud"))
    assert found is not None
    assert (found.low_count, found.high_count) == (8, 6)
    assert (found.low, found.high) == pytest.approx((61.04, 300.52))


@needs_transcripts
def test_a_swing_among_good_rows_is_two_groups():
    """The rows that document 001 leaves out as '...': twice as many undisturbed ones."""
    found = two_groups([*rows_of("eud"), *[389.0 + 0.05 * i for i in range(26)]])
    assert found is not None
    assert found.low < 70
    assert found.high > 380


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 9.0], [1.0, 9.0, 9.0], [390.0] * 30])
def test_too_few_or_equal_samples_are_one_group(values):
    assert two_groups(values) is None


def test_one_outlier_is_no_group():
    assert two_groups([390.0, 389.5, 390.2, 389.9, 390.4, 33.0]) is None
    assert two_groups([390.0, 389.9, 390.1, 390.2, 33.0, 33.01]) is not None


def test_groups_that_lie_close_are_none():
    values = [390.0, 390.01, 390.02, 380.0, 380.01, 380.02]
    assert two_groups(values) is None
    assert two_groups(values, apart_min=0.02) is not None


@given(st.lists(POSITIVE, min_size=4, max_size=30), st.randoms(use_true_random=False))
def test_neither_order_nor_unit_matters_to_the_groups(values, chance):
    before = two_groups(values)
    chance.shuffle(values)
    after = two_groups([64 * value for value in values])
    assert (before is None) == (after is None)
    if before and after:
        assert after.apart == pytest.approx(before.apart)
        assert after.low_count == before.low_count


CENTS = st.integers(100, 100_000).map(lambda cents: cents / 100)


@given(st.lists(CENTS, min_size=4, max_size=12).filter(lambda values: len(set(values)) > 1))
def test_the_best_split_is_the_best_of_all(values):
    """Against the definition: the variance left within the groups over the total variance."""
    ordered = sorted(values)

    def square(part: list[float]) -> float:
        return sum((v - statistics.fmean(part)) ** 2 for v in part)

    sizes = range(2, len(ordered) - 1)
    least = min(square(ordered[:k]) + square(ordered[k:]) for k in sizes)
    size, unexplained = best_split(ordered)
    assert unexplained == pytest.approx(least / square(ordered), rel=1e-6, abs=1e-9)
    mine = square(ordered[:size]) + square(ordered[size:])
    assert mine == pytest.approx(least, rel=1e-6, abs=1e-9 * square(ordered))


def test_more_samples_need_less_of_a_gap():
    values = [unexplained_max(n) for n in range(4, 2000)]
    assert values == sorted(values)
    assert values[-1] < 0.25, "what an endless uniform sample leaves"


@pytest.mark.parametrize("n", [4, 6, 10, 14, 20, 40])
def test_one_group_is_not_taken_for_two(n):
    """Every shape of noise, up to the 10 % of the docstring, with and without outliers."""
    alarms, trials = {}, 0
    for shape, outlier in NULLS:
        chance = random.Random(f"groups {n} {shape} {outlier}")
        count = TRIALS // len(NULLS)
        runs = (samples(chance, n, shape, outlier, cv=0.1) for _ in range(count))
        alarms[shape, outlier] = sum(two_groups(run) is not None for run in runs)
        trials += count
    print(f"{n} samples: {sum(alarms.values())} false alarms in {trials} runs")  # noqa: T201
    assert sum(alarms.values()) <= most_expected(trials), alarms


@pytest.mark.parametrize(
    ("n", "share", "apart", "noise", "least"),
    [
        (8, 0.5, 0.9, 0.01, 0.99),
        (20, 0.3, 0.2, 0.01, 0.99),
        (40, 0.1, 0.2, 0.01, 0.99),
        (40, 0.5, 0.1, 0.01, 0.9),
        (1000, 0.5, 0.1, 0.01, 0.99),
    ],
)
def test_mixtures_are_recognised(n, share, apart, noise, least):
    chance = random.Random(f"{n} {share} {apart}")
    few = max(2, round(n * share))

    def run() -> list[float]:
        low = [(1 - apart) * value for value in samples(chance, few, "normal", cv=noise)]
        return low + samples(chance, n - few, "uniform", cv=noise)

    count = 100 if n < 100 else 20
    found = sum(two_groups(run()) is not None for _ in range(count)) / count
    print(f"{n} samples, {share:.0%} of them {apart:.0%} lower: {found:.0%} recognised")  # noqa: T201
    assert found >= least
