"""The engine ends: at corrupt data, at a number of failures, at an exhausted resource."""

from __future__ import annotations

import errno

import pytest
from testing.engine_bench import COLLECTIVE, LIMIT_S, PRESENT, a_round, another, bench
from testing.in_threads import InThreads
from testing.waiting import wait_until

from railgauge.core.errors import Exhausted
from railgauge.core.model import Outcome
from railgauge.core.question import CORRECT, Question
from railgauge.run.decided import Decision
from railgauge.verdict.unanswered import NEVER_RAN

FULL = OSError(errno.ENOSPC, "No space left on device")
LACKS = [FULL, MemoryError("no memory"), Exhausted("this machine has no more threads")]


@pytest.fixture
def bench_of(tmp_path):
    """Makes one bench, whose engine the test ends."""
    return lambda *wanted, **options: bench(tmp_path, *wanted, **options)


# --- corrupt data ---


def test_corruption_ends_all_measurements_and_starts_no_other(bench_of):
    collectives = [(3, node, COLLECTIVE) for node in "abcd"]
    one = bench_of(*collectives, (4, "ab"), corrupt={"a"}, held={"a", "b", "c"}, through={"c"})
    one.engine.begin()
    wait_until(lambda: one.decided and len(one.running) == 3, LIMIT_S, "the quick one")
    one.release("a")
    wait_until(lambda: one.decisions.stopped, LIMIT_S, "the stop")
    one.engine.end()
    assert one.decisions.stopped.startswith("the run was stopped: data corruption: a: ")
    assert one.ended_by_force == 1
    assert one.running == set()
    assert one.known() == [PRESENT, None, PRESENT, PRESENT, None]
    assert one.decisions.wait(one.case_of(one.units[1])) == Decision(stopped=one.decisions.stopped)


def test_corrupt_results_behind_a_gate_stop_the_run_too(bench_of):
    one = bench_of((0, "a"), (3, "a", COLLECTIVE), (4, "a"), slow={"a"}, corrupt={"a"}, at_once=1)
    one.carry_out()
    assert one.known() == [Decision(measured=True, blockers=("item0",)), None]
    ((_, record),) = one.engine.judged({"item1"})
    assert (record.outcome, record.blocked_by) == (Outcome.FAILED, ())


# --- a number of failures ---


@pytest.mark.parametrize(
    ("most_wrong", "held", "measured"), [(0, "", 4), (1, "c", 1), (2, "g", 3), (9, "", 4)]
)
def test_the_run_stops_at_a_number_of_failed_items(bench_of, most_wrong, held, measured):
    """The next one has begun by then, and is ended."""
    pairs, judging = [(1, pair) for pair in ("ab", "cd", "ef", "gh")], {"most_wrong": most_wrong}
    one = bench_of(*pairs, slow={"a", "e"}, at_once=1, held={*held}, judging=judging)
    one.carry_out()
    assert one.known() == [PRESENT] * measured + [None] * (4 - measured)
    assert len(one.log) <= measured + 1
    assert one.decisions.stopped == NEVER_RAN


@pytest.mark.parametrize(("slow", "measured"), [("a", ["bd"]), ("ac", [])])
def test_facts_count_among_the_failed_items_and_blocked_ones_do_not(bench_of, slow, measured):
    wanted = [(0, "a"), (0, "b"), (0, "c"), (1, "ab"), (1, "bd")]
    one = bench_of(*wanted, slow={*slow}, judging={"most_wrong": 2})
    one.carry_out()
    assert ["".join(case.nodes) for case in one.log] == measured


# --- errors ---


