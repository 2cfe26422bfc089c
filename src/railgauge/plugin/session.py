"""The course of a session as its controller sees it: survey, record, verdict, folder of the run."""

from __future__ import annotations

import dataclasses
import platform
import shutil
from collections.abc import Generator, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from railgauge import __version__
from railgauge.config.hostfile import cluster_to_json
from railgauge.core.errors import NoEvidence, RailgaugeError
from railgauge.core.model import Cluster, Command, Outcome, Transcript
from railgauge.core.plain import to_plain
from railgauge.core.redaction import mask_environment, mask_named
from railgauge.diagnosis import RunResults
from railgauge.facts import NodeAnswer
from railgauge.judging import record
from railgauge.judging.judge import CORRUPTION
from railgauge.planning.plan import platform_stack
from railgauge.plugin import (
    confirming,
    demanded,
    distinct,
    holding,
    opening,
    options,
    reboots,
    replay,
    resuming,
)
from railgauge.plugin.context import Context
from railgauge.plugin.storage import Trouble
from railgauge.report import allure, junit, terminal
from railgauge.report.plots import Plot, plots
from railgauge.run.prepare import Preparer
from railgauge.run.store import write_whole
from railgauge.run.survey import FILE as SURVEY
from railgauge.run.survey import found_to_json, survey
from railgauge.verdict import decision
from railgauge.verdict.counts import RunVerdict
from railgauge.verdict.decision import RunPlan

_COMPLAINTS = "complaints.json"


def refuse_complaints(context: Context, items: list[pytest.Item]) -> None:
    """Stop before a node is touched if a test has nothing that it can be judged by.

    No item is left, for pytest goes on to the end of the collection, where nodes are touched. A
    usage error in a worker would read as an internal error: there the list is left for the
    controller.
    """
    if not context.complaints:
        return
    items.clear()
    if context.is_worker:
        context.store.write_json(_COMPLAINTS, context.complaints)
    else:
        raise pytest.UsageError(_complaint_text(context, context.complaints))


def _complaint_text(context: Context, complaints: Sequence[str]) -> str:
    head = f"railgauge: {context.platform.path} does not cover these tests:"
    return "\n  ".join([head, *complaints])


