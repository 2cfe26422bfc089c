"""Reads at the end of a run what closing items are judged by: counters, and the kernels' logs."""

from __future__ import annotations

from collections.abc import Callable

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.question import CaseResult
from railgauge.diagnosis import RunResults
from railgauge.judging.closing import ClosingItems
from railgauge.judging.growth import ITEMS as COUNTERS
from railgauge.judging.kernel_log import ITEMS as KERNEL_LOGS
from railgauge.run import kernel_logs
from railgauge.run.counters import CounterReader
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings


@PROGRESS_OF_PROCESS.during("counters and kernels' logs")
def read(settings: RunSettings, run: RunServices, findings: Callable[[], RunResults]) -> None:
    """Read and store what the platform file asks for; a replay takes over what was recorded.

    The counters come first: nothing else of the run shall be in their difference.
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
        found = findings()
        kernel_logs.keep(found, run.store, kernel_logs.live(found, run.sessions()))


def _take_over(items: ClosingItems, run: RunServices, result: Callable[[Case], CaseResult]) -> None:
    for node in run.cluster().nodes:
        if case := items.case_of(node.name):
            try:
                found = result(case)
            except NoEvidence as error:
                found = CaseResult((), error)
            run.store.save(case, found)
