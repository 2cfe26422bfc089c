"""What a sum of both directions says about each direction."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import ROOT
from testing.diagnose_scenes import path

from railgauge.config import thresholds
from railgauge.diagnosis.each_way import EachWay
from railgauge.tools.metric import LOWER

BOTH = "host_write_bandwidth_bidirectional"
PLATFORM = thresholds.load("metax-c500", ROOT / "thresholds")
ONE_WAY = [path("n1", "n2", "mlx5_0", 392.0), path("n3", "n2", "mlx5_0", 390.0)]


def each_way(*records):
    return EachWay.of(records, PLATFORM.measurements)


@pytest.mark.parametrize(
    ("each", "slow", "hidden"),
    [
        (375.0, 358.0, True),  # 750 less 392 is 358
        (375.0, 357.9, False),
        (392.0, 391.0, False),
        (330.0, 300.0, True),
    ],
)
def test_a_direction_is_hidden_up_to_the_sum_less_the_best_one_way(each, slow, hidden):
    seen = each_way(*ONE_WAY)
    slowest = seen.slowest([path("n1", "n2", "mlx5_0", slow)])
    assert seen.hides(path("n1", "n2", "mlx5_0", each, BOTH), slowest) is hidden


def test_the_fastest_of_several_slow_items_counts():
    slow = [path("n1", "n2", "mlx5_0", value) for value in (100.0, 360.0, 200.0)]
    assert list(each_way().slowest(slow).values()) == [360.0]


def test_a_test_of_one_direction_hides_nothing():
    seen = each_way(*ONE_WAY)
    slowest = seen.slowest([path("n1", "n2", "mlx5_0", 391.0)])
    assert not seen.hides(path("n1", "n2", "mlx5_0", 380.0), slowest)


def test_without_a_slow_item_of_one_direction_nothing_is_hidden():
    seen = each_way(*ONE_WAY)
    slow = [path("n1", "n2", "mlx5_0", 200.0, BOTH)]
    assert seen.slowest(slow) == {}
    assert not seen.hides(path("n1", "n2", "mlx5_0", 392.0, BOTH), {})


def test_times_are_no_speeds():
    item = ONE_WAY[0]
    lower = replace(item, judgements=tuple(replace(j, better=LOWER) for j in item.judgements))
    seen = each_way(lower)
    assert seen.most == {}
    assert seen.least(lower, lower.judgements[0]) is None
