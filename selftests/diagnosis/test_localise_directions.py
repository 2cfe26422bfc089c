"""What a node sends and what it receives are told apart where results disagree, and only there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.physics import Cable, named, pairs_of

from railgauge.config.thresholds.model import PairLevel
from railgauge.core.terms import Flow
from railgauge.diagnosis.localise import Part, PathResult, blame_paths
from railgauge.diagnosis.localise.directions import RECEIVING, SENDING, WAYS, ways
from railgauge.diagnosis.localise.parts import ONE_NIC
from railgauge.diagnosis.localise.paths import Located
from railgauge.planning.pairing import rounds

NICS = ("mlx5_0", "mlx5_1")
WRITES = (Flow.FORWARD,)
TOLD = ((Flow.FORWARD, Flow.BACKWARD), (Flow.FORWARD, Flow.BOTH))
NODES = named(8)


def planned(nodes, count=2):
    return pairs_of(rounds(nodes, PairLevel("tournament", count)))


def measured(pairs, flows, lame=(), cables=(), nics=NICS):
    """Tests of all pairs; ``lame`` are (node, slow direction, NIC), ``cables`` (nodes, NIC)."""
    return [
        PathResult((a, b), _is_slow((a, b), flow, nic, lame, cables), None, nic, flow=flow)
        for a, b in pairs
        for flow in flows
        for nic in nics
    ]


def _is_slow(nodes, flow, nic, lame, cables):
    did = {(name, way, nic) for name in nodes for way in ways(nodes, name, flow)}
    return not did.isdisjoint(lame) or (Cable(nodes), nic) in cables


def everywhere(node, *slowly):
    return [(node, way, nic) for way in slowly for nic in NICS]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("flows", TOLD, ids=["and-reads", "and-both-ways"])
@given(st.data())
def test_a_slow_direction_is_named_at_any_size(way, flows, data):
    nodes = named(data.draw(st.integers(4, 40)))
    node = data.draw(st.sampled_from(nodes))
    found = blame_paths(measured(planned(nodes), flows, everywhere(node, way)))
    assert found == Located((Part("node", node, way=way),), ())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("flows", TOLD, ids=["and-reads", "and-both-ways"])
@pytest.mark.parametrize("nic", NICS)
def test_a_slow_direction_of_one_nic_is_named_with_it(nic, flows, way):
    found = blame_paths(measured(planned(NODES), flows, [("n003", way, nic)]))
    assert found == Located((Part("nic", "n003", nic, way=way),), ())


def test_with_one_nic_a_node_it_is_and_the_note_says_so():
    lame, flows = [("n003", RECEIVING, "mlx5_0")], TOLD[0]
    found = blame_paths(measured(planned(NODES), flows, lame, nics=NICS[:1]))
    assert found.parts == (Part("node", "n003", note=ONE_NIC, way=RECEIVING),)


@given(st.integers(4, 40), st.sampled_from(WAYS), st.data())
def test_writes_alone_in_two_rounds_leave_both_ends_and_the_path(count, way, data):
    """A slow direction and a slow path give the same results: none of them may be named."""
    nodes = named(count)
    node, pairs = data.draw(st.sampled_from(nodes)), planned(nodes)
    place = 0 if way == SENDING else 1
    at = next((pair for pair in pairs if pair[place] == node), None)
    by_end = blame_paths(measured(pairs, WRITES, everywhere(node, way)))
    by_path = blame_paths(measured(pairs, WRITES, (), {(Cable(at), nic) for nic in NICS}))
    if count % 2 == 0:
        assert by_end == by_path
        (item,) = by_path.undecided
        assert set(item.among) == {f"{at[0]} sending", f"{at[1]} receiving", ":".join(sorted(at))}
        assert item.one_way
    assert f"{node} {way}" in " ".join(i for u in by_end.undecided for i in u.among) + " ".join(
        f"{part} {part.way}" for part in by_end.parts
    )
    assert not [part for part in by_end.parts if part.peer or part.way != way]


@pytest.mark.parametrize("fault", ["sender", "receiver", "path"])
def test_what_would_decide_does(fault):
    pairs = planned(NODES)
    sender, receiver = slow = pairs[0]
    lame = {
        "sender": everywhere(sender, SENDING),
        "receiver": everywhere(receiver, RECEIVING),
        "path": [],
    }[fault]
    cables = {(Cable(slow), nic) for nic in NICS} if fault == "path" else ()
    (item,) = blame_paths(measured(pairs, WRITES, lame, cables)).undecided
    good = item.measure[0][0] if item.measure[0][1] in slow else item.measure[0][1]
    assert set(item.measure) == {(sender, good), (good, receiver)}
    assert f"{sender} -> {good}" in item.would_decide
    assert f"{good} -> {receiver}" in item.would_decide
    assert f"({good} found good)" in item.would_decide
    found = blame_paths(measured([*pairs, *item.measure], WRITES, lame, cables))
    named_parts = {
        "sender": Part("node", sender, way=SENDING),
        "receiver": Part("node", receiver, way=RECEIVING),
        "path": Part("pair", min(slow), peer=max(slow)),
    }
    assert found == Located((named_parts[fault],), ())


def test_nobody_is_good_where_two_nodes_are_all():
    results = measured([("a", "b")], TOLD[0], everywhere("b", RECEIVING))
    (item,) = blame_paths(results).undecided
    assert set(item.among) == {"a sending", "b receiving", "a:b"}
    assert item.would_decide == (
        "measure a and b with nodes that are known to be good, in both directions"
    )
    assert item.measure == ()


def test_what_is_open_on_one_nic_names_the_nic():
    (item,) = blame_paths(measured(planned(NODES), WRITES, [("n003", SENDING, "mlx5_1")])).undecided
    assert "n003 mlx5_1 sending" in item.among
    assert item.would_decide.endswith(", with mlx5_1")


# --- what has nothing to do with directions stays as it was ---


@pytest.mark.parametrize("flows", [WRITES, *TOLD])
@pytest.mark.parametrize("count", [4, 5, 8, 9, 31])
def test_a_node_that_is_slow_both_ways_is_a_slow_node(count, flows):
    for node in named(count):
        found = blame_paths(measured(planned(named(count)), flows, everywhere(node, *WAYS)))
        assert found == Located((Part("node", node),), ())


@pytest.mark.parametrize("flows", TOLD)
def test_a_path_that_is_slow_between_two_good_nodes_is_a_path(flows):
    for one, other in planned(NODES):
        cables = {(Cable((one, other)), nic) for nic in NICS}
        found = blame_paths(measured(planned(NODES), flows, (), cables))
        assert found == Located((Part("pair", min(one, other), peer=max(one, other)),), ())


def test_a_node_that_is_slow_only_with_both_directions_at_once_is_a_slow_node():
    pairs = planned(NODES)
    fine = measured(pairs, WRITES)
    both = measured(pairs, (Flow.BOTH,), everywhere("n004", *WAYS))
    assert blame_paths([*fine, *both]) == Located((Part("node", "n004"),), ())


def test_latency_says_nothing_of_directions():
    """Fast small messages clear no direction, and slow ones are no reason to split a node."""
    pairs = planned(NODES)
    lame = everywhere("n002", RECEIVING)
    fast = measured(pairs, (Flow.UNTOLD,))
    found = blame_paths([*measured(pairs, TOLD[0], lame), *fast])
    assert found == Located((Part("node", "n002", way=RECEIVING),), ())
    slow = measured(pairs, (Flow.UNTOLD,), everywhere("n002", *WAYS))
    found = blame_paths([*measured(pairs, TOLD[0]), *slow])
    assert found == Located((Part("node", "n002"),), ())


def test_a_nic_that_is_slow_and_another_that_only_receives_slowly():
    lame = [
        ("n005", SENDING, "mlx5_0"),
        ("n005", RECEIVING, "mlx5_0"),
        ("n005", RECEIVING, NICS[1]),
    ]
    found = blame_paths(measured(planned(NODES), TOLD[0], lame))
    assert set(found.parts) == {
        Part("nic", "n005", "mlx5_0"),
        Part("nic", "n005", "mlx5_1", way=RECEIVING),
    }
    assert found.undecided == ()


FAULTS = st.one_of(
    st.tuples(st.just("end"), st.integers(0, 11), st.sampled_from(WAYS)),
    st.tuples(st.just("node"), st.integers(0, 11), st.just("")),
    st.tuples(st.just("path"), st.integers(0, 40), st.just("")),
)


@given(FAULTS, st.integers(4, 12), st.integers(2, 5), st.sampled_from([WRITES, *TOLD]))
def test_one_fault_is_named_or_among_the_suspects_and_nothing_else_is_named(
    fault, count, turns, flows
):
    kind, number, way = fault
    nodes, pairs = named(count), planned(named(count), turns)
    node, path = nodes[number % count], pairs[number % len(pairs)]
    lame = {"end": everywhere(node, way), "node": everywhere(node, *WAYS), "path": []}[kind]
    cables = {(Cable(path), nic) for nic in NICS} if kind == "path" else ()
    found = blame_paths(measured(pairs, flows, lame, cables))
    true = {
        "end": Part("node", node, way=way),
        "node": Part("node", node),
        "path": Part("pair", min(path), peer=max(path)),
    }[kind]
    if found.parts:
        assert found.parts == (true,)
        return
    suspects = {name for item in found.undecided for name in item.among}
    assert suspects & {str(true), f"{true} {true.way}"}


def test_across_rails_a_slow_direction_is_no_slow_pair():
    """From ``mlx5_0`` of one node to ``mlx5_1`` of the other, beside the tests on one rail."""
    lame = [("n003", RECEIVING, "mlx5_1")]
    pairs = planned(NODES)
    crossing = [
        PathResult(
            (a, b),
            {(a, SENDING, "mlx5_0"), (b, RECEIVING, "mlx5_1")} & set(lame) != set(),
            None,
            "mlx5_0",
            (None, "mlx5_1"),
            Flow.FORWARD,
        )
        for a, b in pairs
    ]
    found = blame_paths([*measured(pairs, TOLD[0], lame), *crossing])
    assert found == Located((Part("nic", "n003", "mlx5_1", way=RECEIVING),), ())
