"""Pair results give slow nodes and faulty pairs: all certain ones and no healthy one."""

import random
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.physics import Cable, measured, named, pairs_of

from railgauge.diagnosis.facts.pairwise import Blamed, PairResult, blame
from railgauge.planning.pairing import tournament


def two_rounds(count, slow):
    nodes = named(count)
    return blame(measured(pairs_of(tournament(nodes, 2)), {nodes[number] for number in slow}))


# --- two rounds name one slow node ---


@pytest.mark.parametrize("count", [3, 4, 5, 7, 15, 16, 17])
def test_two_rounds_name_one_slow_node_at_any_position(count):
    for number, node in enumerate(named(count)):
        assert two_rounds(count, [number]) == Blamed((node,), (), ())


@pytest.mark.parametrize("count", [999, 1000])
def test_two_rounds_name_one_slow_node_among_a_thousand(count):
    nodes = named(count)
    for number in {0, 1, count // 2, count - 1, *random.Random(4).sample(range(count), 20)}:
        assert two_rounds(count, [number]) == Blamed((nodes[number],), (), ())


@pytest.mark.parametrize("count", [1, 2, 3, 16, 17])
def test_without_slow_results_no_node_is_blamed(count):
    assert two_rounds(count, []) == Blamed((), (), ())


class Counted(str):
    """A node's name that counts its comparisons and hashes."""

    looked = 0

    def __hash__(self):
        Counted.looked += 1
        return super().__hash__()

    def __eq__(self, other):
        Counted.looked += 1
        return super().__eq__(other)

    def __lt__(self, other):
        Counted.looked += 1
        return super().__lt__(other)


def looks(count, rounds, faults):
    """The number of operations on names for a cluster with every 16th node or pair faulty."""
    nodes = [Counted(name) for name in named(count)]
    pairs = pairs_of(tournament(nodes, rounds))
    slow = nodes[::16] if faults == "nodes" else nodes if faults == "all" else ()
    cables = {Cable(pair) for pair in pairs[::16]} if faults == "cables" else ()
    results = measured(pairs, slow, cables)
    Counted.looked = 0
    blame(results)
    return Counted.looked


@pytest.mark.parametrize("faults", ["none", "nodes", "cables", "all"])
@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_the_work_grows_in_proportion_to_the_pairs(faults, rounds):
    """Eight times as many pairs take eight times the work; sorting adds a logarithmic factor."""
    assert looks(1024, rounds, faults) < 8 * 1.6 * looks(128, rounds, faults)


# --- the theorem: s slow nodes take s + 1 partners ---


@pytest.mark.parametrize("count", range(3, 9))
def test_s_plus_1_rounds_always_name_s_slow_nodes(count):
    nodes = named(count)
    for many in range(count - 1):
        pairs = pairs_of(tournament(nodes, many + 1))
        for slow in combinations(nodes, many):
            assert blame(measured(pairs, slow)) == Blamed(slow, (), ())


def test_three_slow_nodes_among_64_take_four_rounds():
    nodes, draw = named(64), random.Random(64)
    pairs = pairs_of(tournament(nodes, 4))
    for _ in range(300):
        slow = tuple(sorted(draw.sample(nodes, 3)))
        assert blame(measured(pairs, slow)) == Blamed(slow, (), ())


@pytest.mark.parametrize("many", [1, 2, 3])
def test_s_rounds_are_too_few_for_s_slow_nodes(many):
    """A node whose partners are all slow gives the same results as a slow node."""
    nodes = named(64)
    pairs = pairs_of(tournament(nodes, many))
    unlucky = nodes[9]
    slow = sorted({node for pair in pairs if unlucky in pair for node in pair} - {unlucky})
    assert len(slow) == many
    results = measured(pairs, slow)
    assert results == measured(pairs, [*slow, unlucky])
    found = blame(results)
    assert set(found.nodes) <= set(slow)
    assert found.pairs == ()
    (item,) = found.undecided
    assert unlucky in item.among
    fine = [node for node in nodes if node not in (*slow, unlucky)][:2]
    suspects = [name for name in item.among if ":" not in name]
    more = measured([*pairs, *((name, good) for name in suspects for good in fine)], slow)
    assert blame(more) == Blamed(tuple(slow), (), ())


def test_three_rounds_name_three_slow_nodes_and_leave_their_partner_undecided():
    nodes = named(64)
    pairs = pairs_of(tournament(nodes, 3))
    slow = sorted({node for pair in pairs if nodes[9] in pair for node in pair} - {nodes[9]})
    found = blame(measured(pairs, slow))
    assert found.nodes == tuple(slow)
    (item,) = found.undecided
    assert item.among == (nodes[9],)
    assert item.would_decide == f"measure n009 with {nodes[0]} and {nodes[1]} (found good)"


# --- no healthy node blamed, no faulty node missed ---


@st.composite
def broken_clusters(draw, cables_meet):
    """Pairs with faults; with ``cables_meet`` a node may have two faulty cables."""
    nodes = named(draw(st.integers(2, 9)))
    pairs = pairs_of(tournament(nodes))
    pairs = draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1))
    slow = draw(st.sets(st.sampled_from(nodes)))
    cables, taken = set(), set()
    for pair in draw(st.lists(st.sampled_from(pairs))):
        if cables_meet or taken.isdisjoint(pair):
            cables.add(Cable(pair))
            taken |= {*pair}
    return pairs, slow, cables


