"""Has the ladder of a run carried out beside pytest's items, in the process that has the nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from railgauge.acceptance.ending import Ending
from railgauge.diagnosis import RunResults
from railgauge.judging.answers import AheadAssessor
from railgauge.judging.assessor import Assessor
from railgauge.judging.record import ItemRecord
from railgauge.leases.nodes import NodeTaken
from railgauge.planning.demand import DemandInputs
from railgauge.planning.work_queue import Unit
from railgauge.report.progress import RunProgress
from railgauge.run import storage
from railgauge.run.engine import LadderEngine, Measuring
from railgauge.run.ladder import Items, Ladder
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.run.unit_judge import Judging


class LadderRun:
    """The ladder of the collected items, and the engine that carries it out."""

    def __init__(self, settings: RunSettings, run: RunServices, items: Items) -> None:
        self._settings, self._run = settings, run
        scope = DemandInputs(settings.platform, settings.declared, settings.level)
        self.ladder = Ladder(scope, items)
        self._engine: LadderEngine | None = None

    def begin(
        self, progress: RunProgress, keep_leases: Callable[[], None], most_wrong: int
    ) -> None:
        """Begin to measure; ``keep_leases`` is called after each measurement.

        The run stops when ``most_wrong`` items have gone wrong, unless that is 0.
        """

        def decided(unit: Unit, is_measured: bool) -> None:
            if unit.items:  # else somebody's test has asked for a case of no item
                cases = len(self.ladder.cases(unit))
                progress.decided(unit, cases, is_measured=is_measured)
            keep_leases()

        settings, run = self._settings, self._run
        evidence = (settings.platform, run.found, run.result, settings.declared.fabric)
        # Items in workers judge for themselves.
        known = (
            Assessor(*evidence) if settings.has_workers else AheadAssessor(run.answers, *evidence)
        )
        judging = Judging(
            settings.platform,
            known,
            settings.no_gates,
            most_wrong,
            self._findings,
            for_items=not settings.has_workers,
        )
        measuring = Measuring(run.measure, run.interrupted, settings.at_once, decided)
        self._engine = LadderEngine(self.ladder, judging, measuring, run.decisions)
        progress.begin()
        self._engine.begin()

    def _findings(self, records: Mapping[str, ItemRecord]) -> RunResults:
        settings, run = self._settings, self._run
        return RunResults(records, run.found, settings.platform, settings.declared, kept=run.kept)

    def end(self) -> None:
        """End what is measured now."""
        if self._engine:
            self._engine.end()

    def judged(self, ids: Collection[str]) -> Iterator[ItemRecord]:
        """Judge the items with these ids that were measured, by their evidence alone."""
        return self._engine.judged(ids) if self._engine and ids else iter(())

    def report_error(self, ending: Ending) -> None:
        """Report the error that ended the measurements; raises a lack of this machine."""
        error = self._run.decisions.error
        if error and storage.is_lack(error):
            raise error
        if error and not isinstance(error, NodeTaken):  # which was reported where it was found
            ending.wrong("the measurements were ended", error)
