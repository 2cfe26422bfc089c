"""How far a run is: a line at the first measurement of each rung, then at most one a minute.

The time left follows from the times that the platform file gives for the measurements, corrected
by how long those took that were made so far::

    rung 4, pair_all_reduce: measurement 97 of 157, about 12 min left
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from railgauge.core.model import Outcome
from railgauge.core.units import format_duration
from railgauge.judging.record import ItemRecord
from railgauge.planning.forecast import Work

_EVERY_S = 60.0


class RunProgress:
    """Prints a line with ``write`` when a measurement has ended, unless one was printed lately."""

    def __init__(
        self,
        works: Iterable[Work],
        write: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._works = {work.measurement.name: work for work in works}
        self._total = sum(work.runs for work in self._works.values())
        self._left_s = sum(work.takes_s() for work in self._works.values())
        self._write, self._clock = write, clock
        self._seen: set[tuple[str, tuple[str, ...], str]] = set()
        self._expected_s = 0.0  # of what was measured so far, by the platform file
        self._began_s = clock()
        self._rung, self._told_s = -1, 0.0

    def ended(self, record: ItemRecord) -> None:
        """An item has ended; of those that share a measurement the first one counts."""
        key = (record.subject, record.nodes, record.pairing)
        work = self._works.get(record.subject)
        if work is None or key in self._seen:
            return
        if not self._seen:
            self._began_s = self._clock() - record.duration_s
        self._seen.add(key)
        cost_s = work.case_s
        self._left_s -= cost_s
        if record.outcome is not Outcome.BLOCKED:
            self._expected_s += cost_s
            self._tell(record)

    def _tell(self, record: ItemRecord) -> None:
        now_s = self._clock()
        if record.rung <= self._rung and now_s - self._told_s < _EVERY_S:
            return
        self._rung, self._told_s = max(self._rung, record.rung), now_s
        number, total = len(self._seen), max(self._total, len(self._seen))
        line = f"rung {record.rung}, {record.subject}: measurement {number} of {total}"
        self._write(f"{line}{self._remaining(now_s)}")

    def _remaining(self, now_s: float) -> str:
        left_s = max(self._left_s, 0.0) * (now_s - self._began_s) / self._expected_s
        if left_s < _EVERY_S:
            return ", less than a minute left"
        return f", about {format_duration(left_s)} left"
