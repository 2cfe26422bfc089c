"""Locks among the processes of a run: one at a time, whichever of them dies."""

import multiprocessing
import os
import signal
import time

import pytest
from testing.waiting import pass_time

from railgauge.leases.files import held_open, is_held, locked

FORK = multiprocessing.get_context("fork")


def start(target, *args):
    process = FORK.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def _use(path, times):
    """Fails if another process is inside too."""
    mark = path.with_suffix(".busy")
    for _ in range(times):
        with locked(path):
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            pass_time(0.001, "others try to get in meanwhile")
            mark.unlink()


def test_a_lock_is_held_by_one_process_at_a_time_and_no_wait_is_endless(tmp_path):
    users = [start(_use, tmp_path / "a", 25) for _ in range(4)]
    deadline = time.monotonic() + 20
    for user in users:
        user.join(max(0, deadline - time.monotonic()))
    stuck = [user for user in users if user.is_alive()]
    for user in stuck:
        user.kill()
    assert not stuck
    assert [user.exitcode for user in users] == [0, 0, 0, 0]


def test_different_files_are_locked_at_the_same_time(tmp_path):
    with locked(tmp_path / "a"), locked(tmp_path / "b"):
        assert is_held(tmp_path / "a")
        assert is_held(tmp_path / "b")


def _hold(path, ready):
    with locked(path):
        ready.set()
        pass_time(60, "a holder that does not let go by itself")


def _say(path, got):
    with locked(path):
        got.set()


def test_a_lock_is_waited_for_and_freed_when_its_holder_is_killed(tmp_path):
    path, ready, got = tmp_path / "a", FORK.Event(), FORK.Event()
    holder = start(_hold, path, ready)
    assert ready.wait(10)
    waiter = start(_say, path, got)
    assert not got.wait(0.2)
    os.kill(holder.pid, signal.SIGKILL)
    assert got.wait(10)
    waiter.join(10)
    assert waiter.exitcode == 0


def test_a_lock_is_freed_by_an_exception(tmp_path):
    path, got = tmp_path / "a", FORK.Event()

    def fail():
        with locked(path):
            raise ValueError("writing went wrong")

    with pytest.raises(ValueError, match="went wrong"):
        fail()
    assert not is_held(path)
    start(_say, path, got)
    assert got.wait(10)


def test_the_content_of_a_locked_file_stays(tmp_path):
    path = tmp_path / "a"
    path.write_text("lines\n")
    with locked(path):
        assert path.read_text() == "lines\n"


def test_a_file_that_is_held_open_is_locked_until_it_is_closed(tmp_path):
    path = tmp_path / "a"
    with held_open(path):
        assert is_held(path)
    assert not is_held(path)
