"""Each item runs once even if workers die, and workers rarely wait for nodes."""

import random
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testing.fake_workers import BUSY, Factory, Worker

from railgauge.planning.pairing import tournament
from railgauge.planning.work_queue import Unit, WorkerQueue, WorkQueue

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
@given(ladders(), st.integers(1, 5), st.integers(0, 5), st.randoms(use_true_random=False))
def test_each_item_runs_once_even_if_workers_die(units, workers, deaths, chance):
    """``Factory.run`` fails if no worker can go on."""
    left, killed = deaths, Counter()

    def kill(factory) -> Worker | None:
        nonlocal left
        busy = [w for w in factory.alive if w.queue or w.state == BUSY]
        if not left or not busy or chance.random() < 0.6:
            return None
        left -= 1
        return chance.choice(busy)

    factory = Factory(units, workers, lasts=lambda unit: chance.uniform(0.5, 1.5)).run(kill)
    for loss in factory.losses:
        killed[loss.running] += 1
        assert len(loss.workers) == killed[loss.running] <= 2
        assert bool(loss.given_up) == (len(loss.workers) == 2)
    given_up = [item for loss in factory.losses for item in loss.given_up]
    ran = [item for item, _ in factory.ran]
    assert sorted(ran + given_up) == sorted(factory.of)


@settings(deadline=None, max_examples=50)
@given(ladders(), st.integers(1, 5))
def test_a_unit_runs_on_one_worker_and_no_node_is_used_twice_at_once(units, workers):
    factory = Factory(units, workers).run()
    for unit in units:
        assert len({worker for item, worker in factory.ran if item in unit.items}) == 1
    for one, start, end in factory.spans:
        for other, begin, finish in factory.spans:
            if one is not other and not set(one.nodes).isdisjoint(other.nodes):
                assert end <= begin or finish <= start


def makespan(factory):
    return max(end for _, _, end in factory.run().spans)


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_all_pairs_of_16_nodes_take_as_long_as_their_rounds(workers):
    assert makespan(Factory(all_pairs(), workers)) == 120 / workers


@pytest.mark.parametrize("workers", [4, 8])
def test_slightly_uneven_durations_cost_little(workers):
    chance = random.Random(7)
    factory = Factory(all_pairs(), workers, lasts=lambda unit: chance.uniform(1.0, 1.04))
    assert makespan(factory) <= 1.1 * 120 / workers


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


def test_no_unit_is_handed_out_above_an_open_lower_rung():
    handout = WorkQueue(made((0, "a"), (1, "ab"), (0, "b"), (1, "cd")))
    taken = [handout.take(WorkerQueue(), ()) for _ in range(4)]
    assert [unit.nodes for unit in taken[:2]] == [("a",), ("b",)]
    assert handout.take(WorkerQueue(), ()) is None


def test_a_dead_workers_units_go_to_a_worker_with_an_empty_queue():
    """In a queue behind another unit, each of the two could wait for the other at a gate."""
    units = made((0, "a"), (0, "b"), (1, "a"), (1, "b"))
    handout = WorkQueue(units)
    first, second, third = (handout.take(WorkerQueue(), ()) for _ in range(3))
    handout.give_back(second, second.items)
    handout.give_back(first, first.items)
    assert handout.take(WorkerQueue([third]), ()).nodes == ("b",)
    assert handout.take(WorkerQueue([third]), ()) is None
    assert [unit.nodes for unit in handout.take_returned()] == [("a",), ("b",)]
    assert not handout.returned


def test_a_case_that_kills_its_workers_is_given_up():
    """With all its items, which run the same tool. Other units of the worker go on."""
    units = made((1, "ab"), (1, "cd"), (1, "ef"), items=3)
    factory = Factory(units, 1)

    def kill(factory):
        return next((w for w in factory.alive if w.state == BUSY and w.item == 0), None)

    factory.run(kill)
    assert [loss.workers for loss in factory.losses] == [("gw0",), ("gw0", "gw1")]
    assert [loss.given_up for loss in factory.losses] == [(), (0, 1, 2)]
    assert [item for item, _ in factory.ran] == [3, 4, 5, 6, 7, 8]


