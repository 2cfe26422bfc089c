"""The changes over the nights at the end of a run: a change is new once, a fault is one line."""

import pytest
from testing.histories import BANDWIDTHS, history, step, write_nights

from railgauge.trend.tonight import _may_be_one, since_last_night, summarized
from railgauge.trend.values import TrendScope

FAULT = step(14, 0.04, lambda key: "n02" in key.nodes and key.subject == BANDWIDTHS[0][0])


def up_to(nights, night):
    return summarized(nights[:night], nights[night - 1].run_id)


@pytest.fixture(scope="module")
def nights():
    return history(3, 20, FAULT, noise=0.001)


def test_a_change_is_new_on_one_night_and_known_on_all_later_ones(nights):
    by_night = {night: up_to(nights, night) for night in range(12, 21)}
    new = [night for night, one in by_night.items() if one.new]
    assert new == [15], "two nights of a level that a node's series share are needed"
    (line,) = by_night[15].new
    assert line.startswith("regression since 20260114-020000-alpha: n02, host_write_bandwidth")
    assert by_night[15].summary.endswith(": 1 regression, 1 change new tonight")
    assert [one.earlier for night, one in by_night.items() if night < 16] == [()] * 4
    assert all(len(one.earlier) == 1 for night, one in by_night.items() if night > 15)


def test_a_recovery_is_new_and_shows_its_date():
    ends = step(8, 0.05, lambda key: "n02" in key.nodes, until=14)
    nights = history(5, 20, ends, noise=0.001)
    assert [line.split(":")[0] for line in up_to(nights, 15).new] == [
        "recovered since 20260114-020000-alpha, after nights from 20260108-020000-alpha"
    ]


def test_a_second_fault_of_the_node_is_new_though_the_first_is_known(nights):
    def both(night, key):
        slow = night >= 17 and key.subject == "gpu_copy" and key.nodes == ("n02",)
        return FAULT(night, key) * (0.9 if slow else 1)

    at = up_to(history(3, 20, both, noise=0.001), 18)
    assert [line for line in at.new if "gpu_copy" in line]
    assert [line for line in at.earlier if "host_write_bandwidth" in line]


@pytest.mark.parametrize(
    ("one", "other", "may_be"),
    [
        (TrendScope(("n02",), "write"), TrendScope(("n02",)), True),
        (TrendScope(("n02",)), TrendScope(), True),
        (TrendScope(("n02", "n03"), "write"), TrendScope(("n02",), "write"), True),
        (TrendScope(("n02",), "write"), TrendScope(("n02",), "gpu_copy"), False),
        (TrendScope(("n02",), pairing="mlx5_0"), TrendScope(("n02",), pairing="mlx5_1"), False),
        (TrendScope(("n02",)), TrendScope(("n03",)), False),
    ],
)
def test_a_change_that_names_another_part_is_another_one(one, other, may_be):
    assert _may_be_one(one, other) is _may_be_one(other, one) is may_be


def test_healthy_nights_have_nothing_new():
    found = up_to(history(4, 20), 20)
    assert (found.new, found.earlier) == ((), ())


def test_too_few_nights_give_no_summary(nights):
    assert up_to(nights, 4) is None


def test_a_run_reads_the_nights_beside_it_and_none_after_it(template, tmp_path):
    slow = step(9, 0.04, lambda key: "viper" in key.nodes and key.subject == "host_send_bandwidth")
    write_nights(tmp_path, template, 1, 12, slow)
    at = tmp_path / "reports" / f"20260110-020000-{template.verdict['cluster']}"
    found = since_last_night(at)
    assert found.summary.startswith("10 nights, 21 series judged: 1 regression")
    assert [("viper" in line) for line in found.new] == [True]
    assert since_last_night(tmp_path) is None
