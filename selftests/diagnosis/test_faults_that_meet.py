"""Two faults of different severity that show in the same pairs are both named."""

from dataclasses import replace

import pytest
from test_measured_again import FINE, NICS, RING, answered, run, slow_of
from test_stragglers import rates
from testing.core_values import judgement
from testing.diagnose_scenes import collectives, names, paths, record

from railgauge.core.model import Outcome
from railgauge.diagnosis import Cause, diagnose, nodes_of
from railgauge.diagnosis.asking import by_margin
from railgauge.diagnosis.confirm import follow_ups
from railgauge.diagnosis.model import Where
from railgauge.diagnosis.peers import without_slow_partners
from railgauge.diagnosis.peers.standing import standings
from railgauge.tools.metric import LOWER

NIC = NICS[:1]


def test_a_slow_direction_on_a_slow_path_is_named_beside_it():
    """The path limits all NICs alike; one of them sends less than the path carries."""

    def rate(nodes, nic):
        together = 362.0 if set(nodes) == {"n1", "n4"} else FINE
        return min(together, 353.0 if (nodes[0], nic) == ("n1", NICS[3]) else FINE)

    ring = [("n1", "n4"), ("n2", "n1"), ("n3", "n2"), ("n4", "n3")]
    path = {frozenset(("n1", "n4")): 362.0}
    one_way = paths(ring, NICS, {**path, ("n1", NICS[3], "sending"): 353.0})
    usual = {**path, ("n1", NICS[3]): (353.0 + FINE) / 2}
    both_ways = paths(ring, NICS, usual, "host_write_bandwidth_bidirectional")
    found = answered(run(*one_way, *both_ways), lambda case: rate(case.nodes, case.pairing.nic))
    assert slow_of(found) == [
        ("slow-path", "n1", "", "likely"), ("slow-direction", "n1", NICS[3], "likely"),
    ]  # fmt: skip


def test_a_slow_direction_that_met_a_slow_path_is_not_slow_in_both():
    """n4 is slow over the NIC with two partners; with one of them, because of the path."""

    def rate(nodes, nic):
        together = 235.0 if set(nodes) == {"n1", "n4"} else FINE
        return min(together, 368.0 if (nodes[0], nic) == ("n4", NICS[3]) else FINE)

    ring = [("n1", "n4"), ("n2", "n1"), ("n3", "n2"), ("n4", "n3")]
    path = {frozenset(("n1", "n4")): 235.0}
    one_way = paths(ring, NICS, {**path, ("n4", NICS[3], "sending"): 368.0})
    usual = {**path, ("n4", NICS[3]): (368.0 + FINE) / 2}
    both_ways = paths(ring, NICS, usual, "host_write_bandwidth_bidirectional")
    found = answered(run(*one_way, *both_ways), lambda case: rate(case.nodes, case.pairing.nic))
    assert sorted(slow_of(found)) == [
        ("slow-direction", "n4", NICS[3], "likely"), ("slow-path", "n1", "", "likely"),
    ]  # fmt: skip


def test_a_path_that_is_as_slow_over_each_nic_is_one_cause():
    capacity = {frozenset(("n1", "n4")): 356.0}
    found = answered(
        run(*paths(RING, NICS, capacity)),
        lambda case: 356.0 if set(case.nodes) == {"n1", "n4"} else FINE,
    )
    assert [(cause.cause, str(cause.where)) for cause in found] == [("slow-path", "n1 and n4")]


def test_two_nodes_that_receive_at_different_rates_are_two_directions():
    """By slow and fast alone, n4 is slow with both of its partners, in both directions."""
    receives = {"n4": 340.0, "n5": 365.0}

    def rate(nodes):
        return receives.get(nodes[1], FINE)

    pairs = [("n4", "n5"), ("n1", "n4"), ("n5", "n2"), ("n3", "n1"), ("n2", "n3")]
    capacity = {(node, NIC[0], "receiving"): value for node, value in receives.items()}
    found = answered(run(*paths(pairs, NIC, capacity), nodes=5), lambda case: rate(case.nodes))
    assert sorted(slow_of(found)) == [
        ("slow-direction", "n4", "", "likely"), ("slow-direction", "n5", "", "likely"),
    ]  # fmt: skip


