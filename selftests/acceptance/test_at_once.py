"""How many measurements a run makes at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from testing.core_values import cluster

from railgauge.acceptance.request import Request
from railgauge.core.model import Pair
from railgauge.planning.plan import Level

NODES = ("a", "b", "c", "d")
LEVEL = Level("smoke", ((Pair("a", "b"), Pair("c", "d")),), NODES, {})


@pytest.mark.parametrize(
    ("asked", "independent", "expected"),
    [(None, 1, 1), (None, 2, 2), (None, 16, 2), (1, 16, 1), (7, 1, 7)],
)
@pytest.mark.parametrize("tx", [None, ["popen", "3*popen"]], ids=["alone", "workers"])
def test_the_option_counts_before_the_hostfile_and_the_hostfile_up_to_a_round(
    asked, independent, expected, tx
):
    """Workers only judge, so their number does not count."""
    assert made_at_once(independent, at_once=asked, tx=tx) == expected


@pytest.mark.parametrize("tx", [None, ["3*popen"]], ids=["alone", "workers"])
def test_a_replay_makes_one_measurement_at_a_time(tx):
    assert made_at_once(2, at_once=2, tx=tx, replay="bundle") == 1


def test_one_measurement_is_made_at_a_time_without_pairs():
    assert made_at_once(16, Level("smoke", (), NODES[:1], {})) == 1


def made_at_once(independent, level=LEVEL, **options):
    site = replace(cluster(*NODES), independent_pairs=independent)
    option = SimpleNamespace(**{"at_once": None, "tx": None, "replay": None} | options)
    return Request(option, Path(), Path()).at_once(site, level)