class Controller:
    """Plugin of the process that the user started: the only one that reports."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.planned: list[str] = []
        self.records: dict[str, record.ItemRecord] = {}
        self.verdict: RunVerdict | None = None
        self.plots: list[Plot] = []
        self._began = datetime.now().astimezone()
        self._lab: Any = None
        self._lab_folder: TemporaryDirectory[str] | None = None
        self._preparer: Preparer | None = None
        self._disk = Trouble(context.folder) if context.folder else None

    # --- before the first test ---

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["railgauge_folder"] = str(self.context.folder)
        resuming.tell_worker(self.context, node.workerinput)
        if self.context.recording:
            node.workerinput[replay.WORKER_INPUT] = str(self.context.recording.folder)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if self.context.folder is not None and session.items:
            self._prepare([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        folder = self.context.folder
        if folder is not None and (folder / _COMPLAINTS).exists():
            complaints = self.context.store.read_json(_COMPLAINTS)
            pytest.exit(_complaint_text(self.context, complaints), pytest.ExitCode.USAGE_ERROR)
        if ids and not self.planned:
            self._prepare(list(ids))

    def _prepare(self, ids: list[str]) -> None:
        """Make the cluster ready; a run that is refused has planned nothing, and has no verdict."""
        try:
            self._make_ready(ids)
        except pytest.exit.Exception as end:
            if end.returncode == pytest.ExitCode.USAGE_ERROR:
                self.planned = []
            raise

    def _make_ready(self, ids: list[str]) -> None:
        """Start the lab if there is one, hold every node, survey it once."""
        self.planned = ids
        context = self.context
        try:
            resuming.check_items(context, ids)
            cluster = self._live_cluster()
        except RailgaugeError as error:
            pytest.exit(f"railgauge: {error}", pytest.ExitCode.USAGE_ERROR)
        self._run_plan()
        demanded.warn(context, len(ids))
        context.store.write_json("cluster.json", _without_secrets(cluster))
        self._keep_hostfile()
        write_whole(context.store.folder / "thresholds.json", context.platform.text)
        for name in (record.MEASUREMENTS, record.FILE):  # there even if nothing is measured
            (context.store.folder / name).touch()
        holding.take(context)  # before anything else is done on a node
        self._apply_preparations(cluster)
        found = self._surveyed(cluster)
        self._write_environment(found)
        distinct.check(context, found)
        terminal.played(context)
        self._run_plan()  # again: only now is it known what the evidence is

    def _surveyed(self, cluster: Cluster) -> dict[str, NodeAnswer]:
        """What is true of every node now; in a replay, what was."""
        context = self.context
        if context.recording:
            return context.recording.contents.found
        progress = terminal.Progress(context.config, len(cluster.nodes))
        return survey(cluster, context.sessions, platform_stack(context.platform), progress)

    def _keep_hostfile(self) -> None:
        """The hostfile as it was, but for the values of secret variables."""
        source = Path(self.context.declared.source)
        text = mask_named(source.read_text(encoding="utf-8"), self.context.declared.environment)
        write_whole(self.context.store.folder / f"hostfile{source.suffix or '.txt'}", text)

    def _apply_preparations(self, cluster: Cluster) -> None:
        """The only changes that are made on nodes, and only if asked for."""
        context = self.context
        if not context.config.getoption("--prepare"):
            return

        def run(command: Command) -> Transcript:
            return context.sessions[command.node].run(command)

        self._preparer = Preparer(run, context.store, cluster.rootfs)
        try:
            nodes = [node.name for node in cluster.nodes]
            self._preparer.apply(nodes, context.platform.preparations)
        except NoEvidence as error:
            self._undo_preparations()
            pytest.exit(f"railgauge: --prepare: {error}", pytest.ExitCode.USAGE_ERROR)
        terminal.prepared(context.config, self._preparer.changes)

    def _undo_preparations(self) -> None:
        if self._preparer is not None:
            complaints = self._preparer.undo()
            self._preparer = None  # told once; an interrupt before this leads here again
            for complaint in complaints:
                self.context.ending.trouble(f"prepare: NOT UNDONE: {complaint}")

    def _live_cluster(self) -> Cluster:
        if self.context.declared.transport != "lab" or self.context.recording:
            return opening.reached(self.context)
        from railgauge import lab  # noqa: PLC0415 - only a lab needs it

        option = self.context.config.getoption
        self._lab_folder = TemporaryDirectory(prefix="railgauge-lab-", ignore_cleanup_errors=True)
        self._lab = lab.start(
            self.context.declared,
            nodes=None,
            seed=options.lab_seed(self.context.config),
            faults=tuple(option("--lab-fault")),
            folder=Path(self._lab_folder.name, "lab"),
        )
        cluster: Cluster = self._lab.cluster
        return cluster

    def _write_environment(self, found: dict[str, NodeAnswer]) -> None:
        context = self.context
        context.store.write_json(
            SURVEY,
            {
                "schema_version": 1,
                "evidence": context.evidence_of(found),
                "cluster": context.declared.name,
                "platform": context.platform.name,
                "nodes": found_to_json(found),
            },
        )
        resuming.log_changes(context, found_to_json(found))

    # --- while tests run ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = getattr(report, "railgauge", None)
        if data and report.when == "teardown":
            line = {"schema_version": record.SCHEMA_VERSION, **data}
            self.context.store.append(record.FILE, line)
            item = record.from_json(data)
            self.records[item.id] = record.merged(self.records.get(item.id), item)

    # --- after the last test ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: object) -> None:
        """A full disk is no fault of the suite, whoever could not write."""
        if self._disk and (line := self._disk.of_text(str(excrepr))):
            pytest.exit(line, pytest.ExitCode.INTERNAL_ERROR)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """The verdict first, then every reporter; none of them if the disk is full."""
        trouble: OSError | None = None
        try:
            self._finish(session)
        except OSError as error:
            trouble = error
        try:
            result = yield
        except OSError as error:
            trouble, result = trouble or error, None
        if trouble is not None:
            self._end_without_disk(session, trouble)
        return result

    def _end_without_disk(self, session: pytest.Session, trouble: OSError) -> None:
        if self._disk is None:
            raise trouble
        self._disk.tell(trouble)
        self.verdict = None
        self.context.ending.without_verdict()
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def _finish(self, session: pytest.Session) -> None:
        begun = self.context.folder is not None and bool(self.planned)
        if begun:
            confirming.after_the_last(self.context, session, self._findings())
        self._undo_preparations()
        self.context.hurry()
        if not begun:
            return
        self._tell_absent(session)
        self.verdict = self._decide()
        self.context.store.write_json("verdict.json", self.verdict.to_json())
        self._write_junit()
        self._draw()
        allure_folder = Path(session.config.option.allure_report_dir)
        surroundings = (self.verdict, self.records, self.context.platform, self.plots)
        allure.write_surroundings(allure_folder, *surroundings)
        allure.write_config(self.context.store.folder / "allurerc.json", self.verdict)
        ends_with = pytest.ExitCode.OK if self._stopped_itself() else session.exitstatus
        session.exitstatus = self.context.ending.settle(self.verdict.exit_code, ends_with)

    def _write_junit(self) -> None:
        now = datetime.now().astimezone()
        took_s = (now - self._began).total_seconds()
        excluded = self.verdict.excluded if self.verdict else ""
        host = platform.node()
        session = junit.SessionInfo(self._began, took_s, host, self.context.evidence, excluded)
        records = [self.records[item] for item in self.planned if item in self.records]
        text = junit.document(records, session)
        first, *others = self.context.junit
        write_whole(first, text)
        for path in others:
            with self.context.ending.step(f"{path} could not be written"):
                write_whole(path, text)

    def _draw(self) -> None:
        """The plots of every rung, as files of their own; the HTML report holds them too."""
        context = self.context
        self.plots = plots(
            self.records.values(), context.platform, context.declared, context.evidence
        )
        for plot in self.plots:
            write_whole(context.store.folder / "plots" / f"{plot.name}.svg", plot.svg)

    def _stopped_itself(self) -> bool:
        """Data corruption stops the run, which xdist takes for an interrupt; it is a verdict."""
        judgements = (j for r in self.records.values() for j in r.judgements)
        return any(j.metric == CORRUPTION and j.outcome is Outcome.FAILED for j in judgements)

    def _decide(self) -> RunVerdict:
        return decision.decide(self._run_plan(), self._findings())

    def _findings(self) -> RunResults:
        context = self.context
        found = context.found if context.is_surveyed else {}
        known = (context.platform, context.declared, reboots.noticed(context))
        return RunResults(self.records, found, *known, confirming.results(context))

    def _tell_absent(self, session: pytest.Session) -> None:
        """What did not run becomes a record like any other."""
        context = self.context
        absent = demanded.never_came(context, session, self.planned, self.records)
        self._keep(absent)
        unasked = list(decision.not_run(self._run_plan(), self._findings()))
        self._keep(unasked)
        self.planned += [item.id for item in unasked]
        demanded.tell(context, [*absent, *unasked])

    def _keep(self, absent: Iterable[record.ItemRecord]) -> None:
        for item in absent:
            self.records[item.id] = item
            line = {"schema_version": record.SCHEMA_VERSION, **item.to_json()}
            self.context.store.append(record.FILE, line)

    def _run_plan(self) -> RunPlan:
        """What this run set out to do; what it left out joins it at its end."""
        context = self.context
        run = RunPlan(
            schema_version=decision.SCHEMA_VERSION,
            run_id=context.store.folder.name,
            evidence=context.evidence,
            level=context.level.name,
            rounds=context.rounds,
            planned=tuple(self.planned),
            software=__version__,
            tests=context.tests,
        )
        context.store.write_json(decision.FILE, to_plain(run))
        return run

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str], postfix: list[str]) -> None:
        from railgauge.report import html  # noqa: PLC0415

        if self.verdict:
            columns = self.context.config.pluginmanager.getplugin("railgauge-html")
            prefix.append(html.above(self.verdict, self.records, self.context, self.plots))
            postfix.append(html.below(self.verdict, columns))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Last of all: the verdict is what stays on the screen."""
        yield
        if self.verdict:
            terminal.summary(
                terminalreporter, self.verdict, self.records, self.context.store.folder
            )

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        step = self.context.ending.step
        with step("the lab could not be ended"):
            if self._lab is not None:
                self._lab.close()
            if self._lab_folder is not None:
                self._lab_folder.cleanup()
        with step("manifest.json could not be written"):
            if self.context.folder is not None:
                shutil.rmtree(self.context.folder / "leases", ignore_errors=True)
                self._write_manifest()

    def _write_manifest(self) -> None:
        try:
            self.context.store.write_manifest(resuming.named(self.context))
        except OSError as error:
            if self._disk is None:
                raise
            self._disk.tell(error)
            self.context.ending.without_verdict()


def _without_secrets(cluster: Cluster) -> dict[str, Any]:
    return cluster_to_json(
        dataclasses.replace(cluster, environment=mask_environment(cluster.environment))
    )
