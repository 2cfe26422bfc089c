"""A failed pair no longer blocks a node once its cause is known to lie on another node."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from testing.diagnose_scenes import causes, named, names, pairs_of, paths
from testing.engine_bench import COLLECTIVE, LIMIT_S, PRESENT, bench
from testing.waiting import stays, wait_until

from railgauge.core.model import Outcome
from railgauge.diagnosis import CERTAIN, OPEN, Cause
from railgauge.diagnosis.model import LIKELY, Where
from railgauge.run import unit_judge
from railgauge.run.decided import Decision
from railgauge.run.unit_judge import still_blocking

NODES = names(6)
PARTNERS = ("n6", "n2")  # of n1, in two rounds
PAIRS = list(pairs_of(NODES, 2))


def failed(records, node):
    return [one.id for one in records if node in one.nodes and one.outcome is Outcome.FAILED]


def test_a_node_that_met_two_slow_nics_alone_is_free_by_the_diagnosis():
    slow = {(node, "mlx5_0"): 200 for node in PARTNERS}
    records = paths(PAIRS, ("mlx5_0", "mlx5_1"), slow)
    found = causes(records)
    assert sorted(named(found)) == [("slow-nic", "n2, mlx5_0"), ("slow-nic", "n6, mlx5_0")]
    blockers = failed(records, "n1")
    assert len(blockers) == 2
    assert still_blocking("n1", blockers, found) == ()
    for node in PARTNERS:
        own = failed(records, node)
        assert still_blocking(node, own, found) == tuple(own)


def test_the_node_with_the_slow_nic_stays_blocked():
    records = paths(PAIRS, ("mlx5_0", "mlx5_1"), {("n1", "mlx5_0"): 200})
    own = failed(records, "n1")
    assert still_blocking("n1", own, causes(records)) == tuple(own)


def cause(node, *, confidence=LIKELY, peer="", evidence=("x",)):
    about = (evidence, ("y",), confidence, "", "", "")
    return Cause("slow-nic", Where(node, "mlx5_0", peer), "is slow", *about)


@pytest.mark.parametrize(
    ("found", "left"),
    [
        ([], ("x", "y")),
        ([cause("b")], ()),
        ([cause("b", confidence=CERTAIN)], ()),
        ([cause("b", evidence=())], ("x",)),
        ([cause("b", confidence=OPEN)], ("x", "y")),
        ([cause("a")], ("x", "y")),
        ([cause("a|b")], ("x", "y")),
        ([cause("")], ("x", "y")),
        ([cause("b", peer="a")], ("x", "y")),
        ([cause("b"), cause("a", confidence=OPEN)], ("x", "y")),
    ],
)
def test_only_a_decided_cause_on_another_node_frees_a_node(found, left):
    assert still_blocking("a", ("x", "y"), found) == left


# --- in the engine ---


@pytest.fixture
def diagnosed(monkeypatch):
    """Makes the diagnosis find these causes; ``asked`` are the ids of the items that it read."""
    asked, found = [], []

    def diagnose(records):
        asked.append(list(records))
        return found

    monkeypatch.setattr(unit_judge, "diagnose", diagnose)
    return asked, found


def gated_bench(folder, *wanted, slow, for_items=None, **options):
    judging = {"results_of": lambda one: one, "for_items": for_items}
    return bench(folder, *wanted, slow=slow, judging=judging, **options)


IN_NODE = (3, "a", COLLECTIVE)


def decisions(one):
    found = {unit.items: decision for unit, decision in one.carry_out().items()}
    return [found[unit.items] for unit in one.units]


def test_a_unit_of_one_node_is_measured_if_the_cause_is_elsewhere(tmp_path, diagnosed):
    asked, found = diagnosed
    found.append(cause("b", evidence=("item0",)))
    one = gated_bench(tmp_path, (1, "ab"), (1, "bc"), IN_NODE, IN_NODE, slow={"b"})
    assert decisions(one) == [PRESENT] * 4
    assert asked == [["item0", "item1"]], "once, of all pairs of the nodes"


def test_answers_for_the_diagnosis_are_not_kept_for_items(tmp_path, diagnosed):
    """No item would take them: each item takes the answers that were kept for it once."""
    asked, found = diagnosed
    found.append(cause("b", evidence=("item0",)))
    kept, ahead = [], SimpleNamespace()
    one = gated_bench(tmp_path, (1, "ab"), (1, "bc"), IN_NODE, slow={"b"}, for_items=ahead)
    ahead.answer = one.answer
    ahead.answers = lambda questions: kept.append(questions) or one.answers(questions)
    assert decisions(one) == [PRESENT] * 3
    assert asked == [["item0", "item1"]]
    assert len(kept) == len(one.units)


def test_it_stays_blocked_if_the_cause_is_undecided_or_its_own(tmp_path, diagnosed):
    _, found = diagnosed
    found.append(cause("a|b", evidence=("item0",), confidence=OPEN))
    one = gated_bench(tmp_path, (1, "ab"), (2, "a"), slow={"b"})
    assert decisions(one) == [PRESENT, Decision(blockers=("item0",))]


def test_the_pairs_of_the_partner_are_waited_for(tmp_path, diagnosed):
    """The diagnosis cannot tell the two nodes of one pair apart."""
    asked, found = diagnosed
    found.append(cause("b", evidence=("item0",)))
    one = gated_bench(tmp_path, (1, "ab"), (1, "bc"), (3, "a"), slow={"b"}, held={"c"})
    one.engine.begin()
    wait_until(lambda: "c" in one.running, LIMIT_S, "the second pair")
    stays(lambda: not asked, 0.5, "it has no evidence yet")
    one.release()
    wait_until(one.all_decided, LIMIT_S, "all units")
    assert [case.nodes for case in one.log] == [("a", "b"), ("b", "c"), ("a",)]
    one.engine.end()


@pytest.mark.parametrize(
    "wanted",
    [
        [(0, "a"), (1, "ab"), (3, "a")],  # a fact of its own is wrong
        [(1, "ab"), (2, "ac")],  # two nodes
        [(1, ("a", name)) for name in "bcdef"] + [(3, "a")],  # too many partners
    ],
)
def test_other_gates_stay_closed_without_a_diagnosis(tmp_path, diagnosed, wanted):
    asked, found = diagnosed
    found.append(cause("b", evidence=("item0", "item1")))
    one = gated_bench(tmp_path, *wanted, slow={"a"})
    assert decisions(one)[-1].blockers
    assert not asked
