"""Each item runs once even if workers die, and workers rarely wait for nodes."""

import random
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testing.fake_workers import Factory, Worker

from railgauge.planning.pairing import tournament
from railgauge.planning.work_queue import Unit, WorkQueue, share

NODES = [f"n{number:02}" for number in range(16)]


def made(*wanted, items=1):
    """Units from (rung, nodes), each with this number of items."""
    return [
        Unit(tuple(range(items * i, items * (i + 1))), rung, tuple(nodes), f"measure[{i}]")
        for i, (rung, nodes) in enumerate(wanted)
    ]


def all_pairs(nodes=NODES, items=1):
    pairs = [pair for turn in tournament(nodes) for pair in turn]
    return made(*((1, (pair.source, pair.target)) for pair in pairs), items=items)


@st.composite
def ladders(draw):
    """Rungs, pairs and groups in any mixture."""
    names = NODES[: draw(st.integers(1, 6))]
    nodes = st.lists(st.sampled_from(names), max_size=6, unique=True)
    wanted = draw(st.lists(st.tuples(st.integers(0, 3), nodes), max_size=30))
    return made(*wanted, items=draw(st.integers(1, 3)))


@settings(deadline=None, max_examples=150)
@given(
    ladders(),
    st.integers(1, 5),
    st.integers(0, 12),
    st.integers(0, 5),
    st.randoms(use_true_random=False),
)
def test_each_item_runs_once_even_if_workers_die(units, workers, at_once, deaths, chance):
    """``Factory.run`` fails if no worker can go on, or gets what may not start."""
    left, killed = deaths, Counter()

    def kill(factory) -> Worker | None:
        nonlocal left
        busy = [worker for worker in factory.alive if worker.works]
        if not left or not busy or chance.random() < 0.6:
            return None
        left -= 1
        return chance.choice(busy)

    factory = Factory(units, workers, lambda unit: chance.uniform(0.5, 1.5), at_once).run(kill)
    for loss in factory.losses:
        killed.update(loss.running)
        assert len(loss.workers) == killed[loss.running[0]] <= 2
        assert bool(loss.given_up) == (len(loss.workers) == 2)
        assert not loss.given_up or len(loss.running) == 1
    given_up = [item for loss in factory.losses for item in loss.given_up]
    ran = [item for item, _ in factory.ran]
    assert sorted(ran + given_up) == sorted(factory.of)
    assert factory.most <= (at_once or workers)
    assert factory.most_of_one <= share(at_once or workers, workers)


@settings(deadline=None, max_examples=50)
@given(ladders(), st.integers(1, 5), st.integers(1, 9))
def test_a_unit_runs_on_one_worker_and_no_node_is_used_twice_at_once(units, workers, at_once):
    factory = Factory(units, workers, at_once=at_once).run()
    for unit in units:
        assert len({worker for item, worker in factory.ran if item in unit.items}) == 1
    for one, start, end in factory.spans:
        for other, begin, finish in factory.spans:
            if one is not other and not set(one.nodes).isdisjoint(other.nodes):
                assert end <= begin or finish <= start


def makespan(factory):
    return max(end for _, _, end in factory.run().spans)


AT_ONCE = [(2, 2), (4, 4), (8, 8), (2, 4), (2, 8), (3, 8), (8, 4), (1, 8)]


@pytest.mark.parametrize(("workers", "at_once"), AT_ONCE)
def test_all_pairs_of_16_nodes_take_as_long_as_their_rounds(workers, at_once):
    factory = Factory(all_pairs(), workers, at_once=at_once)
    assert makespan(factory) == 120 / at_once
    assert factory.most == at_once


@pytest.mark.parametrize(("workers", "at_once"), [(4, 4), (8, 8), (2, 8)])
def test_slightly_uneven_durations_cost_little(workers, at_once):
    chance = random.Random(7)
    factory = Factory(all_pairs(), workers, lambda unit: chance.uniform(1.0, 1.04), at_once)
    assert makespan(factory) <= 1.1 * 120 / at_once


