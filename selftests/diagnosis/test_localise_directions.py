"""Sending and receiving of a node are separated only where their results disagree."""

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
BOTH_FLOWS = ((Flow.FORWARD, Flow.BACKWARD), (Flow.FORWARD, Flow.BOTH))
NODES = named(8)


def planned(nodes, count=2):
    return pairs_of(rounds(nodes, PairLevel("tournament", count)))


def measured(pairs, flows, slow_ends=(), cables=(), nics=NICS):
    """Tests of all pairs; ``slow_ends`` holds (node, direction, NIC), ``cables`` (nodes, NIC)."""
    return [
        PathResult((a, b), _is_slow((a, b), flow, nic, slow_ends, cables), None, nic, flow=flow)
        for a, b in pairs
        for flow in flows
        for nic in nics
    ]


def _is_slow(nodes, flow, nic, slow_ends, cables):
    did = {(name, way, nic) for name in nodes for way in ways(nodes, name, flow)}
    return not did.isdisjoint(slow_ends) or (Cable(nodes), nic) in cables


def everywhere(node, *slowly):
    return [(node, way, nic) for way in slowly for nic in NICS]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("flows", BOTH_FLOWS, ids=["and-reads", "and-both-ways"])
@given(st.data())
def test_a_slow_direction_is_named_at_any_size(way, flows, data):
    nodes = named(data.draw(st.integers(4, 40)))
    node = data.draw(st.sampled_from(nodes))
    found = blame_paths(measured(planned(nodes), flows, everywhere(node, way)))
    assert found == Located((Part("node", node, way=way),), ())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("flows", BOTH_FLOWS, ids=["and-reads", "and-both-ways"])
@pytest.mark.parametrize("nic", NICS)
def test_a_slow_direction_of_one_nic_is_named_with_it(nic, flows, way):
    found = blame_paths(measured(planned(NODES), flows, [("n003", way, nic)]))
    assert found == Located((Part("nic", "n003", nic, way=way),), ())


def test_a_node_with_one_nic_is_named_as_a_node_with_a_note():
    slow_ends, flows = [("n003", RECEIVING, "mlx5_0")], BOTH_FLOWS[0]
    found = blame_paths(measured(planned(NODES), flows, slow_ends, nics=NICS[:1]))
    assert found.parts == (Part("node", "n003", note=ONE_NIC, way=RECEIVING),)


@given(st.integers(4, 40), st.sampled_from(WAYS), st.data())
def test_writes_alone_in_two_rounds_leave_both_ends_and_the_path_undecided(count, way, data):
    """A slow direction and a slow path give the same results, so none of them is named."""
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
def test_the_proposed_measurements_decide_the_cause(fault):
    pairs = planned(NODES)
    sender, receiver = slow = pairs[0]
    slow_ends = {
        "sender": everywhere(sender, SENDING),
        "receiver": everywhere(receiver, RECEIVING),
        "path": [],
    }[fault]
    cables = {(Cable(slow), nic) for nic in NICS} if fault == "path" else ()
    (item,) = blame_paths(measured(pairs, WRITES, slow_ends, cables)).undecided
    good = item.measure[0][0] if item.measure[0][1] in slow else item.measure[0][1]
    assert set(item.measure) == {(sender, good), (good, receiver)}
    assert f"{sender} -> {good}" in item.would_decide
    assert f"{good} -> {receiver}" in item.would_decide
    assert f"({good} found good)" in item.would_decide
    found = blame_paths(measured([*pairs, *item.measure], WRITES, slow_ends, cables))
    named_parts = {
        "sender": Part("node", sender, way=SENDING),
        "receiver": Part("node", receiver, way=RECEIVING),
        "path": Part("pair", min(slow), peer=max(slow)),
    }
    assert found == Located((named_parts[fault],), ())


def test_two_nodes_alone_have_no_good_node():
    results = measured([("a", "b")], BOTH_FLOWS[0], everywhere("b", RECEIVING))
    (item,) = blame_paths(results).undecided
    assert set(item.among) == {"a sending", "b receiving", "a:b"}
    assert item.would_decide == (
        "measure a and b with nodes that are known to be good, in both directions"
    )
    assert item.measure == ()


