"""Section 4 of the design, rule by rule: each test shows one way of not passing."""

import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from testing.core_values import dispersed, latency, limit, sample, samples

from railgauge.core.errors import Implausible, MetricMissing, NoEvidence, UnitUnknown
from railgauge.core.limits import Curve
from railgauge.core.model import Outcome, Sample
from railgauge.core.units import convert, dimension
from railgauge.judging.judge import judge
from railgauge.tools import declared_metric

SIZE = 8388608
BANDWIDTHS = ["MB/s", "GB/s", "MiB/s", "GiB/s", "Gb/s", "Mb/s", "KB/s", "B/s"]


def judged(found, against=None, physical=None, size=SIZE):
    against = against or limit()
    return judge(found, against, declared_metric("perftest", against.metric), size, physical)


# --- rule 1: positive evidence only ---


def test_no_sample_is_no_evidence():
    with pytest.raises(MetricMissing):
        judged([])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_not_judged(value):
    with pytest.raises(Implausible, match="not a number"):
        judged(samples(200.0, value))


@pytest.mark.parametrize("value", [0.0, -0.0, -200.0])
def test_a_value_of_zero_is_not_a_measurement(value):
    with pytest.raises(Implausible, match="no data was moved"):
        judged(samples(value))


@pytest.mark.parametrize("unit", ["parsecs", "", "gb/s", "us", "Mpps"])
def test_an_unknown_or_foreign_unit_is_not_guessed(unit):
    with pytest.raises(UnitUnknown):
        judged([sample(200.0, unit)])


def test_the_misnamed_unit_of_old_perftest_has_its_true_meaning():
    """3700 'MB/s' are MiB/s: 31.04 Gb/s, not the 29.6 that would miss the limit."""
    old = replace(sample(3700.0, "MB/s"), unit_means="MiB/s")
    assert judged([old], limit(floor=31.0)).outcome is Outcome.PASSED
    with_plain_unit = judged([sample(3700.0, "MB/s")], limit(floor=31.0))
    assert with_plain_unit.outcome is Outcome.FAILED


def test_a_limit_without_a_value_at_this_size_is_no_limit():
    curve = Curve(((65536, 90.0), (1048576, 95.0)))
    with pytest.raises(MetricMissing, match="no limit"):
        judged(samples(200.0), limit(floor=curve))


def test_a_curve_needs_a_size():
    curve = Curve(((65536, 90.0), (16777216, 95.0)))
    with pytest.raises(MetricMissing, match="no limit"):
        judged(samples(200.0), limit(floor=curve), size=None)


def test_a_limit_without_any_bound_does_not_pass():
    with pytest.raises(MetricMissing):
        judged(samples(200.0), limit(floor=None))


# --- rule 3: failed is what missed a limit, and only that ---


def test_below_the_floor_fails_with_numbers_and_basis():
    result = judged(samples(99.99))
    assert result.outcome is Outcome.FAILED
    assert "99.99 Gb/s" in result.reason
    assert ">= 100 Gb/s" in result.reason
    assert "8MiB" in result.reason
    assert result.basis == "derived: a round number"
    assert result.margin == pytest.approx(-0.0001)


def test_exactly_the_floor_passes():
    assert judged(samples(100.0)).outcome is Outcome.PASSED


# --- rule 4: every sample counts ---


@pytest.mark.parametrize("place", range(5))
def test_one_bad_sample_of_five_fails_wherever_it_stands(place):
    values = [120.0] * 5
    values[place] = 99.0
    result = judged(samples(*values))
    assert result.outcome is Outcome.FAILED
    assert result.worst == 99.0
    assert "worst of 5" in result.measured
    assert result.values == tuple(values)


def test_a_good_mean_does_not_hide_a_bad_sample():
    assert statistics.fmean([390, 33, 390]) > 100
    assert judged(samples(390.0, 33.0, 390.0)).outcome is Outcome.FAILED


def test_one_invalid_sample_spoils_the_measurement():
    with pytest.raises(Implausible):
        judged(samples(150.0, 500.0, 150.0), physical=400.0)


# --- rule 5: dispersion is judged ---


def test_samples_that_all_pass_may_lie_too_far_apart():
    result = judged(samples(110.0, 190.0, 110.0, 190.0), dispersed(cv_max=0.05))
    assert result.outcome is Outcome.FAILED
    assert "varies by" in result.reason
    assert "limit 5.00%" in result.reason


def test_one_outlier_that_passes_the_floor_is_seen_by_worst_over_median():
    result = judged(samples(200.0, 200.0, 200.0, 150.0), dispersed(worst=0.9))
    assert result.outcome is Outcome.FAILED
    assert "0.750 of the median" in result.reason