@pytest.mark.parametrize(
    ("workers", "at_once", "expected"), [(2, 4, [2, 2]), (2, 5, [3, 2]), (4, 2, [1, 1, 0, 0])]
)
def test_the_measurements_are_split_over_the_workers(workers, at_once, expected):
    """One each if there are fewer workers; never more in all than were asked for."""
    factory = Factory(all_pairs(), workers, at_once=at_once)
    assert [len(worker.arrived) for worker in factory.alive] == expected


def test_units_of_free_nodes_are_handed_out_first():
    """The first pairs in the order of items share a node; four workers need not wait for it."""
    units = made(*((1, pair) for pair in ["ab", "ac", "ad", "ef", "gh", "ij", "bc"]))
    factory = Factory(units, 4)
    assert makespan(factory) == 3  # node a has three pairs
    assert {unit.nodes for unit, start, _ in factory.spans if start == 0} == {
        ("a", "b"), ("e", "f"), ("g", "h"), ("i", "j"),
    }  # fmt: skip


def test_a_group_of_all_nodes_runs_late_on_its_rung():
    """Few pairs start after it, and it runs before the next rung."""
    pairs = [(1, (pair.source, pair.target)) for turn in tournament(NODES) for pair in turn]
    above = [(2, (node,)) for node in NODES]
    units = made(*pairs[:60], (1, NODES), *pairs[60:], *above)
    factory = Factory(units, 8).run()
    (start,) = (start for unit, start, _ in factory.spans if len(unit.nodes) == 16)
    assert sum(begin > start for unit, begin, _ in factory.spans if len(unit.nodes) == 2) <= 8
    assert max(end for _, _, end in factory.spans) <= 15 + 1 + 2 + 1
    assert all(begin >= start + 1 for unit, begin, _ in factory.spans if unit.rung == 2)


def test_a_late_unit_does_not_hold_back_what_was_kept_for_its_node():
    """Nothing ends meanwhile: the workers with room ask again, and get what may start by now."""
    units = [
        Unit((place,), 1, tuple(nodes), f"measure[{place}]")
        for place, nodes in enumerate(["xy", "zw", "ab", "bc", "cd"])
    ]
    lasts = {("a", "b"): 500.0, ("z", "w"): 1.6}
    factory = Factory(units, 3, lasts=lambda unit: lasts.get(unit.nodes, 1.0)).run()
    ends = {unit.nodes: end for unit, _, end in factory.spans}
    assert ends["c", "d"] < 10
    assert ends["b", "c"] == 501


def test_a_second_death_is_known_to_be_of_one_unit():
    """Of four that a worker measured at once, one kills it: only that one is given up."""
    units = all_pairs(NODES[:8])
    bad = units[1].items[0]

    def kill(factory):
        for worker in factory.alive:
            if any(work.unit.items[0] == bad for work in worker.works):
                return worker
        return None

    factory = Factory(units, 1, at_once=4).run(kill)
    first, second = factory.losses
    assert len(first.running) == 4
    assert first.given_up == ()
    assert second.running == second.given_up == (bad,)
    assert second.workers == ("gw0", "gw1")
    assert sorted([*(item for item, _ in factory.ran), bad]) == sorted(factory.of)


def test_a_case_that_kills_its_workers_is_given_up():
    """With all its items, which run the same tool. Other units of the worker go on."""
    units = made((1, "ab"), (1, "cd"), (1, "ef"), items=3)
    factory = Factory(units, 1)

    def kill(factory):
        busy = [w for w in factory.alive if w.works and w.works[0].unit is units[0]]
        return next(iter(busy), None)

    factory.run(kill)
    assert [loss.workers for loss in factory.losses] == [("gw0",), ("gw0", "gw1")]
    assert [loss.given_up for loss in factory.losses] == [(), (0, 1, 2)]
    assert [item for item, _ in factory.ran] == [3, 4, 5, 6, 7, 8]


