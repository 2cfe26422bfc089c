"""Writes the plan of a run, and the reports that are made from its records alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from railgauge import __version__
from railgauge.acceptance.ending import Ending
from railgauge.config.thresholds import Platform
from railgauge.core.codec import to_plain
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.report import junit
from railgauge.report.allure import results, surroundings
from railgauge.report.lines import ReportLines
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.run.store import write_whole
from railgauge.verdict import decision
from railgauge.verdict.decision import RunPlan


@PROGRESS_OF_PROCESS.during("junit.xml")
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


def run_plan(
    settings: RunSettings, run: RunServices, planned: Sequence[str], began: str, ended: str
) -> RunPlan:
    """Write and return the plan of a run; ``planned`` are the ids of its items."""
    plan = RunPlan(
        schema_version=decision.SCHEMA_VERSION,
        run_id=run.store.folder.name,
        evidence=run.surveyed.evidence,
        level=settings.level.name,
        rounds=settings.rounds,
        planned=tuple(planned),
        software=__version__,
        tests=settings.tests,
        directions=settings.level.directions,
        sampled=bool(settings.level.sample),
        ended=ended,
        soak=settings.soak,
        began=began,
        operator=settings.operator,
        part=settings.measures,
        no_gates=settings.no_gates,
    )
    run.store.write_json(decision.FILE, to_plain(plan))
    return plan


@PROGRESS_OF_PROCESS.during("Allure results")
def allure_results(
    platform: Platform, run: results.ReportedRun, lines: ReportLines, *, is_wanted: bool
) -> None:
    """Write Allure's results, unless its plugin is switched off, and what surrounds them."""
    surroundings.write(run.results, run.verdict, platform, run.plots)
    surroundings.write_config(run.folder / "allurerc.json", run.verdict)
    if is_wanted:
        results.write(run, lines)
