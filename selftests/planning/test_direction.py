"""Which node of a pair sends: of each two tests, a node sends in one and receives in the other."""

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.core_values import ROOT, cluster

from railgauge.config import thresholds
from railgauge.config.thresholds.model import PairLevel
from railgauge.core.model import Pair
from railgauge.core.terms import Flow, Scope
from railgauge.planning import part, plan
from railgauge.planning.direction import directed, turned
from railgauge.planning.pairing import DIRECTED, ring, rounds, tournament
from railgauge.tools import flow

SENDS, RECEIVES = "sends", "receives"


def named(count):
    return [f"n{number:02}" for number in range(count)]


@st.composite
def clusters(draw):
    """2 to 70 nodes in any order, and leaves of any sizes that hold all, some or none of them."""
    nodes = draw(st.permutations(named(draw(st.integers(2, 70)))))
    sizes = draw(st.lists(st.integers(1, 24), max_size=8))
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    cut = [tuple(nodes[at : at + size]) for at, size in zip(starts, sizes, strict=True)]
    return nodes, {f"leaf{number}": leaf for number, leaf in enumerate(cut) if leaf}


levels = st.one_of(
    st.just(PairLevel("ring")),
    st.just(PairLevel("all")),
    st.integers(1, 9).map(lambda count: PairLevel("tournament", count)),
)


def done_by(turns, node):
    """What a node did in each of its tests, with the number of the round."""
    return [
        (number, SENDS if pair.source == node else RECEIVES)
        for number, pairs in enumerate(turns)
        for pair in pairs
        if node in (pair.source, pair.target)
    ]


@given(clusters(), levels)
def test_a_node_sends_in_one_of_each_two_tests_and_receives_in_the_other(cluster, level):
    nodes, groups = cluster
    turns = rounds(nodes, level, None, groups)
    for node in nodes:
        did = [what for _, what in done_by(turns, node)]
        for one, other in zip(did[::2], did[1::2], strict=False):
            assert {one, other} == {SENDS, RECEIVES}


@given(clusters())
def test_in_two_rounds_each_node_sends_and_receives(cluster):
    """An odd number of nodes has a third round for the byes. Two nodes have one pair only."""
    nodes, groups = cluster
    turns = rounds(nodes, PairLevel("tournament", 2), None, groups)
    for node in nodes if len(nodes) > 2 else ():
        assert {what for _, what in done_by(turns, node)} == {SENDS, RECEIVES}


@given(clusters(), st.integers(3, 9))
def test_in_any_three_rounds_or_four_with_byes_each_node_sends_and_receives(cluster, count):
    nodes, groups = cluster
    turns = rounds(nodes, PairLevel("tournament", count), None, groups)
    window = 4 if len(nodes) % 2 else 3
    for node in nodes:
        did = done_by(turns, node)
        for start in range(len(turns) - window + 1):
            here = {what for number, what in did if start <= number < start + window}
            assert here == {SENDS, RECEIVES}


@given(clusters(), levels)
def test_directions_change_neither_pairs_nor_rounds(cluster, level):
    nodes, groups = cluster
    plain = rounds(nodes, level, None, groups, directions=1)
    turned = rounds(nodes, level, None, groups)
    assert [[frozenset((p.source, p.target)) for p in turn] for turn in turned] == [
        [frozenset((p.source, p.target)) for p in turn] for turn in plain
    ]


@given(st.integers(3, 70))
def test_a_ring_keeps_its_directions(count):
    assert rounds(named(count), PairLevel("ring")) == ring(named(count))


def test_a_nodes_tests_are_taken_two_by_two_in_the_order_of_rounds():
    turns = directed(((Pair("a", "b"),), (Pair("a", "c"),), (Pair("c", "b"),), (Pair("a", "b"),)))
    assert turns == ((Pair("a", "b"),), (Pair("c", "a"),), (Pair("b", "c"),), (Pair("a", "b"),))


