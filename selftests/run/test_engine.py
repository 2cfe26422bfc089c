"""The engine measures ahead of its caller: never two on a node, in the order of the ladder."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from testing.core_values import case, transcript
from testing.waiting import stays, wait_until

from railgauge.core.question import CaseResult
from railgauge.planning.pairing import tournament
from railgauge.planning.work_queue import Unit, WorkQueue
from railgauge.run.engine import CaseEngine, EngineWork

LIMIT_S = 20.0
GOOD = CaseResult(((transcript(),),))


@dataclass
class Bench:
    """An engine over units, whose measurements a test holds and releases by their nodes."""

    units: list[Unit]
    at_once: int = 8
    closed: frozenset[Unit] = frozenset()
    held: set[str] = field(default_factory=set)
    log: list = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    most: int = 0
    clashes: int = 0
    error: BaseException | None = None
    ended_by_force: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        of = {u: case(nodes=u.nodes, measurement=u.case) for u in self.units if u.case}
        self.case_of, self.cases_of = of, {unit: (one,) for unit, one in of.items()}
        self.queue = WorkQueue(self.units)
        self.engine = CaseEngine(self.measure, self.interrupted, self.at_once)

    def work(self) -> EngineWork:
        cases_of = self.cases_of
        return EngineWork(
            self.queue, lambda unit: cases_of.get(unit, ()), lambda unit: unit not in self.closed
        )

    def measure(self, wanted) -> CaseResult:
        with self._changed:
            self.log.append(wanted)
            self.clashes += not self.running.isdisjoint(wanted.nodes)
            self.running.update(wanted.nodes)
            self.most = max(self.most, len(self.running) // 2)
            free = lambda: self.held.isdisjoint(wanted.nodes) or self.ended_by_force.is_set()  # noqa: E731
            assert self._changed.wait_for(free, LIMIT_S), "nobody released it"
            self.running.difference_update(wanted.nodes)
        if self.ended_by_force.is_set():
            raise KeyboardInterrupt
        if self.error:
            raise self.error
        return GOOD

    @contextmanager
    def interrupted(self):
        self.ended_by_force.set()
        with self._changed:
            self._changed.notify_all()
        yield

    def release(self, *nodes: str) -> None:
        with self._changed:
            self.held.difference_update(nodes)
            self._changed.notify_all()

    def judge_all(self, each: Callable[[Unit], object] = lambda _: None) -> list[Unit]:
        """What a caller does until nothing is left."""
        judged = []
        while unit := self.engine.next_unit():
            each(unit)
            self.engine.judged(unit)
            judged.append(unit)
        return judged


def units(*wanted) -> list[Unit]:
    """Units of (rung, nodes); without a case on rung 0."""
    return [
        Unit((place,), rung, tuple(nodes), f"measure[{place}]" if rung else "")
        for place, (rung, nodes) in enumerate(wanted)
    ]


def a_round(nodes: int, rung: int = 1):
    names = [f"n{number:02}" for number in range(nodes)]
    return [(rung, pair) for pair in zip(names[::2], names[1::2], strict=True)]


def all_pairs(nodes: int):
    names = [f"n{number:02}" for number in range(nodes)]
    turns = tournament(names)
    return units(*((1, (pair.source, pair.target)) for turn in turns for pair in turn))


def test_every_unit_is_measured_once_and_never_two_on_a_node():
    bench = Bench(all_pairs(12), at_once=4)
    with bench.engine.begin(bench.work()):
        judged = bench.judge_all(lambda unit: bench.engine.result(bench.case_of[unit]))
    assert sorted(judged, key=lambda unit: unit.items) == bench.units
    assert len(bench.log) == len(set(bench.log)) == len(bench.units)
    assert bench.clashes == 0
    assert bench.most <= 4


def test_a_round_is_measured_at_once():
    bench = Bench(units(*a_round(16)), held={f"n{number:02}" for number in range(16)})
    with bench.engine.begin(bench.work()):
        caller = threading.Thread(target=bench.judge_all)
        caller.start()
        wait_until(lambda: len(bench.running) == 16, LIMIT_S, "all eight pairs")
        bench.release(*bench.held)
        caller.join(LIMIT_S)
    assert not caller.is_alive()


def test_no_more_than_were_asked_for_run_at_once():
    bench = Bench(units(*a_round(16)), at_once=3, held={f"n{number:02}" for number in range(16)})
    with bench.engine.begin(bench.work()):
        caller = threading.Thread(target=bench.judge_all)
        caller.start()
        wait_until(lambda: len(bench.running) == 6, LIMIT_S, "three pairs")
        stays(lambda: len(bench.running) == 6, 0.3, "three pairs")
        bench.release(*list(bench.held))
        caller.join(LIMIT_S)
    assert bench.most == 3


def test_a_node_that_hangs_delays_only_its_own_pairs():
    bench = Bench(all_pairs(8), held={"n03"})
    own = [unit for unit in bench.units if "n03" in unit.nodes]
    judged: list[Unit] = []
    with bench.engine.begin(bench.work()):
        caller = threading.Thread(target=lambda: bench.judge_all(judged.append))
        caller.start()
        wait_until(lambda: "n03" in bench.running, LIMIT_S, "the first pair of the node")
        (stuck,) = [one.nodes for one in bench.log if "n03" in one.nodes]
        rest = {unit for unit in bench.units if not set(stuck) & set(unit.nodes)}
        wait_until(lambda: rest <= set(judged), LIMIT_S, "the pairs of all other nodes")
        assert not set(own) & set(judged)
        bench.release("n03")
        caller.join(LIMIT_S)
    assert len(judged) == len(bench.units)


def test_an_upper_rung_waits_until_the_lower_ones_of_its_nodes_were_judged():
    bench = Bench(units((1, "ab"), (1, "cd"), (2, "ab"), (2, "ac")))
    low_ab, low_cd, ab, ac = bench.units
    with bench.engine.begin(bench.work()):
        first, second = (bench.engine.next_unit() for _ in range(2))
        assert {first, second} == {low_ab, low_cd}
        assert len(bench.log) == 2  # both were measured, and nothing above them
        bench.engine.judged(low_ab)
        assert bench.engine.next_unit() == ab
        bench.engine.judged(ab)
        assert bench.case_of[ac] not in bench.log
        bench.engine.judged(low_cd)
        assert bench.engine.next_unit() == ac


def test_what_belongs_to_no_node_waits_for_all_lower_rungs():
    bench = Bench(units((1, "ab"), (2, ""), (1, "cd")))
    with bench.engine.begin(bench.work()):
        judged = bench.judge_all()
    assert judged[-1] == bench.units[1]


def test_what_a_gate_closes_is_judged_without_a_measurement():
    some = units((1, "ab"), (1, "cd"))
    bench = Bench(some, closed=frozenset(some[:1]))
    with bench.engine.begin(bench.work()):
        assert set(bench.judge_all()) == set(some)
    assert bench.log == [bench.case_of[some[1]]]


def test_items_without_a_measurement_need_none():
    bench = Bench(units((0, "a"), (0, "b"), (1, "ab")))
    with bench.engine.begin(bench.work()):
        assert bench.judge_all() == bench.units


def test_a_case_that_nobody_foresaw_is_measured_by_the_caller():
    bench = Bench(units((1, "ab")))
    other = case(nodes=("c", "d"), measurement="another")
    with bench.engine.begin(bench.work()):
        bench.judge_all(lambda _: bench.engine.result(other))
    assert other in bench.log
    assert Bench([]).engine.result(other) == GOOD


def test_an_error_of_the_suite_is_raised_where_the_result_is_asked_for():
    bench = Bench(units((1, "ab")), error=RuntimeError("a defect"))
    with bench.engine.begin(bench.work()), pytest.raises(RuntimeError, match="a defect"):
        bench.judge_all(lambda unit: bench.engine.result(bench.case_of[unit]))


def test_an_interrupt_ends_what_runs_and_begins_nothing_else():
    bench = Bench(units(*a_round(8), *a_round(8, rung=2)), held={f"n{n:02}" for n in range(8)})
    began = threading.Thread(target=bench.engine.next_unit, daemon=True)

    def interrupt():
        with bench.engine.begin(bench.work()):
            began.start()
            wait_until(lambda: len(bench.running) == 8, LIMIT_S, "four pairs")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert bench.running == set()
    assert len(bench.log) == 4


def test_a_stop_gives_what_was_measured_and_ends_the_rest():
    """Or a result would be on disk that nobody has judged."""
    bench = Bench(units(*a_round(8), (0, "z")), held={"n06"})
    quick, (stuck, none) = bench.units[:3], bench.units[3:]
    with bench.engine.begin(bench.work()):
        first = bench.engine.next_unit()
        while first == none:
            bench.engine.judged(none)
            first = bench.engine.next_unit()
        assert bench.engine.was_measured
        wait_until(lambda: len(bench.log) == 4 and len(bench.running) == 2, LIMIT_S, "the others")
        wait_until(lambda: len(bench.engine._ready) >= 2, LIMIT_S, "their ends")
        left = list(bench.engine.stop())
        assert bench.engine.next_unit() is None
    assert {first, *left} == set(quick)
    assert stuck not in left
    assert bench.running == set()


def test_a_unit_without_a_measurement_was_not_measured():
    some = units((0, "a"), (1, "bc"))
    bench = Bench(some, closed=frozenset(some[1:]))
    with bench.engine.begin(bench.work()):
        found = [bench.engine.was_measured]
        bench.judge_all(lambda _: found.append(bench.engine.was_measured))
    assert found == [False, False, False]


def test_a_unit_that_cannot_be_started_by_the_thread_before_it_ends_the_run(monkeypatch):
    """Nobody sees what the thread that has ended a unit raises; the caller would wait for ever."""
    bench, begun = Bench(units((1, ("a", "b")), (1, ("a", "c"))), at_once=1), []

    def judge_all():
        with bench.engine.begin(bench.work()):
            submit = bench.engine._submit
            monkeypatch.setattr(bench.engine, "_submit", lambda *words: only_once(submit, *words))
            while unit := bench.engine.next_unit():
                bench.engine.judged(unit)

    def only_once(submit, *words):
        begun.append(words)
        if len(begun) > 1:
            raise RuntimeError("can't start new thread")
        return submit(*words)

    with pytest.raises(RuntimeError, match="new thread"):
        judge_all()
    assert len(bench.log) == 1
