"""What the runs that a run carries on have found wrong: it counts, whatever was found later. Pure.

Measurements are taken over, and judged once. All else that a run reads is read anew by the run that
carries it on: the survey, kernels' logs, counters, repeats that a lost connection ended. What the
earlier run has read is kept in ``earlier/RUN/`` and judged by the same code, so a failure of it
stays one. That a node was not reached, or that something could not be read, is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Outcome
from railgauge.core.question import CaseResult
from railgauge.diagnosis import RunResults
from railgauge.judging import by_evidence
from railgauge.judging.assessor import Assessor
from railgauge.judging.record import ItemRecord, with_earlier


class EarlierResults:
    """Adds to the items of tests what earlier runs have found wrong with them."""

    def __init__(self, runs: Mapping[str, RunResults]) -> None:
        """``runs`` are those of ``RunResults.earlier``."""
        self.runs = runs
        self._judges = [
            (
                name,
                run.records,
                Assessor(run.platform, run.found, partial(_result, run), run.cluster.fabric),
            )
            for name, run in runs.items()
        ]

    def __call__(self, item: ItemRecord) -> ItemRecord:
        """The item with both results; it may have them already, if no evidence shows it."""
        return item if item.earlier else with_earlier(item, self.of(item))

    def of(self, item: ItemRecord) -> Iterator[tuple[str, ItemRecord]]:
        """What each run gives of the item, by its evidence, or by its record if that is missing."""
        for name, records, assessor in self._judges:
            recorded = records.get(item.id)
            if recorded and not (item.by_evidence and _is_shown(recorded)):
                yield name, recorded
            elif item.by_evidence:
                yield name, by_evidence.judged(item, assessor)


def _result(run: RunResults, case: Case) -> CaseResult:
    kept = run.kept(case)
    if kept is None:
        raise NoEvidence("it was taken over, and is judged there")
    return kept


def _is_shown(recorded: ItemRecord) -> bool:
    """Whether the evidence shows why an item ended so, and not its record alone."""
    return recorded.by_evidence and recorded.outcome is not Outcome.FLAKY