def test_an_undecided_direction_of_one_nic_names_the_nic():
    (item,) = blame_paths(measured(planned(NODES), WRITES, [("n003", SENDING, "mlx5_1")])).undecided
    assert "n003 mlx5_1 sending" in item.among
    assert item.would_decide.endswith(", with mlx5_1")


# --- faults in both directions are named without a direction ---


@pytest.mark.parametrize("flows", [WRITES, *BOTH_FLOWS])
@pytest.mark.parametrize("count", [4, 5, 8, 9, 31])
def test_a_node_that_is_slow_both_ways_is_a_slow_node(count, flows):
    for node in named(count):
        found = blame_paths(measured(planned(named(count)), flows, everywhere(node, *WAYS)))
        assert found == Located((Part("node", node),), ())


@pytest.mark.parametrize("flows", BOTH_FLOWS)
def test_a_slow_path_between_two_good_nodes_is_named_as_a_path(flows):
    for one, other in planned(NODES):
        cables = {(Cable((one, other)), nic) for nic in NICS}
        found = blame_paths(measured(planned(NODES), flows, (), cables))
        assert found == Located((Part("pair", min(one, other), peer=max(one, other)),), ())


def test_a_node_that_is_slow_only_in_bidirectional_tests_is_a_slow_node():
    pairs = planned(NODES)
    fine = measured(pairs, WRITES)
    both = measured(pairs, (Flow.BOTH,), everywhere("n004", *WAYS))
    assert blame_paths([*fine, *both]) == Located((Part("node", "n004"),), ())


def test_latencies_neither_clear_nor_split_a_direction():
    """Latency tests use both directions."""
    pairs = planned(NODES)
    slow_ends = everywhere("n002", RECEIVING)
    fast = measured(pairs, (Flow.UNTOLD,))
    found = blame_paths([*measured(pairs, BOTH_FLOWS[0], slow_ends), *fast])
    assert found == Located((Part("node", "n002", way=RECEIVING),), ())
    slow = measured(pairs, (Flow.UNTOLD,), everywhere("n002", *WAYS))
    found = blame_paths([*measured(pairs, BOTH_FLOWS[0]), *slow])
    assert found == Located((Part("node", "n002"),), ())


def test_a_slow_nic_and_another_that_only_receives_slowly_are_both_named():
    slow_ends = [
        ("n005", SENDING, "mlx5_0"),
        ("n005", RECEIVING, "mlx5_0"),
        ("n005", RECEIVING, NICS[1]),
    ]
    found = blame_paths(measured(planned(NODES), BOTH_FLOWS[0], slow_ends))
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


@given(FAULTS, st.integers(4, 12), st.integers(2, 5), st.sampled_from([WRITES, *BOTH_FLOWS]))
def test_a_single_fault_is_named_or_suspected_and_nothing_else_is_named(fault, count, turns, flows):
    kind, number, way = fault
    nodes, pairs = named(count), planned(named(count), turns)
    node, path = nodes[number % count], pairs[number % len(pairs)]
    slow_ends = {"end": everywhere(node, way), "node": everywhere(node, *WAYS), "path": []}[kind]
    cables = {(Cable(path), nic) for nic in NICS} if kind == "path" else ()
    found = blame_paths(measured(pairs, flows, slow_ends, cables))
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


def test_a_slow_direction_is_not_called_a_slow_pair_across_rails():
    """Cross-rail tests from ``mlx5_0`` to ``mlx5_1`` are added to the tests on one rail."""
    slow_ends = [("n003", RECEIVING, "mlx5_1")]
    pairs = planned(NODES)
    crossing = [
        PathResult(
            (a, b),
            {(a, SENDING, "mlx5_0"), (b, RECEIVING, "mlx5_1")} & set(slow_ends) != set(),
            None,
            "mlx5_0",
            (None, "mlx5_1"),
            Flow.FORWARD,
        )
        for a, b in pairs
    ]
    found = blame_paths([*measured(pairs, BOTH_FLOWS[0], slow_ends), *crossing])
    assert found == Located((Part("nic", "n003", "mlx5_1", way=RECEIVING),), ())