@pytest.mark.parametrize("error", LACKS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("where", ["errors", "judging_errors"])
def test_a_lack_of_this_machine_ends_the_engine_and_reaches_who_waits(bench_of, where, error):
    one = bench_of((1, "ab"), (1, "cd"), (2, "ab"), held={"a", "c"}, **{where: {"a": error}})
    cases = [one.case_of(unit) for unit in one.units[1:]]
    one.engine.begin()
    wait_until(lambda: len(one.running) == 4, LIMIT_S, "both pairs")
    waiting = InThreads(*(lambda case=case: one.decisions.wait(case) for case in cases))
    assert waiting.waiting == 2
    one.release("a")
    assert waiting.ended() == [error, error]
    one.engine.end()
    assert one.decisions.error is error
    assert one.decisions.stopped == f"the run was stopped: {error}"
    assert one.running == set()
    assert one.ended_by_force == 1


def test_a_thread_that_cannot_be_started_ends_the_run(bench_of, monkeypatch):
    """Nobody sees an exception in the engine's own thread; the items would wait forever."""
    one, begun = bench_of((1, "ab"), (1, "ac"), at_once=1), []
    submit = one.engine._threads.submit

    def only_once(*words):
        begun.append(words)
        if len(begun) > 1:
            raise RuntimeError("can't start new thread")
        return submit(*words)

    monkeypatch.setattr(one.engine._threads, "submit", only_once)
    one.engine.begin()
    with pytest.raises(RuntimeError, match="new thread"):
        one.decisions.wait(one.case_of(one.units[1]))
    one.engine.end()
    assert len(one.log) == 1


def test_two_measurements_on_a_node_end_the_run_before_the_second_begins(bench_of, monkeypatch):
    """Only a bug of the queue could start them; it must never distort a result."""
    one = bench_of((1, "ab"), (1, "bc"), held={"a"})
    started = iter([[one.units[0]], [one.units[1]]])
    monkeypatch.setattr(one.engine._queue, "start", lambda _: next(started, []))
    one.engine.begin()
    with pytest.raises(RuntimeError, match="would share a node"):
        one.decisions.wait(one.case_of(one.units[1]))
    one.engine.end()
    assert one.log == [one.case_of(one.units[0])]


# --- the end of the session ---


def test_the_end_of_the_session_ends_all_measurements(bench_of):
    """Also if it comes twice."""
    one = bench_of(*a_round(8), *a_round(8, rung=2), held={f"n{n:02}" for n in range(8)})
    one.engine.begin()
    wait_until(lambda: len(one.running) == 8, LIMIT_S, "four pairs")
    waiting = InThreads(lambda: one.decisions.wait(one.case_of(one.units[0])))
    for _ in range(2):
        one.engine.end()
        assert one.decisions.stopped == NEVER_RAN
    assert waiting.ended() == [Decision(stopped=NEVER_RAN)]
    assert one.running == set()
    assert len(one.log) == 4
    assert one.ended_by_force == 1
    assert not any(one.known())


def test_a_measurement_that_ends_well_at_the_end_of_the_session_counts(bench_of):
    one = bench_of((1, "ab"), (1, "cd"), held={"a", "c"}, through={"c"})
    one.engine.begin()
    wait_until(lambda: len(one.running) == 4, LIMIT_S, "both pairs")
    one.engine.end()
    assert one.known() == [None, PRESENT]


def test_an_engine_that_has_not_begun_ends_as_well(bench_of):
    """Its thread could not be started."""
    one = bench_of((1, "ab"))
    one.engine.end()
    assert one.decisions.stopped == NEVER_RAN
    assert one.log == []


def test_a_request_after_the_end_does_not_wait(bench_of):
    one = bench_of()
    one.engine.begin()
    one.engine.end()
    assert one.decisions.request(another("x")) == Decision(stopped=NEVER_RAN)


# --- what pytest has not judged ---


def test_a_measured_case_is_judged_on_request(bench_of):
    wanted = [(0, "a"), (1, "ab"), (1, "cd"), (2, "ab"), (3, "b", COLLECTIVE), (1, "ef")]
    one = bench_of(*wanted, slow={"a", "d"}, held={"e"}, at_once=2)
    one.engine.begin()
    wait_until(lambda: len(one.decided) == 5, LIMIT_S, "all but one")
    one.engine.end()
    every = {record.id: record for _, record in one.engine.judged({f"item{n}" for n in range(6)})}
    assert {name: (one.outcome, one.blocked_by) for name, one in every.items()} == {
        "item2": (Outcome.FAILED, ()),
        "item4": (Outcome.PASSED, ()),
    }
    assert [record.id for _, record in one.engine.judged({"item1", "item2"})] == ["item2"]
    assert list(one.engine.judged(())) == []


def test_a_case_that_was_measured_behind_its_gate_is_judged_by_its_results_alone(bench_of):
    one = bench_of((0, "a"), (3, "a", COLLECTIVE), slow={"a"})
    one.carry_out()
    asked, answer = [], one.answer
    one.answer = lambda question: asked.append(question) or answer(question)
    list(one.engine.judged({"item1"}))
    assert asked == [Question(CORRECT, one.case_of(one.units[1]))]
