"""The records of a run, and its end: last measurements, verdict and reports."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from railgauge.acceptance import written
from railgauge.acceptance.ending import Ending
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.run_files import CLUSTER, VERDICT
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.model import SoakResults
from railgauge.judging import record
from railgauge.judging.assessor import Assessor
from railgauge.judging.confirmation import FOLDER as AGAIN
from railgauge.judging.confirmation import Remeasurement
from railgauge.judging.correctness import is_corrupt
from railgauge.judging.record import ItemRecord
from railgauge.planning.soak import SoakRounds
from railgauge.report import drawn, junit, lines
from railgauge.report.allure.results import ReportedRun
from railgauge.report.plots import Plot
from railgauge.run import at_end, confirming, judgement_lines, soaking
from railgauge.run.case_notes import printed_twice
from railgauge.run.counters import CounterReader
from railgauge.run.ladder import Ladder
from railgauge.run.run_folder import RunFolder
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.transport import Tell
from railgauge.trend import tonight
from railgauge.verdict import decision
from railgauge.verdict.counts import RunVerdict
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.earlier import EarlierResults
from railgauge.verdict.unanswered import never_ran


class AcceptanceRun:
    """A run in the process that reports it.

    ``records`` are those of the items that have ended, by id, and ``planned`` the ids of all items.
    ``verdict``, ``plots``, ``lines`` and ``nights`` (earlier ones, compared) are known at the end.
    """

    def __init__(
        self, settings: RunSettings, services: RunServices, earlier: Callable[[], EarlierResults]
    ) -> None:
        """``earlier`` gives the results of the runs that this one resumes."""
        self.settings, self.services = settings, services
        self.planned: list[str] = []
        self.records: dict[str, ItemRecord] = {}
        self.verdict: RunVerdict | None = None
        self.plots: list[Plot] = []
        self.lines = lines.of_items({})
        self.nights: tonight.NightsTold | None = None
        self._earlier = earlier
        self._soaked: SoakResults | None = None
        self._began, self._began_s = datetime.now().astimezone(), time.monotonic()
        self._ended = ""

    def keep(self, data: Mapping[str, Any], item: ItemRecord) -> None:
        """Keep the record of an item that has ended, or of a row of it, as it is written."""
        self.services.store.append_masked(record.FILE, record.line(data))
        self.records[item.id] = record.merged(self.records.get(item.id), item)

    @property
    def is_corrupt(self) -> bool:
        """Whether wrong results were seen, which stop a run."""
        return is_corrupt(self.records.values())

    def plan(self) -> RunPlan:
        """Write and return the plan of the run; items that did not run are added at the end."""
        recorded = self.services.recorded
        began = recorded.plan().began if recorded else self._began.isoformat(timespec="seconds")
        about = (self.planned, began, self._ended)
        return written.run_plan(self.settings, self.services, *about)

    def results(self) -> RunResults:
        """The results so far, read from the run's folder as ``railgauge verify`` does."""
        kept, limits = RunFolder(self.services.store.folder), self.settings.platform
        notes = self.services.notes
        cluster = kept.cluster() if CLUSTER in kept else self.settings.declared
        return RunResults(
            self.records,
            self.services.found,
            limits,
            cluster,
            kept.reboots(),
            kept.confirmed(limits),
            lambda case: notes.starts(case) or kept.starts(case),
            kept.kept,
            kept.marks(),
            self.settings.deviations,
            self._soaked,
            earlier=self._earlier().runs,
            repeated=printed_twice(kept.names, kept.kept_in, limits, notes.of),
        )

    # --- measurements at the end of a run ---

    def confirm(self, tell: Tell, *, may_ask: bool) -> bool:
        """Measure suspects again; return ``False`` if an interrupt ended that.

        With ``--confirm`` these are all suspects, else those that the plan cannot tell apart. A
        replay uses the recorded list, because it has the results of no other measurements.
        """
        asked, before = self._suspects(tell, may_ask=may_ask), tuple[Remeasurement, ...]()
        services = self.services
        while asked:
            again = Assessor(self.settings.platform, services.found, services.measure_in(AGAIN))
            if not confirming.ask_again(asked, services.store, again, tell):
                return False
            # Their results may leave a narrower question, such as which NIC of the node.
            before = (*before, *asked)
            asked = confirming.lacking_partners(self.results(), tell, before) if may_ask else ()
        return True

    def _suspects(self, tell: Tell, *, may_ask: bool) -> Sequence[Remeasurement]:
        if self.services.recorded:
            return self.services.recorded.asked()
        if not may_ask:
            return ()
        if self.settings.confirm:
            return confirming.suspects(self.results(), tell)
        return confirming.lacking_partners(self.results(), tell)

    def soak(self, tell: Tell, *, may_begin: bool) -> bool:
        """Carry out the requested soak; return ``False`` if an interrupt ended it.

        ``may_begin`` is whether the ladder was run to its end. A replay plays the recorded rounds.
        """
        settings, run = self.settings, self.services
        if settings.soak is None:
            return True
        base = self.results()
        level = settings.level
        rounds = SoakRounds(settings.soak, settings.platform, base.cluster, level, settings.rounds)
        if run.recorded:
            soaking.play(rounds, run.recorded.rounds(), run.measure_in)
            return True
        if not may_begin:
            tell("soak: not begun, because the ladder was not run to its end")
            return True
        return soaking.carry_out(
            rounds,
            base,
            run.measure_in,
            tell,
            between=self._counter_reader(),
            at_once=settings.at_once,
            interrupted=run.interrupted,
        )

    def _counter_reader(self) -> Callable[[], None]:
        """Reads the error counters of all nodes; does nothing if the platform limits no growth."""
        run, limits = self.services, self.settings.platform
        if limits.growth is None:
            return lambda: None
        return CounterReader(limits, run.cluster(), run.sessions(), run.store).between

    def read_at_end(self) -> None:
        """Read counters and kernels' logs."""
        at_end.read(self.settings, self.services, self.results)

    # --- what did not run ---

    @PROGRESS_OF_PROCESS.during("items that did not run, and end-of-run checks")
    def complete(self, ladder: Ladder) -> list[ItemRecord]:
        """Add a record for each item that did not run, and for each end-of-run check."""
        recorded, store = self.services.recorded, self.services.store
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        self._ended = recorded.plan().ended if recorded else now
        absent = list(map(self._earlier(), self._never_came(ladder)))
        self._add(absent)
        judgement_lines.keep_alone(absent, store)
        unasked = list(decision.not_run(self.plan(), self.results()))
        self._add(unasked)
        self._soaked = RunFolder(store.folder).soaked(self.results())
        last = list(decision.closed(self.plan(), self.results()))
        self._add(last)
        judgement_lines.keep_all(last, store)
        return [*absent, *unasked, *last]

    def _never_came(self, ladder: Ladder) -> Iterable[ItemRecord]:
        """The collected items that did not run, after ``-x``, an interrupt or a stop."""
        why = self.services.decisions.stopped
        return (never_ran(one, why) for one in ladder.records() if one.id not in self.records)

    def _add(self, items: Iterable[ItemRecord]) -> None:
        planned = {*self.planned}
        for item in items:
            self.records[item.id] = item
            self.services.store.append(record.FILE, record.line(item.to_json()))
            if item.id not in planned:
                self.planned.append(item.id)

    # --- verdict and reports ---

    def report(self, ending: Ending, files: Sequence[Path], results: Path, *, allure: bool) -> None:
        """Reach the verdict, and write all reports but those of pytest's own plugins.

        ``files`` are all paths of JUnit's XML, ``results`` is the folder of Allure's.
        """
        self.verdict = decision.decide(self.plan(), self.results())
        self.services.store.write_json(VERDICT, self.verdict.to_json())
        records = {item: self.records[item] for item in self.planned if item in self.records}
        self.lines = lines.of_run(records, has_sub_items=self.settings.has_sub_items)
        written.junit_files(files, self.lines, self._session(self.verdict), ending)
        folder, evidence = self.services.store.folder, self.services.surveyed.evidence
        self.plots = drawn.draw(folder, self.results(), self.settings.declared, evidence)
        reported = ReportedRun(folder, results, self.verdict, int(1000 * time.time()), self.plots)
        limits = self.settings.platform
        written.allure_results(limits, reported, self.lines, is_wanted=allure)
        with ending.step("tonight could not be compared with earlier nights"):
            self.nights = tonight.since_last_night(folder)

    def _session(self, verdict: RunVerdict) -> junit.SessionInfo:
        took_s = time.monotonic() - self._began_s
        about = (self._began, took_s, platform.node(), self.services.surveyed.evidence)
        notes = (verdict.excluded, verdict.deviations, verdict.measured_again, verdict.scope)
        return junit.SessionInfo(*about, *notes)


class MergedRun(AcceptanceRun):
    """A run that ``railgauge merge`` has written into a folder: its records are complete."""

    def read(self) -> None:
        """Read the record of the run."""
        kept = self._kept()
        self.records, self.planned = kept.records(), list(kept.plan().planned)
        self._began = datetime.fromisoformat(kept.plan().began)

    def plan(self) -> RunPlan:
        return self._kept().plan()

    def results(self) -> RunResults:
        return self._kept().results(self.records, self.settings.platform)

    def _kept(self) -> RunFolder:
        return RunFolder(self.services.store.folder)
