"""Checks that planned items have records, records have evidence, and nothing is surplus. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from typing import NoReturn

from railgauge.config.thresholds import Platform
from railgauge.config.thresholds.model import Measurement
from railgauge.core.errors import NotVerified
from railgauge.core.model import Case, Cluster, Outcome, Pairing
from railgauge.core.question import LIMITS, RATIO, TRANSPORT
from railgauge.core.run_files import RUN
from railgauge.diagnosis import RunResults
from railgauge.judging import record
from railgauge.judging.confirmation import FILE, FOLDER, MOST_REPEATS, Remeasurement
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan, scaling
from railgauge.run.case_files import case_file
from railgauge.run.run_folder import RunFolder
from railgauge.verdict.at_end import is_of_run
from railgauge.verdict.decision import FILE as PLAN
from railgauge.verdict.decision import RunPlan, closed, not_run
from railgauge.verdict.deviations import utc_day

_WITHOUT_EVIDENCE = frozenset(
    {Outcome.BLOCKED, Outcome.ERROR, Outcome.FAILED, Outcome.FLAKY, Outcome.NOT_RUN}
)
_BLOCKING = frozenset({Outcome.FAILED, Outcome.ERROR, Outcome.FLAKY})


def refuse_left_out(run: RunPlan, results: RunResults) -> None:
    """Raise ``NotVerified`` for an item that the level requires and that has no record.

    A run also writes a record for each item that did not run, and for each end-of-run check.
    """
    at_end = (item for item in closed(run, results) if item.id not in results.records)
    for item in (*not_run(run, results), *at_end):
        what = f"has no record of {item.id}, which the level requires"
        raise NotVerified(what, where=f"{RUN}{record.FILE}")


def refuse_unplanned(run: RunPlan, records: Iterable[ItemRecord]) -> None:
    """Raise ``NotVerified`` for a record of an item that the run did not plan."""
    planned = set(run.planned)
    for item in records:
        if item.id not in planned:
            _fail(item, "was not planned")


def refuse_other_end(run: RunPlan, contents: RunFolder, records: Iterable[ItemRecord]) -> None:
    """Raise ``NotVerified`` if a run with deviations ended on a day before its last measurement.

    That day decides which deviations are valid. Without deviations the end of a run is not checked.
    """
    if not run.ended or not contents.deviations():
        return
    end = datetime.fromisoformat(run.ended)
    cases = {q.case for item in records for q in item.questions if q.case}
    for case in cases:
        for started in _started(contents, case):
            if utc_day(started) > utc_day(end):
                what = f"ended at {run.ended}, but {case_file(case)} was begun at {started}"
                raise NotVerified(what, where=f"{RUN}{PLAN}")


def _started(contents: RunFolder, case: Case) -> Iterator[datetime]:
    kept = contents.kept(case)
    for text in (one.started_at for repeat in (kept.runs if kept else ()) for one in repeat):
        # An unreadable time does not show a later measurement.
        with suppress(ValueError, OverflowError):
            read = datetime.fromisoformat(text)
            dated = read if read.tzinfo else read.replace(tzinfo=timezone.utc)
            yield dated.astimezone(timezone.utc)


def refuse_gaps(
    run: RunPlan,
    cluster: Cluster,
    records: Mapping[str, ItemRecord],
    transcripts: set[str],
) -> None:
    """Raise ``NotVerified`` for an item without evidence, or for evidence without an item.

    ``records`` are those of the ladder; ``bundle.soak`` checks the evidence of a soak.
    A planned item without a record is accepted: it counts as an error, as it did in the run. The
    bundle may then have transcripts that no record uses.
    """
    planned = {item for item in run.planned if not is_of_run(item)}
    nodes, used, begun = {node.name for node in cluster.nodes}, set[str](), set[str]()
    for item in records.values():
        if not set(item.nodes) <= nodes:
            _fail(item, "is about a node that the cluster does not have")
        _refuse_no_evidence(item, records, planned)
        begun |= set(_begun(item))
        for question in item.questions:
            used |= {case_file(case) for case in (question.case, question.other) if case}
    for name in sorted(used - transcripts):
        raise NotVerified("is missing, and an item is based on it", where=f"{RUN}{name}")
    if planned == set(records) and (unused := sorted(transcripts - used - begun)):
        raise NotVerified("belongs to no item", where=f"{RUN}{unused[0]}")


def _begun(item: ItemRecord) -> Iterator[str]:
    """The files of an item that was stopped while it was measured, or read from a node.

    Such an item has no question and is *not run*, so a file that is added or left out there cannot
    make it pass.
    """
    if item.outcome is Outcome.NOT_RUN and item.nodes:
        for pairing in (None, Pairing(item.pairing) if item.pairing else None):
            yield case_file(Case(item.subject, item.nodes, pairing, ()))


def refuse_other_confirmations(
    run: RunPlan,
    cluster: Cluster,
    platform: Platform,
    asked: Iterable[Remeasurement],
    transcripts: set[str],
) -> None:
    """Raise ``NotVerified`` for a suspect that was not measured again as the run measures.

    A request without a transcript is accepted: the run was interrupted before it was measured.
    """
    nodes, used = {node.name for node in cluster.nodes}, set[str]()
    for one in asked:
        case, other = one.question.case, one.question.other
        if case is None or one.question.kind not in (LIMITS, TRANSPORT, RATIO):
            _wrong("asks for no measurement")
        measurement = platform.measurements.get(case.measurement)
        if one.question.kind == RATIO and not (other and measurement and measurement.ladder):
            _wrong("compares what is no step of a scaling ladder")
        if measurement is None or not set(one.suspects) <= set(case.nodes) <= nodes:
            _wrong("asks for a measurement that the run cannot make")
        extent = measurement.extents.get(run.level)
        if extent is None:
            _wrong(f"asks for a measurement that level {run.level} does not make")
        most = max(extent.repeats, MOST_REPEATS)
        if case.sizes != extent.sizes or not extent.repeats <= case.repeats <= most:
            _wrong(f"asks for other sizes or repeats than level {run.level} has")
        if other and not _is_smallest(other, platform, measurement, run.level, nodes):
            _wrong("compares another measurement, or other nodes")
        used.update(case_file(made, FOLDER) for made in (case, other) if made)
    if unused := sorted(transcripts - used):
        raise NotVerified("belongs to no repeated measurement", where=f"{RUN}{unused[0]}")


def _is_smallest(
    other: Case, platform: Platform, measurement: Measurement, level: str, nodes: set[str]
) -> bool:
    """Whether a case is that of the base of a ladder, over nodes of the cluster."""
    base = platform.measurements[scaling.base(measurement)]
    return nodes.issuperset(other.nodes) and other == plan.case_on(base, level, other.nodes, None)


def _wrong(what: str) -> NoReturn:
    raise NotVerified(what, where=f"{RUN}{FILE}")


def _refuse_no_evidence(
    item: ItemRecord, records: Mapping[str, ItemRecord], planned: set[str]
) -> None:
    if item.by_evidence:
        if not item.questions:
            _fail(item, "claims to be based on evidence, but asked no question")
        return
    if item.outcome not in _WITHOUT_EVIDENCE:
        _fail(item, f"is {item.outcome} without evidence")
    for blocker in item.blocked_by:
        # An item at which a worker died counts as an error and may have no record.
        ended = records.get(blocker)
        if blocker not in planned or (ended and ended.outcome not in _BLOCKING):
            _fail(item, f"is blocked by {blocker}, which did not fail")


def _fail(item: ItemRecord, what: str) -> NoReturn:
    raise NotVerified(f"{item.id} {what}", where=f"{RUN}{record.FILE}")
