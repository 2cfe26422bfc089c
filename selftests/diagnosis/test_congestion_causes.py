"""Pairs that the traffic of other nodes slows: the leaf that they share, or the fabric."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from testing.diagnose_scenes import named, record, run_results

from railgauge.core.model import Judgement, Outcome
from railgauge.diagnosis import Cause, diagnose
from railgauge.judging.record import ItemRecord

LEAVES = {name: (f"{name}1", f"{name}2") for name in "abcd"}
NODES = tuple(node for nodes in LEAVES.values() for node in nodes)


def pair(one: str, other: str, *, slow: bool = False, metric: str = "latency_impact") -> ItemRecord:
    """The item of two victims."""
    outcome = Outcome.FAILED if slow else Outcome.PASSED
    reported = Judgement(metric, outcome, "20", "<= 4", "derived: x", reason="20 is above 4" if slow
                     else "", worst=20.0, margin=-4.0 if slow else 0.5)  # fmt: skip
    others = (node for node in NODES if node not in (one, other))
    item = record(
        4, "group_congestion", one, other, *others, outcome=outcome, reason=reported.reason
    )
    return replace(item, id=f"{item.id}-{one}-{other}", judgements=(reported,))


def causes(*items: ItemRecord) -> tuple[Cause, ...]:
    found = run_results(items, nodes=NODES)
    return diagnose(replace(found, cluster=replace(found.cluster, groups=LEAVES)))


@pytest.mark.parametrize("metric", ["latency_impact", "bandwidth_impact"])
def test_the_leaf_that_the_slow_pairs_share_is_named(metric: str) -> None:
    found = causes(
        pair("a1", "b1", slow=True, metric=metric),
        pair("b1", "c1", slow=True, metric=metric),
        pair("c1", "d1"),
        pair("d1", "a1"),
    )
    assert named(found) == [("congestion-impact", "b[1-2]")]


def test_all_pairs_are_the_fabric() -> None:
    ring = ("a1", "b1", "c1", "d1", "a1")
    items = [pair(one, other, slow=True) for one, other in pairwise(ring)]
    assert named(causes(*items)) == [("congestion-impact", "the cluster")]


def test_one_slow_pair_blames_no_leaf() -> None:
    found = causes(
        pair("a1", "b1", slow=True), pair("b1", "c1"), pair("c1", "d1"), pair("d1", "a1")
    )
    assert named(found) == [("congestion-impact", "the cluster")]


def test_a_pair_that_is_slow_without_load_is_not_slowed_by_it() -> None:
    found = causes(pair("a1", "b1", slow=True, metric="bandwidth_isolated"))
    assert "congestion-impact" not in {cause.cause for cause in found}
