"""File locks among the processes of a run; the kernel releases one when its process ends."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is created if it does not exist."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def locked_within(path: Path, time_limit_s: float) -> Iterator[bool]:
    """Try to hold an exclusive lock on a file until the block ends; give whether it is held."""
    until = time.monotonic() + time_limit_s
    with path.open("ab") as file:
        while not (is_locked := _try_lock(file)) and time.monotonic() < until:
            time.sleep(_LOOK_S)
        yield is_locked


def _try_lock(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_LOOK_S = 0.1


def held_open(path: Path) -> BinaryIO:
    """Lock a file until the returned file object is closed or this process ends."""
    file = path.open("ab")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def is_held(path: Path) -> bool:
    """Whether a process holds the lock of an existing file."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
