"""Renders ``report.html`` from the records of a finished run, or from many times as many.

    python render_page.py RUN_FOLDER OUT.html [ITEMS]

pytest-html gets the reports of the records instead of tests that run; no node is needed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from railgauge.core.model import Outcome
from railgauge.judging.record import ItemRecord
from railgauge.report import html
from railgauge.report.certificate.certified import CertifiedRun
from railgauge.report.lines import of_items
from railgauge.report.plots import plots
from railgauge.run.run_folder import RunFolder
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store
from railgauge.verdict import decision

_PHASES = {
    Outcome.FAILED: ("call", "failed"),
    Outcome.ERROR: ("setup", "failed"),
    Outcome.BLOCKED: ("setup", "skipped"),
    Outcome.RECORD_ONLY: ("call", "skipped"),
}


class Replacement:
    """A plugin that reports records instead of pytest's own loop."""

    def __init__(self, folder: Path, items: int | None) -> None:
        held = RunFolder(folder)
        self.run, self.platform, self.cluster = held.plan(), held.platform(), held.cluster()
        found, self.found = held.records(), held.found
        self.records = dict(many(found, items)) if items else found
        self.store = Store(folder)
        level = self.run.level_of(self.platform, self.cluster)
        self.settings = RunSettings(self.cluster, self.platform, level)
        self.columns = html.Columns(lambda: self.run.evidence)
        planned = replace(self.run, planned=tuple(self.records))
        self.results = held.results(self.records, self.platform)
        self.verdict = decision.decide(planned, self.results)

    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.register(self.columns, "columns")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for record in self.records.values():
            for report in reports(record):
                session.config.hook.pytest_runtest_logreport(report=report)
        return True

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        drawn = plots(self.records.values(), self.platform, self.cluster, self.run.evidence)
        run = CertifiedRun(
            self.verdict, self.run, self.records, self.platform, self.cluster, self.found, (), ()
        )
        shown = (run, self.settings, self.store, drawn, self.columns)
        prefix.append(html.content(*shown, lines=of_items(run.records)))


def many(records: dict[str, ItemRecord], items: int) -> Iterator[tuple[str, ItemRecord]]:
    """This many records, each with a unique id."""
    for number, record in enumerate(islice(cycle(records.values()), items)):
        again = replace(record, id=record.id.replace("[", f"[{number}-"))
        yield again.id, again


def reports(record: ItemRecord) -> Iterator[pytest.TestReport]:
    went, outcome = _PHASES.get(record.outcome, ("call", "passed"))
    for when in ("setup", "call", "teardown"):
        wrong = when == went and outcome != "passed"
        printed: Any = record.reason if wrong else None
        if wrong and outcome == "skipped":
            printed = ("", 0, record.reason)
        report = pytest.TestReport(
            record.id, ("", 0, ""), {}, outcome if wrong else "passed", printed, when, duration=0.01
        )
        report.railgauge = record.to_json()  # type: ignore[attr-defined]
        if when != "call" or went != "setup":
            yield report


def render(folder: Path, out: Path, items: int | None = None) -> Replacement:
    """Write the page and return the records that it was made from."""
    return render_of(Replacement(folder, items), out)


def render_of(plugin: Replacement, out: Path, *others: object) -> Replacement:
    """Write the page of these records beside other plugins, and return them."""
    with tempfile.TemporaryDirectory() as empty:
        options = ["-p", "no:terminal", "-p", "no:cacheprovider"]
        Path(empty, "pytest.ini").write_text("[pytest]\nrender_collapsed = all\n")
        options += [f"--html={out}", "--self-contained-html", f"--rootdir={empty}", empty]
        pytest.main(options, plugins=[plugin, *others])
    return plugin


if __name__ == "__main__":
    render(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
