"""Carries out the ladder of a run beside pytest's items, in the process that has the sessions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from railgauge.core import naming
from railgauge.diagnosis import RunResults
from railgauge.judging.answers import AheadAssessor
from railgauge.judging.assessor import Assessor
from railgauge.judging.record import ItemRecord
from railgauge.leases.nodes import NodeTaken
from railgauge.planning import forecast
from railgauge.planning.required import LevelScope
from railgauge.planning.work_queue import Unit
from railgauge.run import storage
from railgauge.run.engine import LadderEngine, Measuring
from railgauge.run.ladder import Items, Ladder
from railgauge.run.progress.ladder import LadderProgress
from railgauge.run.progress.state import HowFar
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.run.unit_judge import Judging


class LadderRun:
    """The ladder of the collected items, and the engine that carries it out."""

    def __init__(self, settings: RunSettings, run: RunServices, items: Items) -> None:
        self._settings, self._run = settings, run
        scope = LevelScope(settings.platform, settings.declared, settings.level)
        self.ladder = Ladder(scope, items)
        self._engine: LadderEngine | None = None
        self._is_over = False
        self._progress = LadderProgress(forecast.work(settings.platform, settings.level))

    def begin(self, keep_leases: Callable[[], None], most_wrong: int) -> None:
        """Begin to measure; ``keep_leases`` is called after each measurement.

        The run stops when ``most_wrong`` items have gone wrong, unless that is 0.
        """

        def decided(unit: Unit, is_measured: bool) -> None:
            if unit.items:  # else a test has requested a case of no item
                cases = len(self.ladder.cases(unit))
                self._progress.decided(unit, cases, is_measured=is_measured)
            keep_leases()

        settings, run = self._settings, self._run
        evidence = run.evidence(settings)
        judging = Judging(
            settings.platform,
            Assessor(*evidence),
            settings.no_gates,
            most_wrong,
            self._results_of,
            # Items in workers judge for themselves.
            for_items=None if settings.has_workers else AheadAssessor(run.answers, *evidence),
        )
        measuring = Measuring(run.measure, run.interrupted, settings.at_once, decided)
        self._engine = LadderEngine(self.ladder, judging, measuring, run.decisions)
        self._progress.begin()
        self._engine.begin()

    def _results_of(self, records: Mapping[str, ItemRecord]) -> RunResults:
        settings, run = self._settings, self._run
        return RunResults(records, run.found, settings.platform, settings.declared, kept=run.kept)

    def end(self) -> None:
        """End the measurements in progress."""
        if self._engine:
            self._engine.end()
            self._is_over = True

    def far(self) -> HowFar | None:
        """How far the ladder is while it is carried out."""
        if self._engine is None or self._is_over:
            return None
        following = self._engine.following
        case = (
            next(iter(self.ladder.cases(following)), None)
            if following and following.items
            else None
        )
        return self._progress.far(naming.title(case) if case else "")

    def judged(self, ids: Collection[str]) -> Iterator[ItemRecord]:
        """Judge the items with these ids that were measured, by their evidence alone."""
        for row, item in self._engine.judged(ids) if self._engine and ids else ():
            assert row.case
            yield replace(item, transcript=self._run.store.transcript_name(row.case))

    def error(self) -> BaseException | None:
        """The error that ended the measurements; raises it if this machine lacks something."""
        error = self._run.decisions.error
        if error and storage.is_lack(error):
            raise error
        return None if isinstance(error, NodeTaken) else error  # reported where it was found
