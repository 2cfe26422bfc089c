"""How many measurements a process makes at once."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from testing.core_values import cluster

from railgauge.core.errors import BadInput
from railgauge.core.model import Pair
from railgauge.planning.plan import Level
from railgauge.plugin.options import at_once

NODES = ("a", "b", "c", "d")
LEVEL = Level("smoke", ((Pair("a", "b"), Pair("c", "d")),), NODES, {})


def config(asked=None, tx=None, replay=None, **more):
    return SimpleNamespace(option=SimpleNamespace(at_once=asked, tx=tx, replay=replay), **more)


@pytest.mark.parametrize(
    ("asked", "independent", "expected"),
    [(None, 1, 1), (None, 2, 2), (None, 16, 2), (1, 16, 1), (7, 1, 7)],
)
def test_the_option_counts_before_the_hostfile_and_the_hostfile_up_to_a_round(
    asked, independent, expected
):
    site = replace(cluster(*NODES), independent_pairs=independent)
    assert at_once(config(asked), site, LEVEL) == expected


def test_a_worker_and_a_replay_make_one_at_a_time():
    site = replace(cluster(*NODES), independent_pairs=2)
    assert at_once(config(tx=["popen"]), site, LEVEL) == 1
    assert at_once(config(workerinput={}), site, LEVEL) == 1
    assert at_once(config(2, replay="bundle"), site, LEVEL) == 1


def test_workers_and_several_at_once_cannot_be_combined():
    with pytest.raises(BadInput, match="each worker makes one measurement at a time"):
        at_once(config(2, tx=["popen"]), cluster(*NODES), LEVEL)
    assert at_once(config(1, tx=["popen"]), cluster(*NODES), LEVEL) == 1
