"""The next measurements: each unit once, no node twice, rungs in order, and without idling."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.planning.pairing import tournament
from railgauge.planning.work_queue import Unit, WorkQueue

NODES = [f"n{number:02}" for number in range(16)]


def made(*wanted, kind=""):
    """Units from (rung, nodes): each of a kind of its own, or all of one."""
    return [
        Unit((place,), rung, tuple(nodes), f"{kind or f'm{place}'}[{place}]")
        for place, (rung, nodes) in enumerate(wanted)
    ]


def all_pairs(nodes=NODES):
    pairs = [pair for turn in tournament(nodes) for pair in turn]
    return made(*((1, (pair.source, pair.target)) for pair in pairs), kind="m")


@st.composite
def ladders(draw):
    """Rungs, pairs and groups in any mixture."""
    names = NODES[: draw(st.integers(1, 6))]
    nodes = st.lists(st.sampled_from(names), max_size=6, unique=True)
    return made(*draw(st.lists(st.tuples(st.integers(0, 3), nodes), max_size=30)))


@dataclass
class Measured:
    """A run in made-up time, as the engine has one: up to ``at_once`` units are measured.

    ``lasts`` is the duration of a unit. The queue is asked when a unit ends, and now and then.
    """

    units: Sequence[Unit]
    at_once: int
    lasts: Callable[[Unit], float] = lambda unit: 1.0
    now: float = 0.0
    spans: dict[Unit, tuple[float, float]] = field(default_factory=dict)

    ASKS = 0.2

    def __post_init__(self) -> None:
        self.queue = WorkQueue(self.units, lambda: self.now)
        self.left, self.running = set(self.units), dict[Unit, float]()

    def run(self) -> Measured:
        while self.left:
            for unit in self.queue.start(self.at_once - len(self.running)):
                self._begin(unit)
            assert self.running, f"nothing runs and nothing can start: {self.left}"
            self.now = min(*self.running.values(), self.now + self.ASKS)
            for unit in [unit for unit, end in self.running.items() if end <= self.now]:
                del self.running[unit]
                self.left.remove(unit)
                self.queue.measured(unit)
                self.queue.judged(unit)
        return self

    def _begin(self, unit: Unit) -> None:
        assert unit not in self.spans, "it was measured before"
        busy = {node for one in self.running for node in one.nodes}
        assert busy.isdisjoint(unit.nodes), "a node of it is in use"
        lower = (one for one in self.left if one.rung < unit.rung)
        below = [one for one in lower if not unit.nodes or set(one.nodes) & set(unit.nodes)]
        assert not below, "lower rungs are open"
        self.spans[unit] = (self.now, self.now + self.lasts(unit))
        self.running[unit] = self.spans[unit][1]

    @property
    def makespan(self) -> float:
        return max(end for _, end in self.spans.values())

    def began(self, begin: float = 0.0) -> set[str]:
        """The nodes of each unit that began at a moment."""
        return {"".join(unit.nodes) for unit, span in self.spans.items() if span[0] == begin}

    def end_of(self, nodes: str) -> float:
        return next(end for unit, (_, end) in self.spans.items() if unit.nodes == tuple(nodes))


@settings(deadline=None, max_examples=200)
@given(ladders(), st.integers(1, 9), st.randoms(use_true_random=False))
def test_each_unit_starts_once_on_free_nodes_above_what_was_judged(units, at_once, chance):
    """``Measured.run`` fails if nothing can go on, or if something starts that may not."""
    found = Measured(units, at_once, lambda unit: chance.uniform(0.5, 1.5)).run()
    assert found.spans.keys() == set(units)


@settings(deadline=None, max_examples=100)
@given(ladders(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_units_that_are_not_measured_delay_no_other(units, at_once, chance):
    """It is blocked: its nodes are freed, and it is judged, whenever that is."""
    queue, running, found = WorkQueue(units, lambda: 0.0), [], []
    while len(found) < len(units) or running:
        begun = queue.start(at_once)
        assert begun or running
        found += begun
        for unit in begun:
            if chance.random() < 0.5:
                queue.freed(unit)
            else:
                queue.measured(unit)
            running.append(unit)
        queue.judged(running.pop(chance.randrange(len(running))))
    assert sorted(found, key=lambda unit: unit.items) == units
    assert queue.start(at_once) == []


@pytest.mark.parametrize("at_once", [1, 2, 4, 8])
def test_all_pairs_of_16_nodes_take_as_long_as_their_rounds(at_once):
    assert Measured(all_pairs(), at_once).run().makespan == 120 / at_once


def test_more_than_a_round_at_once_makes_it_no_longer():
    assert Measured(all_pairs(), 50).run().makespan == 15


@pytest.mark.parametrize("at_once", [2, 4, 8])
def test_slightly_uneven_durations_cost_little(at_once):
    chance = random.Random(7)
    found = Measured(all_pairs(), at_once, lambda unit: chance.uniform(1.0, 1.04)).run()
    assert found.makespan <= 1.1 * 120 / at_once


def test_units_of_free_nodes_start_first():
    """The first pairs in the order of items share a node; the others need not wait for it."""
    pairs = ["ab", "ac", "ad", "ef", "gh", "ij", "bc"]
    found = Measured(made(*((1, pair) for pair in pairs)), 4).run()
    assert found.makespan == 3  # node a has three pairs
    assert found.began() == {"ab", "ef", "gh", "ij"}


def test_a_group_of_all_nodes_comes_after_the_pairs_before_it():
    """No pair starts after it, and it is measured before the next rung."""
    pairs = [(1, unit.nodes) for unit in all_pairs()]
    above = [(2, (node,)) for node in NODES]
    found = Measured(made(*pairs, (1, NODES), *above), 8).run()
    (begin,) = (span[0] for unit, span in found.spans.items() if len(unit.nodes) == 16)
    assert not [unit for unit, span in found.spans.items() if unit.rung == 1 and span[0] > begin]
    assert found.makespan <= 15 + 1 + 2
    assert all(span[0] >= begin + 1 for unit, span in found.spans.items() if unit.rung == 2)


def test_a_late_unit_does_not_delay_units_that_wait_for_its_node():
    """Nothing ends meanwhile; asked again, the queue gives what may start by now."""
    wanted, lasts = [(1, pair) for pair in ("xy", "zw", "ab", "bc", "cd")], {"ab": 500, "zw": 1.6}
    units = made(*wanted, kind="m")
    found = Measured(units, 3, lambda unit: lasts.get("".join(unit.nodes), 1.0)).run()
    assert found.end_of("cd") < 10
    assert 501 <= found.end_of("bc") < 502


def _cost_s(pairs):
    """CPU time to start and to end this number of units, eight at once."""
    nodes = [f"n{number:04}" for number in range(1000)]
    wanted = [(1, (nodes[2 * i % 1000], nodes[(2 * i + 1) % 1000])) for i in range(pairs)]
    queue, begun = WorkQueue(made(*wanted, kind="m"), lambda: 0.0), time.process_time()
    while units := queue.start(8):
        for unit in units:
            queue.measured(unit)
            queue.judged(unit)
    return time.process_time() - begun


def test_the_cost_grows_linearly():
    small, large = min(_cost_s(2_500) for _ in range(3)), min(_cost_s(20_000) for _ in range(2))
    assert large < 8 * small * 3  # quadratic would be 8 times 8


# --- step by step ---


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def started(queue, most=8):
    return ["".join(unit.nodes) for unit in queue.start(most)]


def test_units_of_free_nodes_start_in_order():
    units = made((1, "ab"), (1, "ac"), (1, "cd"), (1, "ef"))
    queue = WorkQueue(units)
    assert started(queue, most=0) == []
    assert started(queue) == ["ab", "cd", "ef"]
    assert started(queue) == []
    queue.measured(units[0])
    assert started(queue) == []
    queue.freed(units[2])
    assert started(queue) == ["ac"]


def test_an_added_unit_comes_after_all_others_and_keeps_its_rung_open():
    queue = WorkQueue(made((1, "ab"), (2, "ab")))
    added = Unit((), 1, ("b", "c"), "other[b:c]")
    queue.add(added)
    first, *none = queue.start(8)
    assert (first.nodes, none) == (("a", "b"), [])
    queue.measured(first)
    queue.judged(first)
    assert queue.start(8) == [added]
    queue.freed(added)
    assert started(queue) == []
    queue.judged(added)
    assert started(queue) == ["ab"]


@pytest.mark.parametrize(
    ("after_s", "expected"),
    [([0.6], [[]]), ([0.4], [["cd"]]), ([0.9, 2.0], [[], ["cd"]])],
    ids=["soon free", "long busy", "late"],
)
def test_a_node_is_kept_for_a_partner_that_is_soon_free_and_not_for_a_late_one(after_s, expected):
    clock = Clock()
    low = Unit((9,), 0, ("b",), "m[9]")
    queue = WorkQueue([low, *made((1, "ab"), (1, "bc"), (1, "cd"), kind="m")], clock)
    assert started(queue, most=1) == ["b"]
    clock.now_s = 1.0
    queue.measured(low)  # one of these takes a second
    queue.judged(low)
    assert started(queue, most=1) == ["ab"]
    for later_s, begun in zip(after_s, expected, strict=True):
        clock.now_s += later_s
        assert started(queue) == begun


def test_storage_that_nodes_share_is_used_by_one_unit_at_a_time():
    stored, others = made(*((5, node) for node in "abc"), kind="stored"), made((5, "d"))
    queue = WorkQueue([*stored, *others], shared={"stored": ["/pool"]})
    assert started(queue) == ["a", "d"]
    assert started(queue) == []
    queue.measured(stored[0])
    assert started(queue) == ["b"]
    queue.freed(stored[1])
    assert started(queue) == ["c"]


def test_a_rung_waits_until_the_rungs_below_were_judged():
    units = made((1, "ab"), (2, "ab"), (2, "cd"), (2, ""))
    queue = WorkQueue(units)
    assert started(queue) == ["ab", "cd"]
    queue.measured(units[0])
    assert started(queue) == []
    queue.judged(units[0])
    assert started(queue) == ["ab", ""]


def test_the_units_of_a_kind_are_named_by_its_case():
    assert [unit.kind for unit in (*made((1, "ab"), kind="write"), Unit((), 0, ("a",)))] == [
        "write", "",
    ]  # fmt: skip


def test_the_next_unit_is_the_first_that_has_not_started():
    first, second = made((1, ["n00", "n01"]), (1, ["n01", "n02"]))
    queue = WorkQueue([first, second])
    assert queue.following() == first
    assert queue.start(2) == [first]
    assert queue.following() == second
    queue.measured(first)
    assert queue.start(2) == [second]
    assert queue.following() is None
