"""Plugin of pytest: a run whose measurements were recorded on two other nodes.

Only the measuring is replaced. The lab, its survey, leases, judging, storing and reporting are
those of any run, so that its cost is that of the suite itself. ``RAILGAUGE_RECORDED`` names the
folder of a run of two nodes with the same limits. A case of more nodes was not recorded, and ends
in an error. ``RAILGAUGE_END_CPU`` names a file for the CPU seconds from the end of the last item to
that of the process: closing items, verdict, and all reports.
"""

from __future__ import annotations

import atexit
import os
import re
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from railgauge.bundle.folder import FolderContents
from railgauge.core.case_cache import made_once
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Transcript
from railgauge.core.question import CaseResult
from railgauge.run import services
from railgauge.run.store import Store

Measure = Callable[[Case], CaseResult]


class Recorded:
    """The results of two nodes, given to any two nodes."""

    def __init__(self, folder: Path) -> None:
        self._contents = FolderContents(folder)
        self._nodes = tuple(node.name for node in self._contents.cluster().nodes)
        self._of = cache(self._read)

    def result(self, case: Case) -> CaseResult:
        places = (self._nodes, self._nodes[::-1]) if len(case.nodes) == 2 else ((self._nodes[0],),)
        if len(case.nodes) > 2:
            raise NoEvidence("was not recorded for so many nodes", where=case.key)
        for nodes in places:
            if found := self._of(replace(case, nodes=nodes)):
                names = dict(zip(nodes, case.nodes, strict=True))
                return replace(found, runs=tuple(_renamed(run, names) for run in found.runs))
        raise NoEvidence("was not recorded", where=case.key)

    def _read(self, case: Case) -> CaseResult | None:
        try:
            return self._contents.result(case)
        except NoEvidence:
            return None


def _renamed(run: tuple[Transcript, ...], names: dict[str, str]) -> tuple[Transcript, ...]:
    """The transcripts of a run with these names of nodes, which outputs have too."""
    return tuple(
        replace(one, node=names.get(one.node, one.node), stdout=_in_text(one.stdout, names))
        for one in run
    )


def _in_text(text: str, names: dict[str, str]) -> str:
    return re.sub("|".join(names), lambda found: names[found[0]], text)


@cache
def _recorded() -> Recorded:
    return Recorded(Path(os.environ["RAILGAUGE_RECORDED"]))


def _into(_runners: object, kept: Store, _folder: str) -> Measure:
    def measure(case: Case) -> CaseResult:
        try:
            return kept.save(case, _recorded().result(case))
        except NoEvidence as error:
            return kept.save(case, CaseResult((), error))

    return made_once(measure)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtestloop() -> Generator[None, object, object]:
    result = yield
    ended_s = time.process_time()
    told = Path(os.environ["RAILGAUGE_END_CPU"])
    atexit.register(lambda: told.write_text(str(time.process_time() - ended_s)))
    return result


# Before any hook of the suite: its services are built in the first of them.
services._Runners.into = _into  # type: ignore[method-assign]
