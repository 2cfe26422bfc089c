"""Two runs side by side: what is worse, what is noise, and what must not be compared."""

import random
from dataclasses import replace

import pytest

from railgauge.core.errors import BadInput
from railgauge.trend import comparison_text
from railgauge.trend.compared import ALIKE, BETTER, NODES, RAILS, UNSURE, WORSE, RunSide
from railgauge.trend.comparison import compare
from railgauge.trend.comparison_page import page
from railgauge.trend.values import Fleet, SeriesKey

FLEET = Fleet("alpha", "h200", "hardware")
NODES_A = ("n01", "n02", "n03", "n04")
NODES_B = ("x1", "x2", "x3", "x4")


def keys(nodes=NODES_A):
    pairs = [(one, nodes[(i + 1) % len(nodes)]) for i, one in enumerate(nodes)]
    paths = [
        SeriesKey("write", "bw_average", "Gb/s", pair, f"mlx5_{nic}", 8388608)
        for pair in pairs
        for nic in (0, 1)
    ]
    late = [SeriesKey("late", "lat_avg", "us", pair, "mlx5_0", 2, "lower") for pair in pairs]
    return [*paths, *late]


def side(
    run_id="20260101-020000-alpha", *, seed=1, repeats=3, noise=0.002, of=None, change=None, **more
):
    """A run of the series ``of``; ``change`` gives the factor of a key's goodness."""
    rng = random.Random(seed)
    factor = change or (lambda key: 1.0)
    series = {}
    for key in of or keys():
        level = 1.85 if key.lower_is_better else 391.5
        level *= factor(key) ** (-1 if key.lower_is_better else 1)
        values = (level * (1 + rng.gauss(0, noise)) for _ in range(repeats))
        series[key] = tuple(round(value, 3) for value in values)
    made = RunSide(f"reports/{run_id}", run_id, FLEET, "accepted", series)
    return replace(made, **more)


def tonight(**more):
    return side("20260202-020000-alpha", seed=2, **more)


def site(**more):
    """The same rails of other nodes."""
    return side("20260202-020000-beta", seed=2, of=keys(NODES_B), **more)


def beta(**more):
    return replace(site(**more), fleet=Fleet("beta", "h200", "hardware"))


def statuses(found):
    return {one.key: one.status for one in found.series if one.status != ALIKE}


def test_an_unchanged_cluster_is_alike_series_by_series():
    found = compare(side(), tonight())
    assert (found.matched, statuses(found)) == (NODES, {})
    assert len(found.series) == len(keys())
    assert (found.only_first, found.only_second, found.unlike) == ((), (), ())


def test_two_hundred_unchanged_runs_raise_no_alarm():
    """Both ways of matching, at 3 % of noise: beyond the smallest loss that counts.

    At the allowed rate of 1 % two are expected.
    """
    alarms = 0
    for seed in range(100):
        first = side(seed=seed, noise=0.03)
        second = side("20260202-020000-alpha", seed=seed + 1000, noise=0.03)
        alarms += bool(compare(first, second).of(WORSE))
        other = side("20260202-020000-beta", seed=seed + 2000, of=keys(NODES_B), noise=0.03)
        other = replace(other, fleet=Fleet("beta", "h200", "hardware"))
        alarms += bool(compare(first, other).of(WORSE))
    assert alarms <= 6


def lost(share, chosen):
    return lambda key: 1 - share if chosen(key) else 1.0


@pytest.mark.parametrize("second", [tonight, beta])
def test_a_node_that_lost_a_tenth_is_worse_in_each_of_its_series(second):
    node = "n02" if second is tonight else "x2"
    found = compare(side(), second(change=lost(0.1, lambda key: node in key.nodes)))
    assert {one.key for one in found.of(WORSE)} == {
        one.key for one in found.series if node in one.key.nodes
    }
    (shared,) = found.shared
    assert (shared.scope.nodes, shared.scope.subject) == ((node,), "")
    assert shared.worse == shared.of == 6
    assert all(one.reaches == pytest.approx(0.9, abs=0.01) for one in found.of(WORSE))


def test_a_slow_node_of_another_site_does_not_hide_in_a_median():
    found = compare(side(), beta(change=lost(0.2, lambda key: "x2" in key.nodes)))
    assert found.matched == RAILS
    assert {node for one in found.of(WORSE) for node in one.key.nodes} == {"x1", "x2", "x3"}
    assert all("x2" in one.key.nodes for one in found.of(WORSE))