def test_with_two_leaves_of_32_each_node_sends_and_receives():
    """With the older scheme, 31 of 64 nodes never sent and 31 never received."""
    nodes = named(64)
    groups = {"one": tuple(nodes[:32]), "other": tuple(nodes[32:])}
    idle = []
    for scheme in (1, 2):
        turns = rounds(nodes, PairLevel("tournament", 2), None, groups, scheme)
        senders = {pair.source for turn in turns for pair in turn}
        receivers = {pair.target for turn in turns for pair in turn}
        idle.append((64 - len(senders), 64 - len(receivers)))
    assert idle == [(31, 31), (0, 0)]


def test_four_nodes_cannot_send_and_receive_in_any_two_rounds_in_a_row():
    """So the rule holds for rounds 1 and 2, 3 and 4, and so on, but not for rounds 2 and 3."""
    turns = tournament(list("abcd"))
    pairs = [pair for turn in turns for pair in turn]
    for flips in product((False, True), repeat=len(pairs)):
        sent = [Pair(p.target, p.source) if f else p for p, f in zip(pairs, flips, strict=True)]
        both = [{p.source for p in sent[at : at + 2]} for at in (0, 2, 4)]
        assert any(one & other for one, other in pairwise(both))


@pytest.mark.parametrize("nodes", ["", "a"])
def test_fewer_than_two_nodes_have_no_pair(nodes):
    assert rounds(list(nodes), PairLevel("tournament", 2)) == ()


# --- every node is tried in both directions ---


METAX = thresholds.load("metax-c500", ROOT / "thresholds")


def level(nodes, name, count=None, **more):
    return plan.level(METAX, cluster(*nodes), name, count, **more)


def ways_of(wanted, node):
    """What the node does in each one-way test of the level."""
    tests = [m for m in METAX.measurements.values() if m.scope == Scope.PATH]
    found = {}
    for test in tests:
        if test.made_at(wanted.name) and flow(test) in (Flow.FORWARD, Flow.BACKWARD):
            pairs = plan.places(test, wanted)
            ends = {(SENDS, p.source) for p in pairs} | {(RECEIVES, p.target) for p in pairs}
            found[test.name] = {what for what, name in ends if name == node}
    return found


@pytest.mark.parametrize("name", ["smoke", "nightly", "signoff"])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_each_node_sends_and_receives_in_each_one_way_test(count, name):
    nodes = named(count)
    wanted = level(nodes, name)
    for node in nodes:
        done = ways_of(wanted, node)
        assert done
        assert all(ways == {SENDS, RECEIVES} for ways in done.values())


def test_of_two_nodes_only_one_way_tests_are_made_twice():
    wanted = level("ab", "nightly")
    assert (wanted.pairs, wanted.turned) == ((Pair("a", "b"),), (Pair("b", "a"),))
    twice = {
        name for name, one in METAX.measurements.items() if len(plan.places(one, wanted)) == 2
        if one.scope != Scope.NODE
    }  # fmt: skip
    assert twice == {"host_write_bandwidth", "host_read_bandwidth", "host_send_bandwidth",
                     "gpu_write_bandwidth"}  # fmt: skip


def test_one_round_and_runs_of_earlier_versions_test_two_nodes_in_one_direction():
    assert not level("ab", "smoke", 1).turned
    assert not level("ab", "smoke", directions=DIRECTED).turned
    assert level("ab", "smoke", 3).turned


@given(st.data(), st.sampled_from(["smoke", "nightly", "signoff"]))
def test_a_node_that_qualifies_sends_and_receives_with_any_partners(data, name):
    nodes = named(data.draw(st.integers(2, 9)))
    only = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=2, unique=True))
    rest = [node for node in nodes if node not in only]
    if not rest:
        return
    partners = data.draw(st.lists(st.sampled_from(rest), min_size=1, unique=True))
    asked = part.LevelPart(
        tuple(nodes), {}, only=tuple(only), partners=tuple(partners), each=data.draw(st.booleans())
    )
    found = part.of_level(asked, level(nodes, name))
    for node in only:
        assert all(ways == {SENDS, RECEIVES} for ways in ways_of(found, node).values())


def test_a_pair_is_turned_once_for_both_of_its_nodes():
    assert turned([Pair("a", "b"), Pair("c", "d")], "abd") == (Pair("b", "a"), Pair("d", "c"))
    assert turned([Pair("a", "b"), Pair("b", "a")], "ab") == ()
    assert turned([], "ab") == ()