def test_an_item_that_was_reported_is_not_run_again():
    factory = Factory(made((1, "ab"), items=2), 1)

    def kill(factory):
        worker = factory.alive[0] if factory.alive else None
        if worker is None or not worker.works or factory.hired > 1:
            return None
        factory.sched.reported(worker, 0)
        factory.ended.add(0)
        return worker

    factory.run(kill)
    assert factory.ran == [(1, "gw1")]
    assert factory.losses[0].running == (1,)


def test_a_unit_whose_last_item_was_reported_is_over():
    """Or the rung above would wait for it for ever."""
    factory = Factory(made((1, "ab"), (2, "ab")), 1)

    def kill(factory):
        worker = factory.alive[0] if factory.alive else None
        if worker is None or not worker.works or factory.hired > 1:
            return None
        factory.sched.reported(worker, 0)
        factory.ended.add(0)
        return worker

    factory.run(kill)
    assert factory.ran == [(1, "gw1")]
    assert factory.losses == []


def test_a_worker_that_ends_by_itself_is_not_counted_as_dead():
    """After Ctrl-C no item is run again; the loss lists the items that did not run."""
    factory = Factory(made((1, "ab"), (1, "cd"), (1, "ef")), 1, at_once=2)
    worker = factory.alive[0]
    worker.workeroutput = {"exitstatus": 2}
    factory.sched.remove_node(worker)
    (loss,) = factory.losses
    assert (loss.running, loss.undone, loss.given_up) == ((), (0, 1), ())
    assert factory.sched.left() == [2]


def test_what_a_worker_that_ended_by_itself_leaves_holds_back_nobody():
    """The others must get their units: they find the run stopped, and tell xdist so."""
    factory = Factory(made((1, "ab"), (2, "ab")), 2)
    worker = next(worker for worker in factory.alive if worker.arrived)
    worker.workeroutput = {"exitstatus": 3}
    factory.alive.remove(worker)
    factory.ended.add(0)
    factory.sched.remove_node(worker)
    factory.run()
    assert [item for item, _ in factory.ran] == [1]


def test_a_worker_with_other_collected_items_is_reported():
    factory = Factory(made((1, "ab"), (1, "cd")), 2)
    other = Worker("gw7")
    factory.sched.add_node(other)
    factory.sched.add_node_collection(other, ["item0", "another"])
    (complaint,) = factory.config.complaints
    assert complaint.nodeid == "gw7"
    assert "another" in complaint.longrepr


def test_there_may_be_more_workers_than_units():
    factory = Factory(made((1, "ab")), 4).run()
    assert len(factory.ran) == 1


def test_without_units_all_workers_shut_down():
    factory = Factory([], 2)
    assert all(worker.shutting_down for worker in factory.alive)


def test_a_replacement_that_collected_something_else_ends_the_run():
    factory = Factory(made((1, "ab"), (1, "ac")), 1)
    other = Worker("gw7")
    factory.sched.add_node(other)
    factory.sched.add_node_collection(other, ["item0"])
    factory.run()
    assert [item for item, _ in factory.ran] == [0]
    assert factory.losses[0].undone == (1,)


def _cost_s(pairs):
    """CPU time to hand out this number of units to 8 workers that finish them immediately."""
    nodes = [f"n{number:04}" for number in range(1000)]
    wanted = [(1, (nodes[2 * i % 1000], nodes[(2 * i + 1) % 1000])) for i in range(pairs)]
    factory = Factory(made(*wanted), 8)
    begun = time.process_time()
    while any(worker.arrived for worker in factory.alive):
        for worker in factory.alive:
            if worker.arrived:
                factory.sched.mark_test_complete(worker, *worker.arrived.popleft())
    return time.process_time() - begun


def test_the_cost_of_handing_out_grows_linearly():
    small, large = min(_cost_s(2_500) for _ in range(3)), min(_cost_s(20_000) for _ in range(2))
    assert large < 8 * small * 3  # quadratic would be 8 times 8


