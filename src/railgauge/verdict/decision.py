"""Derive the verdict of a run from its plan and its results. Pure.

The controller of a live run and ``railgauge verify`` both call ``decide``: the same records, facts
and limits give the same ``verdict.json``, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from railgauge.config.thresholds import Platform
from railgauge.core.model import Cluster
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.terms import Rung, Scope
from railgauge.diagnosis import RunResults, diagnosed, notes
from railgauge.diagnosis.left_open.unknown import Unknown, unknown
from railgauge.diagnosis.left_open.unplanned import unplanned
from railgauge.judging.record import ItemRecord
from railgauge.judging.stamp import Evidence
from railgauge.planning import part, plan, reduction, sample
from railgauge.planning.at_end import unseen
from railgauge.planning.needs import NO_GROUP, NO_PAIR, Candidate, no_scan, not_limited, unmet
from railgauge.planning.pairing import ALTERNATING
from railgauge.planning.part import LevelPart
from railgauge.planning.plan import Level
from railgauge.planning.reduction import Reduction
from railgauge.planning.required import NOT_SCANNED, SUBNET, LevelScope, required_checks
from railgauge.planning.soak import SoakPlan
from railgauge.verdict import at_end, history
from railgauge.verdict.counts import RunVerdict, count, coverage, scope_of, verdict_of
from railgauge.verdict.deviations import covered, effects, loose_limits
from railgauge.verdict.history import MergedPart
from railgauge.verdict.soaked import not_soaked, with_causes
from railgauge.verdict.unanswered import unanswered

FILE = "run.json"
SCHEMA_VERSION = 2

# Rungs on which payload moves between nodes, so that the NICs' counters show it.
_BETWEEN_NODES = (Rung.NETWORK, Rung.GPUDIRECT, Rung.COLLECTIVE)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The plan of a run, as ``run.json`` holds it. ``planned`` are the ids of its items, in order.

    At the end of the run, the required checks that no item covers are added.

    ``rounds`` is the value of ``--rounds``; ``software`` is the version that made the run.
    ``tests`` are the subjects of all tests; empty in runs that did not keep them. ``directions`` is
    the scheme that decided which node of a pair sends; runs that did not keep it used the first.
    ``sampled`` is true if smoke measured a sample of the nodes; earlier versions measured all.
    ``ended`` is when the last item ended (ISO 8601 with its offset), and empty until then; an
    accepted deviation counts if this day is not after its last one. ``began`` is when the session
    began, and ``operator`` who ran it; earlier versions kept neither. ``soak`` is the requested
    soak; ``None`` for a run without one. ``part`` is the part of the level that the run measured;
    ``None`` for a whole one. ``parts`` are the runs from which this one was merged, oldest first;
    empty for a run that measured itself. ``no_gates`` is true if failures of lower rungs blocked
    nothing.
    """

    schema_version: int
    run_id: str
    evidence: Evidence
    level: str
    rounds: int | None
    planned: tuple[str, ...]
    software: str
    tests: tuple[Candidate, ...] = ()
    directions: int = ALTERNATING
    sampled: bool = False
    ended: str = ""
    soak: SoakPlan | None = None
    began: str = ""
    operator: str = ""
    part: LevelPart | None = None
    parts: tuple[MergedPart, ...] = ()
    no_gates: bool = False

    def level_of(self, platform: Platform, cluster: Cluster) -> Level:
        """Return the level that the run measured, or the part of it."""
        every = self._every(cluster)
        whole = sample.level(
            platform, every, self.level, self.rounds, self.directions, sampled=self.sampled
        )
        return part.of_level(self.part, whole) if self.part else whole

    def reduction(self, platform: Platform, cluster: Cluster) -> Reduction | None:
        """Return what ``--rounds`` left out of the level; ``None`` if it was nothing."""
        every = self._every(cluster)
        return reduction.of(platform, every, self.level, self.rounds, self.directions)

    def reduced(self, platform: Platform, cluster: Cluster) -> str:
        """How the level was reduced, in words; empty for a level as the platform file has it.

        First what the run is about, a shard or some nodes; then the rounds, then the gates.
        """
        gates = "without gates" if self.no_gates else ""
        about = self.part.what if self.part else ""
        less = self.reduction(platform, cluster)
        return ", ".join(filter(None, (about, str(less) if less else "", gates)))

    def _every(self, cluster: Cluster) -> Cluster:
        return part.whole_cluster(self.part, cluster) if self.part else cluster


@PROGRESS_OF_PROCESS.during("the verdict")
def decide(run: RunPlan, results: RunResults) -> RunVerdict:
    """Return the verdict. It depends on the order of the plan, not on the order of the results.

    A required check that no record answers counts as not run, even if it was not planned. The
    end-of-run checks are made again from the other items.
    """
    cluster, platform = results.cluster, results.platform
    level = run.level_of(platform, cluster)
    ordered = _ordered(run, results.records)
    absent = {item.id: item for item in not_run(run, results)}
    last = {item.id: item for item in closed(run, results)}
    ladder = {name: item for name, item in last.items() if not at_end.is_of_run(name)}
    results = replace(results, records={**ordered, **ladder})
    every = {**ordered, **last}
    planned = (item for item in run.planned if not at_end.is_at_end(item))
    counts = count(dict.fromkeys([*planned, *absent, *last]), every)
    diagnosis = diagnosed(results)
    causes = with_causes(diagnosis.causes, results.soak, every)
    about = run.part.about if run.part else None
    weak = loose_limits(platform)
    accepted = (*weak, *effects(results.deviations, causes, every, run.ended))
    return RunVerdict(
        run_id=run.run_id,
        cluster=cluster.name,
        platform=platform.name,
        evidence=run.evidence,
        level=run.level,
        verdict=verdict_of(
            counts,
            len(covered(accepted)),
            about,
            has_loose=bool(weak),
            is_verified=run.evidence != Evidence.NOT_VERIFIED,
        ),
        counts=counts,
        coverage=coverage(cluster, platform, ordered.values()),
        not_applicable=not_applicable(platform, level, run.tests),
        not_limited=not_limited(platform, level, run.tests) if run.tests else None,
        scope=", ".join(
            filter(None, (run.reduced(platform, cluster), scope_of(cluster, platform)))
        ),
        causes=causes,
        unknown=(*unknown(_with(results, absent), diagnosis), *_unplanned(platform, level)),
        notes=(
            *history.notes(run.parts),
            *part.notes(run.part),
            *limit_notes(platform),
            *sample.notes(level),
            *subnet_notes(level),
            *notes(results),
            *(results.soak.notes if results.soak else ()),
        ),
        deviations=accepted,
        soak=results.soak.about if results.soak else None,
        part=about,
        merged=run.parts,
    )


