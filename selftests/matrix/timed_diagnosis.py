"""The diagnosis in studies, with what it costs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from railgauge.diagnosis import RunResults
from railgauge.diagnosis.whole import Diagnosis, diagnosed
from railgauge.judging.confirmation import Remeasurement


@dataclass
class TimedDiagnosis:
    """Diagnoses once for each set of measurements; ``found`` is the last diagnosis.

    ``seconds`` is the processor time that it took so far.
    """

    seconds: float = 0.0
    found: Diagnosis | None = field(default=None, repr=False)

    def diagnosed(self, results: RunResults) -> Diagnosis:
        last = self.found and self.found.results
        if not last or (last.records, last.confirmed) != (results.records, results.confirmed):
            began = time.process_time()
            self.found = diagnosed(results)
            self.seconds += time.process_time() - began
        assert self.found is not None
        return self.found

    def follow_ups(
        self, results: RunResults, before: Sequence[Remeasurement]
    ) -> tuple[Remeasurement, ...]:
        found = self.diagnosed(results)
        began = time.process_time()
        asked = found.follow_ups(before)
        self.seconds += time.process_time() - began
        return asked
