"""Makes measurements of a platform file on this node alone, while no other run holds it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from railgauge.config.thresholds import Measurement, Platform
from railgauge.core.model import Case, Cluster, Command
from railgauge.core.question import CaseResult
from railgauge.judging import traffic
from railgauge.judging.assessor import Assessor
from railgauge.judging.record import ItemRecord
from railgauge.planning import alone, plan
from railgauge.planning.work_queue import Unit
from railgauge.run.decided import Decisions
from railgauge.run.engine import LadderEngine, Measuring
from railgauge.run.holding import Holding
from railgauge.run.ladder import LadderRow
from railgauge.run.runner import Runner, ports_of
from railgauge.run.store import Store
from railgauge.run.this_node import BegunSurvey
from railgauge.run.unit_judge import Judging
from railgauge.transport.sessions import Sessions
from railgauge.verdict import one_node

_LEAST_S = 1.0


@dataclass(frozen=True, slots=True)
class NodeMeasured:
    """The results of the measurements of a node, and which items blocked the others."""

    results: Mapping[Case, CaseResult] = field(default_factory=dict)
    blocked: Mapping[Case, tuple[str, ...]] = field(default_factory=dict)


class NodeUnits:
    """What a node measures alone, as units: lowest rung first, each behind the gate of the node."""

    def __init__(self, platform: Platform, cluster: Cluster, asked: Iterable[Measurement]) -> None:
        self._platform, self._cluster = platform, cluster
        (node,) = (one.name for one in cluster.nodes)
        self._nodes = (node,)
        self._cases = [
            case
            for one in sorted(asked, key=lambda one: one.rung)
            for case in alone.cases_of(platform, one, node)
        ]
        rungs = [platform.measurements[case.measurement].rung for case in self._cases]
        self.units = tuple(
            Unit((place,), rungs[place], self._nodes, case.key)
            for place, case in enumerate(self._cases)
        )

    def cases(self, unit: Unit) -> tuple[Case, ...]:
        return (self._cases[unit.items[0]],)

    def compared(self, _unit: Unit) -> tuple[Case, ...]:
        return ()

    def gated(self, _unit: Unit) -> tuple[str, ...]:
        return self._nodes

    def is_below_others(self, unit: Unit) -> bool:
        return unit.rung < self.units[-1].rung

    def rows(self, unit: Unit) -> Iterator[LadderRow]:
        (place,), (case,) = unit.items, self.cases(unit)
        for item in one_node.begun_items(self._platform, self._cluster, case):
            yield LadderRow(place, item, self._nodes, case)


def measured(
    platform: Platform,
    cluster: Cluster,
    survey: BegunSurvey,
    asked: Sequence[Measurement],
    facts: Sequence[ItemRecord],
) -> NodeMeasured:
    """Return the results of each measurement, as far as the time allows.

    ``facts`` are the records of the node's survey, which may close its gate. Raises ``NodeTaken``
    if another run holds the node.
    """
    if not asked:
        return NodeMeasured()
    with TemporaryDirectory(prefix="railgauge-node-") as made, _held(cluster, survey) as sessions:
        folder, results = Path(made), dict[Case, CaseResult]()

        def commands(case: Case, port: int) -> tuple[Command, ...]:
            left_s = max(_LEAST_S, survey.until - time.monotonic())
            planned = plan.commands(case, platform, cluster, port)
            return tuple(replace(c, time_limit_s=min(c.time_limit_s, left_s)) for c in planned)

        def counters(case: Case) -> tuple[Command, ...]:
            if alone.is_loopback(case):  # no port counts its payload
                return ()
            spec = platform.measurements[case.measurement].traffic
            return traffic.probes(case.nodes, cluster.rootfs, spec, platform)

        (folder / "leases").mkdir()  # of the locks of its files
        ports = ports_of(cluster)
        runner = Runner(sessions, Store(folder), commands, counters, ports=ports)

        def measure(case: Case) -> CaseResult:
            results[case] = runner.measure(case)
            return results[case]

        units, decisions = NodeUnits(platform, cluster, asked), Decisions()
        assessor = Assessor(
            platform, {survey.node: survey.answer()}, partial(one_node.result_of, results)
        )
        measuring = Measuring(measure, sessions.interrupted)
        LadderEngine(units, Judging(platform, assessor), measuring, decisions, facts).carry_out()
        return NodeMeasured(results, _blocked(units, decisions))


def _blocked(units: NodeUnits, decisions: Decisions) -> Mapping[Case, tuple[str, ...]]:
    """Which items blocked each case that is not measured, or only for its results."""
    cases = [case for unit in units.units for case in units.cases(unit)]
    known = ((case, decisions.known(case)) for case in cases)
    return {case: decided.blockers for case, decided in known if decided and decided.blockers}


@contextmanager
def _held(cluster: Cluster, survey: BegunSurvey) -> Iterator[Sessions]:
    """The sessions of the survey, while the lease on the node is held."""
    sessions = Sessions(cluster, lambda _: survey.session)
    holding = Holding(sessions, "node check", survey.tag, cluster, _drop)
    try:
        holding.take([survey.node], 0.0)
        try:
            yield sessions
        finally:
            holding.release(_drop)
    finally:
        sessions.close()


def _drop(_line: str) -> None:
    """Drop the line about a node that cannot be leased: a node's check does not show it."""
