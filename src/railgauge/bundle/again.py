"""Judges the items of a run again from its evidence, whichever archive or folder holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.bundle import merged
from railgauge.config.thresholds import Platform
from railgauge.core.model import Outcome
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.diagnosis import RunResults
from railgauge.judging import by_evidence
from railgauge.judging.assessor import Assessor
from railgauge.judging.record import ItemRecord
from railgauge.run.run_folder import RunFolder
from railgauge.verdict import decision
from railgauge.verdict.at_end import is_at_end
from railgauge.verdict.counts import RunVerdict
from railgauge.verdict.earlier import EarlierResults


@dataclass(frozen=True, slots=True)
class Judged:
    """All records of a run as one platform file judges them, and the verdict that follows."""

    verdict: RunVerdict
    records: Mapping[str, ItemRecord]
    results: RunResults


def judged_anew(
    contents: RunFolder, records: Mapping[str, ItemRecord], platform: Platform
) -> Judged:
    """Judge all items of a run by the limits of ``platform``, and decide on its verdict."""
    return _of_parts(contents, platform) if contents.parts else _own(contents, records, platform)


def _of_parts(contents: RunFolder, platform: Platform) -> Judged:
    run = contents.plan()
    made = merged.remade(contents, run, platform, judged_again)
    results = contents.results(made.records, platform)
    return Judged(decision.decide(run, results), made.records, results)


def _own(contents: RunFolder, records: Mapping[str, ItemRecord], platform: Platform) -> Judged:
    assessor = Assessor(platform, contents.found, contents.result, contents.cluster().fabric)
    run, before = contents.plan(), EarlierResults(contents.earlier_results(platform))
    items = PROGRESS_OF_PROCESS.counted("item", records.items())
    judged = {name: before(judged_again(item, assessor)) for name, item in items}
    results = contents.results(judged, platform)
    last = {item.id: item for item in decision.closed(run, results)}
    judged |= {name: last.get(name, item) for name, item in records.items() if is_at_end(name)}
    return Judged(decision.decide(run, results), judged, results)


def judged_again(item: ItemRecord, assessor: Assessor) -> ItemRecord:
    """The record that follows from the evidence; an item without evidence keeps its record.

    A flaky item keeps its record too: it ran twice and passed the second time, which its
    transcripts do not show.
    """
    is_judged = item.by_evidence or item.outcome is Outcome.BLOCKED
    if not is_judged or item.outcome is Outcome.FLAKY or is_at_end(item.id):
        return item
    return by_evidence.judged(item, assessor)
