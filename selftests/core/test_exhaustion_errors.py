"""Which errors say that this machine has run out of something, as values and as text."""

from __future__ import annotations

import errno
import traceback

import pytest

from railgauge.core.errors import Exhausted, NodeUnreachable, NoEvidence
from railgauge.core.exhaustion import (
    no_fault_of_a_node,
    said_to_have_run_out,
    what_ran_out,
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


@pytest.mark.parametrize("name", list(LACKS))
def test_what_ran_out_is_known_also_behind_other_errors_and_in_text(name: str) -> None:
    lack = LACKS[name]
    with pytest.raises(NodeUnreachable) as caught:
        raise NodeUnreachable("no connection") from lack
    said = what_ran_out(lack)
    assert said.startswith(name.rstrip(", "))
    assert what_ran_out(caught.value) == said
    for error in (lack, caught.value):
        assert said_to_have_run_out("".join(traceback.format_exception(error))) == said


@pytest.mark.parametrize("error", OTHERS, ids=repr)
def test_other_errors_are_none(error: Exception) -> None:
    assert what_ran_out(error) == ""
    assert said_to_have_run_out("".join(traceback.format_exception(error))) == ""
    with pytest.raises(type(error)), no_fault_of_a_node():
        raise error


def test_a_node_is_not_unreachable_because_this_machine_lacks_something() -> None:
    with pytest.raises(Exhausted, match=r"run out of open files.*ulimit -n"), no_fault_of_a_node():
        raise NodeUnreachable("n01") from LACKS["open files"]
    assert not issubclass(Exhausted, NoEvidence)


def test_errors_in_a_circle_end() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert what_ran_out(one) == ""
