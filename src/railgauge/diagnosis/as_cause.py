"""Claims as the causes of a report: with what they explain, and with what has to be done. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Outcome
from railgauge.core.naming import among, listed
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.ladder import passes_and_misses
from railgauge.diagnosis.model import (
    OPEN,
    SUITE_ERROR,
    TOOL,
    UNDIAGNOSED,
    WENT_WRONG,
    Cause,
    Finding,
    RunResults,
    Where,
)
from railgauge.diagnosis.reach import explains
from railgauge.judging.record import OWN_ERROR, ItemRecord

_MOST_SUBJECTS = 5
_SLURM = "slurm"


def cause_of(finding: Finding, results: RunResults) -> Cause:
    """The cause of a finding, with what it explains and what its kind has in the catalogue."""
    shown = {record.id for record in finding.evidence}
    explained = [
        record
        for record in results.records.values()
        if record.id not in shown and _is_explained(finding, record, shown, results.platform)
    ]
    passes, misses = passes_and_misses(finding, explained, results)
    return Cause(
        cause=finding.cause,
        where=finding.where,
        says=finding.says,
        evidence=tuple(dict.fromkeys(record.id for record in finding.evidence)),
        explains=tuple(record.id for record in explained),
        confidence=finding.confidence,
        would_decide=finding.would_decide,
        remedy=_remedy(finding, results),
        basis=CATALOGUE[finding.cause].basis,
        passes=passes,
        misses=misses,
        timing=finding.timing,
        probability=finding.probability,
        rivals=finding.rivals,
    )


def _remedy(finding: Finding, results: RunResults) -> str:
    kind, own = CATALOGUE[finding.cause], {record.remedy for record in finding.evidence}
    if finding.cause == TOOL and len(own) == 1 and any(own):
        return own.pop()  # what its own error asks for
    if kind.over_slurm and results.cluster.transport == _SLURM:
        return kind.over_slurm
    if kind.prepared_by in {step.name for step in results.platform.preparations}:
        return f"{kind.remedy}; pytest --prepare does this for the run"
    return kind.remedy


def _is_explained(
    finding: Finding, record: ItemRecord, shown: set[str], platform: Platform
) -> bool:
    if record.outcome is Outcome.BLOCKED:
        return bool(shown.intersection(record.blocked_by))
    return record.outcome in WENT_WRONG and explains(finding, record, platform)


def of_the_rest(left: Sequence[ItemRecord]) -> Iterable[Finding]:
    """One finding for the errors of the suite itself, one for all other unexplained items."""
    own = [record for record in left if record.error_kind == OWN_ERROR]
    if own:
        yield Finding(SUITE_ERROR, _first(own), _first_of(own), tuple(own))
    if others := [record for record in left if record.error_kind != OWN_ERROR]:
        nodes = dict.fromkeys(node for record in others for node in record.nodes)
        parts = {record.pairing for record in others}
        where = Where(among(nodes), parts.pop() if len(parts) == 1 else "")
        yield Finding(UNDIAGNOSED, where, _list_of(others), tuple(others), OPEN)


def _first(left: Sequence[ItemRecord]) -> Where:
    return Where(among(left[0].nodes), left[0].pairing)


def _first_of(left: Sequence[ItemRecord]) -> str:
    return f"{len(left)} items, first {left[0].id.rsplit('::', 1)[-1]}: {left[0].reason}"


def _list_of(left: Sequence[ItemRecord]) -> str:
    """The number of items, and of each subject the first item with its reason."""
    firsts: dict[str, ItemRecord] = {}
    for record in left:
        firsts.setdefault(record.subject, record)
    reasons = [f"{r.id.rsplit('::', 1)[-1]}: {r.reason}" for r in firsts.values()]
    return f"{len(left)} items: {listed(reasons, _MOST_SUBJECTS, '; ')}"
