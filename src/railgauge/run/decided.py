"""The engine's decision about each measurement; the items of a measurement wait for it.

A run keeps its decisions in memory. With workers it also writes each as a line, which they read.

Example: the items of ``host_write_bandwidth[a:b-mlx5_0]`` wait until it was measured, was blocked
by ``test_errors[a]``, or was not reached because the run was stopped.
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
# Locked as long as decisions are made: workers notice its release even if no line can be written.
_DECIDING = "leases/deciding"
_ALSO = "also "  # prefix of the key of a case that an item of another measurement has requested
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
    """The decisions, in the process that makes them; its threads wait for them here."""

    def __init__(self) -> None:
        self._known: dict[str, Decision] = {}
        self._changed = threading.Condition()
        self._requests: deque[Case] = deque()
        self.stopped = ""
        self.error: BaseException | None = None

    # --- the engine ---

    def begin(self) -> None:
        """Decisions are made from now on."""

    def end(self) -> None:
        """No decision is made any more."""

    def add(self, case: Case, decision: Decision, *, requested: bool = False) -> None:
        """Wake all who wait for a case; ``requested``: the items of another measurement do."""
        with self._changed:
            self._known[_key(case, requested=requested)] = decision
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """An error ended the engine: every waiting thread of this process raises it."""
        with self._changed:
            self.error = error
            self._changed.notify_all()

    def stop(self, why: str) -> None:
        """Nothing more is measured: nobody waits any longer. The first reason counts."""
        with self._changed:
            self.stopped = self.stopped or why
            self._changed.notify_all()

    def requested(self) -> Iterator[Case]:
        """The cases that items have requested since the last call."""
        while self._requests:
            yield self._requests.popleft()

    # --- items ---

    def known(self, case: Case) -> Decision | None:
        return self._known.get(case.key)

    def wait(self, case: Case) -> Decision:
        """Wait for the decision about an item's case. Raises the error that ended the engine."""
        return self._wait(case.key)

    def request(self, case: Case) -> Decision:
        """Request the measurement of another case, unless it was made, and wait for it."""
        key = _key(case, requested=True)
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


class WrittenDecisions(Decisions):
    """The decisions of a run, in the process that makes them; workers read what it writes."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store, self._offset = store, 0
        self._deciding: BinaryIO | None = None

    def begin(self) -> None:
        """Decisions are made from now on; no worker may wait for one before."""
        self._deciding = held_open(self._store.folder / _DECIDING)

    def end(self) -> None:
        if self._deciding:
            self._deciding.close()

    def add(self, case: Case, decision: Decision, *, requested: bool = False) -> None:
        super().add(case, decision, requested=requested)
        key = _key(case, requested=requested)
        line = {"case": key, "measured": decision.measured, "blockers": decision.blockers}
        more = {"broken": self._store.masked(decision.broken), "took_s": decision.took_s}
        # The key is not masked: a worker waits for it.
        self._store.append_masked(_DECIDED, {**line, **more})

    def stop(self, why: str) -> None:
        if not self.stopped:
            super().stop(why)
            self._store.append(_DECIDED, {"stopped": why})

    def requested(self) -> Iterator[Case]:
        yield from super().requested()
        lines, self._offset = self._store.lines(_REQUESTED, self._offset)
        for line in lines:
            yield from_plain(Case, line["case"])


class ReadDecisions(Decisions):
    """The decisions of a run, in a worker."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store, self._offset = store, 0

    def _request(self, case: Case) -> None:
        # Names of nodes are not masked: the engine looks the case up by them.
        self._store.append_masked(_REQUESTED, {"case": to_plain(case)})

    def _decided(self, key: str) -> bool:
        self._read()
        return super()._decided(key)

    def _wait(self, key: str) -> Decision:
        poll_s = _FIRST_POLL_S
        while not (self._decided(key) or self.stopped) and self._is_deciding():
            time.sleep(poll_s)
            poll_s = min(2 * poll_s, _LONGEST_POLL_S)
        self._read()  # the last decisions
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


def _key(case: Case, *, requested: bool) -> str:
    return f"{_ALSO}{case.key}" if requested else case.key
