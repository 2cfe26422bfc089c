"""Faults of different severity are told apart by how fast each path was."""

import pytest
from testing.diagnose_scenes import (
    both_directions,
    causes,
    collective,
    collectives,
    named,
    names,
    pairs_of,
    paths,
)

from railgauge.core.terms import Flow
from railgauge.diagnosis.localise import PathRate, PathResult, likeliest

NICS = ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3")
RING = list(pairs_of(names(4), 2))


def rate(pair, share, nic="mlx5_0", flow=Flow.FORWARD):
    return PathRate(PathResult(pair, share < 0.95, None, nic, flow=flow), share, "write")


def ring(value):
    """Writes and reads between four nodes; ``value`` gives the share of a pair over a NIC."""
    flows = (Flow.FORWARD, Flow.BACKWARD)
    return [rate(p, value(p, nic), nic, flow) for p in RING for nic in NICS for flow in flows]


def test_a_slow_path_beside_a_slower_nic_on_its_rail():
    """All pairs of n2 over mlx5_3 are slow; their values still show two faults."""
    slow = set(RING[0])
    (node,) = [name for name in names(4) if name not in slow][:1]

    def value(pair, nic):
        of_nic = 0.93 if node in pair and nic == NICS[3] else 1.0
        return 0.83 if slow == set(pair) else of_nic

    found = likeliest(ring(value))
    expected = {("pair", min(slow), ""), ("nic", node, NICS[3])}
    assert {(part.kind, part.node, part.device) for part in found.parts} == expected
    assert found.undecided == ()


def test_the_same_by_the_rules():
    nic_of = next(n for n in names(4) if n not in RING[0])
    slow = {frozenset(RING[0]): 325.0, (nic_of, NICS[3]): 364.0}
    found = causes(both_directions(RING, NICS, slow))
    assert set(named(found)) == {
        ("slow-path", " and ".join(sorted(RING[0]))), ("slow-nic", f"{nic_of}, {NICS[3]}")
    }  # fmt: skip


def test_three_faults_on_one_rail_leave_one_pair_of_suspects():
    pairs = list(pairs_of(names(6), 2))
    shares = {"n1": 0.8, "n4": 0.82}
    path_ = next(pair for pair in pairs if not set(pair) & set(shares))

    def value(pair):
        return min(0.86 if pair == path_ else 1, *(shares.get(node, 1) for node in pair))

    forth = [rate(pair, value(pair)) for pair in pairs]
    back = [rate(pair, value(pair), flow=Flow.BACKWARD) for pair in pairs]
    found = likeliest([*forth, *back])
    assert {part.node for part in found.parts if part.kind == "node"} >= {"n1", "n4"}
    left = {name for open_ in found.undecided for name in open_.among}
    assert all(set(name.partition(" ")[0].split(":")) & set(path_) for name in left)


def test_a_part_is_no_cause_of_what_is_slower_than_it():
    """n1 reaches 0.93 with n3, so it is not why it reaches 0.83 with n2."""
    fine = [("n2", "n4"), ("n4", "n2"), ("n4", "n3"), ("n3", "n4")]
    slow = [rate(("n1", "n2"), 0.83), rate(("n3", "n1"), 0.93)]
    found = likeliest([*slow, *(rate(pair, 1.0) for pair in fine)])
    suspects = [set(open_.among) for open_ in found.undecided]
    assert not any({"n1", "n1:n2"} <= names_ for names_ in suspects)
    assert not any(part.kind == "node" and not part.way for part in found.parts)


def test_the_sum_of_both_directions_clears_no_single_one():
    """0.965 of the sum leaves 0.93 in one direction."""
    one_way = rate(("n1", "n2"), 0.93)
    both = PathRate(PathResult(("n1", "n2"), False, None, "mlx5_0", flow=Flow.BOTH), 0.965, "both")
    clear = PathRate(PathResult(("n1", "n2"), False, None, "mlx5_0", flow=Flow.BOTH), 1.0, "both")
    others = [rate(("n2", "n3"), 1.0), rate(("n3", "n1"), 1.0)]
    ways = {name for o in likeliest([one_way, both, *others]).undecided for name in o.among}
    assert {"n1 sending", "n2 receiving"} <= ways
    assert likeliest([one_way, clear, *others]) is None


def test_a_sum_with_a_slow_node_still_fits_a_slow_direction_of_its_partner():
    """n5 sends at 0.6 over mlx5_1, n4 is at 0.9: together 0.75 of the sum, not 0.8 as with n2."""

    def both(pair, share, nic):
        return PathRate(PathResult(pair, share < 0.95, None, nic, flow=Flow.BOTH), share, "both")

    n4 = [(rate(("n4", "n5"), 0.9, nic), both(("n4", "n5"), 0.9, nic)) for nic in NICS[2:]]
    fine = [(rate(("n5", "n2"), 1.0, nic), both(("n5", "n2"), 1.0, nic)) for nic in NICS[2:]]
    bad = [
        *(rate(("n4", "n5"), 0.9, NICS[1]), both(("n4", "n5"), 0.75, NICS[1])),
        *(rate(("n5", "n2"), 0.6, NICS[1]), both(("n5", "n2"), 0.8, NICS[1])),
    ]
    found = likeliest([*(one for pair in (*n4, *fine) for one in pair), *bad])
    assert [(p.kind, p.node, p.device, p.way) for p in found.parts] == [
        ("nic", "n5", "mlx5_1", "sending")
    ]
    (open_,) = found.undecided
    assert {"n4", "n4:n5"} <= set(open_.among) <= {"n4", "n4 sending", "n4:n5"}