@given(broken_clusters(cables_meet=False))
def test_each_blamed_node_is_faulty(cluster):
    pairs, slow, cables = cluster
    found = blame(measured(pairs, slow, cables))
    assert set(found.nodes) <= slow
    assert set(map(Cable, found.pairs)) <= cables


@given(broken_clusters(cables_meet=True))
def test_a_healthy_node_is_blamed_only_if_it_has_two_faulty_cables(cluster):
    """A node with two faulty cables and no fast pair looks like a slow node."""
    pairs, slow, cables = cluster
    results = measured(pairs, slow, cables)
    found = blame(results)
    assert set(map(Cable, found.pairs)) <= cables
    for node in set(found.nodes) - slow:
        assert sum(node in cable for cable in cables) >= 2
        assert all(result.slow for result in results if node in result.nodes)


@given(broken_clusters(cables_meet=True))
def test_slow_nodes_are_blamed_or_undecided_and_fast_ones_are_neither(cluster):
    pairs, slow, cables = cluster
    results = measured(pairs, slow, cables)
    found = blame(results)
    open_to = {name for item in found.undecided for name in item.among}
    cleared = {node for result in results if not result.slow for node in result.nodes}
    tested = {node for pair in pairs for node in pair}
    assert slow & tested <= open_to | {*found.nodes}
    assert cleared.isdisjoint(open_to | {*found.nodes})
    assert open_to.isdisjoint(found.nodes)
    for result in results:
        if result.slow:
            path = ":".join(sorted(result.nodes))
            explained = {*result.nodes, path} & open_to or {*result.nodes} & {*found.nodes}
            assert explained or tuple(sorted(result.nodes)) in found.pairs


def subsets(values):
    return chain.from_iterable(combinations(values, many) for many in range(len(values) + 1))


def explanations(pairs):
    """All faults that explain each set of results; no node has two faulty cables."""
    found = {}
    nodes = sorted({node for pair in pairs for node in pair})
    for cables in map(set, subsets([Cable(pair) for pair in pairs])):
        ends = [node for cable in cables for node in cable]
        if len(ends) == len(set(ends)):
            for slow in subsets(nodes):
                results = tuple(measured(pairs, slow, cables))
                found.setdefault(results, []).append((set(slow), cables))
    return found