def test_an_item_that_was_reported_is_not_run_again():
    factory = Factory(made((1, "ab"), items=2), 1)

    def kill(factory):
        worker = factory.alive[0] if factory.alive else None
        if worker is None or worker.state != BUSY or factory.hired > 1:
            return None
        factory.sched.reported(worker, worker.item)
        factory.ended.add(worker.item)
        return worker

    factory.run(kill)
    assert factory.ran == [(1, "gw1")]
    assert factory.losses[0].running == 1


def test_a_worker_that_ends_by_itself_is_not_counted_as_dead():
    """After Ctrl-C no item is run again; the loss lists the items that did not run."""
    factory = Factory(made((1, "ab"), (1, "cd"), (1, "ef")), 1)
    worker = factory.alive[0]
    worker.workeroutput = {"exitstatus": 2}
    factory.sched.remove_node(worker)
    (loss,) = factory.losses
    assert (loss.running, loss.undone, loss.given_up) == (None, (0, 1), ())
    assert not factory.sched._handout.returned


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


def _cost_s(pairs):
    """CPU time to hand out this number of units to 8 workers that finish them immediately."""
    nodes = [f"n{number:04}" for number in range(1000)]
    wanted = [(1, (nodes[2 * i % 1000], nodes[(2 * i + 1) % 1000])) for i in range(pairs)]
    factory = Factory(made(*wanted), 8)
    begun = time.process_time()
    while any(worker.queue for worker in factory.alive):
        for worker in factory.alive:
            if worker.queue:
                factory.sched.mark_test_complete(worker, worker.queue.popleft())
    return time.process_time() - begun


def test_the_cost_of_handing_out_grows_linearly():
    small, large = min(_cost_s(2_500) for _ in range(3)), min(_cost_s(20_000) for _ in range(2))
    assert large < 8 * small * 3  # quadratic would be 8 times 8


# --- an engine in one process ---


def started(queue, **busy):
    return [unit.nodes for unit in queue.start(busy, lambda _: True, 8)]


def test_an_engine_starts_what_is_free_in_order():
    queue = WorkQueue(made((1, "ab"), (1, "ac"), (1, "cd"), (1, "ef")))
    assert started(queue) == [("a", "b"), ("c", "d"), ("e", "f")]
    assert started(queue, a=1.0, b=1.0, c=1.0, d=1.0) == []
    assert started(queue) == [("a", "c")]


def test_an_engine_keeps_a_node_for_a_partner_that_is_soon_free():
    queue = WorkQueue(made((1, "ab"), (1, "ac")))
    assert started(queue, b=0.4) == []
    assert started(queue, b=0.6) == [("a", "c")]


def test_an_engine_never_starts_what_may_not():
    queue = WorkQueue(made((1, "ab"), (2, "cd")))
    assert [unit.rung for unit in queue.start({}, lambda unit: unit.rung == 2, 8)] == [2]
    assert queue.start({}, lambda _: True, 0) == []


@settings(deadline=None, max_examples=100)
@given(ladders(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_an_engine_starts_each_unit_once_and_none_on_a_busy_node(units, at_once, chance):
    queue, running, found = WorkQueue(units), [], []
    while queue or running:
        busy = {node: chance.choice([0.2, 0.9]) for unit in running for node in unit.nodes}
        begun = queue.start(busy, lambda _: True, at_once - len(running))
        assert not [node for unit in begun for node in unit.nodes if node in busy]
        assert begun or running, "nothing runs and nothing can start"
        running += begun
        found += begun
        running.pop(chance.randrange(len(running)))
    assert sorted(found, key=lambda unit: unit.items) == units