def test_sums_of_both_directions_alone_show_a_slow_part():
    """Else their items were lost: the values seemed to need no part at all."""
    both = [
        PathRate(PathResult(pair, share < 0.95, None, "mlx5_0", flow=Flow.BOTH), share, "both")
        for pair, share in ((("n1", "n2"), 0.8), (("n3", "n1"), 0.8), (("n2", "n3"), 1.0))
    ]
    found = likeliest(both)
    names_ = {str(part) for part in found.parts}
    names_ |= {name for open_ in found.undecided for name in open_.among}
    assert "n1" in {name.partition(" ")[0] for name in names_}


def test_two_collectives_of_different_severity_are_two_faults():
    """n1 is slow, and so is the path between n3 and n4, by less; n3 met slow partners only."""
    pairs = {("n4", "n3"): 330.0, ("n1", "n2"): 250.0, ("n3", "n1"): 250.0}
    pairs |= {("n5", "n2"): 392.0, ("n4", "n5"): 392.0}
    fine = paths(list(pairs), NICS, {})
    found = causes(*fine, *(collective(pair, value) for pair, value in pairs.items()))
    slow = {(c.where.node, c.confidence) for c in found}
    assert slow == {("n1", "likely"), ("n3", "open")}
    (open_,) = [c for c in found if c.confidence == "open"]
    assert "n3:n4" in open_.says


def test_a_path_over_which_all_else_was_faster_is_undecided():
    """Its collective was slow once; a fault that comes and goes would look the same."""
    fine = both_directions(RING, NICS, {})
    pair = RING[0]
    once = collectives(RING, {frozenset(pair): 200.0})
    (cause,) = causes(*fine, *once)
    assert (cause.cause, cause.confidence) == ("slow-path", "open")
    assert "reached up to 100 % of what other pairs reach" in cause.says
    one_nic = {(node, NICS[2]): 375.0 for node in pair}
    (cause,) = causes(both_directions([pair], NICS, one_nic), fine[8:], *once)
    assert (cause.cause, cause.confidence) == ("slow-path", "open"), "one NIC is behind, not all"
    both = both_directions(RING, NICS, {frozenset(pair): 375.0})
    usual = dict.fromkeys(names(4), 380.0)
    (cause,) = causes(*both, *collectives(RING, {**usual, frozenset(pair): 349.0}))
    assert (cause.cause, cause.confidence) == ("slow-path", "likely"), "slower by as much below"


def test_results_that_no_few_parts_explain_are_left_to_slow_and_fast():
    """The same path is slow and fast: nothing on it is slow all the time."""
    assert likeliest([rate(("n1", "n2"), 0.8), rate(("n1", "n2"), 1.0)]) is None


def test_many_unrelated_faults_are_not_searched_for_ever():
    pairs = [(f"a{i}", f"b{i}") for i in range(40)]
    assert likeliest([rate(pair, 0.8 - i / 1000) for i, pair in enumerate(pairs)]) is None


def test_rates_without_a_healthy_one_of_their_kind_decide_nothing():
    """All pairs are slow: none shows what a healthy pair reaches."""
    found = causes(paths(RING, NICS[:1], dict.fromkeys(names(4), 300.0)))
    assert {cause.confidence for cause in found} == {"open"}


@pytest.mark.parametrize("severity", [0.93, 0.85])
def test_a_slow_direction_is_not_taken_for_the_path(severity):
    """Sends have a tighter limit than writes, which pass; so the partner looks cleared."""
    slow = {("n2", NICS[0], "receiving"): 392.0 * severity}
    found = causes(both_directions(RING, NICS, slow))
    assert [cause.where.peer for cause in found if cause.confidence == "likely"] == [""]


def test_a_nic_that_is_slow_by_another_amount_in_each_direction_may_be_two():
    """n3 sends slowly to n2 alone and receives slowly from n4 alone, over one rail."""
    pairs = [("n4", "n3"), ("n3", "n2"), ("n2", "n1"), ("n1", "n4")]
    two = {("n3", NICS[1], "receiving"): 341.0, ("n2", NICS[1], "receiving"): 345.0}
    found = causes(paths(pairs, NICS, two))
    assert {cause.confidence for cause in found} == {"open"}
    assert any("n2 mlx5_1 receiving" in cause.says for cause in found)
    (one,) = causes(paths(pairs, NICS, {("n3", NICS[1]): 343.0}))
    assert (one.cause, one.where.node, one.confidence) == ("slow-nic", "n3", "likely")
