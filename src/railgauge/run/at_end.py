"""Reads the evidence of the end-of-run checks: the error counters and the kernels' logs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Command
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.question import CaseResult
from railgauge.diagnosis import RunResults
from railgauge.facts.kernel import log
from railgauge.judging.at_end import EndOfRunChecks
from railgauge.judging.growth import ITEMS as COUNTERS
from railgauge.judging.kernel_log import ITEMS as KERNEL_LOGS
from railgauge.run.counters import CounterReader
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store
from railgauge.transport.sessions import Sessions
from railgauge.verdict.kernel_log import start_of

_LOG_LIMIT_S = 60.0
_AT_ONCE = 64


@PROGRESS_OF_PROCESS.during("counters and kernels' logs")
def read(settings: RunSettings, run: RunServices, results: Callable[[], RunResults]) -> None:
    """Read and store what the platform file asks for; a replay takes over what was recorded.

    The counters come first, so that nothing else of the run counts in their difference.
    """
    platform = settings.platform
    asked = {COUNTERS: platform.growth is not None, KERNEL_LOGS: platform.kernel_log is not None}
    if run.recorded:
        for items in (one for one, is_asked in asked.items() if is_asked):
            _take_over(items, run, run.recorded.result)
        return
    if asked[COUNTERS]:
        CounterReader(platform, run.cluster(), run.sessions(), run.store).end()
    if asked[KERNEL_LOGS]:
        _keep_kernel_logs(results(), run.store, run.sessions())


def _take_over(
    items: EndOfRunChecks, run: RunServices, result: Callable[[Case], CaseResult]
) -> None:
    for node in run.cluster().nodes:
        if case := items.case_of(node.name):
            try:
                found = result(case)
            except NoEvidence as error:
                found = CaseResult((), error)
            run.store.save(case, found)


def _keep_kernel_logs(results: RunResults, store: Store, sessions: Sessions) -> None:
    """Read what the kernel of every node logged, all at the same time, and store it.

    A log whose start is not known is not read.
    """

    def read(node: str) -> CaseResult:
        try:
            argv = log.reading_argv(results.cluster.rootfs, start_of(node, results).first)
            command = Command(node, argv, {"LC_ALL": "C"}, _LOG_LIMIT_S, plain=True, as_root=True)
            return CaseResult(((sessions[node].run(command),),))
        except NoEvidence as error:
            return CaseResult((), error)

    names = [node.name for node in results.cluster.nodes]
    cases = {name: case for name in names if (case := KERNEL_LOGS.case_of(name))}
    with ThreadPoolExecutor(min(_AT_ONCE, len(cases))) as pool:
        found = list(pool.map(read, cases))
    for case, result in zip(cases.values(), found, strict=True):
        store.save(case, result)
