"""Errors that say that this machine has run out of something, whatever they were raised for.

A node is not at fault if the machine from which it is reached has no more memory, threads or
descriptors, and no item can be judged. The run ends, and can be carried on.
"""

from __future__ import annotations

import errno
import re
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
_SAID = re.compile(
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


def said_to_have_run_out(text: str) -> str:
    """The same, of the text of a traceback."""
    found = _SAID.search(text)
    if found is None:
        return ""
    if found["number"]:
        return _NUMBERS[int(found["number"])]
    return _MEMORY if found["memory"] else _THREADS


@contextmanager
def no_fault_of_a_node() -> Iterator[None]:
    """Raise ``Exhausted`` in place of an error of the block that comes from a lack of this machine.

    Without it, "too many open files" would make a node one that cannot be reached.
    """
    try:
        yield
    except Exception as error:
        raise_if_exhausted(error)
        raise


def raise_if_exhausted(error: BaseException | None) -> None:
    """Raise ``Exhausted`` if the error comes from a lack of this machine."""
    if error is not None and (lacking := what_ran_out(error)):
        raise Exhausted(f"this machine has run out of {lacking}") from error


def _of_one(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, RuntimeError) and _NO_THREAD in str(error):
        return _THREADS
    if isinstance(error, BlockingIOError) and error.errno == errno.EAGAIN:
        return _THREADS  # of fork; no socket of the suite is one that does not block
    return _NUMBERS.get(error.errno or 0, "") if isinstance(error, OSError) else ""
