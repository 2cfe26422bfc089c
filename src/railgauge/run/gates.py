"""The gates of a live run: an item waits until all items below it have ended.

Each item that has ended is a line of ``outcomes.jsonl`` in the run's folder; all workers read that
file, so that all of them have the same gates (``judging.gates``).
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

from railgauge.config.thresholds import Measurement
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Outcome
from railgauge.core.naming import listed
from railgauge.judging.gates import Ended, Gates, ended
from railgauge.judging.prevention import Prevents
from railgauge.judging.record import ItemRecord
from railgauge.run.store import Store

_FILE = "outcomes.jsonl"
_STOPPED = "stopped.jsonl"  # why the run was stopped before its last item; absent in most runs
# The interval between two polls doubles: most waits are for a change of rung, and those are short.
_FIRST_POLL_S, _LONGEST_POLL_S = 0.002, 0.05


class RunGates:
    """Counts the items of each node and rung that have not ended, and waits for them."""

    def __init__(self, store: Store, wait_limit_s: float) -> None:
        self._store = store
        self._wait_limit_s = wait_limit_s
        self._offset = 0
        self._reading = Lock()
        self._gates = Gates()
        self._open: dict[str, Counter[int]] = defaultdict(Counter)
        self._has_ended = bytearray()  # by place in the ladder: an item may end more than once

    def expect(self, items: Iterable[tuple[int, tuple[str, ...], int]]) -> None:
        """Register the items of the run, each with its rung, nodes and number of rows."""
        total = 0
        for rung, nodes, rows in items:
            total += rows
            for node in dict.fromkeys(nodes):
                self._open[node][rung] += rows
        self._has_ended = bytearray(total)

    def ended(self, item: ItemRecord, place: int, nodes: tuple[str, ...]) -> None:
        """Tell all processes how an item has ended; ``nodes`` are those whose gates it may close.

        ``place`` is its place among all that were registered.
        """
        one = ended(item, place, nodes)
        line: dict[str, Any] = {"id": item.id, "outcome": str(item.outcome)}
        line |= {"place": place, "rung": one.rung, "nodes": nodes}
        line |= {"shown": str(one.outcome)} if one.outcome is not item.outcome else {}
        line |= {"prevents": str(one.prevents)} if one.prevents else {}
        self._store.append(_FILE, line)

    def blockers(self, rung: int, nodes: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of items that failed below ``rung`` and block ``nodes``, in ladder order.

        Waits until every such item has ended. Raises ``NoEvidence`` if no item of the run ends for
        as long as the time limit.
        """
        self._await(rung, nodes)
        return self._gates.blockers(rung, nodes)

    def is_checked(self, measurement: Measurement, nodes: Sequence[str]) -> bool:
        """Whether a measurement behind its gate is made all the same, to check its results.

        As the items below have ended; ``blockers`` waits for all of them.
        """
        self._read()
        return self._gates.is_checked(measurement, nodes)

    def stop(self, why: str) -> None:
        """Stop the run: no item of any worker is measured from now on."""
        self._store.append(_STOPPED, {"why": why})

    @property
    def stopped(self) -> str:
        """Why the run was stopped; empty if it was not."""
        lines, _ = self._store.lines(_STOPPED, 0)
        return str(lines[0]["why"]) if lines else ""

    def _await(self, rung: int, nodes: Sequence[str]) -> None:
        self._read()
        last_news, poll_s = time.monotonic(), _FIRST_POLL_S
        while (busy := self._busy(rung, nodes)) and not self.stopped:
            if time.monotonic() - last_news > self._wait_limit_s:
                raise NoEvidence(
                    f"no item has ended for {self._wait_limit_s:.0f} s while items of lower rungs"
                    f" are open on {listed(busy)}"
                )
            time.sleep(poll_s)
            poll_s = min(2 * poll_s, _LONGEST_POLL_S)
            if self._read():
                last_news = time.monotonic()

    def _busy(self, rung: int, nodes: Sequence[str]) -> list[str]:
        """The nodes on which items below the rung have not ended."""
        return [node for node in nodes if any(self._open[node][low] for low in range(rung))]

    def _read(self) -> int:
        """Read the items that have ended since the last call, and return their number."""
        with self._reading:  # the engine's threads look at gates too
            lines, self._offset = self._store.lines(_FILE, self._offset)
            for line in lines:
                self._note(_ended_in(line))
        return len(lines)

    def _note(self, one: Ended) -> None:
        if not self._has_ended[one.place]:
            self._has_ended[one.place] = True
            for node in dict.fromkeys(one.nodes):
                self._open[node][one.rung] -= 1
        self._gates.note(one)


def _ended_in(line: dict[str, Any]) -> Ended:
    shown = Outcome(line.get("shown", line["outcome"]))
    about = (line["id"], line["place"], line["rung"], tuple(line["nodes"]))
    return Ended(*about, shown, Prevents(line.get("prevents", "")))
