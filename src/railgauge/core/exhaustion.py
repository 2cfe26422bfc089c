"""Recognises errors that show that this machine has run out of a resource.

A node is not at fault if the machine that runs the suite has no memory, threads or descriptors
left, and no item can be judged. The run ends, and can be resumed.
"""

from __future__ import annotations

import errno
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from railgauge.core.errors import Exhausted

_MEMORY = "memory: raise its limit (ulimit -v, a cgroup)"
_THREADS = "threads or processes: raise their limits (ulimit -u, pids.max of a cgroup, ulimit -v)"
_FILES = "open files: raise their limit (ulimit -n)"
_ALL_FILES = "open files of all its programs: raise their limit (sysctl fs.file-max)"
_NO_THREAD = "can't start new thread"
_NUMBERS = {
    errno.ENOMEM: _MEMORY,
    errno.EMFILE: _FILES,
    errno.ENFILE: _ALL_FILES,
}
# The last line of a traceback, which is all that a worker sends to its controller.
_LAST_LINE = re.compile(
    rf"^[^\n]*?\b(?:(?P<memory>MemoryError)|(?P<thread>RuntimeError: {_NO_THREAD})"
    rf"|(?P<fork>BlockingIOError: \[Errno {errno.EAGAIN}\])"
    rf"|OSError: \[Errno (?P<number>{'|'.join(map(str, _NUMBERS))})\])",
    re.MULTILINE,
)


def what_ran_out(error: BaseException | None) -> str:
    """What this machine lacks, and which limit to raise; empty for any other error.

    An error that was translated into another one counts too.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if lacking := _of_one(error):
            return lacking
        seen.add(id(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return ""


def what_ran_out_in(text: str) -> str:
    """The same, from the text of a traceback."""
    found = _LAST_LINE.search(text)
    if found is None:
        return ""
    if found["number"]:
        return _NUMBERS[int(found["number"])]
    return _MEMORY if found["memory"] else _THREADS


@contextmanager
def no_fault_of_a_node() -> Iterator[None]:
    """Raise ``Exhausted`` in place of an error of the block if this machine ran out of a resource.

    Otherwise "too many open files" would be reported as a node that cannot be reached.
    """
    try:
        yield
    except Exception as error:
        raise_if_exhausted(error)
        raise


def raise_if_exhausted(error: BaseException | None) -> None:
    """Raise ``Exhausted`` if the error shows that this machine ran out of a resource."""
    if error is not None and (lacking := what_ran_out(error)):
        raise Exhausted(f"this machine has run out of {lacking}") from error


class _Begun(threading.Event):
    """Whether a thread has begun; the wait for it has a limit here, and none in ``threading``."""

    limit_s = 20.0

    def wait(self, timeout: float | None = None) -> bool:
        has_begun = super().wait(self.limit_s if timeout is None else timeout)
        if timeout is None and not has_begun:
            raise MemoryError(f"a new thread did not begin within {self.limit_s:g} s")
        return has_begun


_start = threading.Thread.start


def _start_within_limit(thread: threading.Thread) -> None:
    if thread.ident is None:
        vars(thread)["_started"] = _Begun()
    _start(thread)


def bound_thread_starts() -> None:
    """Limit how long the start of any thread in this process may take, also in libraries.

    If memory runs out (``ulimit -v``), a new thread may die before it signals that it has begun,
    and ``Thread.start`` would wait for the signal forever. With the limit it raises
    ``MemoryError``.
    """
    threading.Thread.start = _start_within_limit  # type: ignore[method-assign, assignment]


def _of_one(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, RuntimeError) and _NO_THREAD in str(error):
        return _THREADS
    if isinstance(error, BlockingIOError) and error.errno == errno.EAGAIN:
        return _THREADS  # from fork; the suite has no non-blocking sockets
    return _NUMBERS.get(error.errno or 0, "") if isinstance(error, OSError) else ""
