"""File locks among the processes of a run; the kernel releases one when its process ends."""

from __future__ import annotations

import fcntl
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
