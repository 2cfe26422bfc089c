"""The failures of the runs that a run resumes: they count, whatever the later run finds. Pure.

Measurements are taken over and judged once. All other evidence is read again by the resuming run:
the survey, kernels' logs, counters, and repeats that a lost connection ended. The readings of the
earlier run are kept in ``earlier/RUN/`` and judged by the same code, so its failures remain
failures. A node that was not reached, or a reading that could not be made, is no failure.
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
    """Adds the failures that earlier runs found to the items of tests."""

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
        """The item with both results; an item without evidence may have them already."""
        return item if item.earlier else with_earlier(item, self.of(item))

    def of(self, item: ItemRecord) -> Iterator[tuple[str, ItemRecord]]:
        """The item of each run, by its evidence, or by its record if evidence is missing."""
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
    """Whether the evidence, and not only the record, shows the outcome of an item."""
    return recorded.by_evidence and recorded.outcome is not Outcome.FLAKY
