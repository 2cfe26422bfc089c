"""Gates: an item waits for the lower rungs of its nodes, and is blocked if one of them failed.

A blocked collective may still be run to check its results, but not if an item below it prevents
that (``judging.prevention``).

The lowest rung that fails explains a failure, so the rungs above it are not measured. A pair that
failed blocks what goes on inside a node only if it leaves the node under suspicion
(``judging.suspicion``). Each finished item is a line of ``outcomes.jsonl`` in the run's folder; all
workers read that file.

Example: the items of rung 1 on node ``a`` are ``link[a]`` (passed) and ``errors[a]`` (failed).
An item of rung 2 on the pair ``a:b`` is then blocked by ``errors[a]``.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Outcome
from railgauge.judging.prevention import Prevents
from railgauge.judging.suspicion import NodeOutcomes, blocking
from railgauge.run.store import Store

_FILE = "outcomes.jsonl"
_STOPPED = "stopped.jsonl"  # why the run was stopped before its last item; absent in most runs
# The interval between two polls doubles: most waits are for a change of rung, and those are short.
_FIRST_POLL_S, _LONGEST_POLL_S = 0.002, 0.05
_MOST_EVER = 2**40  # items of a run


@dataclass(slots=True)
class _Floor:
    """The items of one node on one rung: how many are open, and how those ended that are not.

    ``prevents`` says of some items which collectives they make impossible or dangerous.
    """

    ended: NodeOutcomes
    open: int = 0
    prevents: dict[str, Prevents] = field(default_factory=dict)


class Gates:
    """The failed items below a rung on a node; waits until all items below that rung have ended."""

    def __init__(self, store: Store, wait_limit_s: float) -> None:
        self._store = store
        self._wait_limit_s = wait_limit_s
        self._offset = 0
        self._reading = Lock()
        self._floors: dict[str, dict[int, _Floor]] = {}
        self._of: dict[str, Sequence[_Floor]] = {}
        self._place: dict[str, int] = {}
        self._open: set[str] = set()

    def expect(self, items: Iterable[tuple[str, int, tuple[str, ...]]]) -> None:
        """Register every item of the run as (id, rung, nodes), in any order."""
        floors: dict[str, dict[int, _Floor]] = defaultdict(dict)
        at: dict[tuple[int, tuple[str, ...]], Sequence[_Floor]] = {}  # one for all items there
        for item_id, rung, nodes in items:
            if (rung, nodes) not in at:
                at[rung, nodes] = tuple(
                    floors[node].setdefault(rung, _Floor(NodeOutcomes(node)))
                    for node in dict.fromkeys(nodes)
                )
            self._of[item_id] = at[rung, nodes]
            self._place[item_id] = rung * _MOST_EVER + len(self._place)
            self._open.add(item_id)
            for floor in self._of[item_id]:
                floor.open += 1
        self._floors = floors

    def finished(self, item_id: str, outcome: Outcome, prevents: Prevents = Prevents.NONE) -> None:
        line = {"id": item_id, "outcome": str(outcome)}
        self._store.append(_FILE, line | ({"prevents": str(prevents)} if prevents else {}))

    def blockers(self, rung: int, nodes: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of items that failed below ``rung`` and block ``nodes``, in ladder order.

        Waits until every such item has ended. Raises ``NoEvidence`` if no item of the run ends for
        as long as the time limit.
        """
        floors = list(self._below(rung, nodes))
        self._await(floors)
        return self._sorted(blocking((floor.ended for floor in floors), nodes))

    def prevented(self, rung: int, nodes: Sequence[str]) -> bool:
        """Whether an item below ``rung`` makes a collective over ``nodes`` impossible or dangerous.

        Of the items that have ended; ``blockers`` waits for all of them.
        """
        self._read()
        found = (one for floor in self._below(rung, nodes) for one in floor.prevents.values())
        return any(one.covers(len(nodes)) for one in found)

    def stop(self, why: str) -> None:
        """Stop the run: no item of any worker is measured from now on."""
        self._store.append(_STOPPED, {"why": why})

    @property
    def stopped(self) -> str:
        """Why the run was stopped; empty if it was not."""
        lines, _ = self._store.lines(_STOPPED, 0)
        return str(lines[0]["why"]) if lines else ""

    def _below(self, rung: int, nodes: Iterable[str]) -> Iterator[_Floor]:
        for node in nodes:
            floors = self._floors.get(node, {})
            yield from (floor for low, floor in floors.items() if low < rung)

    def _sorted(self, found: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(set(found), key=self._place.__getitem__))

    def _await(self, floors: Sequence[_Floor]) -> None:
        self._read()
        last_news, poll_s = time.monotonic(), _FIRST_POLL_S
        while any(floor.open for floor in floors) and not self.stopped:
            if time.monotonic() - last_news > self._wait_limit_s:
                self._refuse(floors)
            time.sleep(poll_s)
            poll_s = min(2 * poll_s, _LONGEST_POLL_S)
            if self._read():
                last_news = time.monotonic()

    def _refuse(self, floors: Sequence[_Floor]) -> None:
        lower = set(map(id, floors))
        ids = self._sorted(one for one in self._open if lower & {*map(id, self._of[one])})
        raise NoEvidence(
            f"no item has ended for {self._wait_limit_s:.0f} s while {len(ids)} items "
            f"of lower rungs are open, first {ids[0]}"
        )

    def _read(self) -> int:
        """Read the items that have ended since the last call, and return their number."""
        with self._reading:  # the engine's threads look at gates too
            lines, self._offset = self._store.lines(_FILE, self._offset)
            for line in lines:
                self._note(line["id"], Outcome(line["outcome"]), Prevents(line.get("prevents", "")))
        return len(lines)

    def _note(self, item_id: str, outcome: Outcome, prevents: Prevents) -> None:
        """Record an outcome. The latest one counts: an item may run again after its worker died."""
        was_open = item_id in self._open
        self._open.discard(item_id)
        floors = self._of.get(item_id, ())
        nodes = tuple(floor.ended.node for floor in floors)
        for floor in floors:
            floor.open -= was_open
            floor.ended.note(item_id, nodes, outcome)
            floor.prevents.pop(item_id, None)
            if prevents:
                floor.prevents[item_id] = prevents
