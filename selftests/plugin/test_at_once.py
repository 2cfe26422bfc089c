"""How many measurements a process makes at once."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from testing.core_values import cluster

from railgauge.core.model import Pair
from railgauge.planning.plan import Level
from railgauge.plugin.options import at_once, workers

NODES = ("a", "b", "c", "d")
LEVEL = Level("smoke", ((Pair("a", "b"), Pair("c", "d")),), NODES, {})


def config(asked=None, tx=None, replay=None, **more):
    option = SimpleNamespace(at_once=asked, tx=tx, replay=replay)
    return SimpleNamespace(option=option, **more)


def worker(count, asked=None, **more):
    """In a worker of pytest-xdist, of so many."""
    return config(asked, workerinput={"workercount": count}, **more)


@pytest.mark.parametrize(
    ("asked", "independent", "expected"),
    [(None, 1, 1), (None, 2, 2), (None, 16, 2), (1, 16, 1), (7, 1, 7)],
)
def test_the_option_counts_before_the_hostfile_and_the_hostfile_up_to_a_round(
    asked, independent, expected
):
    site = replace(cluster(*NODES), independent_pairs=independent)
    assert at_once(config(asked), site, LEVEL) == expected


def test_a_replay_makes_one_at_a_time_and_one_in_each_worker():
    site = replace(cluster(*NODES), independent_pairs=2)
    assert at_once(config(2, replay="bundle"), site, LEVEL) == 1
    assert at_once(config(2, tx=["3*popen"], replay="bundle"), site, LEVEL) == 3
    assert at_once(worker(3, 9, replay="bundle"), site, LEVEL) == 1


@pytest.mark.parametrize(
    ("asked", "count", "expected"),
    [(None, 2, 1), (4, 2, 2), (5, 2, 3), (8, 3, 3), (2, 2, 1), (2, 4, 1), (1, 4, 1), (7, 1, 7)],
)
def test_each_worker_has_its_share_of_what_is_asked_for(asked, count, expected):
    """Their sum may be more: the controller hands out no more than that in all."""
    site = replace(cluster(*NODES), independent_pairs=16)
    assert at_once(worker(count, asked), site, LEVEL) == expected
    assert at_once(config(asked, tx=count * ["popen"]), site, LEVEL) == (asked or count)


def test_workers_are_counted_as_xdist_does():
    assert workers(config()) == 0
    assert workers(config(tx=["popen", "3*popen", "popen//python=a*b"])) == 5
    assert workers(worker(3)) == 3
