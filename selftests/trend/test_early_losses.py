"""A loss after two good nights: the noise is known from the same measurement at other places."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from testing.histories import (
    Noise,
    dipping,
    heavy,
    history,
    normal,
    series,
    skewed,
    step,
    unchanged,
)

from railgauge.trend import Trend, findings
from railgauge.trend.change import Beside
from railgauge.trend.kin import beside
from railgauge.trend.sentences import metric_changes, sentence
from railgauge.trend.values import Night, SeriesKey

KEYS = tuple(series())
SMALL = tuple(series(("n01", "n02", "n03"), nics=1))


def of_nic(key: SeriesKey) -> bool:
    return "n02" in key.nodes and key.pairing == "mlx5_1"


def trend_of(nights: list[Night]) -> Trend:
    return findings(nights[:-1], nights[-1])


def reported(nights: list[Night]) -> list[tuple[str, str, str, str]]:
    return [
        (one.verdict, "-".join(one.scope.nodes), one.scope.pairing, one.since[6:8])
        for one in trend_of(nights).findings
    ]


@pytest.mark.parametrize("loss", [0.031, 0.06])
@pytest.mark.parametrize("nights", [5, 6, 9])
def test_a_nic_that_is_bad_from_the_third_night_on_is_named_with_that_night(
    loss: float, nights: int
) -> None:
    for seed in range(4):
        found = history(seed, nights, step(3, loss, of_nic), noise=0.001, keys=KEYS)
        assert reported(found) == [("regression", "n02", "mlx5_1", "03")], seed
    (one,) = trend_of(found).findings
    assert sentence(one).startswith("regression since 20260103-020000-alpha: n02, ")
    assert one.worse == pytest.approx(loss, abs=0.004)


def test_every_night_from_the_third_on_is_named() -> None:
    for first in range(3, 9):
        found = history(first, 10, step(first, 0.03, of_nic), noise=0.002, keys=KEYS)
        assert reported(found) == [("regression", "n02", "mlx5_1", f"{first:02}")]


def test_tonight_is_compared_with_the_nights_before_the_loss() -> None:
    """The median of all earlier nights holds the bad ones."""
    nights = history(1, 5, step(3, 0.06, of_nic), noise=0.001, keys=KEYS)
    by_name = {one.subject: one for one in metric_changes(nights, trend_of(nights))}
    write = by_name["host_write_bandwidth"]
    assert write.worst == pytest.approx(-0.06, abs=0.005)
    assert "n02" in write.where
    assert by_name["gpu_copy"].worst == pytest.approx(0, abs=0.005)


def test_a_repaired_nic_is_no_regression_and_its_loss_is_listed() -> None:
    nights = history(1, 9, step(3, 0.05, of_nic, until=6), noise=0.002, keys=KEYS)
    (one,) = trend_of(nights).findings
    assert (one.verdict, one.since[6:8], one.recovered[6:8]) == ("recovered", "03", "06")
    assert not trend_of(nights).regressions


def test_two_losses_of_one_nic_are_reported_with_their_nights() -> None:
    def both(night: int, key: SeriesKey) -> float:
        lost = 0.04 * (night >= 3) + 0.05 * (night >= 8)
        return 1 - lost if of_nic(key) else 1.0

    assert sorted(reported(history(1, 12, both, noise=0.002, keys=KEYS))) == [
        ("regression", "n02", "mlx5_1", "03"),
        ("regression", "n02", "mlx5_1", "08"),
    ]


def test_a_nic_that_becomes_slower_night_by_night_is_found() -> None:
    def slower(night: int, key: SeriesKey) -> float:
        return 1 - 0.004 * night if of_nic(key) else 1.0

    found = trend_of(history(1, 14, slower, noise=0.002, keys=KEYS)).findings
    assert {(one.verdict, one.scope.pairing) for one in found} == {("regression", "mlx5_1")}


@pytest.mark.parametrize("bad", [1, 2, 3, 4, 5])
def test_one_bad_night_is_no_loss(bad: int) -> None:
    once = step(bad, 0.06, of_nic, until=bad + 1)
    for nights in (5, 6, 9):
        assert reported(history(bad, nights, once, noise=0.002, keys=KEYS)) == []


def test_a_loss_of_all_places_is_no_loss_of_a_single_one() -> None:
    """Two nights do not show it: no place is left that shows the noise."""
    assert reported(history(1, 5, step(3, 0.06, lambda key: True), noise=0.002, keys=KEYS)) == []


def test_a_gain_after_two_nights_is_not_reported() -> None:
    """The first nights of a cluster are often its worst."""
    assert reported(history(1, 5, step(3, -0.06, of_nic), noise=0.001, keys=KEYS)) == []


@pytest.mark.parametrize("law", [normal, heavy, skewed, dipping])
@pytest.mark.parametrize("noise", [0.003, 0.02])
def test_healthy_nights_raise_no_alarm(law: Noise, noise: float) -> None:
    """At the allowed 1 % 0.4 of these 40 histories may hold a finding."""
    found = 0
    for nights, seeds in ((5, 16), (6, 12), (9, 8), (30, 3), (60, 1)):
        for seed in range(seeds):
            made = history(seed, nights, unchanged, noise=noise, law=law, keys=SMALL)
            found += bool(reported(made))
    assert found <= 1


def _shared(seed: int, cluster: float, node: float) -> Callable[[int, SeriesKey], float]:
    """One night changes all places, or all places of a node."""
    rng = random.Random(seed)
    of: dict[tuple[int, str], float] = {}

    def change(night: int, key: SeriesKey) -> float:
        moved = of.setdefault((night, ""), rng.gauss(0, cluster))
        for name in key.nodes:
            moved += of.setdefault((night, name), rng.gauss(0, node))
        return math.exp(moved)

    return change


@pytest.mark.parametrize(("cluster", "node"), [(0.03, 0.0), (0.0, 0.02)])
def test_a_change_of_all_places_of_a_node_or_cluster_is_no_loss_of_one(
    cluster: float, node: float
) -> None:
    made = (
        history(seed, nights, _shared(seed, cluster, node), noise=0.003, keys=SMALL)
        for nights in (5, 6, 10)
        for seed in range(15)
    )
    assert sum(bool(reported(nights)) for nights in made) <= 1


def test_a_place_that_is_noisier_than_its_kin_is_no_loss() -> None:
    """Three times; of ten times as noisy nights one history of a hundred holds a finding."""

    def noisier(seed: int) -> Callable[[int, SeriesKey], float]:
        rng = random.Random(seed)
        return lambda night, key: 1 + rng.gauss(0, 0.01) * ("n02" in key.nodes)

    made = (history(seed, 5, noisier(seed), noise=0.004, keys=SMALL) for seed in range(30))
    assert sum(bool(reported(nights)) for nights in made) <= 1


# --- the kin themselves ---


def test_a_place_is_compared_with_the_median_of_the_others() -> None:
    family = [{0: 1.0, 1: 1.0}, {0: 2.0, 1: 2.0}, {0: 4.0, 1: 7.0}, {0: 9.0, 1: 9.0}]
    (first, second, third, last) = [one.values for one in beside(family) if one]
    assert (first, second) == ([-3.0, -6.0], [-2.0, -5.0])
    assert (third, last) == ([2.0, 5.0], [7.0, 7.0])


def test_two_places_alone_are_not_compared_with_each_other() -> None:
    assert beside([{0: 1.0}, {0: 2.0}]) == [None, None]


def test_a_night_without_other_places_allows_no_comparison() -> None:
    family = [{0: 1.0, 1: 1.0}, {0: 1.0}, {0: 2.0}]
    assert [isinstance(one, Beside) for one in beside(family)] == [False, True, True]


def test_a_change_of_all_places_is_no_noise() -> None:
    moved = [0.0, 0.5, -0.3, 0.2]
    family = [{n: level + one for n, one in enumerate(moved)} for level in (5.0, 5.1, 5.3)]
    assert all(one and one.noise.deviation < 1e-9 for one in beside(family))
