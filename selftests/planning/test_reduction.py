"""A level from which ``--rounds`` leaves something out, and one from which it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import cluster
from testing.places import ROOT

from railgauge.config import thresholds
from railgauge.config.thresholds.model import PairLevel
from railgauge.core.terms import Scope
from railgauge.planning import pairing, plan, reduction

HOMELAB = thresholds.load("connectx4-homelab", ROOT / "thresholds")
RING, ALL, TWO = PairLevel("ring"), PairLevel("all"), PairLevel("tournament", 2)


def less(nodes, rounds, level="signoff", platform=HOMELAB, directions=pairing.BOTH_WAYS):
    names = [f"n{number}" for number in range(1, nodes + 1)]
    found = reduction.of(platform, cluster(*names), level, rounds, directions)
    return str(found) if found else ""


@pytest.mark.parametrize("level", [RING, ALL, TWO], ids=["ring", "all", "two"])
@pytest.mark.parametrize("count", [None, 1, 2, 3, 5, 99])
def test_the_number_of_pairs_is_that_of_the_rounds(level, count):
    for nodes in range(1, 13):
        names = [f"n{number}" for number in range(nodes)]
        listed = sum(map(len, pairing.rounds(names, level, count)))
        assert pairing.number_of_pairs(nodes, level, count) == listed


def test_fewer_pairs_than_those_of_the_level_are_a_reduction():
    assert less(6, 1) == "level signoff reduced by --rounds 1: 3 of 15 pairs"
    assert less(6, 4) == "level signoff reduced by --rounds 4: 12 of 15 pairs"
    assert less(3, 1, "smoke") == "level smoke reduced by --rounds 1: 2 of 3 pairs"
    assert less(1250, 2) == "level signoff reduced by --rounds 2: 1250 of 780625 pairs"
    assert less(20_000, 1).endswith("10000 of 199990000 pairs")  # and is not listed


def test_all_pairs_of_the_level_are_no_reduction():
    for nodes, rounds, level in ((6, 5, "signoff"), (5, 4, "signoff"), (6, 9, "signoff")):
        assert less(nodes, rounds, level) == ""
    for rounds in (None, 2, 3):
        assert less(6, rounds, "nightly") == ""
    assert less(1, 1) == ""
    one = {**HOMELAB.pair_levels, "signoff": PairLevel("tournament", 1)}
    for nodes in (2, 6):
        assert less(nodes, 1, platform=replace(HOMELAB, pair_levels=one)) == ""


def test_the_one_pair_in_one_direction_is_less_than_in_both():
    assert less(2, 1) == "level signoff reduced by --rounds 1: 1 of 2 directions of the pair"
    assert less(2, 2) == ""
    assert less(2, 1, directions=pairing.DIRECTED) == ""  # earlier versions never made the other
    symmetric = {n: m for n, m in HOMELAB.measurements.items() if not plan.is_one_way(m)}
    assert less(2, 1, platform=replace(HOMELAB, measurements=symmetric)) == ""


def test_without_measurements_of_pairs_nothing_is_left_out():
    every = HOMELAB.measurements.items()
    of_nodes = {name: replace(one, scope=Scope.NODE) for name, one in every}
    of_others = {
        name: replace(one, extents={"nightly": one.extents["nightly"]})
        for name, one in every
        if "nightly" in one.extents
    }
    assert of_others
    for measured in ({}, of_nodes, of_others):
        assert less(6, 1, platform=replace(HOMELAB, measurements=measured)) == ""


def test_more_pairs_than_the_sample_of_a_large_smoke_are_no_reduction():
    assert less(512, 1, "smoke") == ""
