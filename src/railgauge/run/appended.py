"""A ``.jsonl`` file of a run that this process holds open to append lines; others append too.

Each line is written under a lock, which the kernel releases when its holder ends. A killed writer
may have left an incomplete line; the next one starts on a line of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import finalize

from railgauge.core import chain

NO_JSON = (ValueError, RecursionError)
_TAIL_BYTES = 2**12
_MODE = 0o666  # less the umask, as for any other file
_LINE_END = b"\n"
_encoded = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def line_of(data: object) -> str:
    return _encoded(data) + "\n"


class Appended:
    """A file and the lock of its writers, which are opened on the first line.

    If the file may be replaced, the lock is a file of its own, else the file itself. ``_end`` is
    where the last line of this process ended, and ``_digest`` its chain digest: they are read again
    only if another process has appended since.
    """

    def __init__(self, path: Path, lock: Path) -> None:
        self._path = path
        self._lock = lock
        self._threads = Lock()
        self._open: dict[Path, int] = {}
        self._end = -1
        self._digest = ""
        finalize(self, _close_all, self._open)

    def add(self, line: str) -> None:
        """Append one line, which ends with a line end."""
        with self._alone() as file:
            self._write(file, os.fstat(file).st_size, line)

    def add_bound(self, data: Mapping[str, Any], *, durable: bool = False) -> None:
        """Append a line with one more field: a digest that chains it to all lines before it.

        With ``durable`` the line survives a power failure.
        """
        with self._alone() as file:
            end = os.fstat(file).st_size
            before = self._digest if end == self._end else _last_digest(file, end)
            text, digest = chain.bound_text(data, before)
            self._write(file, end, f"{text}\n")
            self._digest = digest
            if durable:
                os.fsync(file)

    @contextmanager
    def _alone(self) -> Iterator[int]:
        """The descriptor of the file while no other thread or process appends to it."""
        with self._threads:
            lock = self._descriptor(self._lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                self._leave_if_replaced()
                yield self._descriptor(self._path)
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)

    def _descriptor(self, path: Path) -> int:
        if path not in self._open:
            self._open[path] = _opened(path)
        return self._open[path]

    def _leave_if_replaced(self) -> None:
        """Close the file if its name now leads to another file, or to none."""
        held = self._open.get(self._path)
        if held is None:
            return
        with suppress(FileNotFoundError):
            if os.path.samestat(self._path.stat(), os.fstat(held)):
                return
        os.close(self._open.pop(self._path))
        self._end = -1

    def _write(self, file: int, end: int, line: str) -> None:
        is_at_start = end == self._end or _is_at_line_start(file, end)
        self._end = -1  # until all of it is written
        self._end = _written(file, end, line if is_at_start else f"\n{line}")


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, _MODE)


def _close_all(held: dict[Path, int]) -> None:
    while held:
        os.close(held.popitem()[1])


def _written(file: int, end: int, text: str) -> int:
    """Write at the end of a file, and return where it ends then."""
    data = memoryview(text.encode())
    end += len(data)
    while data:
        data = data[os.write(file, data) :]
    return end


def _is_at_line_start(file: int, end: int) -> bool:
    return not end or os.pread(file, 1, end - 1) == _LINE_END


def _last_digest(file: int, end: int) -> str:
    """The chain digest in the last complete line of a file; empty if there is none."""
    size = _TAIL_BYTES
    while True:
        start = max(0, end - size)
        tail = os.pread(file, end - start, start).split(_LINE_END)
        for line in reversed(tail if start == 0 else tail[1:]):
            with suppress(*NO_JSON, KeyError, TypeError):
                return str(json.loads(line)[chain.FIELD])
        if start == 0:
            return ""
        size *= 2
