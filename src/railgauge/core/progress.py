"""How far this process is in what it counts, such as run 3 of 14, item 812 of 2109.

There is one for the process, as there is one mask: what counts does not know who waits for it, and
nobody need look. A count changes nothing but itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeVar

_Item = TypeVar("_Item")


@dataclass(eq=False, slots=True)
class _Count:
    what: str
    of: int
    done: int = 0

    def __str__(self) -> str:
        return f"{self.what} {self.done} of {self.of}"


class ProcessProgress:
    """The counts that go on, the outermost first; its text is empty if there is none."""

    def __init__(self) -> None:
        self._counts: list[_Count] = []

    def counted(self, what: str, items: Collection[_Item]) -> Iterator[_Item]:
        """Yield the items, and count them; ``what`` is the word for one of them."""
        count = _Count(what, len(items))
        self._counts.append(count)
        try:
            for item in items:
                count.done += 1
                yield item
        finally:
            self._counts.remove(count)

    def __str__(self) -> str:
        return ", ".join(map(str, tuple(self._counts)))


PROGRESS_OF_PROCESS = ProcessProgress()