def test_half_a_cluster_cannot_excuse_itself_by_its_own_spread():
    """Only the noise of the reference counts."""
    for second in (tonight, beta):
        found = compare(side(), second(change=lost(0.1, lambda key: key.nodes[0][-1] in "12")))
        assert len(found.of(WORSE)) == 6


def test_a_gain_is_better_for_times_too():
    found = compare(side(), tonight(change=lambda key: 1.2))
    assert set(statuses(found).values()) == {BETTER}
    assert all(one.reaches > 1.1 for one in found.series)


@pytest.mark.parametrize(("at_least", "worse"), [(0.98, 6), (0.9, 0), (0.96, 6)])
def test_at_least_decides_what_counts(at_least, worse):
    second = tonight(change=lost(0.05, lambda key: "n02" in key.nodes))
    assert len(compare(side(), second, at_least).of(WORSE)) == worse


def test_a_difference_within_noise_is_reported_and_not_worse():
    second = tonight(noise=0.2, change=lost(0.1, lambda key: True))
    found = compare(side(noise=0.2), second)
    assert not found.of(WORSE)
    assert found.of(UNSURE)
    assert "too noisy to tell" in comparison_text.summary(found)


def test_a_single_value_of_a_single_series_is_enough_for_a_collapse():
    key = keys()[0]
    first, second = (
        replace(side(), series={key: (391.5,)}),
        replace(tonight(), series={key: (33.0,)}),
    )
    (found,) = compare(first, second).of(WORSE)
    assert found.noise == 0.01, "the documents' own"


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_value_that_is_not_above_0_is_worse_and_not_dropped(value):
    key = keys()[0]
    second = tonight()
    second = replace(second, series={**second.series, key: (391.5, value, 391.5)})
    (found,) = compare(side(), second).of(WORSE)
    assert found.key == key
    assert "a value is" in found.reason


def test_values_in_two_groups_are_worse_although_the_median_holds():
    key = keys()[0]
    first = replace(side(), series={**side().series, key: (391.0, 391.5, 392.0, 391.2, 391.7)})
    swinging = (391.5, 33.2, 391.6, 33.4, 391.4)
    second = replace(tonight(), series={**tonight().series, key: swinging})
    (found,) = compare(first, second).of(WORSE)
    assert found.reason == "falls into two groups: 33.3 Gb/s (2x) and 391.5 Gb/s (3x)"
    assert not compare(replace(first, series={**first.series, key: swinging}), second).of(WORSE), (
        "so did the reference"
    )


def test_one_digit_more_is_rounding():
    key = SeriesKey("late", "lat_typical", "us", ("n01", "n02"), "mlx5_0", 2, "lower")
    first, second = (
        replace(s, series={key: v}) for s, v in ((side(), (0.31,) * 5), (tonight(), (0.32,) * 5))
    )
    assert not compare(first, second, 0.99).of(WORSE)


@pytest.mark.parametrize(("was", "now"), [(400.0, 300.0), (3.0, 1.0), (2000.0, 1900.0)])
def test_a_round_value_does_not_hide_a_loss(was, now):
    """400 printed alone has three digits, not one."""
    first, second = (
        replace(s, series=dict.fromkeys(keys()[:8], (v,)))
        for s, v in ((side(), was), (tonight(), now))
    )
    assert len(compare(first, second).of(WORSE)) == 8


# --- only like with like ---


def test_another_unit_is_named_and_not_compared():
    def renamed(key):
        return replace(key, unit="GB/s") if key.subject == "write" else key

    second = tonight()
    second = replace(second, series={renamed(key): v for key, v in second.series.items()})
    found = compare(side(), second)
    assert {one.key.subject for one in found.series} == {"late"}
    assert {one.reason for one in found.unlike} == {"the unit differs: Gb/s, GB/s"}
    assert len(found.unlike) == 8
    assert "8 not alike" in comparison_text.summary(found)


def test_one_series_in_two_units_is_not_compared():
    key = keys()[0]
    second = tonight()
    second = replace(second, series={**second.series, replace(key, unit="GB/s"): (48.9,)})
    found = compare(side(), second)
    assert key not in {one.key for one in found.series}
    assert {one.reason for one in found.unlike} == {"the unit differs: Gb/s, GB/s and Gb/s"}


