"""Errors that show that this machine has run out of a resource, as values and as text."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
import traceback
from bisect import bisect_left
from concurrent.futures import ThreadPoolExecutor

import pytest

from railgauge.core import exhaustion
from railgauge.core.errors import Exhausted, NodeUnreachable, NoEvidence
from railgauge.core.exhaustion import (
    no_fault_of_a_node,
    what_ran_out,
    what_ran_out_in,
)

LACKS = {
    "memory": MemoryError(),
    "memory, ": OSError(errno.ENOMEM, "Cannot allocate memory"),
    "threads": RuntimeError("can't start new thread"),
    "threads, ": BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
    "open files": OSError(errno.EMFILE, "Too many open files"),
    "open files of all": OSError(errno.ENFILE, "Too many open files in system"),
}
OTHERS = (
    OSError(errno.ENOSPC, "No space left on device"),
    ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
    RuntimeError("another"),
    NoEvidence("can't start new thread"),
)

STARTS_A_THREAD = """
import mmap, resource, sys, threading
from railgauge.core import exhaustion
exhaustion._Begun.limit_s = 2.0
exhaustion.bound_thread_starts()
thread, filled, count = threading.Thread(target=len, args=("",)), [None] * 4_000_000, 0
stack = mmap.mmap(-1, resource.getrlimit(resource.RLIMIT_STACK)[0] + 4096 + int(sys.argv[1]))
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size, size))
try:
    while True:
        filled[count] = bytearray(600 - count % 500)
        count += 1
except MemoryError:
    stack.close()
try:
    thread.start()
    thread.join()
    result = "ran"
except (MemoryError, RuntimeError) as error:
    filled.clear()
    result = type(error).__name__
print(result)
"""


@pytest.mark.parametrize("name", list(LACKS))
def test_the_exhausted_resource_is_found_behind_other_errors_and_in_text(name: str) -> None:
    lack = LACKS[name]
    with pytest.raises(NodeUnreachable) as caught:
        raise NodeUnreachable("no connection") from lack
    text = what_ran_out(lack)
    assert text.startswith(name.rstrip(", "))
    assert what_ran_out(caught.value) == text
    for error in (lack, caught.value):
        assert what_ran_out_in("".join(traceback.format_exception(error))) == text


@pytest.mark.parametrize("error", OTHERS, ids=repr)
def test_other_errors_show_no_exhausted_resource(error: Exception) -> None:
    assert what_ran_out(error) == ""
    assert what_ran_out_in("".join(traceback.format_exception(error))) == ""
    with pytest.raises(type(error)), no_fault_of_a_node():
        raise error


def test_a_node_is_not_unreachable_because_this_machine_lacks_something() -> None:
    with pytest.raises(Exhausted, match=r"run out of open files.*ulimit -n"), no_fault_of_a_node():
        raise NodeUnreachable("n01") from LACKS["open files"]
    assert not issubclass(Exhausted, NoEvidence)


def test_a_thread_that_dies_before_it_begins_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As without memory: its starter waited forever for the signal that it has begun."""

    def dies(_thread: threading.Thread) -> None:
        sys.exit()

    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)  # put back later
    monkeypatch.setattr(threading.Thread, "_bootstrap", dies)
    monkeypatch.setattr(exhaustion._Begun, "limit_s", 0.2)
    exhaustion.bound_thread_starts()
    with pytest.raises(Exhausted, match=r"run out of memory.*ulimit -v"), no_fault_of_a_node():
        threading.Thread(target=print).start()


def test_threads_begin_and_end_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)  # put back later
    exhaustion.bound_thread_starts()
    exhaustion.bound_thread_starts()
    done: list[int] = []
    thread = threading.Thread(target=done.append, args=(1,))
    thread.start()
    thread.join()
    assert done == [1]
    with pytest.raises(RuntimeError, match="only be started once"):
        thread.start()
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(abs, [-1, -2])) == [1, 2]


def test_every_start_of_a_thread_ends_without_memory() -> None:
    """With little more than its stack a thread is made, and dies before it begins."""
    result: dict[int, str] = {}

    def is_made(pages: int) -> bool:
        result[pages] = subprocess.run(
            [sys.executable, "-c", STARTS_A_THREAD, str(pages * 4096)],
            capture_output=True, text=True, check=False, timeout=60,
        ).stdout.strip()  # fmt: skip
        return result[pages] != "RuntimeError"

    first = bisect_left(range(64), True, key=is_made)
    assert set(result.values()) <= {"RuntimeError", "MemoryError", "ran"}, result
    assert first < 64, result


def test_errors_in_a_circle_end() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert what_ran_out(one) == ""
