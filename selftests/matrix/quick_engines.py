"""What names the slow parts in studies: the rules of ``diagnosis``, or its model."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from railgauge import diagnosis
from railgauge.diagnosis import Cause, RunResults, confirm, peers
from railgauge.diagnosis.slow import Inference, inferred
from railgauge.judging.confirmation import Remeasurement
from railgauge.judging.record import ItemRecord

RULES, MODEL = "rules", "model"
_FIRST_ROUND = 14


class Engine(Protocol):
    """Names the causes of a run, and what to measure to decide between suspects."""

    seconds: float

    def diagnose(self, results: RunResults) -> tuple[Cause, ...]: ...

    def probabilities(self) -> tuple[float, ...]:
        """Those of the causes found last, in their order; none if they have none."""

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

    def probabilities(self) -> tuple[float, ...]:
        return ()


@dataclass
class Model:
    """Infers once for each set of measurements; ``inference`` is the last one."""

    seconds: float = 0.0
    inference: Inference | None = field(default=None, repr=False)

    def _inferred(self, results: RunResults) -> Inference:
        last = self.inference and self.inference.results
        if not last or (last.records, last.confirmed) != (results.records, results.confirmed):
            self.inference = inferred(results)
        assert self.inference is not None
        return self.inference

    def diagnose(self, results: RunResults) -> tuple[Cause, ...]:
        began = time.process_time()
        claims = self._inferred(results).claims()
        found = tuple(diagnosis.cause_of(claim, results) for claim in claims)
        self.seconds += time.process_time() - began
        return found

    def compared(self, results: RunResults) -> Iterator[ItemRecord]:
        return peers.compared(results, lambda of_run: self._inferred(of_run).nodes())

    def follow_ups(
        self, results: RunResults, causes: Sequence[Cause], before: Sequence[Remeasurement]
    ) -> tuple[Remeasurement, ...]:
        began = time.process_time()
        cases = [one.question.case for one in before]
        made = {(case.key, case.repeats) for case in cases if case is not None}
        most = min(_FIRST_ROUND, confirm.FOLLOW_UPS - len(made))
        asked = self._inferred(results).asked(most, made)
        self.seconds += time.process_time() - began
        return tuple(
            Remeasurement("", "|".join(one.suspects), "", "", one.suspects, one.question)
            for one in asked
        )

    def probabilities(self) -> tuple[float, ...]:
        assert self.inference is not None
        return tuple(one.probability for one in self.inference.findings)


ENGINES: dict[str, type[Rules] | type[Model]] = {RULES: Rules, MODEL: Model}
