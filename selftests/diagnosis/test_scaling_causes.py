"""What slows a step of the scaling ladder, from a run's records and what it measured again."""

from dataclasses import replace

import pytest
from scaling_truth import Fabric, leaves_of
from testing.core_values import ROOT, cluster

from railgauge.config import thresholds
from railgauge.core.model import Judgement, Outcome
from railgauge.core.question import RATIO, READ, Question
from railgauge.diagnosis import RunResults, diagnosed
from railgauge.diagnosis.facts.scaling import searched
from railgauge.diagnosis.model import Context, Finding, Where
from railgauge.diagnosis.reach import explains
from railgauge.judging.confirmation import Confirmed
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan
from railgauge.planning.scaling import most_runs

H200 = thresholds.load("h200", ROOT / "thresholds")
SCALING = H200.measurements["scaling_all_reduce"]
LEAVES = leaves_of(4, 4)
NODES = tuple(node for leaf in LEAVES.values() for node in leaf)
CLUSTER = replace(cluster(*NODES), groups=LEAVES)
LEVEL = plan.level(H200, CLUSTER, "signoff")


def judged(*, slow, metric="scaling", outcome=None):
    fine = Outcome.FAILED if slow else Outcome.PASSED
    value = 0.6 if slow else 0.99
    return Judgement(
        metric, outcome or fine, f"{value}", ">= 0.92", "derived: made up", unit="1",
        values=(value,), worst=value, floor=0.92, margin=value / 0.92 - 1, better="higher",
    )  # fmt: skip


def question(nodes, of=SCALING):
    made = plan.case_on(of, "signoff", nodes, None)
    other = plan.case_on(SCALING, "signoff", LEVEL.ladder.smallest, None)
    return Question(RATIO, made, other=other, metric="busbw")


def step(name, nodes, judgement, of=SCALING):
    asked = question(nodes, of)
    return ItemRecord(
        f"tests/collective/test_scaling.py::test_scaling[{of.name}-{name}]", of.rung, of.name,
        "scales", judgement.outcome, nodes, judgements=(judgement,),
        questions=(Question(READ, asked.case), asked),
    )  # fmt: skip


def ladder(is_slow, of=SCALING, **more):
    items = [
        step(n, nodes, judged(slow=is_slow(nodes), **more), of)
        for n, nodes in LEVEL.ladder.steps.items()
    ]
    return RunResults({item.id: item for item in items}, {}, H200, CLUSTER)


def both(one, other):
    return replace(one, records={**one.records, **other.records})


def measured(results, is_slow, rounds=99):
    """The results with what the diagnosis asks for, and the number of runs in it."""
    before = ()
    for _ in range(rounds):
        asked = diagnosed(results).follow_ups(before)
        if not asked:
            break
        before = (*before, *asked)
        cases = [(one, one.question.case) for one in asked]
        again = [Confirmed(o, (judged(slow=_slow(is_slow, case)),)) for o, case in cases]
        results = replace(results, confirmed=(*results.confirmed, *again))
    return results, len(before)


def _slow(is_slow, case):
    by_name = is_slow if isinstance(is_slow, dict) else {SCALING.name: is_slow}
    return by_name[case.measurement](case.nodes)


def causes(results):
    found = diagnosed(results).causes
    return [(one.cause, str(one.where), one.confidence) for one in found]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"uplinks": {"leaf01": 2}}, ("slow-leaf", "n[0004-0007]")),
        ({"switches": {"leaf02": 2}}, ("slow-leaf", "n[0008-0011]")),
        ({"uplinks": dict.fromkeys(LEAVES, 2)}, ("oversubscribed-uplinks", "the cluster")),
        ({"between": {frozenset(("leaf01", "leaf02")): 0}}, ("slow-leaf", "n[0004-0011]")),
        ({"nodes": frozenset(["n0009"])}, ("slow-node", "n0009")),
        ({"whole": 15}, ("poor-scaling", "the cluster")),
    ],
)
def test_the_place_is_named(more, expected):
    is_slow = Fabric(LEAVES, **more).is_slow
    results, runs = measured(ladder(is_slow), is_slow)
    assert causes(results) == [(*expected, "likely")]
    assert 0 < runs <= most_runs(16, 4)


def test_before_any_run_it_is_open_and_asks_for_the_step_again():
    results = ladder(lambda nodes: len(nodes) == 16)
    assert causes(results) == [("poor-scaling", "n[0000-0015]", "open")]
    (asked,) = diagnosed(results).follow_ups()
    assert asked.question == question(LEVEL.ladder.steps["across-16"])


def test_what_is_fine_when_it_is_made_again_has_no_place():
    results, runs = measured(ladder(lambda nodes: len(nodes) == 16), lambda nodes: False)
    assert (causes(results), runs) == ([("poor-scaling", "n[0000-0015]", "open")], 1)
    (cause,) = diagnosed(results).causes
    assert cause.confirmation.state == "not reproduced"


def test_a_healthy_ladder_asks_for_nothing():
    results = ladder(lambda nodes: False)
    assert not causes(results)
    assert not diagnosed(results).follow_ups()


