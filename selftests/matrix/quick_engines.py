"""What names the slow parts in studies: the rules of ``diagnosis``, or its model."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from railgauge import diagnosis
from railgauge.diagnosis import Cause, RunResults, confirm, peers
from railgauge.diagnosis.by_model import Diagnosis, diagnosed
from railgauge.judging.confirmation import Remeasurement
from railgauge.judging.record import ItemRecord

RULES, MODEL = "rules", "model"


class Engine(Protocol):
    """Names the causes of a run, and what to measure to decide between suspects."""

    seconds: float

    def diagnose(self, results: RunResults) -> tuple[Cause, ...]: ...

    def compared(self, results: RunResults) -> Iterator[ItemRecord]:
        """The items that a limit on stragglers demands."""
        ...

    def follow_ups(
        self, results: RunResults, causes: Sequence[Cause], before: Sequence[Remeasurement]
    ) -> tuple[Remeasurement, ...]: ...


@dataclass
class Rules:
    """``seconds`` is the processor time that it took so far."""

    seconds: float = 0.0

    def diagnose(self, results: RunResults) -> tuple[Cause, ...]:
        began = time.process_time()
        found = diagnosis.diagnose(results)
        self.seconds += time.process_time() - began
        return found

    def compared(self, results: RunResults) -> Iterator[ItemRecord]:
        return peers.compared(results)

    def follow_ups(
        self, results: RunResults, causes: Sequence[Cause], before: Sequence[Remeasurement]
    ) -> tuple[Remeasurement, ...]:
        began = time.process_time()
        found = confirm.follow_ups(results, causes, before)
        self.seconds += time.process_time() - began
        return found


@dataclass
class Model:
    """Diagnoses once for each set of measurements; ``found`` is the last diagnosis."""

    seconds: float = 0.0
    found: Diagnosis | None = field(default=None, repr=False)

    def _diagnosed(self, results: RunResults) -> Diagnosis:
        last = self.found and self.found.results
        if not last or (last.records, last.confirmed) != (results.records, results.confirmed):
            began = time.process_time()
            self.found = diagnosed(results)
            self.seconds += time.process_time() - began
        assert self.found is not None
        return self.found

    def diagnose(self, results: RunResults) -> tuple[Cause, ...]:
        return self._diagnosed(results).causes

    def compared(self, results: RunResults) -> Iterator[ItemRecord]:
        return peers.compared(results, lambda of_run: self._diagnosed(of_run).inference.nodes())

    def follow_ups(
        self, results: RunResults, causes: Sequence[Cause], before: Sequence[Remeasurement]
    ) -> tuple[Remeasurement, ...]:
        found = self._diagnosed(results)
        began = time.process_time()
        asked = found.follow_ups(before)
        self.seconds += time.process_time() - began
        return asked


ENGINES: dict[str, type[Rules] | type[Model]] = {RULES: Rules, MODEL: Model}