def late(*nodes):
    """A latency that missed its limit by more than any rate does."""
    item = record(1, "host_send_latency", *nodes, part=NIC[0], size_bytes=2)
    judged = judgement(Outcome.FAILED, metric="lat_avg", worst=9.0, ceiling=1.3, margin=-6.0)
    return replace(item, outcome=Outcome.FAILED, judgements=(replace(judged, better=LOWER),))


def test_a_rate_is_measured_again_rather_than_a_latency():
    found = run(*paths([("n1", "n2")], NIC, {"n1": 200.0}), late("n1", "n2"))
    ordered = [item.subject for item in by_margin(found.records.values())]
    assert ordered == ["host_write_bandwidth", "host_send_latency"]


@pytest.mark.parametrize(
    ("slow", "named"),
    [
        (lambda case: case.nodes[0] == "n2", "slow-direction"),
        (lambda case: "n2" in case.nodes, "slow-nic"),
    ],
    ids=["one way", "both ways"],
)
def test_a_nic_that_is_behind_its_peers_in_the_direction_it_was_seen_in(slow, named):
    """Collectives miss their limits, and the NIC is within its own."""

    def rate(case):
        is_slow = case.pairing and case.pairing.nic == NICS[1] and slow(case)
        return 374.0 if is_slow else FINE if case.pairing else 349.0

    sends = [("n2", "n1"), ("n2", "n3"), ("n4", "n3"), ("n1", "n4")]
    usual = dict.fromkeys(("n1", "n3", "n4"), 366.0)
    items = [
        *paths(sends, NICS, {("n2", NICS[1], "sending"): 374.0}),
        *collectives(sends, {**usual, "n2": 349.0}),
    ]
    found = answered(run(*(rates(item) for item in items)), rate)
    assert slow_of(found) == [(named, "n2", NICS[1], "likely")]


def test_of_four_suspects_each_is_measured_with_a_node_that_is_known_to_be_good():
    """n3 and n5 are slow with each other's partners; n2 and n6 met none of them."""
    rates_ = {"n3": 355.0, "n5": 235.0}
    pairs = [("n4", "n3"), ("n3", "n1"), ("n5", "n4"), ("n2", "n6")]
    found = answered(
        run(*paths(pairs, NICS[:2], rates_), nodes=6),
        lambda case: min(rates_.get(node, FINE) for node in case.nodes),
    )
    assert sorted(slow_of(found)) == [
        ("slow-node", "n3", "", "likely"), ("slow-node", "n5", "", "likely"),
    ]  # fmt: skip


def test_nothing_tells_suspects_apart_if_each_node_is_one():
    pairs = [("n4", "n3"), ("n3", "n1"), ("n2", "n4"), ("n1", "n2")]
    found = run(*paths(pairs, NICS[:2], dict.fromkeys(("n1", "n2", "n3", "n4"), 235.0)))
    assert follow_ups(found, diagnose(found)) == ()


@pytest.mark.parametrize(
    ("slow", "named"),
    [
        (lambda case: case.nodes[0] == "n2", "slow-direction"),
        (lambda case: "n2" in case.nodes, "slow-nic"),
    ],
    ids=["one way", "both ways"],
)
def test_a_nic_that_only_sums_show_is_measured_in_each_direction(slow, named):
    """It slowed down after the tests of one direction."""
    sums = paths(RING, NICS, {("n2", NICS[1]): 340.0}, "host_write_bandwidth_bidirectional")

    def rate(case):
        is_here = case.pairing and case.pairing.nic == NICS[1]
        if case.measurement.endswith("bidirectional"):
            return 340.0 if is_here and "n2" in case.nodes else FINE
        return 340.0 if is_here and slow(case) else FINE

    found = answered(run(*paths(RING, NICS, {}), *sums), rate)
    assert slow_of(found) == [(named, "n2", NICS[1], "likely")]


