"""A failure is explained by the lowest rung that breaks: what stands above it waits for it.

Finished items are lines of ``outcomes.jsonl`` in the run's folder, so that a worker knows what
the others found.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Outcome
from railgauge.run.store import Store

_FILE = "outcomes.jsonl"
# The wait between two looks doubles: at a change of rung it is short, and rarely are there others.
_FIRST_POLL_S, _LONGEST_POLL_S = 0.002, 0.05
_BLOCKING = frozenset({Outcome.FAILED, Outcome.ERROR})


@dataclass(slots=True)
class _Floor:
    """The items of one node on one rung: those that have not ended, and those that went wrong."""

    open: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)


class Gates:
    """Which items below a rung went wrong on a node; waits until all of them are through."""

    def __init__(self, store: Store, wait_limit_s: float) -> None:
        self._store = store
        self._wait_limit_s = wait_limit_s
        self._offset = 0
        self._floors: dict[str, dict[int, _Floor]] = {}
        self._of: dict[str, list[_Floor]] = {}
        self._place: dict[str, tuple[int, int]] = {}

    def expect(self, items: Iterable[tuple[str, int, tuple[str, ...]]]) -> None:
        """Say what will run: (id, rung, nodes) of every item of the run, in any order."""
        floors: dict[str, dict[int, _Floor]] = defaultdict(lambda: defaultdict(_Floor))
        for item_id, rung, nodes in items:
            self._of[item_id] = [floors[node][rung] for node in nodes]
            self._place[item_id] = (rung, len(self._place))
            for floor in self._of[item_id]:
                floor.open.add(item_id)
        self._floors = floors

    def finished(self, item_id: str, outcome: Outcome) -> None:
        self._store.append(_FILE, {"id": item_id, "outcome": str(outcome)})

    def blockers(self, rung: int, nodes: Iterable[str]) -> tuple[str, ...]:
        """The ids of what went wrong below ``rung`` on ``nodes``, in the order of the ladder.

        Raises ``NoEvidence`` if nothing at all has ended within the time limit.
        """
        floors = list(self._below(rung, nodes))
        self._await(floors)
        return self._sorted(floor.wrong for floor in floors)

    def _below(self, rung: int, nodes: Iterable[str]) -> Iterator[_Floor]:
        for node in nodes:
            floors = self._floors.get(node, {})
            yield from (floor for low, floor in floors.items() if low < rung)

    def _sorted(self, found: Iterable[set[str]]) -> tuple[str, ...]:
        return tuple(sorted(set().union(*found), key=self._place.__getitem__))

    def _await(self, floors: Sequence[_Floor]) -> None:
        self._read()
        last_news, poll_s = time.monotonic(), _FIRST_POLL_S
        while any(floor.open for floor in floors):
            if time.monotonic() - last_news > self._wait_limit_s:
                self._refuse(floors)
            time.sleep(poll_s)
            poll_s = min(2 * poll_s, _LONGEST_POLL_S)
            if self._read():
                last_news = time.monotonic()

    def _refuse(self, floors: Sequence[_Floor]) -> None:
        ids = self._sorted(floor.open for floor in floors)
        raise NoEvidence(
            f"no item has ended for {self._wait_limit_s:.0f} s while {len(ids)} items "
            f"of lower rungs are open, first {ids[0]}"
        )

    def _read(self) -> int:
        """Take in what has ended since the last look; how many that were."""
        lines, self._offset = self._store.lines(_FILE, self._offset)
        for line in lines:
            self._note(line["id"], Outcome(line["outcome"]))
        return len(lines)

    def _note(self, item_id: str, outcome: Outcome) -> None:
        """The last word on an item counts: one whose worker died may have been run again."""
        for floor in self._of.get(item_id, ()):
            floor.open.discard(item_id)
            (floor.wrong.add if outcome in _BLOCKING else floor.wrong.discard)(item_id)
