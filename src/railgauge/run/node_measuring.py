"""Makes measurements of a platform file on this node alone, while no other run holds it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from railgauge.config.thresholds import Measurement, Platform
from railgauge.core.model import Case, Cluster, Command
from railgauge.core.question import CaseResult
from railgauge.judging import traffic
from railgauge.planning import alone, plan
from railgauge.run.holding import Holding
from railgauge.run.runner import Runner, ports_of
from railgauge.run.store import Store
from railgauge.run.this_node import BegunSurvey
from railgauge.transport.sessions import Sessions

_LEAST_S = 1.0


def measured(
    platform: Platform, cluster: Cluster, survey: BegunSurvey, asked: Sequence[Measurement]
) -> Mapping[Case, CaseResult]:
    """Return what was measured in the time that is left, of each measurement.

    Raises ``NodeTaken`` if another run holds the node.
    """
    if not asked:
        return {}
    with TemporaryDirectory(prefix="railgauge-node-") as made, _held(cluster, survey) as sessions:
        folder = Path(made)

        def commands(case: Case, port: int) -> tuple[Command, ...]:
            left_s = max(_LEAST_S, survey.until - time.monotonic())
            planned = plan.commands(case, platform, cluster, port)
            return tuple(replace(c, time_limit_s=min(c.time_limit_s, left_s)) for c in planned)

        def counters(case: Case) -> tuple[Command, ...]:
            if alone.is_loopback(case):  # whose payload is on no wire, and on no counter of one
                return ()
            spec = platform.measurements[case.measurement].traffic
            return traffic.probes(case.nodes, cluster.rootfs, spec, platform)

        (folder / "leases").mkdir()  # of the locks of its files
        ports = ports_of(cluster)
        runner = Runner(sessions, Store(folder), commands, counters, ports=ports)
        cases = [case for one in asked for case in alone.cases_of(platform, one, survey.node)]
        return {case: runner.measure(case) for case in cases}


@contextmanager
def _held(cluster: Cluster, survey: BegunSurvey) -> Iterator[Sessions]:
    """The sessions of the survey, while the lease on the node is held."""
    sessions = Sessions(cluster, lambda _: survey.session)
    holding = Holding(sessions, "node check", survey.tag, cluster, _unheard)
    try:
        holding.take([survey.node], 0.0)
        try:
            yield sessions
        finally:
            holding.release(_unheard)
    finally:
        sessions.close()


def _unheard(_line: str) -> None:
    """Nobody is told of a node that cannot be leased: a check of the node has no such line."""