def test_a_nic_that_only_sums_show_is_undecided_if_each_direction_is_fine():
    sums = paths(RING, NICS, {("n2", NICS[1]): 340.0}, "host_write_bandwidth_bidirectional")
    found = answered(run(*paths(RING, NICS, {}), *sums), lambda _case: FINE)
    assert [(c[1], c[3]) for c in slow_of(found)] == [("n2", "open")]


# --- what belongs to which of two faults ---

BOTH_WAYS = "host_write_bandwidth_bidirectional"


def test_a_slow_direction_does_not_take_the_items_of_a_slower_one():
    """n3 sends 5 % less to all; one of its partners receives 40 % less."""
    pairs = [
        ("n3", "n2"), ("n3", "n4"), ("n1", "n2"), ("n2", "n1"), ("n4", "n1"), ("n1", "n3"),
        ("n4", "n3"), ("n1", "n4"), ("n3", "n1"),
    ]  # fmt: skip
    capacity = {("n2", NIC[0], "receiving"): 235.0, ("n3", NIC[0], "sending"): 371.0}
    found = diagnose(run(*paths(pairs, NIC, capacity)))
    assert sorted(slow_of(found)) == [
        ("slow-direction", "n2", "", "likely"), ("slow-direction", "n3", "", "likely"),
    ]  # fmt: skip
    (sender,) = [cause for cause in found if cause.where.node == "n3"]
    assert [item for item in sender.evidence if "n3:n2" in item] == []
    assert sender.course is None


def test_a_node_is_not_blamed_for_one_nic_because_a_partner_is_slow_over_the_other():
    """n5 is known over its second NIC from n4 alone, which sends slowly there."""
    others = [("n4", "n3"), ("n2", "n1"), ("n3", "n2"), ("n1", "n2")]
    capacity = {("n5", NICS[0]): 325.0, ("n4", NICS[1], "sending"): 349.0}

    def rate(case):
        nodes, nic = case.nodes, case.pairing.nic
        ends = [capacity.get((node, nic), FINE) for node in nodes]
        return min(*ends, capacity.get((nodes[0], nic, "sending"), FINE))

    items = paths([*others, ("n4", "n5")], NICS[:2], capacity)
    found = answered(run(*(rates(item) for item in items), nodes=5), rate)
    assert sorted(slow_of(found)) == [
        ("slow-direction", "n4", NICS[1], "likely"), ("slow-nic", "n5", NICS[0], "likely"),
    ]  # fmt: skip


def test_two_slow_paths_of_one_node_that_lose_different_shares_are_two_paths():
    """By slow and fast alone, n5 is slow with both of its partners."""
    capacity = {frozenset(("n2", "n5")): 325.0, frozenset(("n4", "n5")): 337.0}
    pairs = [("n2", "n5"), ("n5", "n4"), ("n1", "n2"), ("n4", "n3"), ("n3", "n1")]
    sums = paths(pairs, NICS, capacity, BOTH_WAYS)
    found = answered(
        run(*paths(pairs, NICS, capacity), *sums, nodes=5),
        lambda case: capacity.get(frozenset(case.nodes), FINE),
    )
    assert sorted(slow_of(found)) == [
        ("slow-path", "n2", "", "likely"), ("slow-path", "n4", "", "likely"),
    ]  # fmt: skip


