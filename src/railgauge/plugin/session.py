"""The controller's part of a session: start, records, verdict, and the files of the run."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from railgauge.bundle import certified
from railgauge.bundle.contents import CLUSTER
from railgauge.bundle.folder import FolderContents
from railgauge.bundle.printed import printed_twice
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.model import SoakResults
from railgauge.judging import record
from railgauge.judging.assessor import Assessor
from railgauge.judging.confirmation import Remeasurement
from railgauge.judging.correctness import is_corrupt
from railgauge.plugin import (
    asked_items,
    complaints,
    demanded,
    foreign,
    opening,
    recording,
    soaking,
    written,
)
from railgauge.plugin.ending import Ending
from railgauge.plugin.reporters import tell
from railgauge.plugin.starting import SessionStart
from railgauge.report import drawn, junit, lines, terminal
from railgauge.report.allure.results import ReportedRun
from railgauge.report.plots import Plot
from railgauge.run import closing, confirming, storage
from railgauge.run.ladder import Items
from railgauge.run.ladder_run import LadderRun
from railgauge.run.progress.state import HowFar
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.run.store import write_whole
from railgauge.trend import tonight
from railgauge.verdict import decision
from railgauge.verdict.counts import RunVerdict
from railgauge.verdict.decision import RunPlan

# A session with one of these exit codes has run all of its items.
_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


class Controller:
    """Plugin of the process that the user started: the only one that reports."""

    def __init__(
        self,
        config: pytest.Config,
        settings: RunSettings,
        run: RunServices,
        ending: Ending,
        start: SessionStart,
        *,
        junit_files: Sequence[Path],
    ) -> None:
        """``junit_files`` are all paths to which JUnit's XML is written."""
        self.config = config
        self.settings = settings
        self.run = run
        self.ending = ending
        self.planned: list[str] = []
        self.records: dict[str, record.ItemRecord] = {}
        self.verdict: RunVerdict | None = None
        self.plots: list[Plot] = []
        self._start = start
        self._junit_files = junit_files
        self._is_interrupted = False
        self._ended = ""
        self._nights: tonight.NightsTold | None = None
        self._soaked: SoakResults | None = None
        self._measuring: LadderRun | None = None
        self._lines = lines.of_items({})
        self._began, self._began_s = datetime.now().astimezone(), time.monotonic()
        self._exhaustion = storage.ResourceExhaustion(run.store.folder)

    # --- before the first test ---

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        opening.tell_worker(self.settings, self.run.store.folder, node.workerinput)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self._prepare(asked_items.of(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        complaints.exit_on_those_of_a_worker(self.run.store, self.settings.platform.path)
        if ids and not self.planned:
            self._prepare(asked_items.read(self.run.store, ids))
            self._begin_to_measure()

    def _prepare(self, items: Items) -> None:
        """Make the cluster ready; a run that is refused has no plan and so no verdict."""
        self._measuring = LadderRun(self.settings, self.run, items)
        try:
            self._make_ready(self._measuring)
        except pytest.UsageError:
            self.planned = []
            raise

    def _make_ready(self, measuring: LadderRun) -> None:
        """Reach the cluster, lease every node and survey it."""
        self.planned = ids = list(measuring.ladder.ids())
        cluster = self._start.reach(ids)
        self._run_plan()
        demanded.warn(self.config, self.settings, len(ids))
        self._start.survey(cluster)
        evidence, expected = self.run.surveyed.evidence, self.settings.evidence_of(())
        terminal.played(self.config, evidence, expected)
        self._run_plan()  # again, because the kind of evidence is known only now

    def _begin_to_measure(self) -> None:
        if self._measuring:
            most_wrong = self.config.getvalue("maxfail") or 0
            self._measuring.begin(self._start.keep_leases, most_wrong)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Measure while pytest runs its items; with ``-n`` that begins when a worker has them."""
        if not session.testsfailed or self.config.option.continue_on_collection_errors:
            self._begin_to_measure()
        try:
            return (yield)
        finally:
            if self._measuring:
                self._measuring.end()

    def far(self) -> HowFar | None:
        """How far the ladder is while it is carried out."""
        return self._measuring.far() if self._measuring else None

    # --- while tests run ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = getattr(report, "railgauge", None)
        if data and report.when == "teardown":
            for each in data.get(recording.ROWS, [data]):
                self.keep(each, record.from_json(each))
            recording.shorten(report)

    def keep(self, data: Mapping[str, Any], item: record.ItemRecord) -> None:
        """Keep the record of an item that has ended, or of a row of it, as it is written."""
        self.run.store.append_masked(record.FILE, record.line(data))
        self.records[item.id] = record.merged(self.records.get(item.id), item)

    # --- after the last test ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: object, excinfo: pytest.ExceptionInfo[Any]) -> None:
        """End the session with one line for a lack of this machine, also for one in a worker."""
        if line := self._exhaustion.of_text(str(excrepr)):
            pytest.exit(line, pytest.ExitCode.INTERNAL_ERROR)
        self.ending.add_error(foreign.told(excinfo, self.run.store.folder.name))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note an interrupt; pytest and xdist end a session that they stop by a class of theirs."""
        self._is_interrupted = excinfo.type in (KeyboardInterrupt, pytest.exit.Exception)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Reach the verdict before the reporters write; a lack of this machine leaves none."""
        result: object = None
        with self._without_lack(session):
            self._finish(session)
        with self._without_lack(session), PROGRESS_OF_PROCESS.during("report.html"):
            result = yield
        self._exhaustion.discard_verdict()
        out = self.config.pluginmanager.getplugin("terminalreporter")
        if self.verdict and out is not None:
            terminal.last_word(out, self.verdict, self.run.store.folder)
        return result

    @contextmanager
    def _without_lack(self, session: pytest.Session) -> Iterator[None]:
        """Withdraw the verdict if this machine lacked something, then or before."""
        with self._exhaustion.reported():
            yield
        if self._exhaustion.exhausted:
            self._start.abandon_leases()
        if self._exhaustion.happened:
            self.verdict = None
            self.ending.without_verdict()
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def _finish(self, session: pytest.Session) -> None:
        measuring = self._measuring
        if measuring and (error := measuring.error()):
            self.ending.wrong("the measurements were ended", error)
        self.planned = [] if self._exhaustion.happened else self.planned
        if self.planned and measuring:
            if self._stopped_itself() or not self._is_interrupted:
                absent = {item for item in self.planned if item not in self.records}
                demanded.report_judged(self.config, self.run, measuring.judged(absent))
            self._confirm(session)
            self._soak(session)
            self._read_closing(session)
        self._start.undo_preparations()
        self.run.hurry()
        if not (self.planned and measuring):
            return
        self._ended = self._end()
        self._tell_absent(measuring)
        self._report(session)

    def _report(self, session: pytest.Session) -> None:
        """Reach the verdict, and write all reports but those of pytest's own plugins."""
        self.verdict = decision.decide(self._run_plan(), self._findings())
        self.run.store.write_json("verdict.json", self.verdict.to_json())
        records = {item: self.records[item] for item in self.planned if item in self.records}
        self._lines = lines.of_run(records, holds_items=self.settings.holds_items)
        self._write_junit(self.verdict)
        folder, evidence = self.run.store.folder, self.run.surveyed.evidence
        self.plots = drawn.draw(folder, self._findings(), self.settings.declared, evidence)
        known = (folder, Path(self.config.option.allure_report_dir), self.verdict)
        run = ReportedRun(*known, int(1000 * time.time()), self.plots)
        written.allure_results(self.config, self.settings.platform, run, self._lines)
        with self.ending.step("tonight could not be compared with earlier nights"):
            self._nights = tonight.since_last_night(self.run.store.folder)
        ended = pytest.ExitCode.OK if self._stopped_itself() else session.exitstatus
        session.exitstatus = self.ending.settle(self.verdict.exit_code, ended)

    def _confirm(self, session: pytest.Session) -> None:
        """Measure suspects again, unless somebody ended the run before its last item.

        With ``--confirm`` these are all suspects, else those that the plan cannot tell apart.
        """
        asked = self._suspects(session)
        before: tuple[Remeasurement, ...] = ()
        while asked and self._measured_again(session, asked) and self._may_ask(session):
            # What these found may leave a smaller question, such as which NIC of a node.
            before = (*before, *asked)
            asked = confirming.lacking_partners(self._findings(), self._printer(), before)

    def _read_closing(self, session: pytest.Session) -> None:
        """Read counters and kernels' logs, unless somebody ended the run."""
        if not self.run.found or (self._is_interrupted and not self._stopped_itself()):
            return
        try:
            closing.read(self.settings, self.run, self._findings)
        except KeyboardInterrupt:
            self._printer()("counters and kernels' logs were not read: interrupted")
            self._note_interrupt(session)

    def _note_interrupt(self, session: pytest.Session) -> None:
        self._is_interrupted, session.exitstatus = True, pytest.ExitCode.INTERRUPTED

    def _soak(self, session: pytest.Session) -> None:
        """Measure the rounds of a soak, unless somebody ended the run before its last item."""
        may = self._may_ask(session) and not self._stopped_itself()
        about = (self.settings, self.run, self._findings, self._printer())
        if not soaking.soaked(*about, may_begin=may):
            self._note_interrupt(session)

    def _measured_again(self, session: pytest.Session, asked: Sequence[Remeasurement]) -> bool:
        """Whether all these measurements were made; an interrupt ends them."""
        assessor = Assessor(self.settings.platform, self.run.found, self.run.measure_again)
        if asked and not confirming.ask_again(asked, self.run.store, assessor, self._printer()):
            self._note_interrupt(session)
            return False
        return True

    def _suspects(self, session: pytest.Session) -> Sequence[Remeasurement]:
        """What to measure again; a replay uses the recorded list, as it has no other answers."""
        if self.run.recorded:
            return self.run.recorded.asked()
        if not self._may_ask(session):
            return ()
        if self.settings.confirm:
            return confirming.suspects(self._findings(), self._printer())
        return confirming.lacking_partners(self._findings(), self._printer())

    def _may_ask(self, session: pytest.Session) -> bool:
        """Whether the run has run all items on live nodes, or only corruption has stopped it."""
        if self.run.recorded or self._is_interrupted:
            return False
        is_stopped = session.shouldfail or session.shouldstop or session.exitstatus not in _ENDED
        return self._stopped_itself() or not is_stopped

    def _printer(self) -> Callable[[str], None]:
        """Return a function that prints a line."""
        return lambda line: tell(self.config, line, yellow=False)

    def _write_junit(self, verdict: RunVerdict) -> None:
        took_s = time.monotonic() - self._began_s
        about = (self._began, took_s, platform.node(), self.run.surveyed.evidence)
        told = (verdict.excluded, verdict.deviations, verdict.measured_again, verdict.scope)
        session = junit.SessionInfo(*about, *told)
        written.junit_files(self._junit_files, self._lines, session, self.ending)

    def _stopped_itself(self) -> bool:
        """Whether data corruption stopped the run; xdist reports this as an interrupt."""
        return is_corrupt(self.records.values())

    def _end(self) -> str:
        """When the run has ended; that of the recorded run in a replay, which measures nothing."""
        recorded = self.run.recorded
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        return recorded.plan().ended if recorded else now

    def _start_of_run(self) -> str:
        """When the run began; when the recorded run did in a replay."""
        recorded = self.run.recorded
        return recorded.plan().began if recorded else self._began.isoformat(timespec="seconds")

    def _findings(self) -> RunResults:
        """The findings so far, read from the run's folder as ``railgauge verify`` does."""
        kept, platform = FolderContents(self.run.store.folder), self.settings.platform
        cluster = kept.cluster() if CLUSTER in kept else self.settings.declared
        known = (platform, cluster, kept.reboots(), kept.confirmed(platform))
        read = (kept.starts, kept.kept, kept.marks())
        accepted = self.settings.deviations
        found = RunResults(self.records, self.run.found, *known, *read, deviations=accepted)
        earlier = recording.earlier(self.config).runs
        twice = printed_twice(kept, platform)
        return replace(found, soak=self._soaked, earlier=earlier, repeated=twice)

    @PROGRESS_OF_PROCESS.during("items that did not run, and closing items")
    def _tell_absent(self, measuring: LadderRun) -> None:
        """Add a record for each item that did not run, and the closing items."""
        never = demanded.never_came(self.run, measuring.ladder, self.records)
        absent = list(map(recording.earlier(self.config), never))
        self._keep(absent)
        recording.keep_judgements_alone(absent, self.run.store)
        unasked = list(decision.not_run(self._run_plan(), self._findings()))
        self._keep(unasked)
        self.planned += [item.id for item in unasked]
        self._soaked = FolderContents(self.run.store.folder).soaked(self._findings())
        last = list(decision.closed(self._run_plan(), self._findings()))
        self._keep(last)
        self.planned += [item.id for item in last if item.id not in self.planned]
        recording.keep_judgements(last, self.run.store)
        demanded.report(self.config, [*absent, *unasked, *last], self.run.surveyed.evidence)

    def _keep(self, absent: Iterable[record.ItemRecord]) -> None:
        for item in absent:
            self.records[item.id] = item
            self.run.store.append(record.FILE, record.line(item.to_json()))

    def _run_plan(self) -> RunPlan:
        """Write and return the plan of the run; items that did not run are added at the end."""
        about = (self.planned, self._start_of_run(), self._ended)
        return written.run_plan(self.settings, self.run, *about)

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        from railgauge.report import html  # noqa: PLC0415

        if self.verdict:
            columns = self.config.pluginmanager.getplugin("railgauge-html")
            folder, plan = self.run.store.folder, self._run_plan()
            run = certified.unsealed(folder, self.verdict, plan, self._findings())
            about = (run, self.settings, self.run.store, self.plots, columns)
            prefix.append(html.content(*about, lines=self._lines, nights=self._nights))
            write_whole(folder / html.STYLE, html.style())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Print what is behind the verdict below what other plugins print."""
        yield
        if self.verdict:
            terminal.summary(terminalreporter, self.verdict, self.records, self._nights)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        step = self.ending.step
        with step("the lab could not be stopped"):
            self._start.close_lab()
        with step("manifest.json could not be written"):
            shutil.rmtree(self.run.store.folder / "leases", ignore_errors=True)
            self._write_manifest()

    def _write_manifest(self) -> None:
        resumed = self.settings.resumed
        try:
            self.run.store.write_manifest({"resumes": resumed.name} if resumed else {})
        except OSError as error:
            self._exhaustion.report(error)
            self._exhaustion.discard_verdict()
            self.ending.without_verdict()
