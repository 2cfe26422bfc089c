"""Plugin of pytest: a run whose measurements were recorded on two other nodes.

Only the measuring is replaced. The lab, its survey, leases, judging, storing and reporting are
those of any run, so that its cost is that of the suite itself. ``RAILGAUGE_RECORDED`` names the
folder of a run of two nodes with the same limits, whose results are given to all others
(``renamed_results``). A case of more nodes was not recorded, and ends in an error.

``RAILGAUGE_COSTS`` names a file for two numbers of CPU seconds: from the end of the last item to
that of the process (end-of-run checks, verdict, and all reports), and what the replacing has taken.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from renamed_results import Recorded, words_of

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case
from railgauge.core.question import CaseResult
from railgauge.run import services
from railgauge.run.store import Store

Measure = Callable[[Case], CaseResult]


@cache
def _recorded() -> Recorded:
    return Recorded(Path(os.environ["RAILGAUGE_RECORDED"]))


def _into(runners: Any, kept: Store, _folder: str) -> Measure:
    words = cache(lambda: words_of(runners.cluster(), runners.surveyed.found))

    def measure(case: Case) -> CaseResult:
        return kept.save(case, _timed(lambda: _recorded().result(case, words())))

    return measure


_TOOK = [0.0]


def _timed(make: Callable[[], CaseResult]) -> CaseResult:
    began_s = time.thread_time()
    try:
        return make()
    except NoEvidence as error:
        return CaseResult((), error)
    finally:
        _TOOK[0] += time.thread_time() - began_s


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtestloop() -> Generator[None, object, object]:
    result = yield
    ended_s = time.process_time()
    reported = Path(os.environ["RAILGAUGE_COSTS"])
    atexit.register(lambda: reported.write_text(f"{time.process_time() - ended_s} {_TOOK[0]}"))
    return result


# Before any hook of the suite: its services are built in the first of them.
services._Runners.into = _into  # type: ignore[method-assign]
