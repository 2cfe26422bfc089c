"""The pytest plugin: runs the ladder as a session of pytest.

This module has the hooks; the other modules of the package have the steps that they call. The
plugin does nothing in a session that collects no test of the ladder (``tests/``), such as the
project's own selftests, except that it masks secrets in the output.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from railgauge.acceptance import ending, run_id
from railgauge.acceptance.run import AcceptanceRun, MergedRun
from railgauge.acceptance.start import RunStart
from railgauge.core.errors import BadInput, Exhausted
from railgauge.core.exhaustion import bound_thread_starts, raise_if_exhausted
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.plugin import (
    asked_items,
    foreign,
    gating,
    holding,
    items,
    listing,
    masking,
    merging,
    opening,
    options,
    progress,
    recording,
    reporters,
    session,
    signals,
    sub_items,
    workers,
)
from railgauge.plugin.complaints import refuse_complaints
from railgauge.plugin.items import ABOUT, describe
from railgauge.plugin.kept_reports import KeptReports
from railgauge.plugin.opening import COMPLAINTS, ENDING, SERVICES, SETTINGS
from railgauge.plugin.recording import DRAFT, Draft
from railgauge.report import html, terminal
from railgauge.report.allure import items as allure_items
from railgauge.run.services import RunServices
from railgauge.site import installed

pytest_plugins = ["railgauge.plugin.fixtures"]


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    foreign.block_cache(pluginmanager)
    masking.mask_streams(sys.argv)  # pytest prints the arguments that it refuses
    options.add(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Open the run before the reporters configure themselves: they write into its folder."""
    for line in (*items.MARKS.values(), items.NEEDS_MARK):
        config.addinivalue_line("markers", line)
    masking.mask_streams(config.invocation_params.args)  # pytest shows these from now on
    if merging.wanted(config):
        _report_merged(config)
    elif _wants_ladder(config):
        _open(config)


def _report_merged(config: pytest.Config) -> None:
    try:
        merging.open_run(config)
    except BadInput as error:
        raise pytest.UsageError(f"railgauge: {error}") from None
    reporters.quieten(config)
    _become_controller(config, merging.MergedController, MergedRun)
    _add_columns(config)


def _open(config: pytest.Config) -> None:
    """Open the run of the ladder."""
    bound_thread_starts()
    ending.end_python_with_no_verdict_code()
    reporters.show_faults(config)
    foreign.refuse_without_parts(config)
    try:
        run_id.clear(opening.request_of(config))
        foreign.refuse(config)
        installed.refuse_unusable()
        workers.refuse_unusable(config)
        opening.open_run(config)
    except BadInput as error:
        raise pytest.UsageError(f"railgauge: {error}") from None
    except (Exception, SystemExit) as error:
        if failed := installed.failed_import(error):
            raise pytest.UsageError(f"railgauge: {installed.explained(failed)}") from None
        raise
    reporters.quieten(config)
    config.pluginmanager.register(_Messages(), "railgauge-messages")
    config.pluginmanager.register(items.LadderRows(config.stash[SETTINGS]), "railgauge-rows")
    if config.stash[SETTINGS].is_worker:
        _become_worker(config, config.stash[SERVICES])
        return
    signals.end_on_sigterm()
    if SERVICES in config.stash:
        _become_controller(config, session.Controller, AcceptanceRun)
    _add_columns(config)


def _add_columns(config: pytest.Config) -> None:
    """Add the columns of the items to the table of pytest-html."""
    settings, run = config.stash[SETTINGS], config.stash.get(SERVICES, None)
    if config.pluginmanager.hasplugin("html"):
        evidence = settings.evidence_of(())
        columns = html.Columns(lambda: run.surveyed.evidence if run else evidence)
        config.pluginmanager.register(columns, "railgauge-html")


def _become_worker(config: pytest.Config, run: RunServices) -> None:
    holding.end_with_controller(config)
    signals.leave_sigterm_to_the_controller()
    signals.hear_interrupts()
    reporters.direct_reports(config.option, run.store.folder, is_worker=True)
    config.pluginmanager.register(workers.WorkerReporting(run.store), "railgauge-worker-reporting")


def _become_controller(
    config: pytest.Config, kind: type[session.Controller], run_of: type[AcceptanceRun]
) -> None:
    settings, run = config.stash[SETTINGS], config.stash[SERVICES]
    option, folder, ending = config.option, run.store.folder, config.stash[ENDING]
    reporters.direct_reports(option, folder, is_worker=False)
    junit_files = reporters.junit_files(option, folder)
    holds = holding.HoldingHooks(config, settings, run, ending)
    request = opening.request_of(config)
    tell = partial(reporters.tell, config)
    start = RunStart(request, settings, run, ending, holds, tell=tell)
    acceptance = run_of(settings, run, lambda: recording.earlier(config))
    controller = kind(config, acceptance, ending, start, junit_files=junit_files)
    register = config.pluginmanager.register
    register(holds, "railgauge-holding")
    register(controller, "railgauge-controller")
    register(KeptReports(config), "railgauge-kept-reports")
    register(progress.ProgressHooks(config, run, controller.far), "railgauge-progress")
    register(workers.WorkerSupervisor(config, run), "railgauge-worker-supervisor")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, int, int]:
    """Wrap the session so that its exit code is the verdict's, whatever other hooks set."""
    code = ending.NO_VERDICT_CODE
    try:
        code = yield
    except pytest.UsageError:
        raise
    except BaseException as error:
        if not _has_the_last_word(config):
            raise
        config.stash[ENDING].wrong("pytest could not end the session", error)
    if config.args and not _wants_ladder(config) and ENDING not in config.stash:
        return code
    if asked := listing.asked(config):
        return code if listing.is_on_the_command_line(config) else ending.only_listed(asked, code)
    if ENDING not in config.stash:
        return ending.nothing_tested(code)
    if not _has_the_last_word(config):
        return code
    with config.stash[ENDING].step("pytest could not end the session"):
        config._ensure_unconfigure()  # pytest's own cleanup, if it was not reached
    return config.stash[ENDING].last_word(code)


