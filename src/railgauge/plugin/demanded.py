"""Reports the items that no test ran, to the record and every reporter, before the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pytest

from railgauge.core.model import Outcome
from railgauge.judging.record import ItemRecord
from railgauge.planning.demand import DemandInputs, count
from railgauge.plugin import worksheet
from railgauge.plugin.reporters import tell
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.verdict.unanswered import never_ran


def warn(config: pytest.Config, settings: RunSettings, collected: int) -> None:
    """Warn at the start that the run cannot be accepted, if it collected too few items."""
    wanted = count(DemandInputs(settings.platform, settings.declared, settings.level))
    if collected < wanted:
        line = f"level {settings.level.name} demands {wanted:,} items, {collected:,} were collected"
        tell(config, f"{line}: the rest will not run, and the run is incomplete")


def never_came(
    run: RunServices,
    session: pytest.Session,
    planned: Sequence[str],
    records: Mapping[str, ItemRecord],
) -> list[ItemRecord]:
    """The records of collected items that did not run, after ``-x``, an interrupt or a stop."""
    if all(item in records for item in planned):
        return []
    sheet = worksheet.of(session.items) if session.items else worksheet.read(run.store)
    why = run.gates.stopped
    return [never_ran(item, why) for item in sheet.records(planned) if item.id not in records]


def report(config: pytest.Config, items: Sequence[ItemRecord], evidence: str) -> None:
    """Report the items to every reporter except the progress line, like items that ended."""
    manager = config.pluginmanager
    absent = [item for item in items if item.outcome is Outcome.NOT_RUN]
    if absent and (out := manager.getplugin("terminalreporter")):
        out.stats.setdefault("not run", []).extend(_report(item, evidence) for item in absent)
    for plugin in _readers(manager):
        for one in (one for item in items for one in _reports(item, evidence)):
            plugin.pytest_runtest_logreport(report=one)


def _reports(item: ItemRecord, evidence: str) -> Iterator[pytest.TestReport]:
    """The reports of an item's phases; one that did not run has only the last."""
    if item.outcome is not Outcome.NOT_RUN:
        yield _report(item, evidence, "call")
    yield _report(item, evidence)


def _said(item: ItemRecord, phase: _Phase) -> tuple[Literal["passed", "failed", "skipped"], Any]:
    """The outcome of a phase for pytest, and the text beside it."""
    if item.outcome is Outcome.NOT_RUN:
        return "skipped", (item.id.partition("::")[0], 0, f"not run: {item.reason}")
    if phase == "teardown" or item.outcome in (Outcome.PASSED, Outcome.MARGINAL):
        return "passed", None
    return "failed", item.reason


def _readers(manager: pytest.PytestPluginManager) -> Iterator[Any]:
    """The plugins of pytest-html, which write their report when the session ends."""
    for plugin in manager.get_plugins():
        if type(plugin).__module__.startswith("pytest_html.") and hasattr(
            plugin, "pytest_runtest_logreport"
        ):
            yield plugin


_Phase = Literal["call", "teardown"]


def _report(item: ItemRecord, evidence: str, phase: _Phase = "teardown") -> pytest.TestReport:
    """The report of a phase; pytest-html makes a row when it hears of the teardown."""
    path = item.id.partition("::")[0]
    outcome, told = _said(item, phase)
    report = pytest.TestReport(
        nodeid=item.id,
        location=(path, None, item.id),
        keywords={},
        outcome=outcome,
        longrepr=told,
        when=phase,
        user_properties=[("outcome", str(item.outcome)), ("evidence", str(evidence))],
    )
    report.railgauge = item.to_json()  # type: ignore[attr-defined]
    return report
