"""A loss that recovers and comes back: both are reported, each with what is left of it."""

import pytest
from testing.histories import history, series

from railgauge.trend import findings

NODES = tuple(series(("n01", "n02", "n03", "n04"), nics=2))
ALONE = next(key for key in NODES if key.subject == "host_write_bandwidth")


def levels(of, *shares):
    """From the given nights on (first night, share that is lost), in the chosen series."""

    def change(night, key):
        lost = [share for first, share in shares if night >= first]
        return 1 - lost[-1] if lost and of(key) else 1.0

    return change


def of_node(key):
    return "n02" in key.nodes and key.subject == "host_write_bandwidth"


def reported(seed, nights, change, noise):
    found = history(seed, nights, change, noise=noise, keys=NODES)
    return [
        (one.verdict, one.since[6:8], round(one.worse, 2), one.recovered[6:8])
        for one in findings(found[:-1], found[-1]).findings
    ]


def is_alone(key):
    return key == ALONE


@pytest.mark.parametrize(("of", "noise"), [(of_node, 0.001), (is_alone, 0.001), (of_node, 0.002)])
def test_a_second_and_smaller_loss_after_a_recovery_is_found(of, noise):
    """10 % for five nights, three fine ones, then 4 %."""
    lost = levels(of, (20, 0.10), (25, 0.0), (28, 0.04))
    for seed in range(5):
        assert reported(seed, 32, lost, noise) == [
            ("regression", "28", 0.04, ""),
            ("recovered", "20", 0.10, "25"),
        ]


@pytest.mark.parametrize("second", [0.06, 0.15])
def test_a_large_second_loss_leaves_the_first_recovered(second):
    lost = levels(of_node, (12, 0.10), (17, 0.0), (21, second))
    assert reported(1, 26, lost, 0.001) == [
        ("regression", "21", second, ""),
        ("recovered", "12", 0.10, "17"),
    ]


def test_a_loss_in_two_steps_that_recovers_at_once_is_no_regression():
    lost = levels(of_node, (10, 0.05), (15, 0.10), (20, 0.0))
    assert {verdict for verdict, *_ in reported(1, 25, lost, 0.001)} == {"recovered"}


def test_a_loss_that_comes_back_in_part_is_still_there():
    lost = levels(of_node, (10, 0.10), (15, 0.06))
    assert reported(1, 20, lost, 0.001)[0][:3] == ("regression", "10", 0.10)
