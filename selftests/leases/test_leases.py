"""One measurement at a time on a node, whichever process dies, in any order of the nodes."""

import multiprocessing
import os
import signal
import time

import pytest
from testing.waiting import pass_time

from railgauge.leases.files import Leases

FORK = multiprocessing.get_context("fork")


def start(target, *args):
    process = FORK.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def _log_use(folder, nodes, times):
    leases = Leases(folder)
    for _ in range(times):
        with leases.hold(nodes):
            marks = [folder / f"{node}.busy" for node in nodes]
            for mark in marks:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))  # fails if another process is here
            pass_time(0.001, "others try to get in meanwhile")
            for mark in marks:
                mark.unlink()


@pytest.mark.parametrize(
    "sets",
    [
        [("a", "b")] * 4,
        [("a", "b"), ("b", "a"), ("a", "b"), ("b", "a")],
        [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")],
        [("d", "c", "b", "a"), ("a", "d"), ("c", "a"), ("b",)],
    ],
)
def test_nobody_shares_a_node_and_nobody_waits_for_ever(tmp_path, sets):
    workers = [start(_log_use, tmp_path, nodes, 25) for nodes in sets]
    deadline = time.monotonic() + 20
    for worker in workers:
        worker.join(max(0, deadline - time.monotonic()))
    stuck = [worker for worker in workers if worker.is_alive()]
    for worker in stuck:
        worker.kill()
    assert not stuck
    assert [worker.exitcode for worker in workers] == [0] * len(sets)


def test_disjoint_sets_are_held_at_the_same_time(tmp_path):
    one, two = Leases(tmp_path), Leases(tmp_path)
    with one.hold(["a", "b"]), two.hold(["c", "d"]):
        assert {path.name for path in tmp_path.glob("*.lease")} == {
            "a.lease", "b.lease", "c.lease", "d.lease",
        }  # fmt: skip


def test_a_node_named_twice_is_leased_once(tmp_path):
    with Leases(tmp_path).hold(["a", "a"]):
        pass


def _hold(folder, nodes, ready, limit_s):
    with Leases(folder).hold(nodes):
        ready.set()
        pass_time(limit_s, "a holder that does not let go by itself")


def _wait_and_say(folder, nodes, got):
    with Leases(folder).hold(nodes):
        got.set()


def test_a_lease_is_waited_for_and_freed_when_its_holder_is_killed(tmp_path):
    ready, got = FORK.Event(), FORK.Event()
    holder = start(_hold, tmp_path, ["a"], ready, 60)
    assert ready.wait(10)
    waiter = start(_wait_and_say, tmp_path, ["b", "a"], got)
    assert not got.wait(0.2)
    os.kill(holder.pid, signal.SIGKILL)
    assert got.wait(10)
    waiter.join(10)
    assert waiter.exitcode == 0


def test_a_lease_is_freed_by_an_exception(tmp_path):
    def fail():
        with Leases(tmp_path).hold(["a"]):
            raise ValueError("measuring went wrong")

    with pytest.raises(ValueError, match="went wrong"):
        fail()
    got = FORK.Event()
    start(_wait_and_say, tmp_path, ["a"], got)
    assert got.wait(10)
