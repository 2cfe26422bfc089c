"""Suspects are measured again with good partners; the results confirm or change a cause."""

from dataclasses import replace

import pytest
from testing.diagnose_scenes import (
    MIB8,
    asking,
    blocked,
    broken,
    causes,
    collectives,
    fact,
    findings,
    links,
    measured,
    names,
    pairs_of,
    path,
    paths,
    planned,
)

from railgauge.core.model import Outcome
from railgauge.core.naming import among
from railgauge.core.question import LIMITS
from railgauge.diagnosis import diagnose
from railgauge.diagnosis.confirm import confirmations
from railgauge.diagnosis.partners import good_nodes
from railgauge.judging.confirmation import Confirmed
from railgauge.report.allure.causes import with_cause
from railgauge.report.causes import about
from railgauge.verdict.decision import decide

NICS = ("mlx5_0", "mlx5_1")


def found_by(*records, nodes=()):
    flat = [r for one in records for r in (one if isinstance(one, list) else [one])]
    return findings([asking(item) for item in flat], nodes=nodes)


def planned_again(found):
    """Suspects and nodes of each measurement."""
    asked = confirmations(found, diagnose(found))
    return [(one.suspects, one.question.case.nodes) for one in asked]


# --- what is measured again ---


@pytest.mark.parametrize("node", names(8))
def test_a_slow_node_is_measured_with_two_new_good_partners(node):
    pairs = list(pairs_of(names(8), 2))
    met = {other for pair in pairs if node in pair for other in pair}
    found = found_by(paths(pairs, NICS, {node: 200.0}))
    (one, two) = confirmations(found, diagnose(found))
    for asked in (one, two):
        assert (asked.cause, asked.node, asked.suspects) == ("slow-node", node, (node,))
        (partner,) = set(asked.question.case.nodes) - {node}
        assert partner not in met
    assert one.question.case.nodes != two.question.case.nodes


def test_direction_path_and_size_are_those_of_the_worst_item():
    pairs = list(pairs_of(names(6), 3))
    found = found_by(paths(pairs, NICS, {("n3", "mlx5_1"): 200.0}))
    items = {item.id: item for item in found.records.values()}
    (cause,) = diagnose(found)
    worst = items[cause.evidence[0]]
    for asked in confirmations(found, [cause]):
        question = asked.question
        assert (question.kind, question.size_bytes) == (LIMITS, MIB8)
        assert str(question.case.pairing) == "mlx5_1"
        assert question.case.nodes.index("n3") == worst.nodes.index("n3")
        assert (asked.node, asked.device) == ("n3", "mlx5_1")


@pytest.mark.parametrize("worst", NICS)
def test_the_slowest_of_several_paths_is_measured(worst):
    speeds = {("n3", nic): 150.0 if nic == worst else 300.0 for nic in NICS}
    found = found_by(paths(list(pairs_of(names(6), 3)), NICS, speeds))
    taken = {str(a.question.case.pairing) for a in confirmations(found, diagnose(found))}
    assert taken == {worst}


def test_a_suspect_is_not_used_as_a_partner():
    pairs = list(pairs_of(names(8), 4))
    nodes = planned_again(found_by(paths(pairs, NICS, {"n3": 200.0, "n5": 250.0})))
    assert len(nodes) == 4
    assert all(len({"n3", "n5"} & set(pair)) == 1 for _, pair in nodes)


def test_a_slow_path_is_measured_again_and_each_of_its_two_nodes_with_another_one():
    """An end may be slow at times: what cleared it was measured once."""
    pairs = list(pairs_of(names(6), 4))
    slow = frozenset(pairs[0])
    *ends, last = planned_again(found_by(paths(pairs, NICS, {slow: 200.0})))
    assert last == (tuple(sorted(slow)), pairs[0])
    assert [suspects for suspects, _ in ends] == [(node,) for node in pairs[0]]
    assert all(len(slow & set(pair)) == 1 for _, pair in ends)


