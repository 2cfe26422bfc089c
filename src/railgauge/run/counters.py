"""Reads the nodes' error counters: before the first measurement of a run, and after its last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from railgauge.config.thresholds import Platform
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Cluster, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.judging.growth import ITEMS
from railgauge.planning import counters
from railgauge.run.resume import Earlier
from railgauge.run.store import Store
from railgauge.transport.sessions import Sessions

_AT_ONCE = 64
_NOTHING = CaseResult(())


@dataclass(frozen=True, slots=True)
class CounterReader:
    """Reads the counters of all nodes, and stores them as the evidence of their items."""

    platform: Platform
    cluster: Cluster
    sessions: Sessions
    store: Store

    def begin(self, found: Mapping[str, NodeAnswer], earlier: Earlier | None) -> None:
        """Read before the first measurement; what earlier runs read is kept in front of it.

        ``found`` is the survey's answer: a node that did not answer it is not asked again.
        """

        def first(node: str, case: Case) -> CaseResult:
            runs = earlier.readings(case) if earlier else ()
            answer = found[node]
            if not isinstance(answer, NodeFacts):
                return CaseResult((*runs, ()), answer)
            return self._added(node, CaseResult((*runs, ())), Role.COUNTERS_BEFORE)

        self._each(first)

    def end(self) -> None:
        """Read after the last measurement."""

        def last(node: str, case: Case) -> CaseResult:
            begun = self.store.load(case) or _NOTHING
            if begun.error is not None or not begun.runs:
                return begun
            return self._added(node, begun, Role.COUNTERS_AFTER)

        self._each(last)

    def _each(self, read: Callable[[str, Case], CaseResult]) -> None:
        cases = [(n.name, case) for n in self.cluster.nodes if (case := ITEMS.case_of(n.name))]
        with ThreadPoolExecutor(min(_AT_ONCE, len(cases))) as pool:
            results = list(pool.map(lambda one: read(*one), cases))
        for (_, case), result in zip(cases, results, strict=True):
            self.store.save(case, result)

    def _added(self, node: str, begun: CaseResult, role: Role) -> CaseResult:
        """What was read so far and one reading more, or the error that prevented it."""
        try:
            said = replace(self._read(node), role=role)
        except NoEvidence as error:
            return replace(begun, error=error)
        *earlier, own = begun.runs
        return replace(begun, runs=(*earlier, (*own, said)))

    def _read(self, node: str) -> Transcript:
        return self.sessions[node].run(counters.reading(node, self.platform, self.cluster))