def test_for_latency_the_worst_is_the_largest():
    against = replace(latency(), dispersion=dispersed(worst=0.9).dispersion)
    values = [sample(value, "us") for value in (1.0, 1.0, 1.0, 1.6)]
    assert judged(values, against).outcome is Outcome.FAILED
    calm = [sample(value, "us") for value in (1.0, 1.0, 1.0, 0.7)]
    assert judged(calm, against).outcome is Outcome.PASSED


def test_calm_samples_and_single_samples_are_not_dispersed():
    strict = dispersed(cv_max=0.01, worst=0.99)
    assert judged(samples(150.0, 150.1, 149.9), strict).outcome is Outcome.PASSED
    assert judged(samples(150.0), strict).outcome is Outcome.PASSED


TWO_GROUPS = (150.0, 150.1, 380.0, 150.1, 380.1, 380.1, 380.3, 150.3)


def test_two_groups_that_all_pass_fail_by_name():
    result = judged(samples(*TWO_GROUPS), dispersed(cv_max=0.01, worst=0.9, apart=0.05))
    assert result.outcome is Outcome.FAILED
    assert result.reason == (
        "bw_average at 8MiB falls into two groups around 150.1 and 380.1 Gb/s "
        "(4 and 4 samples), which lie 61% apart, limit 5%"
    )


@pytest.mark.parametrize("against", [dispersed(cv_max=0.01), dispersed(cv_max=0.01, apart=0.7)])
def test_groups_that_no_limit_forbids_are_not_named(against):
    result = judged(samples(*TWO_GROUPS), against)
    assert result.outcome is Outcome.FAILED
    assert "varies by" in result.reason


def test_groups_alone_are_enough_to_fail_and_no_samples_are_dropped():
    result = judged(samples(*TWO_GROUPS), dispersed(apart=0.05))
    assert result.outcome is Outcome.FAILED
    assert result.values == TWO_GROUPS
    calm = samples(*(150 + value / 1000 for value in TWO_GROUPS))
    assert judged(calm, dispersed(apart=0.05)).outcome is Outcome.PASSED


def test_a_missed_floor_also_reports_the_dispersion():
    values = (33.0, 33.1, 33.2, 390.0, 390.1, 390.2, 390.3, 33.3)
    result = judged(samples(*values), dispersed(apart=0.05))
    assert result.outcome is Outcome.FAILED
    assert "33 Gb/s (worst of 8) at 8MiB, limit >= 100 Gb/s; it falls into" in result.reason
    alike = judged(samples(90.0, 90.1, 90.2, 90.1), dispersed(cv_max=0.01, apart=0.05))
    assert "; it" not in alike.reason


# --- rule 6: two-sided ---


def test_above_the_physical_ceiling_is_invalid_not_good():
    with pytest.raises(Implausible, match=r"physical ceiling of 400 Gb/s") as caught:
        judged(samples(390.0, 400.3), physical=400.0)
    assert "bw_average of 400.3 Gb/s is above" in caught.value.what
    assert caught.value.remedy == "check the unit, the device and the declared hardware"


def test_rounding_at_the_ceiling_is_forgiven():
    assert judged(samples(400.1), physical=400.0).outcome is Outcome.PASSED


def test_the_file_s_own_ceiling_counts_where_it_is_lower():
    with pytest.raises(Implausible, match=r"ceiling of 300 "):
        judged(samples(350.0), limit(ceiling=300.0), physical=400.0)


def test_the_unit_of_the_tool_does_not_get_around_the_ceiling():
    with pytest.raises(Implausible):
        judged([sample(55.0, "GB/s")], physical=400.0)


def test_a_latency_that_light_could_not_reach_is_invalid():
    with pytest.raises(Implausible, match="cannot reach") as caught:
        judged([sample(0.4, "us"), sample(1.2, "us")], latency())
    assert "lat_avg of 0.4 µs is below 0.5 µs" in caught.value.what
    assert caught.value.remedy == "check the clock and the unit"


# --- lower is better ---


@pytest.mark.parametrize(
    ("value", "outcome"), [(1.9, Outcome.PASSED), (2.0, Outcome.PASSED), (2.01, Outcome.FAILED)]
)
def test_latency_fails_above_its_ceiling(value, outcome):
    result = judged([sample(value, "us")], latency())
    assert result.outcome is outcome
    assert result.limit == "<= 2 µs"


def test_the_largest_latency_decides():
    values = [sample(value, "us") for value in (1.0, 2.5, 1.0)]
    result = judged(values, latency())
    assert result.worst == 2.5
    assert result.outcome is Outcome.FAILED


