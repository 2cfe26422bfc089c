"""The model of slow parts finds what its own readings were drawn from."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from healthy_seeds_lab import InProcessLab
from testing.drawn_figures import DrawnFigures

from railgauge.diagnosis.slow import inferred
from railgauge.diagnosis.slow.constants import When
from railgauge.diagnosis.slow.faults import PartFault
from railgauge.diagnosis.slow.known import KnownCause
from railgauge.tools.form import ClusterPart, KindOfPart


def lab(platform: str, nodes: int, seed: int) -> DrawnFigures:
    one = InProcessLab(platform, count=nodes)
    return DrawnFigures(one.platform, one.cluster, seed)


def drawn_faults(platform: str, nodes: int, seed: int, count: int) -> DrawnFigures:
    """So many faults of different nodes: of two parts of one it is not always known which is slow.

    Links and PCIe paths are measured only once.
    """
    drawn = lab(platform, nodes, seed)
    some = [p for p in drawn.parts if p.kind not in (KindOfPart.LINK, KindOfPart.PCIE)]
    chosen = [drawn.random.choice(some)]
    while len(chosen) < count:
        taken = {node for part in chosen for node in part.nodes}
        chosen.append(drawn.random.choice([p for p in some if taken.isdisjoint(p.nodes)]))
    drawn.faults = {part: -drawn.random.uniform(0.05, 0.25) for part in chosen}
    return drawn


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("platform", ["metax-c500", "h100-tcpx"])
def test_faults_drawn_from_the_model_are_found_again(platform, seed):
    """Each is decided or among the suspects, and no other part is decided."""
    drawn = drawn_faults(platform, 4 + seed % 2, seed, 1 + seed % 2)
    found = inferred(drawn.results()).found_parts
    decided = {one.part for one in found if one.is_decided}
    suspected = {part for one in found for part in (one.part, *one.rivals)}
    assert decided <= set(drawn.faults)
    assert set(drawn.faults) <= suspected


@pytest.mark.parametrize("seed", range(3))
def test_a_loss_that_varies_is_one_fault(seed):
    drawn = lab("mi300x", 5, seed)
    node = drawn.random.choice(drawn.cluster.nodes).name
    drawn.faults = {ClusterPart(KindOfPart.NODE, node): -0.3}
    (found,) = inferred(drawn.results(varying=True)).found_parts
    assert found.is_decided
    assert (found.part.kind, found.part.node, found.when) == ("node", node, When.VARYING)


def test_two_faults_of_one_part_are_both_found_and_counted_apart():
    drawn = lab("mi300x", 5, 4)
    node = ClusterPart(KindOfPart.NODE, drawn.cluster.nodes[2].name)
    drawn.faults = {node: -0.05}
    found = {one.when: one for one in inferred(drawn.results(at_times={node: -0.2})).found_parts}
    assert set(found) == {When.ALWAYS, When.AT_TIMES}
    assert {one.part for one in found.values()} == {node}
    assert found[When.ALWAYS].slow == found[When.ALWAYS].of
    assert 0.2 < found[When.AT_TIMES].slow / found[When.AT_TIMES].of < 0.6


def test_a_healthy_cluster_has_no_finding():
    assert inferred(lab("metax-c500", 4, 1).results()).found_parts == ()


def test_what_a_fact_shows_explains_a_loss_away():
    """Two ends and their path explain one slow pair alike, until a fact shows one of them."""
    drawn = lab("connectx4-homelab", 2, 3)
    slow = next(part for part in drawn.parts if part.kind is KindOfPart.NODE)
    drawn.faults = {slow: -0.2}
    results = drawn.results()
    before = inferred(results)
    (open_one,) = before.found_parts
    assert not open_one.is_decided
    other = next(part for part in (open_one.part, *open_one.rivals) if part.kind is KindOfPart.NODE)
    shown = KnownCause(
        "link-error-rate", frozenset({other.node}), frozenset(), "", lambda item: bool(item.nodes)
    )
    assert inferred(results, [shown]).found_parts == ()


def test_the_probabilities_of_courses_sum_to_one():
    for when in (When.ALWAYS, When.SINCE, When.AT_TIMES):
        weights = [math.exp(weight) for weight, _ in PartFault(0, when, -0.1, 0.3).states]
        assert sum(weights) == pytest.approx(1)


def test_a_nic_that_sends_even_more_slowly_may_be_two_slow_directions():
    """Both explain the same figures, so neither of the two ways to put it is decided."""
    drawn = lab("h100-tcpx", 5, 11)
    nic = ClusterPart(KindOfPart.NIC, "tcpx02", "eth1")
    drawn.faults = {nic: -0.16, replace(nic, kind=KindOfPart.SEND): -0.23}
    found = inferred(drawn.results()).found_parts
    assert {one.part.kind for one in found if one.is_decided} == {KindOfPart.SEND}
    suspected = {part.kind for one in found for part in (one.part, *one.rivals)}
    assert {KindOfPart.NIC, KindOfPart.SEND, KindOfPart.RECEIVE} <= suspected
