"""Judge one node by itself, by its facts, its kernel's log and its counters. Pure.

The rules and the wording are those of an acceptance. Expectations that compare nodes with each
other cannot be judged here, and are listed by name. Measurements of the node alone are judged too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from railgauge.config.thresholds import Platform
from railgauge.config.thresholds.model import Expectation
from railgauge.core.errors import CommandTimedOut, MetricMissing, NoEvidence
from railgauge.core.model import GOOD, Case, Cluster, Outcome, Pair
from railgauge.core.question import FACT, LIMITS, CaseResult
from railgauge.core.terms import Verdict
from railgauge.diagnosis import Cause, RunResults, diagnose
from railgauge.facts import NodeAnswer
from railgauge.facts.counters import CounterReading
from railgauge.judging import among, by_evidence, growth
from railgauge.judging.assessor import Assessor
from railgauge.judging.growth import CountedSpan, NodeCounters, device_names
from railgauge.judging.kernel_log import LogSince
from railgauge.judging.record import ItemRecord, settled
from railgauge.planning import alone, required
from railgauge.planning.plan import Level
from railgauge.planning.required import LevelScope
from railgauge.verdict import kernel_log
from railgauge.verdict.unanswered import not_run

_JOBS = ("gpu_processes",)
"""Expectations that jobs on a node violate, and that hold only for a node without jobs."""
_SECONDS_PER_HOUR = 3600
_FIRST = "growth of the error counters: no earlier check since the boot has read them"
_NO_TIME = "growth of the error counters: a reading does not show how long the node has been up"


@dataclass(frozen=True, slots=True)
class NodeReading:
    """What was read on a node; ``earlier`` and ``counters`` are two readings of its counters.

    ``counters`` is ``None`` if the platform limits no growth, ``earlier`` if there is no reading.
    ``measured`` are the results of measurements of this node alone; ``blocked`` has the items that
    kept one from being made. Of the kernel's log counts what was logged since ``log_since``.
    """

    answer: NodeAnswer
    counters: CounterReading | NoEvidence | None = None
    earlier: CounterReading | None = None
    measured: Mapping[Case, CaseResult] = field(default_factory=dict)
    blocked: Mapping[Case, tuple[str, ...]] = field(default_factory=dict)
    log_since: LogSince = field(default_factory=LogSince)


@dataclass(frozen=True, slots=True)
class NodeResults:
    """What one node shows by itself, as the records of an acceptance and the causes of its faults.

    ``not_alone`` are expectations that hold the node against others, ``not_yet`` what only a later
    check can judge.
    """

    records: tuple[ItemRecord, ...]
    causes: tuple[Cause, ...]
    not_alone: tuple[str, ...]
    not_yet: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        outcomes = {record.outcome for record in self.records}
        if Outcome.FAILED in outcomes:
            return Verdict.REJECTED
        return Verdict.ACCEPTED if outcomes and outcomes <= {*GOOD} else Verdict.INCOMPLETE

    @property
    def undecided(self) -> tuple[ItemRecord, ...]:
        """The items that the node could not be judged in, each with its reason."""
        return tuple(one for one in self.records if one.outcome not in (*GOOD, Outcome.FAILED))


def judged(
    platform: Platform, cluster: Cluster, seen: NodeReading, *, has_jobs: bool
) -> NodeResults:
    """Judge the one node of a cluster. With ``has_jobs`` its GPUs may be in use."""
    (node,) = cluster.nodes
    expected, own = _expected(platform, has_jobs=has_jobs), _own(platform, has_jobs=has_jobs)
    asked = replace(platform, expected=own, measurements={})
    found = RunResults({}, {node.name: seen.answer}, asked, cluster)
    span, why_not = _span(seen)
    records = (
        *_facts(found),
        *kernel_log.alone(found, seen.log_since),
        *_counters(node.name, seen, found, span),
        *_measurements(replace(found, platform=platform), seen),
    )
    by_id = {record.id: record for record in records}
    results = replace(found, platform=platform, records=by_id, kept=seen.measured.get)
    # A survey that did not end names one reason for all items, and no cause of each.
    is_late = isinstance(seen.answer, CommandTimedOut)
    causes = () if is_late else diagnose(results)
    not_alone = tuple(sorted(expected.keys() - own.keys()))
    return NodeResults(records, causes, not_alone, (why_not,) if why_not else ())


def facts(
    platform: Platform, cluster: Cluster, answer: NodeAnswer, *, has_jobs: bool
) -> tuple[ItemRecord, ...]:
    """The records of the survey's facts of the one node: on the lowest rung, they close gates."""
    (node,) = cluster.nodes
    own = replace(platform, expected=_own(platform, has_jobs=has_jobs), measurements={})
    return tuple(_facts(RunResults({}, {node.name: answer}, own, cluster)))


