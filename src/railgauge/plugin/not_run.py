"""Reports the items that no test ran, to the record and the terminal, before the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from railgauge.core.model import Outcome
from railgauge.judging.record import ItemRecord
from railgauge.planning.required import LevelScope, count
from railgauge.plugin import recording
from railgauge.plugin.reporters import tell
from railgauge.run import judgement_lines
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings


def warn(config: pytest.Config, settings: RunSettings, collected: int) -> None:
    """Warn at the start that the run cannot be accepted, if it collected too few items."""
    wanted = count(LevelScope(settings.platform, settings.declared, settings.level))
    if collected < wanted:
        few = f"requires {wanted:,} items, {collected:,} were collected"
        rest = "the rest will not run, and the run is incomplete"
        tell(config, f"level {settings.level.name} {few}: {rest}")


def report_judged(config: pytest.Config, run: RunServices, items: Iterable[ItemRecord]) -> None:
    """Report items that were judged by their evidence alone, because their tests did not run."""
    for item in items:
        judgement_lines.keep_all([item], run.store)
        config.hook.pytest_runtest_logreport(report=_judged(item, run))


def _judged(item: ItemRecord, run: RunServices) -> pytest.TestReport:
    report = _report(item, run.surveyed.evidence)
    report.outcome = recording.reported(item.outcome)
    report.longrepr = None if report.passed else item.reason
    report.railgauge = recording.masked(item.to_json(), run.store)  # type: ignore[attr-defined]
    return report


def report(config: pytest.Config, items: Sequence[ItemRecord], evidence: str) -> None:
    """Make the terminal count the items that did not run; all other reports read the records."""
    absent = [item for item in items if item.outcome is Outcome.NOT_RUN]
    if absent and (out := config.pluginmanager.getplugin("terminalreporter")):
        out.stats.setdefault("not run", []).extend(_report(item, evidence) for item in absent)


def _report(item: ItemRecord, evidence: str) -> pytest.TestReport:
    path = item.id.partition("::")[0]
    report = pytest.TestReport(
        nodeid=item.id,
        location=(path, None, item.id),
        keywords={},
        outcome="skipped",
        longrepr=(path, 0, f"not run: {item.reason}"),
        when="teardown",
        user_properties=[("outcome", str(item.outcome)), ("evidence", str(evidence))],
    )
    report.railgauge = item.to_json()  # type: ignore[attr-defined]
    return report
