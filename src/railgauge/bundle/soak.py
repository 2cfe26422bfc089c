"""Checks of a soak in a bundle: its rounds are those that were drawn, in the order of their times.

A soak is judged anew from its evidence, so its records only have to be the same. These
checks keep evidence from being left out, exchanged or counted under another round: the cases and
their order follow from the seed and the number of the round, and time runs forward.

Example: round 3 failed; its folder is deleted, and round 4 is renamed to 3. Its transcripts are of
other pairs, or were begun in another order, than round 3 draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NoReturn

from railgauge.bundle.commands import Commands
from railgauge.config.thresholds import Platform
from railgauge.core.errors import NotVerified
from railgauge.core.model import Case, Cluster
from railgauge.core.run_files import RUN
from railgauge.judging import record
from railgauge.judging.record import ItemRecord
from railgauge.planning.soak import FOLDER, SoakRounds, folder_of
from railgauge.run.case_files import case_file
from railgauge.run.run_folder import RunFolder
from railgauge.run.soak import load
from railgauge.verdict.at_end import is_of_run
from railgauge.verdict.decision import RunPlan

# A clock that is set right while a soak runs may go back by less than this.
_CLOCK_STEP = timedelta(seconds=1)


def of_ladder(records: Mapping[str, ItemRecord]) -> dict[str, ItemRecord]:
    """The records that are about the cluster, and not about the run itself."""
    return {name: item for name, item in records.items() if not is_of_run(name)}


def refuse_other_rounds(
    run: RunPlan, contents: RunFolder, platform: Platform, cluster: Cluster
) -> None:
    """Raise ``NotVerified`` for evidence of a soak that its rounds do not have."""
    count = contents.rounds()
    if run.soak is None:
        if count:
            _fail(f"{RUN}{FOLDER}", "is evidence of a soak that the run did not have")
        return
    rounds = SoakRounds(run.soak, platform, cluster, run.level_of(platform, cluster), run.rounds)
    held = Commands(contents.platform(), cluster, contents.elsewhere())
    clock = _Clock()
    for number in range(1, count + 1):
        folder = folder_of(number)
        cases = [one.case for one in rounds.cases(number)]
        for case in cases:
            if result := contents.kept(case, folder):
                held.refuse_others(case, result.runs, folder)
                clock.refuse_back(case, folder, [one.began for one in load.of_case(result)])
        _refuse_others(contents, cases, folder)


class _Clock:
    """When the latest measurement of each node so far was begun.

    Nodes that are not measured together may be measured at once.
    """

    def __init__(self) -> None:
        self._latest: dict[str, datetime] = {}

    def refuse_back(self, case: Case, folder: str, began: list[datetime]) -> None:
        if not began:
            return
        first = min(began)
        latest = max((self._latest.get(node, first) for node in case.nodes), default=first)
        if first < latest - _CLOCK_STEP:
            what = f"was begun at {first}, before the measurement that precedes it in its round"
            _fail(f"{RUN}{case_file(case, folder)}", what)
        self._latest |= dict.fromkeys(case.nodes, max(first, latest))


def _refuse_others(contents: RunFolder, cases: Iterable[Case], folder: str) -> None:
    """Raise for a transcript of a case that was not drawn for this round."""
    drawn = {case_file(case, folder) for case in cases}
    if unused := sorted(contents.transcripts(folder) - drawn):
        _fail(f"{RUN}{unused[0]}", "belongs to no measurement of its round")


def refuse_other_items(recorded: Iterable[str], made: Iterable[str]) -> None:
    """Raise ``NotVerified`` unless the items about the run are those that its evidence gives."""
    due = {name for name in made if is_of_run(name)}
    for name in sorted(due.symmetric_difference(filter(is_of_run, recorded))):
        what = "lacks a record of" if name in due else "has a record without evidence of"
        _fail(f"{RUN}{record.FILE}", f"{what} {name[:200]}")


def _fail(where: str, what: str) -> NoReturn:
    raise NotVerified(what, where=where)
