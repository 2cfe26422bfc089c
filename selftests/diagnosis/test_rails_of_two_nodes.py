"""Two nodes have no other peer: their rails are compared with each other."""

import random
from dataclasses import replace

import pytest
from testing.diagnose_scenes import causes, named, path
from testing.straggler_scenes import GOOD, rates

from railgauge.core.model import Outcome

NICS = tuple(f"mlx5_{i}" for i in range(8))
PAIRS = (("n1", "n2"), ("n2", "n1"))
TESTS = {"host_write_bandwidth": "{}", "gpu_write_bandwidth": "gpu{n}-{}"}


def run(capacity=(), noise=0.001, seed=1, floors=(), nics=NICS):
    """Both directions over each NIC; ``capacity`` is by (sender, NIC) or by NIC."""
    chance, left, floor = random.Random(seed), dict(capacity), dict(floors)
    items = []
    for subject, form in TESTS.items():
        for pair in PAIRS:
            for nic in nics:
                share = min(left.get(nic, 1.0), left.get((pair[0], nic), 1.0))
                value = GOOD * share * (1 - noise * chance.random())
                item = rates(path(*pair, form.format(nic, n=nic[-1]), value, subject))
                if nic in floor:
                    judged = [replace(one, floor=floor[nic]) for one in item.judgements]
                    item = replace(item, judgements=tuple(judged))
                items.append(item)
    assert {item.outcome for item in items} == {Outcome.PASSED}
    return items


def test_a_rail_that_is_behind_the_others_leaves_both_nodes_suspects():
    (cause,) = causes(run({"mlx5_3": 0.96}))
    assert (cause.cause, cause.where.node, cause.where.device) == ("straggler", "n1|n2", "mlx5_3")
    assert (cause.confidence, cause.would_decide) == (
        "open", "measure each of them with another partner",
    )  # fmt: skip


def test_a_rail_that_is_behind_in_one_direction_says_in_which():
    (cause,) = causes(run({("n1", "mlx5_3"): 0.96}))
    assert named([cause]) == [("straggler", "n1|n2, mlx5_3")]
    assert "of what it sends, and n2 of what it receives" in cause.says


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("noise", [0.001, 0.01])
def test_healthy_rails_have_no_cause(seed, noise):
    assert causes(run(noise=noise, seed=seed)) == ()


def test_rails_with_other_limits_are_no_peers():
    slower = dict.fromkeys(NICS[:3], 0.96)
    assert causes(run(slower, floors=dict.fromkeys(NICS[:3], 360.0))) == ()


def test_of_two_rails_nobody_knows_which_is_right():
    assert causes(run({"mlx5_1": 0.96}, nics=NICS[:2])) == ()


def test_among_three_nodes_the_same_rail_of_the_others_is_the_peer():
    """A rail that is slower on all nodes is so by its place."""
    pairs = [("n1", "n2"), ("n2", "n3"), ("n3", "n1")]
    items = [
        rates(path(*pair, nic, GOOD * (0.96 if nic == "mlx5_3" else 1)))
        for pair in pairs
        for nic in NICS
    ]
    assert causes(items) == ()