# --- what may run next, for one process and for workers ---


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def started(queue, most=8, **more):
    return [unit.nodes for unit in queue.start(most, **more)]


def test_what_is_free_starts_in_order():
    units = made((1, "ab"), (1, "ac"), (1, "cd"), (1, "ef"))
    queue = WorkQueue(units)
    assert started(queue) == [("a", "b"), ("c", "d"), ("e", "f")]
    assert started(queue) == []
    queue.measured(units[0])
    assert started(queue) == []
    queue.freed(units[2])
    assert started(queue) == [("a", "c")]
    assert not queue


@pytest.mark.parametrize(("at_s", "expected"), [(0.6, []), (0.4, [("c", "d")])])
def test_a_node_is_kept_for_a_partner_that_is_soon_free(at_s, expected):
    units = [
        Unit((place,), 1, tuple(nodes), f"one[{place}]")
        for place, nodes in enumerate(["ab", "bc", "cd"])
    ]
    clock = Clock()
    queue = WorkQueue([Unit((9,), 0, ("b",), "one[9]"), *units], clock)
    (first,) = queue.start(1)
    clock.now_s = 1.0
    queue.measured(first)  # one of these takes a second
    queue.judged(first)
    assert started(queue, most=1) == [("a", "b")]
    clock.now_s += at_s
    assert started(queue) == expected


def test_nobody_waits_for_a_node_that_is_late():
    units = made((1, "ab"), (1, "bc"), (1, "cd"))
    clock = Clock()
    queue = WorkQueue([Unit((9,), 0, ("b",), "measure[9]"), *units], clock)
    (first,) = queue.start(1)
    clock.now_s = 1.0
    queue.measured(first)
    queue.judged(first)
    assert started(queue, most=1) == [("a", "b")]
    clock.now_s += 0.9
    assert started(queue) == []  # kept
    clock.now_s += 2.0
    assert started(queue) == [("c", "d")]


def test_a_rung_waits_until_what_is_below_it_was_judged():
    units = made((1, "ab"), (2, "ab"), (2, "cd"), (2, ""))
    queue = WorkQueue(units)
    assert started(queue) == [("a", "b"), ("c", "d")]
    queue.measured(units[0])
    assert started(queue) == []
    queue.judged(units[0])
    assert started(queue) == [("a", "b"), ()]


def test_what_may_not_start_is_left_out():
    queue = WorkQueue(made((1, "ab"), (1, "cd")))
    assert started(queue, may=lambda unit: "c" in unit.nodes) == [("c", "d")]
    assert started(queue, most=0) == []
    assert started(queue) == [("a", "b")]


def test_what_is_given_back_waits_in_front_and_keeps_its_rung_open():
    units = made((1, "ab"), (1, "ac"), (2, "ab"), items=2)
    queue = WorkQueue(units)
    assert started(queue) == [("a", "b")]
    rest = queue.give_back(units[0], [1])
    assert rest.items == (1,)
    assert [unit.items for unit in queue.left()] == [(1,), (2, 3), (4, 5)]
    assert queue.start(8) == [rest]
    queue.measured(rest)
    queue.judged(rest)
    assert started(queue) == [("a", "c")]


@settings(deadline=None, max_examples=100)
@given(ladders(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_each_unit_starts_once_and_none_on_a_busy_node(units, at_once, chance):
    clock = Clock()
    queue, running, found = WorkQueue(units, clock), [], []
    while queue or running:
        clock.now_s += chance.choice([0.1, 0.5, 0.9])
        busy = {node for unit in running for node in unit.nodes}
        begun = queue.start(at_once - len(running))
        assert not [node for unit in begun for node in unit.nodes if node in busy]
        assert begun or running, "nothing runs and nothing can start"
        running += begun
        found += begun
        ended = running.pop(chance.randrange(len(running)))
        queue.measured(ended)
        queue.judged(ended)
    assert sorted(found, key=lambda unit: unit.items) == units
