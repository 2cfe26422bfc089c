"""Writes the reports of a run that are made from its records and not by plugins of pytest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from railgauge.config.thresholds import Platform
from railgauge.plugin.ending import Ending
from railgauge.report import junit
from railgauge.report.allure import results, surroundings
from railgauge.report.lines import ReportLines
from railgauge.run.store import write_whole


def junit_files(
    paths: Sequence[Path], lines: ReportLines, session: junit.SessionInfo, ending: Ending
) -> None:
    """Write JUnit's XML to each path; only that in the run's folder must succeed."""
    text = junit.document(lines, session)
    first, *others = paths
    write_whole(first, text)
    for path in others:
        with ending.step(f"{path} could not be written"):
            write_whole(path, text)


def allure_results(
    config: pytest.Config, platform: Platform, run: results.ReportedRun, lines: ReportLines
) -> None:
    """Write Allure's results, unless its plugin is switched off, and what surrounds them."""
    surroundings.write(run.results, run.verdict, platform, run.plots)
    surroundings.write_config(run.folder / "allurerc.json", run.verdict)
    if config.pluginmanager.hasplugin("allure_pytest"):
        results.write(run, lines)
