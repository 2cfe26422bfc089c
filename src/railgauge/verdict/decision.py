"""The verdict of a run from what it set out to do and what became of it. Pure.

The controller of a live run and ``railgauge verify`` both call ``decide``: the same records, facts
and limits give the same ``verdict.json``, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from railgauge.config.thresholds import Platform
from railgauge.core.terms import Rung, Scope
from railgauge.diagnosis import RunResults, diagnose, notes
from railgauge.judging.record import ItemRecord
from railgauge.judging.stamp import Evidence
from railgauge.planning import plan
from railgauge.planning.demand import NOT_SCANNED, SUBNET, DemandInputs, demands
from railgauge.planning.needs import NO_GROUP, NO_PAIR, Candidate, no_scan, not_limited, unmet
from railgauge.planning.plan import Level
from railgauge.verdict.counts import RunVerdict, count, coverage, scope_of, verdict_of
from railgauge.verdict.unanswered import unanswered

FILE = "run.json"
SCHEMA_VERSION = 2

# Where payload moves between nodes, so that the NICs' counters have something to say.
_BETWEEN_NODES = (Rung.NETWORK, Rung.GPUDIRECT, Rung.COLLECTIVE)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run set out to do: ``run.json``. ``planned`` are the ids of its items, in order.

    At its end they are joined by what the level demands and no item asked for.

    ``rounds`` is what ``--rounds`` said; ``software`` the version that made the run. ``tests`` are
    the subjects of all tests that there were; empty in runs from before they were kept.
    """

    schema_version: int
    run_id: str
    evidence: Evidence
    level: str
    rounds: int | None
    planned: tuple[str, ...]
    software: str
    tests: tuple[Candidate, ...] = ()


def decide(run: RunPlan, results: RunResults) -> RunVerdict:
    """The verdict. The order in which items ended does not matter, only that of the plan.

    What the level demands and nothing answers counts as not run, whatever was planned.
    """
    cluster, platform = results.cluster, results.platform
    level = plan.level(platform, cluster, run.level, run.rounds)
    ordered = _ordered(run, results.records)
    results = replace(results, records=ordered)
    absent = {item.id: item for item in not_run(run, results)}
    counts = count(dict.fromkeys([*run.planned, *absent]), ordered)
    return RunVerdict(
        run_id=run.run_id,
        cluster=cluster.name,
        platform=platform.name,
        evidence=run.evidence,
        level=run.level,
        verdict=verdict_of(counts),
        counts=counts,
        coverage=coverage(cluster, platform, ordered.values()),
        not_applicable=not_applicable(platform, level, run.tests),
        not_limited=not_limited(platform, level, run.tests) if run.tests else None,
        scope=scope_of(cluster, platform),
        causes=diagnose(results),
        notes=(*subnet_notes(level), *notes(results)),
    )


def not_run(run: RunPlan, results: RunResults) -> Iterator[ItemRecord]:
    """What the level demands of the cluster and no record answers or accounts for."""
    platform, cluster = results.platform, results.cluster
    wanted = plan.level(platform, cluster, run.level, run.rounds)
    records = _ordered(run, results.records)
    return unanswered(demands(DemandInputs(platform, cluster, wanted)), records)


def _ordered(run: RunPlan, records: Mapping[str, ItemRecord]) -> dict[str, ItemRecord]:
    return {item: records[item] for item in run.planned if item in records}


def not_applicable(
    platform: Platform, level: Level, tests: Sequence[Candidate] = ()
) -> dict[str, str]:
    """What this platform file or this cluster does not have, with the reason.

    A reason that the platform file gives goes before the one that the hardware gives.
    """
    reasons = unmet(platform, level, tests)
    if not level.lacks_scan and (why := no_scan(platform, level)):
        reasons |= dict.fromkeys(SUBNET, why)
    reasons |= platform.not_applicable
    for name, measurement in platform.measurements.items():
        if measurement.scope == Scope.FABRIC:
            continue
        if not measurement.made_at(level.name):
            reasons[name] = f"made at level {' and '.join(measurement.extents)}"
        elif not plan.places(measurement, level):
            reasons[name] = NO_GROUP if measurement.scope == Scope.GROUP else NO_PAIR
        elif measurement.traffic is None and measurement.rung in _BETWEEN_NODES:
            reasons[f"{name} traffic"] = "the platform file asks nothing of the NICs' counters"
    return reasons


def subnet_notes(level: Level) -> tuple[str, ...]:
    """That nobody scanned the subnet, where that is somebody's word or should not be."""
    if level.lacks_scan:
        return (f"SUBNET NOT SCANNED, the sign-off is incomplete: {NOT_SCANNED}",)
    return (f"subnet not scanned: {level.no_scan}",) if level.no_scan else ()
