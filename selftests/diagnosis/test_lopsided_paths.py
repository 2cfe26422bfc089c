"""A path that loses more in one direction may be two faults of its ends that meet."""

from __future__ import annotations

from itertools import permutations

import pytest
from testing.diagnose_scenes import causes, names, paths

NIC = ("mlx5_0",)
EVERY_PAIR = list(permutations(names(4), 2))


def found(capacity):
    told = causes(*paths(EVERY_PAIR, NIC, capacity))
    return {(one.cause, str(one.where)): one for one in told if one.cause.startswith("slow-")}


def ways(there, back):
    """What a test from n1 to n2 reaches, and one from n2 to n1, each over the path."""
    one = paths([("n1", "n2")], NIC, {frozenset(("n1", "n2")): there})
    other = paths([("n2", "n1")], NIC, {frozenset(("n1", "n2")): back})
    rest = paths([pair for pair in EVERY_PAIR if set(pair) != {"n1", "n2"}], NIC, {})
    told = causes(*one, *other, *rest)
    (path,) = (one for one in told if one.cause == "slow-path")
    return path


@pytest.mark.parametrize(("there", "back"), [(200.0, 200.0), (200.0, 230.0)])
def test_a_path_that_loses_as_much_both_ways_is_one_cause(there, back):
    assert ways(there, back).confidence == "likely"


@pytest.mark.parametrize(("there", "back"), [(200.0, 340.0), (340.0, 200.0)])
def test_a_path_that_loses_far_more_in_one_direction_is_undecided(there, back):
    path = ways(there, back)
    assert path.confidence == "open"
    assert "51 % of what other pairs reach" in path.says
    assert "two faults may meet here" in path.says
    assert "with nodes that are known to be good" in path.would_decide


# --- inside a slow node ---

SLOW = {"n1": 340.0}


def inside(capacity):
    return found({**SLOW, **capacity})["slow-path", "n1 and n2"]


def test_a_path_of_a_slow_node_that_is_slower_both_ways_is_named():
    assert inside({frozenset(("n1", "n2")): 250.0}).confidence == "likely"


def test_a_path_of_a_slow_node_that_is_slower_one_way_is_undecided():
    """n1 may send more slowly than it receives; it is slow as a whole."""
    there = paths([("n1", "n2")], NIC, {"n1": 250.0})
    rest = paths([pair for pair in EVERY_PAIR if pair != ("n1", "n2")], NIC, SLOW)
    told = causes(*there, *rest)
    assert ("slow-node", "n1") in {(one.cause, str(one.where)) for one in told}
    (path,) = (one for one in told if one.cause == "slow-path")
    assert path.confidence == "open"
    assert "in one direction only" in path.says
