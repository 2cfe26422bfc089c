"""The pytest plugin: the ladder as a run of pytest.

The hooks of this module say when things happen; what happens is in its sister modules. The plugin
does nothing in a session that collects no test of the ladder (``tests/``), such as the project's
own selftests.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from railgauge.core import naming
from railgauge.core.errors import BadInput
from railgauge.plugin import (
    ending,
    holding,
    items,
    one_host,
    options,
    recording,
    reporters,
    resuming,
    session,
    signals,
    workers,
)
from railgauge.plugin.context import CONTEXT, Context, build
from railgauge.plugin.items import ABOUT, describe
from railgauge.plugin.recording import DRAFT, Draft
from railgauge.report import allure, html, terminal

pytest_plugins = ["railgauge.plugin.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Before the reporters configure themselves, because the run's folder is where they write."""
    for line in (*items.MARKS.values(), items.NEEDS_MARK):
        config.addinivalue_line("markers", line)
    if not _wants_ladder(config):
        return
    reporters.show_faults(config)
    ending.refuse_without(config)
    try:
        one_host.refuse_others(config)
        context = build(config)
    except BadInput as error:
        raise pytest.UsageError(f"railgauge: {error}") from None
    config.stash[CONTEXT] = context
    reporters.direct_reports(context)
    reporters.quieten(config)
    config.pluginmanager.register(_Messages(), "railgauge-messages")
    holding.register(context)
    if context.is_worker:
        signals.leave_sigterm_to_the_controller()
        signals.hear_interrupts()
        config.pluginmanager.register(workers.Hand(context), "railgauge-hand")
    else:
        signals.end_on_sigterm()
        config.pluginmanager.register(session.Controller(context), "railgauge-controller")
        config.pluginmanager.register(workers.Foreman(context), "railgauge-foreman")
        if config.pluginmanager.hasplugin("html"):
            config.pluginmanager.register(html.Columns(lambda: context.evidence), "railgauge-html")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, int, int]:
    """Around the whole session: its exit code is the verdict's, whichever hook set another one."""
    code = ending.TROUBLE
    try:
        code = yield
    except pytest.UsageError:
        raise
    except BaseException as error:
        if not _has_the_last_word(config):
            raise
        config.stash[CONTEXT].ending.wrong("the session could not be ended", error)
    if not _has_the_last_word(config):
        return code
    context = config.stash[CONTEXT]
    with context.ending.step("the session could not be ended"):
        config._ensure_unconfigure()  # pytest's own end, if it did not come to it
    return context.ending.last_word(code)


def _has_the_last_word(config: pytest.Config) -> bool:
    """Whether this is the controller of a run that reaches nodes."""
    context = config.stash.get(CONTEXT, None)
    return context is not None and not context.is_worker and context.folder is not None


def _wants_ladder(config: pytest.Config) -> bool:
    """Whether a test of the ladder may be collected; ``tests/`` may be a link to elsewhere."""
    ladder = config.rootpath / "tests"
    here = config.invocation_params.dir
    places = [Path(os.path.abspath(here / arg.split("::")[0])) for arg in config.args]  # noqa: PTH100 - keeps links
    return any(
        _overlap(place, ladder) or _overlap(place.resolve(), ladder.resolve()) for place in places
    )


def _overlap(one: Path, other: Path) -> bool:
    return one == other or one in other.parents or other in one.parents


def pytest_unconfigure(config: pytest.Config) -> None:
    if context := config.stash.get(CONTEXT, None):
        with context.ending.step("the connections could not be closed"):
            context.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    context = config.stash.get(CONTEXT, None)
    return [*terminal.header(context), *resuming.header(context)] if context else []


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> Any:
    """Tests that the platform does not have are not made into items; the report names them."""
    context = collector.config.stash.get(CONTEXT, None)
    if context is None or not name.startswith("test_") or not callable(obj):
        return None
    where = f"{collector.nodeid}::{name}"
    arguments = list(inspect.signature(obj).parameters)
    marks = getattr(obj, "pytestmark", [])
    return None if items.applies(context, where, marks, arguments) else []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    context = metafunc.config.stash.get(CONTEXT, None)
    if context is not None:
        items.parametrize(context, metafunc)


def pytest_sessionstart(session: pytest.Session) -> None:
    if context := session.config.stash.get(CONTEXT, None):
        context.ending.begin()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    if CONTEXT not in session.config.stash:
        return (yield)
    with items.all_to_stay():
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The ladder is climbed from the bottom, whatever the folders are called."""
    context = config.stash.get(CONTEXT, None)
    if context is None:
        return
    session.refuse_complaints(context, items)
    for item, about in describe(context, items):
        item.stash[ABOUT], item.stash[DRAFT] = about, Draft()
    items.sort(key=lambda item: item.stash[ABOUT].rung if ABOUT in item.stash else -1)


def pytest_collection_finish(session: pytest.Session) -> None:
    context = session.config.stash.get(CONTEXT, None)
    if context is not None and context.folder is not None:
        rows = [(i.nodeid, i.stash[ABOUT]) for i in session.items if ABOUT in i.stash]
        context.gates.expect((item_id, about.rung, about.gated) for item_id, about in rows)


def pytest_runtest_setup(item: pytest.Item) -> None:
    about = item.stash.get(ABOUT, None)
    if about is None:
        return
    context = item.config.stash[CONTEXT]
    allure.announce(context.evidence, about.rung, about.subject.name)
    if about.rung > 0 and not item.config.getoption("--no-gates"):
        _pass_gate(context, item)


def _pass_gate(context: Context, item: pytest.Item) -> None:
    about = item.stash[ABOUT]
    blockers = context.gates.blockers(about.rung, about.gated)
    if blockers:
        item.stash[DRAFT].blocked_by = blockers
        more = f" and {len(blockers) - 1} more" if len(blockers) > 1 else ""
        pytest.skip(f"blocked by {blockers[0]}{more}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    if about := item.stash.get(ABOUT, None):
        where = " ".join(filter(None, (naming.place(about.nodes), about.pairing)))
        allure.describe(item.config.stash[CONTEXT].evidence, about.title, where)
    yield
    if about:
        recording.require_judgement(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if ABOUT in item.stash:
        recording.observe(item, call, report)
        recording.as_recorded(report, call)
        if call.when == "teardown":
            _finished(item, report)
    return report


def _finished(item: pytest.Item, report: pytest.TestReport) -> None:
    outcome = recording.outcome_of(report)
    assert outcome is not None
    context = item.config.stash[CONTEXT]
    context.gates.finished(item.nodeid, outcome)


class _Messages:
    """Shortens messages before any reporter reads them: innermost of the report's wrappers."""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if ABOUT in item.stash:
            recording.brief(call, report)
        return report


def pytest_report_teststatus(report: pytest.TestReport) -> Any:
    outcome = recording.outcome_of(report)
    return terminal.status(outcome, report) if outcome else None