def test_wrong_results_are_no_miss_of_speed():
    results = ladder(lambda nodes: True, metric="corruption")
    assert not diagnosed(results).follow_ups()
    assert all(cause not in ("slow-leaf", "poor-scaling") for cause, *_ in causes(results))


def test_a_run_near_its_limit_decides_nothing():
    is_slow = Fabric(LEAVES, uplinks={"leaf01": 2}).is_slow
    results = ladder(is_slow)
    (asked,) = diagnosed(results).follow_ups()
    marginal = Confirmed(asked, (judged(slow=False, outcome=Outcome.MARGINAL),))
    results = replace(results, confirmed=(marginal,))
    assert [one[2] for one in causes(results)] == ["open"]


TREE = H200.measurements["scaling_all_reduce_tree"]


def never(nodes):
    return False


def test_a_slow_tree_over_nodes_that_are_fine_in_a_ring_is_the_algorithm():
    """One more run shows it again; nothing is halved."""
    is_slow = {TREE.name: lambda nodes: len(nodes) > 2, SCALING.name: never}
    results = both(ladder(never), ladder(is_slow[TREE.name], TREE))
    assert [one[2] for one in causes(results)] == ["open"]
    results, runs = measured(results, is_slow)
    assert (causes(results), runs) == ([("poor-scaling", "the cluster", "likely")], 1)
    (cause,) = diagnosed(results).causes
    assert "over the same nodes scaling_all_reduce is fine" in cause.says
    assert len(cause.evidence) == 4
    assert cause.confirmation.state == "confirmed"


def test_a_tree_that_was_slow_once_is_open():
    results = both(ladder(never), ladder(lambda nodes: len(nodes) == 16, TREE))
    results, runs = measured(results, {TREE.name: never, SCALING.name: never})
    assert (runs, [one[2] for one in causes(results)]) == (1, ["open"])


def test_a_tree_without_a_ring_over_the_same_nodes_is_open():
    results, runs = measured(ladder(lambda nodes: len(nodes) > 2, TREE), {TREE.name: never})
    assert (runs, [one[2] for one in causes(results)]) == (0, ["open"])


def test_a_leaf_explains_the_tree_too_and_is_searched_with_the_ring():
    is_slow = Fabric(LEAVES, uplinks={"leaf01": 2}).is_slow
    results = both(ladder(is_slow), ladder(is_slow, TREE))
    results, _ = measured(results, is_slow)
    assert causes(results) == [("slow-leaf", "n[0004-0007]", "likely")]
    (cause,) = diagnosed(results).causes
    assert {item.split("[")[1].split("-")[0] for item in cause.evidence} == {
        SCALING.name, TREE.name,
    }  # fmt: skip


def known(node, confidence):
    """A finding of a rule, that a node was slow; open if it may be a part of it."""
    return Finding("slow-node", Where(node), "", (_slow_pair(node),), confidence)


def _slow_pair(node):
    pair = H200.measurements["pair_all_reduce"]
    return ItemRecord(
        f"tests/collective/test_pairs.py::test_collective[{node}]", pair.rung, pair.name, "runs",
        Outcome.FAILED, (node, "n0001"), judgements=(judged(slow=True, metric="busbw"),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("node", "more", "expected"),
    [
        ("n0009", {"uplinks": {"leaf01": 2}}, [("slow-leaf", "n[0004-0007]")]),
        ("n0005", {"uplinks": {"leaf01": 2}}, [("slow-leaf", "n[0004,0006-0007]")]),
        ("n0009", {"uplinks": dict.fromkeys(LEAVES, 2)}, [("oversubscribed-uplinks", "")]),
        ("n0009", {}, []),
    ],
)
@pytest.mark.parametrize("confidence", ["likely", "open"])
def test_a_slow_node_hides_nothing(node, more, expected, confidence):
    is_slow = Fabric(LEAVES, nodes=frozenset([node]), **more).is_slow
    results, found, runs = ladder(is_slow), None, 0
    finding = known(node, confidence)
    while found is None or found.asked:
        wrong = tuple(r for r in results.records.values() if r.outcome is Outcome.FAILED)
        explained = [r for r in wrong if explains(finding, r, H200)]
        found = searched(Context(results, wrong).without(explained, (finding,)))
        asked = [(one, one.question.case.nodes) for one in found.asked]
        assert all(node not in nodes for _, nodes in asked)
        again = [Confirmed(one, (judged(slow=is_slow(nodes)),)) for one, nodes in asked]
        results, runs = replace(results, confirmed=(*results.confirmed, *again)), runs + len(asked)
    assert [(one.cause, one.where.node) for one in found.findings] == expected
    assert runs > 1 if expected else runs == 1


def test_the_budget_holds():
    """Each answer contradicts the one before: the search ends with what the plan allows."""
    turn = iter(range(10**6))
    results, runs = measured(ladder(lambda nodes: True), lambda nodes: next(turn) % 3 != 1)
    assert runs <= most_runs(16, 4)
    assert causes(results)
