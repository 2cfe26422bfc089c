"""Calls that a test makes while it does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from testing.waiting import wait_until

_LIMIT_S = 20.0


class InThreads:
    """Functions that are called in a thread each; what they raise is kept beside what they return.

    The threads end with the process: one that waits for ever fails its test, and holds up nothing.
    """

    def __init__(self, *calls: Callable[[], object]) -> None:
        self.results: list[object] = [None for _ in calls]
        self._threads = [
            threading.Thread(target=self._call, args=(number, call), daemon=True)
            for number, call in enumerate(calls)
        ]
        for thread in self._threads:
            thread.start()

    def _call(self, number: int, call: Callable[[], object]) -> None:
        try:
            self.results[number] = call()
        except BaseException as error:
            self.results[number] = error

    @property
    def waiting(self) -> int:
        return sum(thread.is_alive() for thread in self._threads)

    def ended(self) -> Sequence[object]:
        """What all of them returned or raised, once they have ended."""
        wait_until(lambda: not self.waiting, _LIMIT_S, "the ends of all threads")
        return self.results