def _unplanned(platform: Platform, level: Level) -> tuple[Unknown, ...]:
    """What the level does not measure; none for a part, because the merged run lists it."""
    return () if level.part else unplanned(platform, level)


def _with(results: RunResults, absent: Mapping[str, ItemRecord]) -> RunResults:
    """The results with a record for every required check that no item answered."""
    return replace(results, records={**absent, **results.records})


def not_run(run: RunPlan, results: RunResults) -> Iterator[ItemRecord]:
    """Return a record for each required check that no record answers or accounts for."""
    platform, cluster = results.platform, results.cluster
    wanted = run.level_of(platform, cluster)
    records = _ordered(run, results.records)
    why = _not_merged(run)
    return unanswered(required_checks(LevelScope(platform, cluster, wanted)), records, why)


def _not_merged(run: RunPlan) -> str:
    """Why a merged run lacks required checks; empty for any other run."""
    return "no run that was merged has measured it" if run.parts else ""


def closed(run: RunPlan, results: RunResults) -> Iterator[ItemRecord]:
    """Return the records of the end-of-run checks, made from those of measurements and facts."""
    own = _ordered(run, results.records)
    yield from at_end.items(replace(results, records=own, level=run.level))
    if run.soak is not None and results.soak is None:
        yield not_soaked(run.soak, results.cluster)
    if less := run.reduction(results.platform, results.cluster):
        yield at_end.left_out(less, results.cluster)


def _ordered(run: RunPlan, records: Mapping[str, ItemRecord]) -> dict[str, ItemRecord]:
    """The records of measurements and facts, in the order of the plan."""
    planned = (item for item in run.planned if item in records and not at_end.is_at_end(item))
    return {item: records[item] for item in planned}


def not_applicable(
    platform: Platform, level: Level, tests: Sequence[Candidate] = ()
) -> dict[str, str]:
    """Return what this platform file or this cluster does not have -> the reason.

    A reason in the platform file has precedence over one that follows from the hardware.
    """
    whole = level.whole or level
    reasons = unmet(platform, level, tests) | (unseen(platform) if tests else {})
    if not whole.scan.is_missing and (why := no_scan(platform, whole)):
        reasons |= dict.fromkeys(SUBNET, why)
    if whole.scan.is_missing and not level.scan.is_missing:
        reasons |= dict.fromkeys(SUBNET, _elsewhere(level))
    reasons |= platform.not_applicable
    if level.part and not level.nodes:
        reasons |= dict.fromkeys(platform.expected, _elsewhere(level))
    for name, measurement in platform.measurements.items():
        if measurement.scope == Scope.FABRIC:
            if level.part and whole.scan.nodes and not level.scan.nodes:
                reasons[name] = _elsewhere(level)
            continue
        if not measurement.made_at(level.name):
            reasons[name] = f"measured only at level {' and '.join(measurement.extents)}"
            continue
        made = plan.has_place(measurement, level)
        if level.part and not made and plan.has_place(measurement, whole):
            reasons[name] = _elsewhere(level)
        elif not made:
            reasons[name] = NO_GROUP if measurement.scope == Scope.GROUP else NO_PAIR
        elif measurement.traffic is None and measurement.rung in _BETWEEN_NODES:
            reasons[f"{name} traffic"] = (
                "the platform file sets no expectation on the NICs' counters"
            )
    return reasons


def _elsewhere(level: Level) -> str:
    return f"{level.part} has none of it"


_NOT_MEASURED = frozenset(("derived", "datasheet", "standard"))


def limit_notes(platform: Platform) -> tuple[str, ...]:
    """The note that limits are derived and not calibrated.

    Empty if all are calibrated, or if the source of some is a document with measurements.
    """
    limits = [one for made in platform.measurements.values() for one in made.limits]
    sources = [one.basis.source for one in limits if not one.record_only]
    derived = sum(source in _NOT_MEASURED for source in sources)
    if not derived or any(source.isdigit() for source in sources):
        return ()
    return (
        f"LIMITS NOT CALIBRATED: {derived} of {len(sources)} limits are derived from data sheets "
        "and the survey, not from a measurement (railgauge docs calibration)",
    )


def subnet_notes(level: Level) -> tuple[str, ...]:
    """The note that the subnet was not scanned, with the hostfile's reason if it gives one.

    Empty if the subnet was scanned, or if the level requires no scan.
    """
    if level.scan.is_missing:
        return (f"SUBNET NOT SCANNED, the sign-off is incomplete: {NOT_SCANNED}",)
    return (f"subnet not scanned: {level.scan.waived}",) if level.scan.waived else ()
