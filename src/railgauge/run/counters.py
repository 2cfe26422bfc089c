"""Reads the nodes' error counters: before the first measurement of a run, and after its last.

In a soak they are also read after the ladder and after each round, which shows when they grew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise

from railgauge.config.thresholds import Platform
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Cluster, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.counters import parse_reading
from railgauge.judging.growth import ITEMS
from railgauge.planning import counters
from railgauge.planning.counters import stack_of
from railgauge.run.resume import Earlier
from railgauge.run.store import Store
from railgauge.stacks import Stack
from railgauge.transport.sessions import Sessions

NodeCounts = Mapping[str, Mapping[str, int]]
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

        ``found`` is the survey: a node that did not answer it is not asked again.
        """

        def first(node: str, case: Case) -> CaseResult:
            runs = earlier.readings(case) if earlier else ()
            answer = found[node]
            if not isinstance(answer, NodeFacts):
                return CaseResult((*runs, ()), answer)
            return self._added(node, CaseResult((*runs, ())), Role.COUNTERS_BEFORE)

        self._each(first)

    def between(self) -> None:
        """Read between two rounds of a soak. What cannot be read then is left out."""

        def one_more(node: str, case: Case) -> CaseResult:
            begun = self.store.load(case) or _NOTHING
            if begun.error is not None or not begun.runs:
                return begun
            made = self._added(node, begun, Role.COUNTERS_BETWEEN)
            return begun if made.error else self._thinned(made)

        self._each(one_more)

    def _thinned(self, found: CaseResult) -> CaseResult:
        *earlier, own = found.runs
        return replace(found, runs=(*earlier, thinned(own, stack_of(self.platform))))

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
        """The readings so far with one more, or the error that prevented it."""
        try:
            output = replace(self._read(node), role=role)
        except NoEvidence as error:
            return replace(begun, error=error)
        *earlier, own = begun.runs
        return replace(begun, runs=(*earlier, (*own, output)))

    def _read(self, node: str) -> Transcript:
        return self.sessions[node].run(counters.reading(node, self.platform, self.cluster))


_STEPS = 3


def thinned(run: tuple[Transcript, ...], stack: Stack | None) -> tuple[Transcript, ...]:
    """The readings of a run, without the last but one if it adds nothing.

    It adds nothing if no counter grew before and after it, or if the same counters grew in both
    steps and in the step before. The first and the last round with growth stay known, and a soak of
    a healthy node keeps the same number of readings however many rounds it has.
    """
    if len(run) < _STEPS or run[-_STEPS + 1].role is not Role.COUNTERS_BETWEEN:
        return run
    read = [parse_reading(output.stdout, stack).counts for output in run[-_STEPS - 1 :]]
    steps = [_changed(before, after) for before, after in pairwise(read)]
    if steps[-1] == steps[-2] and (not steps[-1] or steps[-3:-2] == [steps[-1]]):
        return (*run[:-2], run[-1])
    return run


def _changed(before: NodeCounts, after: NodeCounts) -> set[tuple[str, str]]:
    """The counters of a node that differ, or that only one of two readings shows."""
    return {
        (device, name)
        for device in before.keys() | after.keys()
        for name in before.get(device, {}).keys() | after.get(device, {}).keys()
        if before.get(device, {}).get(name) != after.get(device, {}).get(name)
    }
