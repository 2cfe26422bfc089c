"""The engine measures the ladder: never two on a node, in the order of the rungs, behind gates."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest
from testing.engine_bench import (
    COLLECTIVE,
    LIMIT_S,
    PRESENT,
    SPEED,
    a_round,
    all_pairs,
    another,
    bench,
)
from testing.in_threads import InThreads
from testing.waiting import stays, wait_until

from railgauge.config.thresholds.storage import NODE_STORAGE
from railgauge.run.decided import Decision, ReadDecisions
from railgauge.run.store import Store

ROUND = {f"n{number:02}" for number in range(16)}
LOW, BLOCKED = "item0", Decision(blockers=("item0",))


@pytest.fixture
def bench_of(tmp_path):
    """Makes benches, whose engines are ended after the test."""
    made = []

    def make(*wanted, **options):
        made.append(bench(tmp_path, *wanted, **options))
        return made[-1]

    yield make
    for one in made:
        one.release()
        one.engine.end()


def measured_nodes(one):
    return ["".join(case.nodes) for case in one.log]


# --- what is measured when ---


DIAGNOSTICS = [(3, node, name) for node in "abc" for name in (SPEED, COLLECTIVE)]
COLLECTIVES = [(3, pair, "pair_all_reduce") for pair in ("ab", "bc", "ca")]


@pytest.mark.parametrize("wanted", [all_pairs(12), [*DIAGNOSTICS, *COLLECTIVES]])
def test_every_unit_is_measured_once_and_never_two_on_a_node(bench_of, wanted):
    """On one rung or on several; also not a diagnostic and a collective of the same node."""
    one = bench_of(*wanted, at_once=4)
    assert one.carry_out() == dict.fromkeys(one.units, PRESENT)
    assert len(one.log) == len(set(one.log)) == len(one.units) == len(one.decided)
    assert one.clashes == 0
    assert one.most <= 4


def test_storage_that_nodes_share_is_measured_from_one_of_them_at_a_time(bench_of):
    """Each is to get from it what it can get alone; a node's GPUs are measured meanwhile."""
    stored = [(5, node, NODE_STORAGE) for node in "abc"]
    one = bench_of(*stored, (5, "d", SPEED), at_once=4, held={"a"})
    one.engine.begin()
    wait_until(lambda: len(one.log) == 2, LIMIT_S, "a and d")
    stays(lambda: set(measured_nodes(one)) == {"a", "d"}, 0.3, "b and c wait")
    one.release()
    wait_until(one.all_decided, LIMIT_S, "all")
    assert measured_nodes(one)[-2:] == ["b", "c"]


@pytest.mark.parametrize(("at_once", "pairs"), [(8, 8), (3, 3), (1, 1), (20, 8)])
def test_as_many_as_were_asked_for_are_measured_at_once(bench_of, at_once, pairs):
    one = bench_of(*a_round(16), at_once=at_once, held=set(ROUND))
    one.engine.begin()
    wait_until(lambda: len(one.running) == 2 * pairs, LIMIT_S, f"{pairs} pairs")
    stays(lambda: len(one.running) == 2 * pairs, 0.3, f"{pairs} pairs")
    one.release()
    wait_until(one.all_decided, LIMIT_S, "all pairs")
    assert one.most == pairs


def test_a_node_that_hangs_delays_only_its_own_pairs(bench_of):
    one = bench_of(*all_pairs(8), held={"n03"})
    one.engine.begin()
    wait_until(lambda: "n03" in one.running, LIMIT_S, "the first pair of the node")
    (stuck,) = [case.nodes for case in one.log if "n03" in case.nodes]
    rest = {unit for unit in one.units if not set(stuck) & set(unit.nodes)}
    wait_until(lambda: rest <= dict(one.decided).keys(), LIMIT_S, "the pairs of all other nodes")
    assert not any("n03" in unit.nodes for unit, _ in one.decided)
    one.release()
    wait_until(one.all_decided, LIMIT_S, "the pairs of the node")


