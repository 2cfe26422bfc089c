"""One measurement at a time on a node: a lease for each node, held by a file lock.

The kernel frees the lock when its process ends, however it ends. Leases are taken in sorted order,
so that two measurements can never wait for each other.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO


class Leases:
    """The leases of one run; every worker of the run uses the same folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def hold(self, nodes: Iterable[str]) -> Iterator[None]:
        """Wait until all ``nodes`` are free, and keep them until the block ends."""
        with ExitStack() as held:
            for node in sorted(set(nodes)):
                held.enter_context(locked(self._folder / f"{node}.lease"))
            yield


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is made if it is not there."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def held_open(path: Path) -> BinaryIO:
    """Lock a file until the file object that is given back is closed, or its process ends."""
    file = path.open("ab")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock of a file that is there."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
