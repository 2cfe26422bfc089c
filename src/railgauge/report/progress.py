"""How far a run is: a line at the first measurement of each rung, then at most one a minute.

The time left follows from the times that the platform file gives for the measurements, corrected
by how long those took that were made so far::

    rung 4, pair_all_reduce: measurement 97 of 157, about 12 min left
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from railgauge.core.units import format_duration
from railgauge.planning.forecast import Work
from railgauge.planning.work_queue import Unit

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
        self._seen: set[str] = set()
        self._made = 0
        self._expected_s = 0.0  # of what was measured so far, by the platform file
        self._began_s = clock()
        self._rung, self._told_s = -1, 0.0

    def begin(self) -> None:
        """The first measurement begins now."""
        self._began_s = self._clock()

    def decided(self, unit: Unit, cases: int, *, is_measured: bool) -> None:
        """The measurements of a unit were made, or were blocked."""
        work = self._works.get(unit.kind)
        if work is None or unit.case in self._seen:
            return
        self._seen.add(unit.case)
        self._made += cases
        cost_s = cases * work.case_s
        self._left_s -= cost_s
        if is_measured:
            self._expected_s += cost_s
            self._tell(unit)

    def _tell(self, unit: Unit) -> None:
        now_s = self._clock()
        if unit.rung <= self._rung and now_s - self._told_s < _EVERY_S:
            return
        self._rung, self._told_s = max(self._rung, unit.rung), now_s
        total = max(self._total, self._made)
        line = f"rung {unit.rung}, {unit.kind}: measurement {self._made} of {total}"
        self._write(f"{line}{self._remaining(now_s)}")

    def _remaining(self, now_s: float) -> str:
        left_s = max(self._left_s, 0.0) * (now_s - self._began_s) / self._expected_s
        if left_s < _EVERY_S:
            return ", less than a minute left"
        return f", about {format_duration(left_s)} left"
