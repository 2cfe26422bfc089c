"""The progress of a ladder, and the time left.

The time left is the sum of the platform file's times for the remaining measurements, scaled by how
long the measurements took so far. A measurement that hangs counts only when it has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from railgauge.planning.forecast import Work
from railgauge.planning.work_queue import Unit
from railgauge.run.progress.state import HowFar


class LadderProgress:
    """Counts the measurements that were decided: made, or blocked."""

    def __init__(self, works: Iterable[Work], clock: Callable[[], float] = time.monotonic) -> None:
        self._works = {work.measurement.name: work for work in works}
        self._total = sum(work.runs for work in self._works.values())
        self._left_s = sum(work.takes_s() for work in self._works.values())
        self._clock = clock
        self._seen: set[str] = set()
        self._decided = 0
        self._expected_s = 0.0  # of what was measured so far, by the platform file
        self._began_s = self._decided_s = clock()

    def begin(self) -> None:
        """The first measurement begins now."""
        self._began_s = self._decided_s = self._clock()

    def decided(self, unit: Unit, cases: int, *, is_measured: bool) -> None:
        """The measurements of a unit were made, or were blocked."""
        work = self._works.get(unit.kind)
        if work is None or unit.case in self._seen:
            return
        self._seen.add(unit.case)
        self._decided += cases
        cost_s = cases * work.case_s
        self._left_s -= cost_s
        if is_measured:
            self._expected_s += cost_s
            self._decided_s = self._clock()

    def far(self, following: str = "") -> HowFar:
        """How far the ladder is; ``following`` is what is measured next."""
        total = max(self._total, self._decided)
        return HowFar(self._decided, total, self._remaining_s(), following)

    def _remaining_s(self) -> float | None:
        if not self._expected_s:
            return None
        took_s = self._decided_s - self._began_s
        left_s = max(self._left_s, 0.0) * took_s / self._expected_s
        return max(left_s - (self._clock() - self._decided_s), 0.0)
