"""What the controller hands to a worker of pytest-xdist: the worker starts it as it arrives."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from railgauge.plugin.ahead import Handed
from railgauge.plugin.items import ABOUT, About, Subject


def item(nodes: str, rung: int = 1) -> SimpleNamespace:
    stash, subject = pytest.Stash(), Subject("measures", "write")
    stash[ABOUT] = About(subject, (), rung, "Title.", tuple(nodes), "", None)
    return SimpleNamespace(stash=stash, name="write", callspec=SimpleNamespace(params={}))


class Worker:
    """A worker with two items on one pair, one above them and one beside them."""

    def __init__(self) -> None:
        self.asked, self.now_s = 0, 0.0
        items = [item("ab"), item("ab"), item("ab", rung=2), item("cd")]
        self.handed = Handed(items, self.ask, lambda: self.now_s)

    def ask(self) -> None:
        self.asked += 1

    def gets(self, *indices: int) -> None:
        self.handed.hear(("runtests", {"indices": list(indices)}))

    def starts(self) -> list[tuple[int, ...]]:
        return [unit.items for unit in self.handed.start(2)]


def test_each_message_is_a_unit_that_starts_at_once():
    worker = Worker()
    worker.gets(0, 1)
    worker.gets(3)
    assert worker.starts() == [(0, 1), (3,)]


def test_what_is_left_of_a_unit_is_one():
    worker = Worker()
    worker.gets(1)
    (unit,) = worker.handed.start(1)
    assert (unit.items, unit.nodes, unit.case) == ((1,), ("a", "b"), "write[a:b]")


def test_what_should_not_have_been_handed_over_waits():
    """The controller has one description of what may run next, and a worker the same one."""
    worker = Worker()
    worker.gets(0, 1)
    (unit,) = worker.handed.start(2)
    worker.gets(2)
    assert worker.starts() == []
    worker.handed.measured(unit)
    assert worker.starts() == []
    worker.handed.judged(unit)
    assert worker.starts() == [(2,)]


@pytest.mark.parametrize("end", [None, ("shutdown", {})], ids=["channel", "shutdown"])
def test_more_may_come_until_the_controller_says_so_or_is_gone(end):
    worker = Worker()
    assert worker.handed
    worker.gets(3)
    worker.handed.hear(end)
    assert worker.handed
    assert worker.starts() == [(3,)]
    assert not worker.handed


def test_a_worker_with_room_asks_once_a_second():
    worker = Worker()
    for worker.now_s in (0.2, 0.9, 1.0, 1.2, 1.9, 2.1):
        assert worker.starts() == []
    assert worker.asked == 2
    worker.now_s = 9.0
    worker.gets(3)
    assert worker.starts() == [(3,)]
    worker.handed.hear(None)
    assert worker.starts() == []
    assert worker.asked == 2
