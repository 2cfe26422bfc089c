"""What this process is doing, such as: report.html, run 3 of 14, item 812 of 2109.

There is one for the process, as there is one mask: code that counts its progress need not know
whether anybody shows it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

_Item = TypeVar("_Item")


@dataclass(eq=False, slots=True)
class _Step:
    what: str
    of: int | None = None
    done: int = 0

    def __str__(self) -> str:
        return self.what if self.of is None else f"{self.what} {self.done} of {self.of}"


class ProcessProgress:
    """The steps in progress, the outermost first; its text is empty if there is none."""

    def __init__(self) -> None:
        self._steps: list[_Step] = []

    def counted(self, what: str, items: Collection[_Item]) -> Iterator[_Item]:
        """Yield the items, and count them; ``what`` is the word for one of them."""
        return self.arriving(what, items, len(items))

    def arriving(self, what: str, items: Iterable[_Item], of: int) -> Iterator[_Item]:
        """Yield the items as they come, and count them; ``of`` is how many are to come."""
        with self._during(_Step(what, of)) as step:
            for item in items:
                step.done += 1
                yield item

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """The step ``what`` goes on while the block lasts."""
        with self._during(_Step(what)):
            yield

    @contextmanager
    def _during(self, step: _Step) -> Iterator[_Step]:
        self._steps.append(step)
        try:
            yield step
        finally:
            self._steps.remove(step)

    def __str__(self) -> str:
        return ", ".join(map(str, tuple(self._steps)))


PROGRESS_OF_PROCESS = ProcessProgress()