# --- the marginal band ---


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (99.999, Outcome.FAILED),
        (100.0, Outcome.MARGINAL),
        (101.9, Outcome.MARGINAL),
        (102.1, Outcome.PASSED),
    ],
)
def test_the_marginal_band_begins_at_the_limit(value, outcome):
    made = judged(samples(value), limit(marginal=0.02))
    assert made.outcome is outcome
    if outcome is Outcome.MARGINAL:
        assert made.reason == "within 2.0% of the limit"


def test_a_wide_marginal_band_lets_nothing_below_the_limit_pass():
    assert judged(samples(94.9), limit(floor=95.0, marginal=0.99)).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("value", "outcome"),
    [(1.94, Outcome.PASSED), (1.97, Outcome.MARGINAL), (2.0, Outcome.MARGINAL)],
)
def test_the_marginal_band_of_latency_lies_below_its_ceiling(value, outcome):
    assert judged([sample(value, "us")], latency(marginal=0.02)).outcome is outcome


# --- limits under calibration ---


@pytest.mark.parametrize("value", [1.0, 100.0, 399.0])
def test_record_only_neither_passes_nor_fails(value):
    result = judged(samples(value), limit(record_only=True))
    assert (result.outcome, result.reason) == (
        Outcome.RECORD_ONLY, "the limit is being calibrated",
    )  # fmt: skip


def test_record_only_needs_no_bound_but_plausible_values():
    free = limit(record_only=True, floor=None)
    assert judged(samples(5.0), free).limit == "none yet: record only"
    with pytest.raises(Implausible):
        judged(samples(math.nan), free)
    with pytest.raises(Implausible):
        judged(samples(500.0), free, physical=400.0)


# --- properties ---

plausible = st.floats(1e-3, 399.0)
GOOD = (Outcome.PASSED, Outcome.MARGINAL)


def _in(value: float, unit: str) -> Sample:
    return sample(convert(value, "Gb/s", unit), unit)


@given(st.lists(plausible, min_size=1, max_size=6), st.sampled_from(BANDWIDTHS), plausible)
def test_a_value_below_the_floor_never_passes_whatever_its_unit(values, unit, floor):
    assume(min(values) < floor * (1 - 1e-9))
    result = judged([_in(value, unit) for value in values], limit(floor=floor), physical=400.0)
    assert result.outcome is Outcome.FAILED


@given(
    st.lists(st.tuples(plausible, st.sampled_from(BANDWIDTHS)), min_size=1, max_size=4),
    st.sampled_from(BANDWIDTHS),
)
def test_the_unit_of_the_limit_does_not_change_the_verdict(values, unit):
    found = [_in(value, of) for value, of in values]
    assume(all(abs(value - 100.0) > 1e-6 for value, _ in values))
    here = judged(found, limit(), physical=400.0)
    there = judged(
        found,
        limit(unit=unit, floor=convert(100.0, "Gb/s", unit)),
        physical=convert(400.0, "Gb/s", unit),
    )
    assert here.outcome is there.outcome


@given(plausible, plausible, st.floats(0, 0.5))
def test_more_bandwidth_is_never_judged_worse(low, high, marginal):
    assume(low < high)
    against = limit(marginal=marginal)
    order = [Outcome.FAILED, Outcome.MARGINAL, Outcome.PASSED]
    rank = [order.index(judged(samples(value), against).outcome) for value in (low, high)]
    assert rank == sorted(rank)


@given(st.floats(0.5, 100), st.floats(0.5, 100))
def test_more_latency_is_never_judged_better(low, high):
    assume(low < high)
    order = [Outcome.PASSED, Outcome.MARGINAL, Outcome.FAILED]
    against = latency(marginal=0.1)
    rank = [order.index(judged([sample(v, "us")], against).outcome) for v in (low, high)]
    assert rank == sorted(rank)


@given(st.lists(plausible, min_size=1, max_size=5), plausible)
def test_another_sample_never_turns_a_failure_into_a_pass(values, more):
    assume(judged(samples(*values)).outcome is Outcome.FAILED)
    assert judged(samples(*values, more)).outcome is Outcome.FAILED


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=4),
    st.sampled_from([*BANDWIDTHS, "us", "parsecs"]),
)
def test_every_pass_is_finite_converted_and_within_both_bounds(values, unit):
    try:
        result = judged([sample(value, unit) for value in values], physical=400.0)
    except NoEvidence:
        return
    assert dimension(unit) == "bandwidth"
    assert len(result.values) == len(values) > 0
    assert all(math.isfinite(value) and 0 < value <= 400.2 for value in result.values)
    if result.outcome in GOOD:
        assert min(result.values) >= 100.0
