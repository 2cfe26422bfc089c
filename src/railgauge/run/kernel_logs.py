"""Reads what the nodes' kernels logged during a run, when its last item has ended."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Command
from railgauge.core.question import CaseResult
from railgauge.diagnosis import RunResults
from railgauge.facts.kernel import log
from railgauge.judging.kernel_log import ITEMS
from railgauge.run.store import Store
from railgauge.transport.sessions import Sessions
from railgauge.verdict.kernel_log import start_of

_TIME_LIMIT_S = 60.0
_AT_ONCE = 64

Read = Callable[[str, Case], CaseResult]
"""Returns what a node's kernel logged, or the error that kept it from being read."""


def keep(findings: RunResults, store: Store, read: Read) -> None:
    """Read the log of every node, all at the same time, and store it as evidence of its item."""
    cases = [(n.name, case) for n in findings.cluster.nodes if (case := ITEMS.case_of(n.name))]
    with ThreadPoolExecutor(min(_AT_ONCE, len(cases))) as pool:
        found = list(pool.map(lambda one: read(*one), cases))
    for (_, case), result in zip(cases, found, strict=True):
        store.save(case, result)


def live(findings: RunResults, sessions: Sessions) -> Read:
    """Return a function that reads from the nodes; a log without a known start is not read."""

    def read(node: str, _case: Case) -> CaseResult:
        try:
            argv = log.reading_argv(findings.cluster.rootfs, start_of(node, findings).first)
            asked = Command(node, argv, {"LC_ALL": "C"}, _TIME_LIMIT_S, plain=True, as_root=True)
            return CaseResult(((sessions[node].run(asked),),))
        except NoEvidence as error:
            return CaseResult((), error)

    return read
