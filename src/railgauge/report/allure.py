"""Allure: what a running item reports to it, and the files beside the results.

The calls are made inside a test of a worker; the files are written once at the end by the
controller. Nothing is decided here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import allure

from railgauge.config.thresholds.model import Platform
from railgauge.core.errors import LimitMissed
from railgauge.core.model import Judgement, Outcome, Transcript
from railgauge.core.terms import BESIDE_ROLES, Rung
from railgauge.judging.record import ItemRecord
from railgauge.report import allure_causes, allure_results
from railgauge.report.plots import Plot
from railgauge.verdict.counts import RunVerdict


def step(title: str) -> AbstractContextManager[None]:
    step: AbstractContextManager[None] = allure.step(title)
    return step


def attach(path: Path) -> None:
    """Attach a text file of the run, if it was written."""
    attach: Any = allure.attach
    if path.exists():
        attach.file(str(path), path.name, allure.attachment_type.TEXT)


def commands(runs: Sequence[Sequence[Transcript]]) -> None:
    """Attach the commands with their nodes; the suite's own are in the transcript."""
    lines = [
        f"{one.role} on {one.node}: {' '.join(one.argv)}"
        for one in (runs[0] if runs else ())
        if one.role not in BESIDE_ROLES
    ]
    if lines:
        allure.attach("\n".join(lines) + "\n", "commands.txt", allure.attachment_type.TEXT)


def announce(evidence: str, rung: Rung, subject: str) -> None:
    """Set the item's place in the report, its severity, and the kind of evidence."""
    dynamic: Any = allure.dynamic  # its functions carry no types
    dynamic.parent_suite(f"{evidence.upper()} evidence")
    dynamic.suite(f"rung {rung}: {rung.folder}")
    dynamic.sub_suite(subject)
    dynamic.tag(evidence)
    dynamic.severity(allure_results.severity(rung))


def describe(evidence: str, title: str, where: str) -> None:
    """Set the description. Call it in the call phase: allure-pytest sets its own at setup."""
    dynamic: Any = allure.dynamic
    dynamic.description(f"{title}\n\nWhere: {where}. Evidence: {evidence}.")


def judgement(judged: Judgement) -> None:
    """Add a step with Measured / Limit / Basis, and a link to the limit in its file."""
    line = f"{judged.metric}: measured {judged.measured}, limit {judged.limit}: {judged.outcome}"
    with suppress(LimitMissed), allure.step(line):
        text = json.dumps(_shown(judged), indent=1, ensure_ascii=False)
        allure.attach(text, f"{judged.metric}.json", allure.attachment_type.JSON)
        if judged.outcome is Outcome.FAILED:
            raise LimitMissed(judged.reason)  # the way to tell Allure that the step failed
    dynamic: Any = allure.dynamic
    at = f"#{judged.pointer}" if judged.pointer else ""  # counters have no limit of their own
    dynamic.link(f"../thresholds.json{at}", name=f"basis: {judged.basis}")


def _shown(judged: Judgement) -> dict[str, Any]:
    return {
        "metric": judged.metric,
        "measured": judged.measured,
        "limit": judged.limit,
        "basis": judged.basis,
        "samples": list(judged.values),
        "unit": judged.unit,
        "physical ceiling": judged.physical_ceiling,
        "ideal": judged.ideal,
        "outcome": str(judged.outcome),
    }


def write_surroundings(
    folder: Path,
    verdict: RunVerdict,
    records: Mapping[str, ItemRecord],
    platform: Platform,
    plots: Sequence[Plot],
) -> None:
    """Write environment, executor, categories and plots; set statuses and causes of the items."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "Evidence": verdict.evidence,
        "Verdict": ", ".join(filter(None, (verdict.verdict, verdict.reservation))),
        "Asserted": f"{verdict.counts.asserted} of {verdict.counts.planned}",
        "Causes": "; ".join(f"{cause.cause}, {cause.where}" for cause in verdict.causes) or "none",
        "Cluster": verdict.cluster,
        "Platform": platform.title,
        "Level": verdict.level,
        "Run": verdict.run_id,
        **({"Not tested": verdict.excluded} if verdict.excluded else {}),
        **({"Deviations": _deviations(verdict)} if verdict.deviations else {}),
        **({"Unknown": ". ".join(map(str, verdict.unknown))} if verdict.unknown else {}),
    }
    lines = [f"{key} = {value}" for key, value in facts.items()]
    (folder / "environment.properties").write_text("\n".join(lines) + "\n", encoding="utf-8")
    executor = {"name": "railgauge", "type": "railgauge"}
    executor |= {"buildName": verdict.run_id, "reportName": _title(verdict)}
    (folder / "executor.json").write_text(json.dumps(executor), encoding="utf-8")
    listed = json.dumps(_categories(verdict), indent=1)
    (folder / "categories.json").write_text(listed, encoding="utf-8")
    _attach_to_run(folder, plots)
    allure_results.settle(folder, records, verdict.causes, verdict.deviations)


def _deviations(verdict: RunVerdict) -> str:
    return ". ".join("; ".join((d.head, d.effect, d.signature)) for d in verdict.deviations)


def _title(verdict: RunVerdict) -> str:
    return f"{verdict.cluster}: {verdict.verdict} ({verdict.evidence} evidence)"


def _categories(verdict: RunVerdict) -> list[dict[str, Any]]:
    return [*allure_causes.categories(verdict.causes), *_CATEGORIES]


def _attach_to_run(folder: Path, plots: Sequence[Plot]) -> None:
    """Attach the plots to the run, not to an item: Allure 3 calls these globals."""
    attachments = []
    for plot in plots:
        source = f"{plot.name}-attachment.svg"
        (folder / source).write_text(plot.svg, encoding="utf-8")
        name = f"rung {plot.rung}, {Rung(plot.rung).folder}: {plot.title}"
        attachments.append({"name": name, "source": source, "type": "image/svg+xml"})
    if attachments:
        text = json.dumps({"attachments": attachments, "errors": []}, indent=1)
        (folder / "plots-globals.json").write_text(text, encoding="utf-8")


def write_config(path: Path, verdict: RunVerdict) -> None:
    """Write ``allurerc.json``: the report's name, its tree by rung, and its categories.

    Allure 2 reads the categories from the results, Allure 3 from this file.
    """
    options = {"reportName": _title(verdict), "groupBy": ["parentSuite", "suite", "subSuite"]}
    config = {
        "name": f"{_title(verdict)}, {verdict.run_id}",
        "plugins": {"awesome": {"options": options}},
        "categories": [{**one, "groupByMessage": False} for one in _categories(verdict)],
    }
    path.write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


_CATEGORIES = [
    {"name": "Failed: the hardware missed a limit", "matchedStatuses": ["failed"]},
    {"name": "Error: the suite could not decide", "matchedStatuses": ["broken"]},
    {
        "name": "Blocked: a lower rung failed or had an error",
        "matchedStatuses": ["skipped"],
        "messageRegex": ".*blocked by.*",
    },
    {
        "name": "Not run: the level demands it",
        "matchedStatuses": ["skipped"],
        "messageRegex": "not run.*",
    },
    {
        "name": "Record only: the limit is being calibrated",
        "matchedStatuses": ["skipped"],
        "messageRegex": ".*record only.*",
    },
]