def test_a_measurement_of_one_node_needs_no_partner():
    found = found_by(links("n1", {(2, 5): 100.0}), *collectives(pairs_of(names(4), 2), {}))
    assert planned_again(found) == [(("n1",), ("n1",))]


def test_each_of_several_suspects_is_measured():
    items = [path("n1", "n2", nic, 200.0) for nic in NICS]
    fine = paths([("n3", "n4")], NICS, {})
    asked = planned_again(found_by(items, fine))
    assert set(asked) >= {
        (("n1",), ("n1", "n3")), (("n1",), ("n1", "n4")),
        (("n2",), ("n3", "n2")), (("n2",), ("n4", "n2")),
    }  # fmt: skip
    assert {suspects for suspects, _ in asked} == {("n1",), ("n2",), ("n1", "n2"), ()}


def nothing_to_confirm():
    pairs = list(pairs_of(names(4), 2))
    yield "healthy", paths(pairs, NICS, {})
    yield "a fact is the cause", [fact("n1", "cpu_governor"), *paths(pairs, NICS, {})]
    yield "no node is good", [path("n1", "n2", nic, 200.0) for nic in NICS]
    yield "all are slow", paths(pairs, NICS, dict.fromkeys(names(4), 200.0))
    gone = [broken(item, "connection-lost", "n1: x") for item in paths([("n1", "n2")], NICS, {})]
    yield "nothing was measured", gone


@pytest.mark.parametrize(
    "records", [r for _, r in nothing_to_confirm()], ids=[n for n, _ in nothing_to_confirm()]
)
def test_nothing_is_measured_again_without_need(records):
    assert planned_again(found_by(records)) == []


def test_causes_with_many_suspects_are_not_measured_again():
    slow = [path(f"a{i}", f"b{i}", nic, 200.0) for i in range(20) for nic in NICS]
    many = found_by(slow, paths([("n1", "n2")], NICS, {}))
    assert {len(c.where.node.split("|")) for c in diagnose(many)} == {2}
    assert len(planned_again(many)) == 20 * 7
    ring = [path(f"a{i}", f"a{(i + 1) % 20}", nic, 200.0) for i in range(20) for nic in NICS]
    assert planned_again(found_by(ring, paths([("n1", "n2")], NICS, {}))) == []


def test_a_node_is_good_if_other_nodes_explain_all_its_trouble():
    pairs = list(pairs_of(names(6), 5))
    items = paths(pairs, NICS, {"n3": 200.0})
    lost = broken(path("n4", "n5", "mlx5_0", 392.0, "other"), "odd", "nowhere")
    shut = blocked(path("n3", "n6", "mlx5_0", 392.0, "above"), *items)
    found = found_by(items, lost, shut)
    assert set(good_nodes(found, diagnose(found))) == {"n1", "n2", "n6"}


def test_a_partner_must_have_passed_the_same_measurement():
    pairs = [("n1", "n2"), ("n1", "n3"), ("n2", "n3")]
    items = paths(pairs, NICS, {"n1": 200.0})
    found = found_by(items, [path("n4", "n5", "mlx5_0", 392.0, "something_else")])
    assert {node for _, pair in planned_again(found) for node in pair} == {"n1", "n2", "n3"}


# --- what the results change ---


def again(found, speeds):
    """The findings with each suspect measured again: a speed by nodes, or an error."""
    asked = confirmations(found, diagnose(found))
    results = []
    for one in asked:
        speed = next(v for key, v in speeds.items() if set(key) <= set(one.question.case.nodes))
        if isinstance(speed, str):
            results.append(Confirmed(one, (), speed))
            continue
        bare = path(*one.question.case.nodes, "mlx5_0", 1.0)
        judged = measured(replace(bare, judgements=()), speed).judgements
        results.append(Confirmed(one, judged))
    assert results
    return replace(found, confirmed=tuple(results))


@pytest.fixture
def slow_node():
    return found_by(paths(list(pairs_of(names(6), 3)), NICS, {"n3": 200.0}))


