"""Collectives of a node are slow, and each of its NICs was fine: which NIC is slow now."""

from __future__ import annotations

import pytest
from test_measured_again import FINE, NICS, RING, answered, collectives_only, run, slow_of
from testing.diagnose_scenes import collectives, names, paths
from testing.straggler_scenes import rates

from railgauge.diagnosis import diagnose
from railgauge.diagnosis.confirm import follow_ups
from railgauge.planning.forecast import FOLLOW_UPS


def test_each_nic_of_the_node_is_measured_both_ways():
    found = collectives_only()
    asked = [one.question.case for one in follow_ups(found, diagnose(found))]
    assert {case.pairing.nic for case in asked if case.pairing} == set(NICS)
    assert {case.nodes[0] == "n2" for case in asked} == {True, False}
    assert len(asked) <= FOLLOW_UPS


@pytest.mark.parametrize("way", ["sending", "receiving"])
def test_a_nic_that_lags_within_its_limit_is_a_suspect_of_slow_collectives(way):
    slow = ("n2", NICS[1], way)
    fine = paths(RING, NICS, {slow: 374.0})
    found = run(*(rates(item) for item in fine), *collectives(RING, {"n2": 200.0}))
    (cause,) = diagnose(found)
    assert slow_of([cause]) == [("slow-nic", "n2", NICS[1], "open")]
    assert cause.would_decide == f"measure {NICS[1]} of n2 in both directions"


def test_nics_that_are_fine_are_not_behind_if_no_collective_shows_what_is_healthy():
    """Each collective that was measured has n2 in it."""
    pairs = [("n1", "n2"), ("n2", "n3")]
    found = run(*paths(RING, NICS, {}), *collectives(pairs, {"n2": 200.0}))
    (cause,) = answered(found, lambda case: FINE if case.pairing else 200.0)
    assert (cause.confidence, "as far behind" in cause.says) == ("open", False)


def test_a_direction_is_not_named_if_the_other_one_could_not_be_measured():
    def value(case):
        if not case.pairing or case.pairing.nic != NICS[2]:
            return FINE
        return 340.0 if case.nodes[0] == "n2" else "iperf3 printed no bw_received"

    (found,) = answered(collectives_only(), value)
    assert slow_of([found]) == [("slow-nic", "n2", NICS[2], "open")]
    assert found.would_decide == f"measure {NICS[2]} receiving of n2"


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (lambda case: case.nodes[0] == "n2", "slow-direction"),
        (lambda case: case.nodes[1] == "n2", "slow-direction"),
        (lambda case: True, "slow-nic"),
    ],
    ids=["sending", "receiving", "both"],
)
def test_the_nic_that_is_slow_now_is_the_cause(bad, named):
    def value(case):
        return 340.0 if case.pairing and case.pairing.nic == NICS[2] and bad(case) else FINE

    assert slow_of(answered(collectives_only(), value)) == [(named, "n2", NICS[2], "likely")]


def test_a_nic_within_its_limit_that_is_behind_the_others_is_the_cause():
    def value(case):
        return 380.0 if case.pairing and case.pairing.nic == NICS[0] else FINE

    assert slow_of(answered(collectives_only(), value)) == [("slow-nic", "n2", NICS[0], "likely")]


def test_if_all_nics_are_fine_the_node_remains():
    (cause,) = [c for c in answered(collectives_only(), lambda _case: FINE) if "slow" in c.cause]
    assert (cause.cause, cause.where.node, cause.where.device) == ("slow-node", "n2", "")
    assert "each of its NICs is fine" in cause.says
    assert cause.confidence == "open", "a GPU may have slowed down, or something comes and goes"


def test_a_node_whose_nics_lag_as_its_collectives_do_is_the_cause():
    """Within their limits all NICs are 4 % behind, and its collectives miss theirs."""
    usual = dict.fromkeys(names(4), 380.0)
    found = run(*paths(RING, NICS, {"n2": 375.0}), *collectives(RING, {**usual, "n2": 349.0}))
    (cause,) = [c for c in answered(found, lambda _case: 375.0) if "slow" in c.cause]
    assert (cause.cause, cause.where.node, cause.confidence) == ("slow-node", "n2", "likely")


def test_if_most_nics_are_slow_the_node_remains():
    assert slow_of(answered(collectives_only(), lambda _case: 340.0)) == [
        ("slow-node", "n2", "", "likely")
    ]


def test_a_node_whose_nics_are_slow_is_not_asked_about_its_nics():
    found = run(*paths(RING, NICS, {"n2": 300.0}), *collectives(RING, {"n2": 200.0}))
    assert not any(one.cause == "slow-nic" for one in follow_ups(found, diagnose(found)))
