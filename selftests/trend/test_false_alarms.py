"""The false-alarm rates of the trend, measured."""

import random
import statistics

import pytest
from testing.histories import dipping, heavy, history, normal, series, skewed

from railgauge.trend import Rules, change, findings
from railgauge.trend.change import NOISE_MIN, Asked, slope, steps, two_sided
from railgauge.trend.values import NIGHTS_BEFORE

SMALL = tuple(series(("n01", "n02", "n03"), nics=1))


def asked(after, allowed=0.01, effect_min=0.0):
    return Asked(after, 0.0, allowed, effect_min)


def best_step(values, after):
    """The most likely single step, with the chance that ``steps`` compares."""
    at = change._best_split(values, (NIGHTS_BEFORE, after))
    cut = change._between(values, None, asked(after), (0, at, len(values)))
    return change._in_noise(cut, cut.noise)


def alarms(seeds, **changed):
    """The histories without a change in which a step was found."""
    found = 0
    for seed in seeds:
        nights = history(seed, keys=SMALL, **changed)
        found += bool(findings(nights[:-1], nights[-1]).findings)
    return found


@pytest.mark.parametrize("noise", [0.003, 0.03])
def test_two_hundred_unchanged_histories_of_twenty_nights_raise_no_alarm(noise):
    """At the allowed rate of 1 % two are expected; 7 occur in one of 200 runs."""
    assert Rules().false_alarm_rate == 0.01
    assert alarms(range(1000, 1200), noise=noise) <= 6


@pytest.mark.parametrize("law", [heavy, skewed, dipping])
@pytest.mark.parametrize("nights", [6, 12])
def test_noise_need_not_be_normal(law, nights):
    """2 % of noise, so that the smallest step is no more than one night's noise."""
    assert alarms(range(30), nights=nights, noise=0.02, law=law) <= 3


@pytest.mark.parametrize("nights", [5, 6, 7, 8, 10, 14, 20, 30])
def test_the_chance_of_a_step_is_no_smaller_than_stated(nights):
    """Of 2000 histories of noise, at most about 1 % have a chance below 1 %."""
    rng = random.Random(nights)
    chances = []
    for _ in range(2000):
        values = [rng.gauss(0, 1) for _ in range(nights)]
        chances.append(best_step(values, 2).chance)
    assert sum(chance < 0.01 for chance in chances) <= 34, "more than 3 sigma above 20"
    assert sum(chance < 0.1 for chance in chances) <= 240


@pytest.mark.parametrize("nights", [6, 10, 20, 30])
def test_the_search_for_steps_keeps_its_rate(nights):
    """All cuts together: of 1000 histories of noise, at most about 1 % at 1 %."""
    rng = random.Random(nights)
    found = 0
    for _ in range(1000):
        found += bool(steps([rng.gauss(0, 1) for _ in range(nights)], asked(2)))
    assert found <= 19, "more than 3 sigma above 10"


@pytest.mark.parametrize("noise", [0.001, 0.02])
def test_a_year_of_unchanged_nights_raises_no_alarm(noise):
    """Two years of 15 series; ``docs/nightly.md`` has the figures of many more."""
    assert alarms(range(2), nights=365, noise=noise) == 0


def test_the_power_of_the_test_is_as_documented():
    """A step of 4 % with 0.1 % of noise is found after two nights of twelve, in one series."""

    def lost(night, key):
        return 0.96 if night >= 11 and "n02" in key.nodes else 1.0

    caught = 0
    for seed in range(20):
        nights = history(seed, 12, lost, noise=0.001, keys=SMALL)
        caught += bool(findings(nights[:-1], nights[-1]).regressions)
    assert caught == 20


@pytest.mark.parametrize(
    ("t", "freedom", "chance"),
    [(2.776, 4, 0.05), (4.604, 4, 0.01), (3.169, 10, 0.01), (3.850, 30, 0.000575), (0, 5, 1.0)],
)
def test_the_chance_is_student_s(t, freedom, chance):
    """Compared with tables of the t distribution."""
    assert two_sided(t, freedom) == pytest.approx(chance, rel=0.06)


def test_a_step_is_found_where_it_is():
    rng = random.Random(1)
    for at in range(3, 18):
        values = [rng.gauss(5.0 if i < at else 4.9, 0.01) for i in range(20)]
        found = best_step(values, 2)
        assert found.at == at
        assert found.effect == pytest.approx(-0.1, abs=0.02)
        assert found.chance < 1e-3


def test_levels_are_found_from_first_to_last():
    levels = [5.0] * 8 + [4.9] * 8 + [4.95] * 8
    rng = random.Random(2)
    values = [level + rng.gauss(0, 0.002) for level in levels]
    assert [step.at for step in steps(values, asked(3, 1e-3, 0.02))] == [8, 16]


def test_few_bad_nights_among_good_ones_make_no_level():
    values = [5.0 + 0.001 * (i % 3) for i in range(12)] + [4.5, 5.0, 4.5]
    assert statistics.median(values[-3:]) == 4.5
    assert steps(values, asked(3, 0.5, 0.02)) == []


def test_values_without_noise_give_no_certainty():
    """Equal figures to the last digit: rounding counts as noise of one digit."""
    still = [1.0] * 6 + [1.0 - 2 * NOISE_MIN] * 3
    assert best_step(still, 3).chance > 1e-3


def test_a_drift_over_all_nights_is_found():
    rng = random.Random(3)
    found = slope([5 - 0.002 * i + rng.gauss(0, 0.003) for i in range(30)])
    assert found.effect == pytest.approx(-0.058, abs=0.01)
    assert found.chance < 1e-6
    assert slope([normal(rng) / 100 for _ in range(30)]).chance > 1e-3