@pytest.mark.parametrize(
    ("speed", "state", "confidence", "word"),
    [
        (201.0, "confirmed", "likely", "201 Gb/s (>= 372.4 Gb/s): slow again"),
        (390.0, "not reproduced", "open", "390 Gb/s (>= 372.4 Gb/s): within its limit this time"),
        ("n3: gone", "not measured", "likely", "could not be measured again: n3: gone"),
    ],
)
def test_a_second_measurement_is_shown_with_its_figures(slow_node, speed, state, confidence, word):
    (cause,) = diagnose(again(slow_node, {("n3",): speed}))
    assert (cause.where.node, cause.confidence) == ("n3", confidence)
    assert cause.confirmation.state == state
    assert len(cause.confirmation.seen) == 2
    assert all(line.endswith(word) for line in cause.confirmation.seen)
    assert ("is intermittent" in cause.would_decide) is (state == "not reproduced")
    assert dict(about(cause))["again"] == [state, *cause.confirmation.seen]
    plain = {"statusDetails": {"message": "slow"}, "labels": []}
    assert f"{state}; " in with_cause(plain, cause)["statusDetails"]["message"]


def test_slow_with_only_one_of_two_partners_is_unsteady(slow_node):
    first, second = confirmations(slow_node, diagnose(slow_node))
    (one,), (two,) = (set(a.question.case.nodes) - {"n3"} for a in (first, second))
    cause, again_slow = diagnose(again(slow_node, {("n3", one): 200.0, ("n3", two): 390.0}))
    assert (cause.confirmation.state, cause.confidence) == ("unsteady", "open")
    assert (again_slow.where.node, again_slow.confidence) == (among(sorted(("n3", one))), "open")
    assert "when measured again, which no other cause explains" in again_slow.says


def test_the_only_suspect_that_is_slow_again_is_the_cause():
    items = [path("n1", "n2", nic, 200.0) for nic in NICS]
    found = found_by(items, paths([("n3", "n4")], NICS, {}))
    assert [c.where.node for c in diagnose(found)] == ["n1|n2"]
    (cause,) = diagnose(again(found, {("n1",): 200.0, ("n2",): 390.0}))
    assert (cause.where.node, cause.confidence, cause.would_decide) == ("n1", "likely", "")
    for speeds in ({("n1",): 200.0, ("n2",): 200.0}, {("n1",): 200.0, ("n2",): "gone"}):
        (cause,) = diagnose(again(found, speeds))
        assert (cause.where.node, cause.confidence) == ("n1|n2", "open")


@pytest.mark.parametrize("speed", [200.0, 390.0, "gone"])
def test_a_second_measurement_does_not_improve_the_verdict(slow_node, speed):
    before = decide(planned(slow_node), slow_node)
    confirmed = again(slow_node, {("n3",): speed})
    after = decide(planned(confirmed), confirmed)
    assert (after.verdict, after.counts) == (before.verdict, before.counts) == (
        "rejected", before.counts,
    )  # fmt: skip
    assert after.causes[0].evidence == before.causes[0].evidence
    assert all(r.outcome is not Outcome.FLAKY for r in confirmed.records.values())


@pytest.mark.parametrize(
    "change", [{"node": "n4"}, {"device": "mlx5_0"}, {"cause": "slow-nic"}, {"peer": "n1"}]
)
def test_results_apply_only_to_their_own_cause(slow_node, change):
    answered = again(slow_node, {("n3",): 390.0})
    first, *_ = answered.confirmed
    other = replace(first, asked=replace(first.asked, **change))
    (cause,) = diagnose(replace(answered, confirmed=(other,)))
    assert (cause.confirmation, cause.confidence) == (None, "likely")


def test_without_a_second_measurement_there_is_no_confirmation(slow_node):
    (cause,) = causes(list(slow_node.records.values()))
    assert cause.confirmation is None
    assert cause.to_json()["confirmation"] is None
    assert "again" not in dict(about(cause))
