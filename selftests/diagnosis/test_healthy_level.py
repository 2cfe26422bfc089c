"""What healthy parts reach, where some of the fastest figures are those of a slow part."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from railgauge.diagnosis.slow.constants import LIMIT_ROOM, NOISE
from railgauge.diagnosis.slow.healthy import Healthy, MeasuredValue, healthy

NODES = ("a", "b", "c", "d")
FLOOR = 90.0
FAR = (("ab", 100.0), ("ac", 50.0))


def value(nodes: str, of: float, nic: str = "mlx5_0") -> MeasuredValue:
    return MeasuredValue((frozenset(nodes), nic), of, FLOOR, 110.0)


def reached(*values: MeasuredValue, doubted: tuple[MeasuredValue, ...] = ()) -> Healthy:
    return healthy(values, {one.place for one in doubted}, NODES, NOISE)


def test_healthy_parts_reach_what_the_fastest_figures_do_that_are_alike():
    found = reached(*(value(pair, 100) for pair in ("ab", "bc", "cd")), value("da", 80))
    assert found.is_known
    assert found.low == 100


def test_a_slow_node_that_was_measured_ten_times_does_not_set_the_level():
    """The loss of 2 % is within what healthy parts may differ by."""
    often = [value(pair, 98) for pair in ("ab", "ac") for _ in range(5)]
    assert reached(*often, value("bc", 100)).low == 100


@pytest.mark.parametrize("slow", NODES)
def test_one_slow_node_of_all_pairs_does_not_set_the_level(slow):
    pairs = ["".join(pair) for pair in combinations(NODES, 2)]
    found = reached(*(value(pair, 98 if slow in pair else 100) for pair in pairs))
    assert found.low == 100


def test_figures_of_one_node_only_do_not_tell_what_others_reach():
    found = reached(value("ab", 95), value("ac", 95), value("ad", 95))
    assert not found.is_known
    assert (found.low, found.high) == (95, 110)


def test_two_nodes_of_four_alone_do_not_tell_what_the_others_reach():
    assert not reached(value("ab", 95), value("ab", 95, "mlx5_1")).is_known


def test_figures_of_all_nodes_are_compared_although_no_others_are_there():
    assert reached(value("abcd", 95), value("abcd", 95)).is_known


def test_three_of_four_nodes_leave_too_few_for_another_figure():
    assert reached(value("abc", 95), value("abc", 95)).is_known


def test_what_misses_a_limit_elsewhere_sets_no_level():
    every = value("ab", 100), value("cd", 100)
    found = reached(*every, doubted=every)
    assert (found.low, found.high) == (100, 110)
    assert reached(*every, doubted=every[:1]).is_known


def test_figures_below_their_limit_tell_that_healthy_parts_reach_more():
    found = reached(value("ab", 80), value("cd", 80))
    assert found.low == pytest.approx(FLOOR * (1 + LIMIT_ROOM))


def test_healthy_parts_reach_at_least_the_fastest_figure_also_where_no_more_is_known():
    """A value of half of it that keeps a low limit is slow all the same."""
    low = [MeasuredValue((frozenset(pair), "gpu0-mlx5_1"), v, 45.0, 110.0) for pair, v in FAR]
    found = healthy(low, set(), NODES, NOISE)
    assert not found.is_known
    fast, slow = (found.share(one, failed=False) for one in low)
    assert fast.high == 0
    assert slow.high == pytest.approx(math.log(0.5))


def test_a_value_close_to_the_fastest_one_may_be_healthy_where_no_more_is_known():
    found = reached(value("ab", 95), value("ac", 94))
    assert found.share(value("ac", 94), failed=False).high == 0