def test_the_better_direction_must_be_the_same():
    second = tonight()
    turned = {
        replace(k, better="lower") if k.subject == "write" else k: v
        for k, v in second.series.items()
    }
    found = compare(side(), replace(second, series=turned))
    assert {one.reason for one in found.unlike} == {"which way is better differs: higher, lower"}


@pytest.mark.parametrize("name", ["options", "tool", "memory"])
def test_another_way_of_measuring_is_named_and_not_compared(name):
    first = side(ways={"write": {name: "a", "sizes": "[8]"}})
    second = tonight(ways={"write": {name: "b", "sizes": "[8, 16]"}})
    found = compare(first, second)
    assert {one.reason for one in found.unlike} == {f"{name}: a, b"}
    same = tonight(ways={"write": {name: "a", "sizes": "[8, 16]"}})
    assert not compare(first, same).unlike, "at one size it does not matter which others there are"


def test_an_average_over_another_sweep_is_not_alike():
    key = SeriesKey("reduce", "avg_busbw", "GB/s", NODES_A)
    first = replace(
        side(), series={key: (390.0,), **side().series}, ways={"reduce": {"sizes": "[8]"}}
    )
    second = replace(
        tonight(), series={key: (390.0,), **tonight().series}, ways={"reduce": {"sizes": "[9]"}}
    )
    assert [one.key for one in compare(first, second).unlike] == [key]


def test_another_number_of_nodes_is_another_series():
    key = SeriesKey("reduce", "busbw", "GB/s", NODES_A, "", 8)
    of_two = replace(key, nodes=("x1", "x2"))
    first = replace(side(), series={key: (390.0,), **side().series})
    second = beta()
    second = replace(second, series={of_two: (300.0,), **second.series})
    found = compare(first, second)
    assert (found.only_first, found.only_second) == ((key,), (of_two,))


def test_series_of_one_run_are_named():
    first, second = side(), tonight()
    gone = keys()[3]
    more = replace(gone, pairing="mlx5_9")
    series = {key: v for key, v in second.series.items() if key != gone} | {more: (391.0,)}
    found = compare(first, replace(second, series=series))
    assert (found.only_first, found.only_second) == ((gone,), (more,))
    text = comparison_text.summary(found)
    assert "not compared: 1 only in the reference, 1 only in the compared run" in text
    assert comparison_text.alone(found.only_first) == [
        "write bw_average 8MiB: 1 series: n02:n03 mlx5_1"
    ]


def test_equal_names_at_two_sites_are_other_machines():
    other = replace(tonight(), fleet=Fleet("beta", "h200", "hardware"))
    assert compare(side(), other).matched == RAILS


def test_pseudonyms_name_no_machine():
    assert compare(side(names_nodes=False), tonight()).matched == RAILS


@pytest.mark.parametrize(
    ("fleet", "what"),
    [
        (Fleet("alpha", "mi300x", "hardware"), "is of another platform"),
        (Fleet("alpha", "h200", "simulated"), "is of another kind of evidence"),
    ],
)
def test_runs_of_another_kind_are_refused(fleet, what):
    with pytest.raises(BadInput, match=what):
        compare(side(), replace(tonight(), fleet=fleet))


def test_a_run_is_not_compared_with_itself():
    with pytest.raises(BadInput, match="is the same run"):
        compare(side(), side())


def test_runs_without_a_common_series_are_refused():
    with pytest.raises(BadInput, match="share no series"):
        compare(side(), replace(tonight(), series={}))


def test_other_differences_of_the_runs_are_listed():
    first = side(setting={"level": "signoff", "launcher": "openmpi"})
    second = tonight(setting={"level": "nightly", "launcher": "openmpi"})
    assert compare(first, second).differences == ("level: signoff, nightly",)
    (difference,) = compare(tonight(), side()).differences
    assert difference == "the reference is the later run: 20260202-020000-alpha"


def test_the_page_is_one_file_and_escapes_names():
    nasty = "<script>alert(1)</script>"
    key = replace(keys()[0], subject=nasty, nodes=(nasty, "n02"))
    first = replace(side(), series={**side().series, key: (391.0,) * 3})
    second = replace(tonight(), series={**tonight().series, key: (99.0,) * 3})
    found = compare(first, second)
    made = page(first, second, found)
    assert "&lt;script&gt;" in made
    for word in ("<script", "http", "src=", "href=", "url("):
        assert word not in made
    assert "WORSE: 13 series compared: 1 worse" in made
    for one in found.series:
        text = comparison_text.sentence(one)
        assert text.replace("<", "&lt;").replace(">", "&gt;") in made
