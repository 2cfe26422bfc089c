"""The hooks of the controller: they call the steps of a run during pytest's session."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from railgauge.acceptance.ending import Ending
from railgauge.acceptance.opening import tell_worker
from railgauge.acceptance.run import AcceptanceRun
from railgauge.acceptance.start import RunStart
from railgauge.bundle import certified
from railgauge.core.errors import BadInput, RailgaugeError
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.judging import record
from railgauge.plugin import asked_items, complaints, foreign, not_run, recording
from railgauge.plugin.reporters import tell
from railgauge.report import terminal
from railgauge.run import storage
from railgauge.run.ladder import Items
from railgauge.run.ladder_run import LadderRun
from railgauge.run.progress.state import HowFar
from railgauge.run.store import Store, write_whole

# A session with one of these exit codes has run all of its items.
_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


class Controller:
    """Plugin of the process that the user started: the only one that reports."""

    def __init__(
        self,
        config: pytest.Config,
        acceptance: AcceptanceRun,
        ending: Ending,
        start: RunStart,
        *,
        junit_files: Sequence[Path],
    ) -> None:
        """``junit_files`` are all paths to which JUnit's XML is written."""
        self.config, self.acceptance, self.ending = config, acceptance, ending
        self._start = start
        self._junit_files = junit_files
        self._is_interrupted = False
        self._measuring: LadderRun | None = None
        self._exhaustion = storage.ResourceExhaustion(self._store.folder)

    @property
    def _store(self) -> Store:
        return self.acceptance.services.store

    # --- before the first test ---

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        tell_worker(self.acceptance.settings, self._store.folder, node.workerinput)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self._prepare(asked_items.of(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        path = self.acceptance.settings.platform.path
        complaints.exit_on_complaints_of_a_worker(self._store, path)
        if ids and not self.acceptance.planned:
            self._prepare(asked_items.read(self._store, ids))
            self._begin_to_measure()

    def _prepare(self, items: Items) -> None:
        """Make the cluster ready; a refused run has no plan and so no verdict."""
        self._measuring = LadderRun(self.acceptance.settings, self.acceptance.services, items)
        try:
            self._make_ready(self._measuring)
        except pytest.UsageError:
            self.acceptance.planned = []
            raise

    def _make_ready(self, measuring: LadderRun) -> None:
        """Reach the cluster, lease every node and survey it."""
        run = self.acceptance
        run.planned = ids = list(measuring.ladder.ids())
        with _refusing(RailgaugeError):
            cluster = self._start.reach(ids)
        run.plan()
        not_run.warn(self.config, run.settings, len(ids))
        with _refusing(BadInput):
            self._start.survey(cluster)
        evidence, expected = run.services.surveyed.evidence, run.settings.evidence_of(())
        terminal.played(self.config, evidence, expected)
        run.plan()  # again, because the kind of evidence is known only now

    def _begin_to_measure(self) -> None:
        if self._measuring:
            most_wrong = self.config.getvalue("maxfail") or 0
            self._measuring.begin(self._start.keep_leases, most_wrong)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Measure while pytest runs its items; with ``-n`` begin when a worker has collected."""
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
                self.acceptance.keep(each, record.from_json(each))
            recording.shorten(report)

    # --- after the last test ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: object, excinfo: pytest.ExceptionInfo[Any]) -> None:
        """End the session with one line if this machine has run out of a resource.

        The text of an error in a worker counts too.
        """
        if line := self._exhaustion.of_text(str(excrepr)):
            pytest.exit(line, pytest.ExitCode.INTERNAL_ERROR)
        self.ending.add_error(foreign.error_line(excinfo, self._store.folder.name))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note an interrupt; for other stops pytest and xdist raise exceptions of their own."""
        self._is_interrupted = excinfo.type in (KeyboardInterrupt, pytest.exit.Exception)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Reach the verdict before the reporters write; an exhausted machine reaches none."""
        result: object = None
        with self._withdrawing_if_exhausted(session):
            self._finish(session)
        with self._withdrawing_if_exhausted(session), PROGRESS_OF_PROCESS.during("report.html"):
            result = yield
        self._exhaustion.discard_verdict()
        out = self.config.pluginmanager.getplugin("terminalreporter")
        if self.acceptance.verdict and out is not None:
            terminal.last_word(out, self.acceptance.verdict, self._store.folder)
        return result

    @contextmanager
    def _withdrawing_if_exhausted(self, session: pytest.Session) -> Iterator[None]:
        """Withdraw the verdict if this machine ran out of a resource, in the block or before."""
        with self._exhaustion.reported():
            yield
        if self._exhaustion.exhausted:
            self._start.abandon_leases()
        if self._exhaustion.happened:
            self.acceptance.verdict = None
            self.ending.without_verdict()
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def _finish(self, session: pytest.Session) -> None:
        measuring, run = self._measuring, self.acceptance
        if measuring and (error := measuring.error()):
            self.ending.wrong("the measurements were ended", error)
        run.planned = [] if self._exhaustion.happened else run.planned
        if run.planned and measuring:
            self._measure_more(session, measuring)
        self._start.undo_preparations()
        run.services.hurry()
        if not (run.planned and measuring):
            return
        absent = run.complete(measuring.ladder)
        not_run.report(self.config, absent, run.services.surveyed.evidence)
        self._report(session)

    def _measure_more(self, session: pytest.Session, measuring: LadderRun) -> None:
        """Judge what no item judged, measure suspects and the soak, and read the last evidence."""
        run = self.acceptance
        if run.is_corrupt or not self._is_interrupted:
            absent = {item for item in run.planned if item not in run.records}
            not_run.report_judged(self.config, run.services, measuring.judged(absent))
        if not run.confirm(self._print, may_ask=self._may_ask(session)):
            self._note_interrupt(session)
        may_begin = self._may_ask(session) and not run.is_corrupt
        if not run.soak(self._print, may_begin=may_begin):
            self._note_interrupt(session)
        # Not after an interrupt by a person; xdist reports the stop at corruption as one too.
        if run.services.found and (run.is_corrupt or not self._is_interrupted):
            try:
                run.read_at_end()
            except KeyboardInterrupt:
                self._print("counters and kernels' logs were not read: interrupted")
                self._note_interrupt(session)

    def _report(self, session: pytest.Session) -> None:
        """Reach the verdict, and write all reports but those of pytest's own plugins."""
        results = Path(self.config.option.allure_report_dir)
        with_allure = self.config.pluginmanager.hasplugin("allure_pytest")
        self.acceptance.report(self.ending, self._junit_files, results, allure=with_allure)
        assert self.acceptance.verdict
        ended = pytest.ExitCode.OK if self.acceptance.is_corrupt else session.exitstatus
        session.exitstatus = self.ending.settle(self.acceptance.verdict.exit_code, ended)

    def _note_interrupt(self, session: pytest.Session) -> None:
        self._is_interrupted, session.exitstatus = True, pytest.ExitCode.INTERRUPTED

    def _may_ask(self, session: pytest.Session) -> bool:
        """Whether the run has run all items on live nodes, or only corruption has stopped it."""
        if self.acceptance.services.recorded or self._is_interrupted:
            return False
        is_stopped = session.shouldfail or session.shouldstop or session.exitstatus not in _ENDED
        return self.acceptance.is_corrupt or not is_stopped

    def _print(self, line: str) -> None:
        tell(self.config, line, yellow=False)

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        from railgauge.report import html  # noqa: PLC0415

        run, folder = self.acceptance, self._store.folder
        if run.verdict:
            columns = self.config.pluginmanager.getplugin("railgauge-html")
            shown = certified.unsealed(folder, run.verdict, run.plan(), run.results())
            about = (shown, run.settings, self._store, run.plots, columns)
            prefix.append(html.content(*about, lines=run.lines, nights=run.nights))
            write_whole(folder / html.STYLE, html.style())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Print the reasons for the verdict, below the output of other plugins."""
        yield
        run = self.acceptance
        if run.verdict:
            terminal.summary(terminalreporter, run.verdict, run.records, run.nights)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        step = self.ending.step
        with step("the lab could not be stopped"):
            self._start.close_lab()
        with step("manifest.json could not be written"):
            shutil.rmtree(self._store.folder / "leases", ignore_errors=True)
            self._write_manifest()

    def _write_manifest(self) -> None:
        resumed = self.acceptance.settings.resumed
        try:
            self._store.write_manifest({"resumes": resumed.name} if resumed else {})
        except OSError as error:
            self._exhaustion.report(error)
            self._exhaustion.discard_verdict()
            self.ending.without_verdict()


@contextmanager
def _refusing(error: type[RailgaugeError]) -> Iterator[None]:
    """End the session with one line and pytest's usage error for such an error of the block."""
    try:
        yield
    except error as why:
        raise pytest.UsageError(f"railgauge: {why}") from None