def test_a_path_that_comes_and_goes_beside_another_slow_path_is_not_the_nics_of_its_end():
    """n3 is slow with n1 over all NICs, and with n4 by another share over most of them.

    The latter is undecided: n3 may receive slowly at times, and was fine once with n2.
    """
    nics = [f"mlx5_{number}" for number in range(8)]
    pairs = [("n3", "n1"), ("n4", "n3"), ("n1", "n2"), ("n2", "n4")]
    items = [
        *paths(pairs[:1], nics, {frozenset(("n1", "n3")): 235.0}),
        *paths(pairs[1:2], nics[:6], {frozenset(("n3", "n4")): 333.0}),
        *paths(pairs[1:2], nics[6:], {}),
        *paths(pairs[2:], nics, {}),
    ]
    lost = {frozenset(("n1", "n3")): 235.0, frozenset(("n3", "n4")): 333.0}
    found = answered(run(*items), lambda case: lost.get(frozenset(case.nodes), FINE))
    assert sorted(slow_of(found)) == [
        ("slow-path", "n1", "", "likely"), ("slow-path", "n3", "", "open"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("nics", "figure", "suspects"),
    [
        (NICS[:4], 343.0, {"n1", "n2"}),
        (NICS[:3], 343.0, set()),
        (NICS[:4], 346.0, set()),
        (NICS[:3], 341.0, {"n1", "n2"}),
    ],
    ids=["over-four", "over-three", "noise", "over-three-by-more"],
)
def test_a_pair_that_is_somewhat_slower_over_all_nics_has_a_second_fault(nics, figure, suspects):
    """n1 is 11 % slow, and with n2 another 2 % over each NIC. Over three NICs it takes more."""
    pairs = [("n1", "n2"), ("n3", "n1"), ("n2", "n3"), ("n4", "n3")]
    slow = {"n1": 349.0, frozenset(("n1", "n2")): figure}
    found = diagnose(run(*paths(pairs, nics, slow)))
    assert ("slow-node", "n1", "", "likely") in slow_of(found)
    open_ = [cause for cause in found if cause.confidence == "open"]
    assert {name for cause in open_ for name in nodes_of(cause.where.node)} == suspects


@pytest.mark.parametrize(("figure", "suspects"), [(220.0, {"n1", "n2"}), (320.0, set())])
def test_a_measurement_that_lost_far_more_than_the_others_has_a_second_fault(figure, suspects):
    """n1 is 11 % slow; one of its measurements reaches half, and none of the same kind is slow."""
    pairs = [("n1", "n2"), ("n3", "n1"), ("n2", "n3"), ("n4", "n3")]
    sends = paths(pairs, NIC, {"n1": 349.0}, "host_send_bandwidth")
    (write,) = paths(pairs[:1], NIC, {"n1": figure})
    found = diagnose(run(*sends, write, *paths(pairs[2:], NIC, {})))
    assert ("slow-node", "n1", "", "likely") in slow_of(found)
    open_ = [cause for cause in found if cause.confidence == "open"]
    assert {name for cause in open_ for name in nodes_of(cause.where.node)} == suspects
    assert all("that is slower than slow-node (n1) explains" in cause.says for cause in open_)


def test_an_item_that_a_slow_partner_explains_tells_nothing_of_its_other_node():
    (slow,) = paths([("n4", "n5")], NIC, {("n4", NIC[0], "sending"): 349.0})
    others = paths([("n1", "n2"), ("n2", "n3"), ("n3", "n1")], NIC, {})
    found = run(*(rates(item) for item in (slow, *others)), nodes=5)
    assert {one.node for one in standings(found)} == set(names(5))
    blamed = standings(found, {slow.id: {"n4"}})
    assert {one.node for one in blamed} == {"n1", "n2", "n3", "n4"}


@pytest.mark.parametrize(
    ("more", "suspects"),
    [([], {"n3", "n4"}), ([("n3", "n2")], {"n3"}), ([("n1", "n4")], {"n3"})],
)
def test_a_partner_that_was_measured_with_no_other_may_be_the_straggler(more, suspects):
    """n4 is known from n3 alone, which sends 4 % less, until either has another partner."""
    pairs = [("n3", "n4"), ("n1", "n2"), ("n2", "n1"), ("n1", "n3"), *more]
    subjects = ("", "host_send_bandwidth", "host_send_bandwidth_4qp")
    slow = {("n3", NIC[0], "sending"): 376.0}
    items = [item for subject in subjects for item in paths(pairs, NIC, slow, subject)]
    found = diagnose(run(*(rates(item) for item in items)))
    named = {name for cause in found for name in nodes_of(cause.where.node)}
    assert [cause.cause for cause in found] == ["straggler"]
    assert named == suspects


@pytest.mark.parametrize(
    ("confidence", "more", "left"), [("likely", 0, 1), ("open", 0, 2), ("likely", 1, 2)]
)
def test_a_straggler_whose_items_a_decided_partner_can_slow_is_none(confidence, more, left):
    items = paths([("n3", "n4"), ("n4", "n1")], NIC, {})
    found = run(*items)
    shown = tuple(item.id for item in items[: 1 + more])

    def cause(name, node, confidence="likely"):
        return Cause(name, Where(node), "", shown, (), confidence, "", "", "")

    causes = [cause("slow-direction", "n3", confidence), cause("straggler", "n4")]
    assert len(without_slow_partners(causes, found)) == left


@pytest.mark.parametrize(("count", "more", "left"), [(1, 2, 1), (2, 2, 2), (1, 1, 2)])
def test_a_straggler_whose_items_another_one_has_among_more_is_none(count, more, left):
    items = paths([("n3", "n4"), ("n4", "n1")], NIC, {})
    shown = tuple(item.id for item in items)

    def straggler(node, evidence, confidence="likely"):
        return Cause("straggler", Where(node), "", evidence, (), confidence, "", "", "")

    causes = [straggler("n4", shown[:more]), straggler("n3", shown[:count])]
    assert len(without_slow_partners(causes, run(*items))) == left
    doubted = [straggler("n4", shown, "open"), straggler("n3", shown[:1])]
    assert len(without_slow_partners(doubted, run(*items))) == 2


# --- sums, and collectives ---


@pytest.mark.parametrize(
    ("slow", "named"),
    [
        (lambda case: case.nodes[0] == "n3", "slow-direction"),
        (lambda case: "n3" in case.nodes, "slow-nic"),
    ],
    ids=["one way", "both ways"],
)
def test_a_direction_that_only_a_sum_shows_is_measured_by_itself(slow, named):
    """n3 sent to nobody; the sum of both directions with n4 is slow, and was measured later."""
    pairs = [("n4", "n3"), ("n1", "n4"), ("n2", "n1")]
    sums = paths(pairs, NICS, {("n3", NICS[1]): 366.0}, BOTH_WAYS)

    def rate(case):
        if not (case.pairing and case.pairing.nic == NICS[1] and "n3" in case.nodes):
            return FINE
        return 366.0 if case.measurement == BOTH_WAYS else 340.0 if slow(case) else FINE

    found = answered(run(*paths(pairs, NICS, {}), *sums), rate)
    assert slow_of(found) == [(named, "n3", NICS[1], "likely")]


def test_a_nic_that_was_fine_again_has_no_slow_direction():
    """Its sums were slow, and fine when they were measured again; one direction is slow now."""
    sums = paths(RING, NICS, {("n2", NICS[1]): 340.0}, BOTH_WAYS)

    def rate(case):
        is_here = case.pairing and case.pairing.nic == NICS[1] and case.nodes[1] == "n2"
        return 340.0 if is_here and case.measurement != BOTH_WAYS else FINE

    found = answered(run(*paths(RING, NICS, {}), *sums), rate)
    assert slow_of(found) == [("slow-nic", "n2", NICS[1], "open")]


def test_a_path_of_collectives_is_undecided_if_its_nics_were_fast():
    """Both nodes are fine with others; what only the pair's collective showed may come and go."""
    pairs = [("n1", "n2"), ("n3", "n4")]
    items = [*paths(RING, NICS, {}), *collectives(pairs, {frozenset(pairs[0]): 200.0})]
    found = answered(
        run(*items), lambda case: 200.0 if set(case.nodes) == {"n1", "n2"} and not case.pairing
        else FINE,
    )  # fmt: skip
    assert [(cause, confidence) for cause, _, _, confidence in slow_of(found)] == [
        ("slow-path", "open")
    ]