def begun_items(platform: Platform, cluster: Cluster, case: Case) -> Iterator[ItemRecord]:
    """Yield the items of a measurement, as the smallest level that makes it asks for them.

    Only limits apply to a loopback: its payload is on no wire, so its traffic cannot be checked.
    """
    measurement = platform.measurements[case.measurement]
    level = alone.level_of(measurement, case.nodes[0])
    place = Pair(*case.nodes) if alone.is_loopback(case) else case.nodes[0]
    scope = LevelScope(platform, cluster, level)
    for one in required.of_run(scope, measurement, place, case.pairing):
        if one.question.kind == LIMITS or not alone.is_loopback(case):
            yield replace(not_run(one, ""), questions=(one.question,))


def _expected(platform: Platform, *, has_jobs: bool) -> Mapping[str, Expectation]:
    left_out = _JOBS if has_jobs else ()
    return {name: e for name, e in platform.expected.items() if name not in left_out}


def _own(platform: Platform, *, has_jobs: bool) -> Mapping[str, Expectation]:
    """The expectations that do not hold the node against others."""
    expected = _expected(platform, has_jobs=has_jobs)
    return {name: e for name, e in expected.items() if not _is_among_nodes(e)}


def _is_among_nodes(expectation: Expectation) -> bool:
    is_alike = expectation.rule == "alike" and expectation.value != "model"
    return is_alike or expectation.rule in among.RULES


def _facts(results: RunResults) -> Iterator[ItemRecord]:
    # All levels ask for the same facts.
    level = Level("", (), tuple(node.name for node in results.cluster.nodes), {})
    assessor = Assessor(results.platform, results.found, _nothing_measured)
    for one in required.required_checks(LevelScope(results.platform, results.cluster, level)):
        if one.question.kind == FACT:
            blank = not_run(one, "")
            own_id = f"preflight::{one.key.subject}{blank.id.partition(f'::{FACT}')[2]}"
            begun = replace(blank, id=own_id, questions=(one.question,))
            yield settled(begun, *assessor.answers(begun.questions))


def _nothing_measured(_case: object) -> CaseResult:
    return CaseResult(())


def result_of(measured: Mapping[Case, CaseResult], case: Case) -> CaseResult:
    """Return the result of a case. Raises ``MetricMissing`` if it was not measured."""
    if case not in measured:
        raise MetricMissing(f"{case.measurement} was not measured in this check")
    return measured[case]


def _measurements(results: RunResults, seen: NodeReading) -> Iterator[ItemRecord]:
    """The items of what was measured, and of what was not because its gate is closed."""
    assessor = Assessor(results.platform, results.found, partial(result_of, seen.measured))
    for case in dict.fromkeys((*seen.measured, *seen.blocked)):
        for item in begun_items(results.platform, results.cluster, case):
            if blockers := seen.blocked.get(case):
                checked = case if case in seen.measured else None
                yield by_evidence.judged(by_evidence.blocked(item, blockers, checked), assessor)
            else:
                yield settled(item, *assessor.answers(item.questions))


def _span(seen: NodeReading) -> tuple[CountedSpan | None, str]:
    """The time between the two readings, or why its growth is not judged; empty if not asked."""
    now, before = seen.counters, seen.earlier
    if not isinstance(now, CounterReading):
        return None, ""
    if before is None or before.boot_id is None or before.boot_id != now.boot_id:
        return None, _FIRST
    if now.up_s is None or before.up_s is None:
        return None, _NO_TIME
    hours = max(0.0, now.up_s - before.up_s) / _SECONDS_PER_HOUR
    return CountedSpan(before, now, hours, "the time since an earlier check"), ""


def _counters(
    node: str, seen: NodeReading, results: RunResults, span: CountedSpan | None
) -> Iterator[ItemRecord]:
    begun = growth.ITEMS.begun(node)
    if isinstance(seen.counters, NoEvidence):
        yield settled(begun, (), seen.counters)
    elif span is not None:
        names = device_names(node, results.platform, seen.answer)
        found = NodeCounters(node, (span,), names)
        yield settled(begun, *growth.judged(found, results.platform))