@pytest.mark.parametrize(("count", "rounds"), [(2, 1), (3, 2), (4, 1), (4, 2), (4, 3)])
def test_an_undecided_node_is_faulty_in_some_explanations_only(count, rounds):
    """All results of a small cluster are compared with all their explanations."""
    for results, possible in explanations(pairs_of(tournament(named(count), rounds))).items():
        found = blame(results)
        if len({node for result in results for node in result.nodes}) == count:
            assert all(set(found.nodes) <= slow for slow, _ in possible)
            open_to = {n for item in found.undecided for n in item.among if ":" not in n}
            for node in open_to:
                assert {node in slow for slow, _ in possible} == {True, False}, (results, node)


# --- single examples ---


def slow(*nodes):
    return PairResult(nodes, True)


def fast(*nodes):
    return PairResult(nodes, False)


def test_a_slow_node_and_a_faulty_cable_elsewhere_are_both_named():
    nodes = named(16)
    pairs = pairs_of(tournament(nodes, 3))
    cable = pairs[5]
    found = blame(measured(pairs, {"n003"}, {Cable(cable)}))
    assert found == Blamed(("n003",), (tuple(sorted(cable)),), ())


def test_two_slow_nodes_in_one_pair_are_both_named():
    found = blame([slow("a", "b"), slow("a", "c"), slow("b", "d"), fast("c", "d"),
                   slow("a", "d"), slow("b", "c")])  # fmt: skip
    assert found == Blamed(("a", "b"), (), ())


def test_two_nodes_alone_are_undecided():
    (item,) = blame([slow("b", "a")]).undecided
    assert item.among == ("a", "b", "a:b")
    assert item.would_decide == "measure a and b with nodes that are known to be good"


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_no_node_is_named_if_all_pairs_are_slow(rounds):
    pairs = pairs_of(tournament(named(6), rounds))
    found = blame(measured(pairs, named(6)))
    assert (found.nodes, found.pairs) == ((), ())
    (item,) = found.undecided
    assert item.among == tuple(named(6))
    assert item.would_decide == "measure each of them with nodes that are known to be good"


def test_one_partner_does_not_separate_a_node_from_its_cable():
    (item,) = blame([slow("a", "b"), fast("b", "c"), fast("c", "d")]).undecided
    assert item.among == ("a", "a:b")
    assert item.would_decide == "measure a with c (found good)"


def test_suspects_of_one_pair_are_to_be_measured_with_good_nodes():
    (item,) = blame([slow("a", "b"), fast("c", "d")]).undecided
    assert item.among == ("a", "b", "a:b")
    assert item.would_decide == "measure a and b with c and d (found good)"


def test_contradicting_repeats_count_as_slow_and_are_listed():
    found = blame([slow("a", "b"), fast("a", "b"), fast("b", "c"), slow("a", "c"), fast("c", "b")])
    assert found == Blamed(("a",), (), ())
    found = blame([fast("a", "b"), slow("a", "b"), fast("b", "c"), fast("a", "c")])
    assert found == Blamed((), (("a", "b"),), ())


def test_one_fast_direction_clears_both_nodes():
    found = blame([slow("b", "a"), fast("a", "b")])
    assert found == Blamed((), (("a", "b"),), ())


def test_two_directions_of_one_pair_do_not_count_as_two_partners():
    found = blame([slow("b", "a"), slow("a", "b"), fast("b", "c")])
    assert found.nodes == ()
    assert found.undecided[0].among == ("a", "a:b")


@given(broken_clusters(cables_meet=True), st.randoms())
def test_order_does_not_matter(cluster, draw):
    pairs, bad, cables = cluster
    results = measured(pairs, bad, cables)
    turned = [
        PairResult(r.nodes[::-1] if draw.random() < 0.5 else r.nodes, r.slow) for r in results
    ]
    draw.shuffle(turned)
    assert blame(turned) == blame(results)


def test_a_pair_of_one_node_with_itself_is_refused():
    with pytest.raises(ValueError, match="a is paired with itself"):
        slow("a", "a")