def _has_the_last_word(config: pytest.Config) -> bool:
    """Whether this process is the controller of a run, and not of a mere collection."""
    return SERVICES in config.stash and not config.stash[SETTINGS].is_worker


def _wants_ladder(config: pytest.Config) -> bool:
    """Whether a test of the ladder may be collected; ``tests/`` may be a symbolic link."""
    ladder = config.rootpath / "tests"
    here = config.invocation_params.dir
    places = [Path(os.path.abspath(here / arg.split("::")[0])) for arg in config.args]  # noqa: PTH100 - keeps links
    return any(
        _overlap(place, ladder) or _overlap(place.resolve(), ladder.resolve()) for place in places
    )


def _overlap(one: Path, other: Path) -> bool:
    return one == other or one in other.parents or other in one.parents


def pytest_unconfigure(config: pytest.Config) -> None:
    if run := config.stash.get(SERVICES, None):
        step = config.stash[ENDING].step("the connections could not be closed")
        with step, suppress(Exhausted):  # it was reported, and the end of this process closes them
            run.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    settings, run = config.stash.get(SETTINGS, None), config.stash.get(SERVICES, None)
    if settings is None:
        return []
    lines = terminal.header(settings, run.store.folder if run else None)
    return [*lines, f"resume: carries on {settings.resumed}"] if settings.resumed else lines


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> Any:
    """Make no items of tests that do not apply to the platform; the report names those tests."""
    stash = collector.config.stash
    if SETTINGS not in stash or not name.startswith("test_") or not callable(obj):
        return None
    where = f"{collector.nodeid}::{name}"
    arguments = list(inspect.signature(obj).parameters)
    marks = getattr(obj, "pytestmark", [])
    wanted = items.applies(stash[SETTINGS], stash[COMPLAINTS], where, marks, arguments)
    return None if wanted else []


@pytest.hookimpl(optionalhook=True, trylast=True)
def pytest_metadata(metadata: dict[str, Any]) -> None:
    """Mask what pytest-metadata collects of the CI server, which pytest-html reports."""
    metadata.update(MASK_OF_PROCESS.environment(metadata))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> Generator[None, object, object]:
    config = session.config
    allure_items.collect(config)
    if ending := config.stash.get(ENDING, None):
        ending.begin()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    if SETTINGS not in session.config.stash:
        return (yield)
    with items.all_to_stay():
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the items by rung, lowest first, independent of folder names."""
    settings = config.stash.get(SETTINGS, None)
    if settings is None:
        return
    if complaints := config.stash[COMPLAINTS]:
        items.clear()  # or pytest would finish the collection, which reaches the nodes
        store = config.stash[SERVICES].store if settings.is_worker else None
        refuse_complaints(complaints, settings.platform.path, store)
    for item, about in describe(settings.platform, items):
        item.stash[ABOUT] = about
    items.sort(key=lambda item: item.stash[ABOUT].rung if ABOUT in item.stash else -1)
    items[:] = asked_items.by_node(items)
    for place, item in enumerate(items):
        item.stash[_PLACE] = place


_PLACE = pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Restore the order if another plugin has changed it: it must be the same in all workers."""
    session.items.sort(key=lambda item: item.stash.get(_PLACE, -1))


def pytest_report_collectionfinish(
    config: pytest.Config, items: Sequence[pytest.Item]
) -> list[str]:
    line = sub_items.collected_line(items) if SETTINGS in config.stash else ""
    return [line] if line else []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if ABOUT in item.stash:
        item.stash.setdefault(DRAFT, Draft())
    result = yield
    if ABOUT in item.stash:
        sub_items.forget(item)
    return result


def pytest_runtest_setup(item: pytest.Item) -> None:
    if _is_single(item):
        gating.pass_gate(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    if _is_single(item):
        gating.behind_gate(item)
    yield
    if _is_single(item):
        recording.require_judgement(item)


def _is_single(item: pytest.Item) -> bool:
    """Whether an item is of the ladder and has no sub-items, which pass gates themselves."""
    return ABOUT in item.stash and not sub_items.has_any(item)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not sub_items.has_any(pyfuncitem):
        return None
    sub_items.call(pyfuncitem)
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if ABOUT in item.stash and call.excinfo:
        raise_if_exhausted(call.excinfo.value)  # not the item's fault: pytest ends the session
    report = yield
    if ABOUT in item.stash:
        _observe(item, call, report)
        recording.as_recorded(report, call)
    return report


def _observe(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    if sub_items.has_any(item):
        sub_items.observe(item, call, report)
        return
    recording.observe(item, call, report, item.config.stash[SERVICES].store)


class _Messages:
    """Shortens messages before a reporter reads them, as the innermost wrapper of the hook."""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if ABOUT in item.stash:
            recording.brief(call, report)
            masking.mask_report(report)
        return report


def pytest_report_teststatus(report: pytest.TestReport) -> Any:
    outcome = recording.outcome_of(report)
    return terminal.status(outcome, report) if outcome else None