def test_an_upper_rung_waits_until_the_lower_ones_of_its_nodes_were_judged(bench_of):
    one = bench_of((1, "ab"), (1, "cd"), (2, "ab"), (2, "ac"), held={"d"})
    one.engine.begin()
    wait_until(lambda: len(one.decided) == 2, LIMIT_S, "both rungs of the first pair")
    stays(lambda: len(one.log) == 3, 0.3, "the second rung of the other one waits")
    assert sorted(measured_nodes(one)[:2]) == ["ab", "cd"]
    assert measured_nodes(one)[2] == "ab"
    one.release()
    wait_until(one.all_decided, LIMIT_S, "the upper rung")
    assert measured_nodes(one)[3] == "ac"


def test_the_facts_of_a_node_are_judged_and_not_measured(bench_of):
    one = bench_of((0, "a"), (0, "b"), (1, "ab"), slow={"b"})
    assert list(one.carry_out().values()) == [Decision(), Decision(), Decision(blockers=("item1",))]
    assert one.log == []


def test_a_decision_says_how_long_measuring_took_and_not_how_long_it_waited(bench_of):
    one = bench_of((1, "ab"), (1, "ac"), (0, "d"), (1, "de"), slow={"d"}, held={"b"}, at_once=1)
    one.engine.begin()
    wait_until(lambda: one.running, LIMIT_S, "the first pair")
    stays(lambda: one.running, 0.3, "the first pair takes its time")
    one.release()
    wait_until(one.all_decided, LIMIT_S, "all units")
    took_s = [one.decisions.known(one.case_of(unit)).took_s for unit in one.units if unit.case]
    assert took_s[0] >= 0.3
    assert took_s[1] < took_s[0]
    assert took_s[2] == 0, "it was blocked"


def test_a_measurement_is_made_with_those_it_is_compared_with(bench_of):
    one, other = bench_of((1, "ab")), another("a", "b")
    one.ladder.others[one.units[0]] = (other,)
    one.carry_out()
    assert one.log == [one.case_of(one.units[0]), other]
    assert one.decisions.request(other) == PRESENT
    assert one.decisions.known(other) is None, "none of its own items may go on"


# --- gates ---


def test_a_rung_that_failed_blocks_those_above_and_nothing_is_measured_there(bench_of):
    one = bench_of((1, "ab"), (1, "cd"), (2, "ab"), (2, "cd"), (4, "ac"), slow={"a"})
    found = one.carry_out()
    assert [found[unit] for unit in one.units] == [PRESENT, PRESENT, BLOCKED, PRESENT, BLOCKED]
    assert one.known() == [found[unit] for unit in one.units]
    assert sorted(measured_nodes(one)) == ["ab", "cd", "cd"]


def test_a_blocked_unit_is_decided_at_once(bench_of):
    """Units above it too, while other units are measured."""
    one = bench_of((1, "ab"), (1, "cd"), (2, "ab"), (3, "ab"), slow={"a"}, held={"c"}, at_once=2)
    one.engine.begin()
    wait_until(lambda: len(one.decided) == 3, LIMIT_S, "the first pair")
    assert [decision for _, decision in one.decided] == [PRESENT, BLOCKED, BLOCKED]
    assert one.running == {"c", "d"}


def test_all_blockers_are_named_in_the_order_of_the_ladder(bench_of):
    one = bench_of((0, "b"), (0, "a"), (1, "ab"), slow={"a", "b"})
    assert one.carry_out()[one.units[2]] == Decision(blockers=("item0", "item1"))


def test_everything_is_measured_without_gates(bench_of):
    one = bench_of((0, "a"), (1, "ab"), (2, "ab"), slow={"a"}, judging={"no_gates": True})
    assert list(one.carry_out().values()) == [Decision(), PRESENT, PRESENT]
    assert len(one.log) == 2


@pytest.mark.parametrize(
    ("subject", "is_measured"), [("kernel", True), ("port_state", True), ("gpu_count", False)]
)
def test_a_collective_behind_its_gate_is_measured_for_its_results_unless_prevented(
    bench_of, subject, is_measured
):
    one = bench_of((0, "a", subject), (3, "a", COLLECTIVE), (3, "a"), slow={"a"})
    one.ladder.others[one.units[1]] = (another("a"),)
    found = one.carry_out()
    shut = Decision(measured=is_measured, blockers=(LOW,))
    assert [found[unit] for unit in one.units] == [Decision(), shut, BLOCKED]
    assert one.log == ([one.case_of(one.units[1])] if is_measured else [])


