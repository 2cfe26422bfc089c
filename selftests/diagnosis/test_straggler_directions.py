"""Stragglers in one direction: a part sends or receives less than its peers, within its limits."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    causes,
    cluster,
    collective,
    findings,
    named,
    names,
    pairs_of,
    paths,
)
from testing.straggler_scenes import FEW, MANY, NICS, rates

from railgauge.config.thresholds.model import Peers
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.peers import compared
from railgauge.diagnosis.peers.standing import standings

SUBJECTS = ("host_write_bandwidth", "host_send_bandwidth")
SLOW = 376.0  # of 392: 4 % less
WORDS = {"sending": "of what it sends", "receiving": "of what it receives"}


def over(pairs, capacity, subjects=SUBJECTS):
    every = list(pairs)
    return [rates(one) for subject in subjects for one in paths(every, NICS, capacity, subject)]


def test_all_items_of_these_runs_pass_their_limits():
    items = over(pairs_of(FEW, 3), {("n2", nic, "sending"): SLOW for nic in NICS})
    assert {item.outcome for item in items} == {Outcome.PASSED}


@pytest.mark.parametrize("way", WORDS)
@pytest.mark.parametrize("nics", [NICS[1:2], NICS])
def test_a_nic_or_node_that_is_behind_in_one_direction_is_named(nics, way):
    """It has several partners in this direction, and each of them is as fast as others."""
    found = causes(over(pairs_of(MANY, 5), {("n3", nic, way): SLOW for nic in nics}))
    assert named(found) == [("straggler", "n3, mlx5_1" if len(nics) == 1 else "n3")]
    (cause,) = found
    assert cause.confidence == "likely"
    assert WORDS[way] in cause.says
    assert "4.1% behind its peers" in cause.says


@pytest.mark.parametrize("way", WORDS)
def test_with_one_partner_in_this_direction_both_are_suspects(way):
    """In two rounds each node sends in one test and receives in the other."""
    pairs = list(pairs_of(MANY, 2))
    (cause,) = causes(over(pairs, {("n3", "mlx5_1", way): SLOW}))
    (partner,) = [{*pair} - {"n3"} for pair in pairs if pair[0 if way == "sending" else 1] == "n3"]
    suspects = set(cause.where.node.split("|"))
    assert (cause.cause, suspects, cause.confidence) == ("straggler", {"n3", *partner}, "open")
    assert set(WORDS.values()) == {words for words in WORDS.values() if words in cause.says}
    assert "another partner" in cause.would_decide


def test_collectives_tell_which_of_two_suspects_it_is():
    pairs = list(pairs_of(MANY, 2))
    both = [
        rates(collective(pair, 376.0 if "n3" in pair else 392.0, subject=subject))
        for subject in ("pair_all_reduce", "pair_all_gather", "pair_reduce_scatter")
        for pair in pairs
    ]
    found = causes([*over(pairs, {("n3", "mlx5_1", "receiving"): SLOW}), *both])
    assert named(found) == [("straggler", "n3, mlx5_1")]
    assert (found[0].confidence, WORDS["receiving"] in found[0].says) == ("likely", True)


def test_tests_that_move_their_payload_both_ways_round_leave_one_suspect():
    """Of each pair, a read moves it where a write does not: the partners differ."""
    items = over(
        pairs_of(names(5), 2),
        {("n3", nic, "receiving"): SLOW for nic in NICS},
        ("host_write_bandwidth", "host_read_bandwidth"),
    )
    assert named(causes(items)) == [("straggler", "n3")]


def test_a_node_that_is_behind_in_both_directions_is_named_once():
    capacity = {("n3", nic, way): SLOW for nic in NICS for way in WORDS}
    (cause,) = causes(over(pairs_of(MANY, 5), capacity))
    assert str(cause.where) == "n3"
    assert not any(words in cause.says for words in WORDS.values())


def test_a_slow_partner_in_the_other_leaf_is_not_blamed_on_who_sends_to_it():
    """Two nodes of each leaf: in each direction only two nodes have a pair within their leaf."""
    pairs = [("n1", "n4"), ("n3", "n2"), ("n2", "n1"), ("n4", "n3"), ("n1", "n3"), ("n4", "n2")]
    found = findings(over(pairs, {("n2", nic, "receiving"): SLOW for nic in NICS}), nodes=FEW)
    leaves = {"one": ("n1", "n2"), "two": ("n3", "n4")}
    for one in diagnose(replace(found, cluster=replace(cluster(FEW), groups=leaves))):
        assert "n2" in one.where.node.split("|"), one


def test_a_limit_on_stragglers_is_one_of_directions_too():
    found = findings(over(pairs_of(MANY, 5), {("n3", "mlx5_1", "sending"): SLOW}), nodes=MANY)
    limited = replace(found.platform, peers=Peers(0.03, Basis("site", "3 % at most")))
    items = {one.nodes[0]: one for one in compared(replace(found, platform=limited))}
    assert [node for node, one in items.items() if one.outcome is Outcome.FAILED] == ["n3"]
    assert WORDS["sending"] in items["n3"].reason


def test_a_straggler_is_no_cause_of_items_of_other_nodes():
    """A slow NIC of n6 and a slow n3 are undecided by their collectives, of which one has no n6."""
    six = names(6)
    pairs = [("n1", "n6"), ("n2", "n5"), ("n3", "n4"), ("n5", "n1"), ("n4", "n2"), ("n6", "n3")]
    lost = {("n1", "n6"): 349.0, ("n3", "n4"): 343.0, ("n6", "n3"): 343.0}
    items = [
        *over(pairs, {("n6", "mlx5_1"): SLOW}),
        *(rates(collective(pair, lost.get(pair, 364.0))) for pair in pairs),
    ]
    found = diagnose(findings(items, nodes=six))
    red = {item.id: item.nodes for item in items if item.outcome is Outcome.FAILED}
    assert len(red) == 3
    for cause in found:
        named_ = set(cause.where.node.split("|"))
        assert all(named_ & set(red[item]) for item in cause.evidence if item in red), cause
    assert set(red) <= {item for cause in found for item in (*cause.evidence, *cause.explains)}


def test_a_series_in_which_nobody_that_counts_was_measured_the_other_way():
    """All its items are explained by slow nodes, and each of these nodes only received."""
    pairs = list(pairs_of(MANY, 1))
    results = findings(over(pairs, {}, SUBJECTS[:1]))
    blamed = {name: record.nodes[1:] for name, record in results.records.items()}
    assert {one.node for one in standings(results, blamed)} == {second for _, second in pairs}
