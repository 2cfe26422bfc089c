"""Diagnose by the model of slow parts instead of by rules, in this process.

Studies of whole runs load it into their runs (``-p by_model``), and ``use`` it in their own
process to diagnose kept evidence again.
"""

from __future__ import annotations

from collections.abc import Sequence

from railgauge.diagnosis import Cause, RunResults
from railgauge.diagnosis.by_model import diagnosed
from railgauge.judging.confirmation import Remeasurement
from railgauge.run import confirming
from railgauge.run.soak import causes as soak_causes
from railgauge.verdict import decision


def diagnose(results: RunResults) -> tuple[Cause, ...]:
    return diagnosed(results).causes


def follow_ups(
    results: RunResults, causes: Sequence[Cause], before: Sequence[Remeasurement] = ()
) -> tuple[Remeasurement, ...]:
    return diagnosed(results).follow_ups(before)


def confirmations(results: RunResults, causes: Sequence[Cause]) -> tuple[Remeasurement, ...]:
    return diagnosed(results).confirmations()


def use() -> None:
    for module in (confirming, soak_causes, decision):
        module.diagnose = diagnose  # type: ignore[attr-defined]
    confirming.follow_ups = follow_ups  # type: ignore[attr-defined]
    confirming.confirmations = confirmations  # type: ignore[attr-defined]


def pytest_configure() -> None:
    use()