def test_an_error_of_the_suite_closes_no_gate(bench_of):
    one = bench_of((1, "ab"), (2, "ab"), (2, "ac"), errors={"b": RuntimeError("a defect")})
    broken = Decision(broken="RuntimeError: a defect")
    assert list(one.carry_out().values()) == [broken, broken, PRESENT]
    assert one.known() == [broken, broken, PRESENT]
    assert one.decisions.stopped == "the run ended before this item"
    assert one.decisions.error is None


def test_an_error_while_an_item_is_judged_does_not_end_the_run(bench_of):
    """The item's test raises it as well, and pytest reports it."""
    errors = {"b": RuntimeError("a defect")}
    one = bench_of((1, "ab"), (2, "ab"), (3, "b", COLLECTIVE), (4, "ac"), judging_errors=errors)
    assert one.carry_out() == dict.fromkeys(one.units, PRESENT)
    assert one.decisions.error is None


# --- what other items ask for ---


def test_another_case_is_measured_in_its_turn(bench_of):
    one, other = bench_of((1, "ab"), (1, "cd"), held={"a"}), another("a", measurement=COLLECTIVE)
    one.engine.begin()
    wait_until(lambda: "a" in one.running, LIMIT_S, "the pair below")
    asked = InThreads(lambda: one.decisions.request(other))
    stays(lambda: other not in one.log, 0.5, "the rung below is open")
    one.release()
    assert asked.ended() == [PRESENT]
    assert one.log[-1] == other
    assert one.decisions.request(other) == PRESENT
    assert one.log.count(other) == 1
    assert one.decisions.known(other) is None


def test_a_case_that_two_processes_request_is_measured_once(bench_of, tmp_path):
    one, other = bench_of(), another("x", "y")
    one.held.add("x")
    one.engine.begin()
    workers = [ReadDecisions(Store(tmp_path)) for _ in range(2)]
    asked = InThreads(*(lambda w=worker: w.request(other) for worker in workers))
    requested = tmp_path / "leases" / "requested.jsonl"
    both = lambda: requested.exists() and len(requested.read_text().splitlines()) == 2  # noqa: E731
    wait_until(both, LIMIT_S, "both requests")
    wait_until(lambda: one.running, LIMIT_S, "the measurement")
    one.release()
    assert asked.ended() == [PRESENT, PRESENT]
    assert one.log == [other]


def test_a_requested_case_has_no_gate_and_closes_none(bench_of):
    one, other = bench_of((0, "a"), (4, "ab"), slow={"a"}), another("a", measurement=COLLECTIVE)
    one.engine.begin()
    assert one.decisions.request(other) == PRESENT
    wait_until(lambda: len(one.decided) == 3, LIMIT_S, "all units")
    assert Counter(decision for _, decision in one.decided) == {
        Decision(): 1, BLOCKED: 1, PRESENT: 1,
    }  # fmt: skip


def test_an_error_of_a_requested_case_is_reported(bench_of):
    one = bench_of((1, "ab"), errors={"x": ValueError("odd")})
    one.engine.begin()
    assert one.decisions.request(another("x")).broken == "ValueError: odd"
    wait_until(lambda: len(one.decided) == 2, LIMIT_S, "the other unit")


# --- answers for the items ---


@pytest.mark.parametrize("for_items", [True, False])
def test_answers_are_there_before_an_item_hears_that_it_was_measured(bench_of, for_items):
    """Those of the highest rung too, for which no gate asks; not if the items are in workers."""
    ahead = SimpleNamespace()
    judging = {"for_items": ahead if for_items else None}
    one = bench_of((4, "ab", "pair_all_reduce"), judging=judging)
    (unit,) = one.units
    judged, seen, add = [], [], one.decisions.add
    answers = one.answers
    one.answers = lambda questions: judged.append(questions) or answers(questions)
    ahead.answer, ahead.answers = one.answer, one.answers
    one.decisions.add = lambda *about, **more: (seen.append(len(judged)), add(*about, **more))
    one.carry_out()
    assert seen == [int(for_items)]
    assert one.decisions.known(one.case_of(unit)).measured
