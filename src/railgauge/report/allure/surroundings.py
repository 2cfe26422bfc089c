"""The files beside Allure's results: environment, executor, categories, plots and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from railgauge.config.thresholds.model import Platform
from railgauge.core.terms import Rung
from railgauge.report.allure import causes
from railgauge.report.allure.results import plot_source
from railgauge.report.plots.plot import Plot
from railgauge.run.store import write_whole
from railgauge.verdict.counts import RunVerdict


def write(
    folder: Path, verdict: RunVerdict, platform: Platform, plots: Sequence[Plot] = ()
) -> None:
    """Write environment, executor, categories and plots into the folder of the results."""
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
        **({"Measured again": ". ".join(again)} if (again := verdict.measured_again) else {}),
        **({"Deviations": _deviations(verdict)} if verdict.deviations else {}),
        **({"Unknown": ". ".join(map(str, verdict.unknown))} if verdict.unknown else {}),
    }
    lines = [f"{key} = {value}" for key, value in facts.items()]
    write_whole(folder / "environment.properties", "\n".join(lines) + "\n")
    executor = {"name": "railgauge", "type": "railgauge"}
    executor |= {"buildName": verdict.run_id, "reportName": _title(verdict)}
    write_whole(folder / "executor.json", json.dumps(executor))
    listed = json.dumps(_categories(verdict), indent=1)
    write_whole(folder / "categories.json", listed)
    _attach_to_run(folder, plots)


def _deviations(verdict: RunVerdict) -> str:
    return ". ".join("; ".join((d.head, d.effect, d.signature)) for d in verdict.deviations)


def _title(verdict: RunVerdict) -> str:
    scope = f", {verdict.scope}" if verdict.scope else ""
    return f"{verdict.cluster}: {verdict.verdict} ({verdict.evidence} evidence){scope}"


def _categories(verdict: RunVerdict) -> list[dict[str, Any]]:
    return [*causes.categories(verdict.causes), *_CATEGORIES]


def _attach_to_run(folder: Path, plots: Sequence[Plot]) -> None:
    """Attach the plots to the run, not to an item: Allure 3 calls these globals."""
    attachments = []
    for plot in plots:
        source = plot_source(plot)
        write_whole(folder / source, plot.svg)
        name = f"rung {plot.rung}, {Rung(plot.rung).folder}: {plot.title}"
        attachments.append({"name": name, "source": source, "type": "image/svg+xml"})
    if attachments:
        text = json.dumps({"attachments": attachments, "errors": []}, indent=1)
        write_whole(folder / "plots-globals.json", text)


def write_config(path: Path, verdict: RunVerdict) -> None:
    """Write ``allurerc.json``: the report's name, its tree by rung, and its categories.

    Allure 2 reads the categories from the results, Allure 3 from this file.
    """
    whole = config(f"{_title(verdict)}, {verdict.run_id}", _title(verdict), _categories(verdict))
    write_whole(path, json.dumps(whole, indent=1) + "\n")


def config(name: str, title: str, categories: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings of Allure 3 for one run."""
    options = {"reportName": title, "groupBy": ["parentSuite", "suite", "subSuite"]}
    return {
        "name": name,
        "plugins": {"awesome": {"options": options}},
        "categories": [{**one, "groupByMessage": False} for one in categories],
    }


# By the words with which ``junit.message`` begins; both Java and JavaScript know this expression.
_NOT_ERRORS = {
    "Blocked: a lower rung failed or had an error": "blocked by",
    "Not run: the level requires it": "not run",
    "Flaky: passed only when run again": "flaky",
    "Record only: the limit is being calibrated": "record only",
}
_CATEGORIES = [
    {"name": "Failed: the hardware missed a limit", "matchedStatuses": ["failed"]},
    {
        "name": "Error: the suite could not decide",
        "matchedStatuses": ["broken"],
        "messageRegex": rf"^(?!{'|'.join(_NOT_ERRORS.values())})[\s\S]*$",
    },
    *(
        {"name": name, "matchedStatuses": ["broken"], "messageRegex": rf"^{begins}[\s\S]*$"}
        for name, begins in _NOT_ERRORS.items()
    ),
]
