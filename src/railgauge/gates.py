"""A failure is explained by the lowest rung that breaks: what stands above it waits for it.

Finished items are lines of ``outcomes.jsonl`` in the run's folder, so that a worker knows what
the others found.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping

from railgauge.errors import NoEvidence
from railgauge.model import Outcome
from railgauge.store import Store

_FILE = "outcomes.jsonl"
_POLL_S = 0.05
_BLOCKING = frozenset({Outcome.FAILED, Outcome.ERROR})


class Gates:
    """Which items below a rung went wrong on a node; waits until all of them are through."""

    def __init__(self, store: Store, wait_limit_s: float) -> None:
        self._store = store
        self._wait_limit_s = wait_limit_s
        self._offset = 0
        self._outcomes: dict[str, Outcome] = {}
        self._below: Mapping[str, list[tuple[int, str]]] = {}

    def expect(self, items: Iterable[tuple[str, int, tuple[str, ...]]]) -> None:
        """Say what will run: (id, rung, nodes) of every item of the run, in any order."""
        below: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for item_id, rung, nodes in items:
            for node in nodes:
                below[node].append((rung, item_id))
        self._below = below

    def finished(self, item_id: str, outcome: Outcome) -> None:
        self._store.append(_FILE, {"id": item_id, "outcome": str(outcome)})

    def blockers(self, rung: int, nodes: Iterable[str]) -> tuple[str, ...]:
        """The ids of what went wrong below ``rung`` on ``nodes``, in the order of the ladder.

        Raises ``NoEvidence`` if nothing at all has ended within the time limit.
        """
        rungs = {i: low for node in nodes for low, i in self._below.get(node, ()) if low < rung}
        ids = sorted(rungs, key=lambda i: rungs[i])
        self._await(ids)
        return tuple(i for i in ids if self._outcomes[i] in _BLOCKING)

    def _await(self, ids: Iterable[str]) -> None:
        self._read()
        last_news = time.monotonic()
        while open_ids := [i for i in ids if i not in self._outcomes]:
            if time.monotonic() - last_news > self._wait_limit_s:
                raise NoEvidence(
                    f"no item has ended for {self._wait_limit_s:.0f} s while {len(open_ids)} items "
                    f"of lower rungs are open, first {open_ids[0]}"
                )
            time.sleep(_POLL_S)
            if self._read():
                last_news = time.monotonic()

    def _read(self) -> int:
        """Take in what has ended since the last look; how many that were."""
        lines, self._offset = self._store.lines(_FILE, self._offset)
        self._outcomes.update((line["id"], Outcome(line["outcome"])) for line in lines)
        return len(lines)
