"""What the engine has decided of each measurement; the items of a measurement wait for that.

The controller keeps the decisions in memory, and writes a line for each, which workers read.

Example: the items of ``host_write_bandwidth[a:b-mlx5_0]`` wait until it was measured, is blocked by
``test_errors[a]``, or the run was stopped before it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from railgauge.core.codec import from_plain, to_plain
from railgauge.core.model import Case
from railgauge.leases.files import held_open, is_held
from railgauge.run.store import Store
from railgauge.verdict.unanswered import NEVER_RAN

# In a folder that is deleted at the end of the run.
_DECIDED, _REQUESTED = "leases/decided.jsonl", "leases/requested.jsonl"
# Locked as long as decisions are made: its end reaches workers also where no line can be written.
_DECIDING = "leases/deciding"
_ALSO = "also "  # before the key of what the item of another measurement has asked for
_FIRST_POLL_S, _LONGEST_POLL_S = 0.002, 0.05
_LOOK_S = 1.0


class MeasuringError(Exception):
    """An error inside the suite, ``TypeError: ...``, kept a case from being measured."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a case was measured, what blocks its items, or why the run was stopped before it.

    ``broken`` is an error of the suite itself that kept it from being measured. ``took_s`` is how
    long measuring it took.
    """

    measured: bool = False
    blockers: tuple[str, ...] = ()
    stopped: str = ""
    broken: str = ""
    took_s: float = field(default=0.0, compare=False)


class Decisions:
    """The decisions of a run, in the process that makes them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Decision] = {}
        self._changed = threading.Condition()
        self._requests: deque[Case] = deque()
        self._offset = 0
        self.stopped = ""
        self.error: BaseException | None = None
        self._deciding: BinaryIO | None = None
        self._are_read = True

    # --- the engine ---

    def begin(self, *, are_read: bool = True) -> None:
        """Decisions are made from now on; no worker may wait for one before.

        ``are_read``: there are workers, which read them.
        """
        self._are_read = are_read
        self._deciding = held_open(self._store.folder / _DECIDING)

    def end(self) -> None:
        """No decision is made any more."""
        if self._deciding:
            self._deciding.close()

    def add(self, case: Case, decision: Decision, *, requested: bool = False) -> None:
        """Tell all who wait for a case; ``requested``: those of another measurement's items."""
        key = f"{_ALSO}{case.key}" if requested else case.key
        with self._changed:
            self._known[key] = decision
            self._changed.notify_all()
        if not self._are_read:
            return
        line = {"case": key, "measured": decision.measured, "blockers": decision.blockers}
        more = {"broken": self._store.masked(decision.broken), "took_s": decision.took_s}
        # A key that was masked would not be the one for which a worker waits.
        self._store.append_masked(_DECIDED, {**line, **more})

    def fail(self, error: BaseException) -> None:
        """Something ended the engine: whoever waits in this process raises that."""
        with self._changed:
            self.error = error
            self._changed.notify_all()

    def stop(self, why: str) -> None:
        """Nothing more is measured: nobody waits any more."""
        with self._changed:
            if self.stopped:
                return
            self.stopped = why
            self._changed.notify_all()
        self._store.append(_DECIDED, {"stopped": why})

    def requested(self) -> Iterator[Case]:
        """The cases that items have requested since the last call."""
        while self._requests:
            yield self._requests.popleft()
        if not self._are_read:
            return
        lines, self._offset = self._store.lines(_REQUESTED, self._offset)
        for line in lines:
            yield from_plain(Case, line["case"])

    # --- items ---

    def known(self, case: Case) -> Decision | None:
        return self._known.get(case.key)

    def wait(self, case: Case) -> Decision:
        """Wait for what is decided of an item's case. Raises the error that ended the engine."""
        return self._wait(case.key)

    def request(self, case: Case) -> Decision:
        """Have another case measured in its turn, unless it was, and wait for that."""
        key = f"{_ALSO}{case.key}"
        if not self._decided(key):
            self._request(case)
        return self._wait(key)

    def _request(self, case: Case) -> None:
        self._requests.append(case)

    def _decided(self, key: str) -> bool:
        return key in self._known

    def _wait(self, key: str) -> Decision:
        with self._changed:
            while not (key in self._known or self.stopped or self.error):
                self._changed.wait(_LOOK_S)
        if key not in self._known and self.error:
            raise self.error
        return self._known.get(key) or Decision(stopped=self.stopped)


class HeardDecisions(Decisions):
    """The decisions of a run, in a worker."""

    def _request(self, case: Case) -> None:
        # A node whose name was masked would not be the one that is asked for.
        self._store.append_masked(_REQUESTED, {"case": to_plain(case)})

    def _decided(self, key: str) -> bool:
        self._read()
        return super()._decided(key)

    def _wait(self, key: str) -> Decision:
        poll_s = _FIRST_POLL_S
        while not (self._decided(key) or self.stopped) and self._is_deciding():
            time.sleep(poll_s)
            poll_s = min(2 * poll_s, _LONGEST_POLL_S)
        self._read()  # what was decided last
        return self._known.get(key) or Decision(stopped=self.stopped or NEVER_RAN)

    def _is_deciding(self) -> bool:
        return is_held(self._store.folder / _DECIDING)

    def _read(self) -> None:
        lines, self._offset = self._store.lines(_DECIDED, self._offset)
        for line in lines:
            if "stopped" in line:
                self.stopped = line["stopped"]
            else:
                about = line["measured"], tuple(line["blockers"])
                more = {"broken": line["broken"], "took_s": line["took_s"]}
                self._known[line["case"]] = Decision(*about, **more)
