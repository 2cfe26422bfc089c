"""Allure's result of each item, made from its record at the end of a run.

Allure's own plugin writes a result as soon as an item ends. It follows marks and hooks instead of
the record, and causes are not known at that time. Kept from its result are its names, its times,
and what a site's own test added. An item that no test ran has a result too.

An item that passed has one line for each judgement. Any other has the transcript and the plots of
its measurement attached; items that share one share its file.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import md5
from pathlib import Path, PurePath
from typing import Any
from uuid import uuid4

from railgauge.core import naming
from railgauge.core.model import Judgement, Outcome
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.terms import Rung
from railgauge.judging.record import ItemRecord
from railgauge.report import junit
from railgauge.report.allure import causes as named
from railgauge.report.lines import ReportLines
from railgauge.report.plots.plot import Plot
from railgauge.run.store import mask_files, write_whole
from railgauge.verdict.counts import RunVerdict

PASSED, FAILED, BROKEN = "passed", "failed", "broken"
# Any other outcome is *broken*: Allure leaves *skipped* items out of the share that it prints in
# large type. The categories distinguish errors, blocked items and others.
_STATUSES = {Outcome.PASSED: PASSED, Outcome.MARGINAL: PASSED, Outcome.FAILED: FAILED}
# The record has labels of its own for the first four; the others are not about the hardware.
_LEFT_OUT = {"parentSuite", "suite", "subSuite", "severity"}
_LEFT_OUT |= {"host", "thread", "framework", "language", "package"}
_TYPES = {".txt": "text/plain", ".csv": "text/csv", ".svg": "image/svg+xml"}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """What all results of a run have in common.

    ``folder`` is the run's, ``results`` that of Allure's results. ``now_ms`` is Unix time in
    milliseconds, for items that no test ran.
    """

    folder: Path
    results: Path
    verdict: RunVerdict
    now_ms: int
    plots: Sequence[Plot] = ()


def status(outcome: Outcome) -> str:
    """Return the status of an item with this outcome."""
    return _STATUSES.get(outcome, BROKEN)


def write(run: ReportedRun, lines: ReportLines) -> None:
    """Write one result for each line; other results only have their secrets masked."""
    records = lines.records
    accepted = lines.accepted(run.verdict.deviations)
    causes = reversed(run.verdict.causes)
    by_item = lines.by_line(
        {item: cause for cause in causes for item in (*cause.explains, *cause.evidence)}
    )
    begun = _begun(run.results, lines)
    mask_files(run.results)
    for item, record in PROGRESS_OF_PROCESS.counted("result", records.items()):
        base = begun.get(item) or {"uuid": str(uuid4()), "start": run.now_ms, "stop": run.now_ms}
        result = named.with_cause(of_item(base, record, run), by_item.get(item))
        result = named.with_deviation(result, accepted.get(item))
        path = run.results / f"{result['uuid']}-result.json"
        write_whole(path, json.dumps(result))
    _copy(run, (record for record in records.values() if status(record.outcome) != PASSED))


def _begun(results: Path, lines: ReportLines) -> dict[str, Json]:
    """The results that lines have so far, by line; the last of several is kept.

    The file of each is removed, because Allure's plugin names a file and its result differently.
    """
    begun: dict[str, Json] = {}
    for path in results.glob("*-result.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        found = map(lines.line_of, _item_ids(result))
        item = next((one for one in found if one in lines.records), None)
        if item is None:
            continue
        path.unlink()
        if item not in begun or begun[item].get("stop", 0) < result.get("stop", 0):
            begun[item] = _without_ours(result, item)
    return begun


def _without_ours(result: Json, item: str) -> Json:
    """Return a result as Allure's plugin wrote it; only the times of one that ``of_item`` made."""
    if result.get("historyId") != _digest(item):
        return result
    return {key: result[key] for key in ("uuid", "start", "stop")}


def _item_ids(result: Mapping[str, Any]) -> tuple[str, str]:
    """The id of the item if none of pytest's tests made it, and if one did."""
    module = str(result.get("fullName", "")).partition("#")[0].replace(".", "/")
    return f"{module}::{result.get('name', '')}", f"{module}.py::{result.get('name', '')}"


def of_item(base: Json, record: ItemRecord, run: ReportedRun) -> Json:
    """Return the result of a record; ``base`` is what Allure's plugin wrote of it."""
    path, _, name = record.id.partition("::")
    test, _, parameters = name.partition("[")
    full = f"{path.removesuffix('.py').replace('/', '.')}#{test}"
    passed = status(record.outcome) == PASSED
    details = {} if passed else {"statusDetails": {"message": junit.message(record)}}
    return {
        **{key: value for key, value in base.items() if key != "statusDetails"},
        **details,
        "name": name,
        "fullName": full,
        "testCaseId": _digest(full),
        "historyId": _digest(record.id),
        "parameters": [{"name": "item", "value": parameters.removesuffix("]")}],
        "status": status(record.outcome),
        "description": _description(record, run.verdict.evidence),
        "labels": [*_labels(record, run.verdict.evidence), *_others(base.get("labels", ()))],
        "links": [*_links(record.judgements), *base.get("links", ())],
        "steps": [*_steps(base, record), *base.get("steps", ())],
        "attachments": [
            *base.get("attachments", ()),
            *([] if passed else _attachments(record, run)),
        ],
    }


def _digest(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def _description(record: ItemRecord, evidence: str) -> str:
    where = " ".join(filter(None, (naming.place(record.nodes), record.pairing)))
    about = f"Where: {where or 'the run'}. Evidence: {evidence}."
    kept = f"Transcript: `{record.transcript}` in the run's folder." if record.transcript else ""
    return "\n\n".join(filter(None, (record.title, about, kept)))


def _labels(record: ItemRecord, evidence: str) -> list[Json]:
    labels = {
        "parentSuite": f"{evidence.upper()} evidence",
        "suite": f"rung {record.rung}: {record.rung.folder}",
        "subSuite": _group(record),
        "tag": evidence,
        "severity": "normal" if record.rung == Rung.PREFLIGHT else "critical",
    }
    return [{"name": label, "value": value} for label, value in labels.items()]


def _group(record: ItemRecord) -> str:
    """Items that passed have groups of their own: Allure opens each group with one that did not."""
    passed = status(record.outcome) == PASSED
    return f"{record.subject}: passed" if passed else record.subject


def _others(labels: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return (label for label in labels if label["name"] not in _LEFT_OUT)


def _links(judgements: Iterable[Judgement]) -> list[Json]:
    """A link to each limit in its file. Counters have no limit of their own."""
    bases = {(f"#{one.pointer}" if one.pointer else ""): one.basis for one in judgements}
    return [
        {"type": "link", "url": f"../thresholds.json{at}", "name": f"basis: {basis}"}
        for at, basis in bases.items()
    ]


def _steps(base: Json, record: ItemRecord) -> Iterator[Json]:
    times = {"start": base["start"], "stop": base["stop"]}
    for judged in record.judgements:
        line = f"{judged.metric}: measured {judged.measured}, limit {judged.limit}"
        step = {"name": f"{line}: {judged.outcome}", "status": status(judged.outcome), **times}
        yield step if step["status"] == PASSED else {**step, **_detailed(judged)}


def _detailed(judged: Judgement) -> Json:
    shown = {
        "basis": judged.basis,
        "samples": " ".join(f"{value:g}" for value in judged.values),
        "unit": judged.unit,
        "physical ceiling": judged.physical_ceiling,
        "ideal": judged.ideal,
    }
    parameters = [{"name": name, "value": str(value)} for name, value in shown.items() if value]
    return {"statusDetails": {"message": judged.reason}, "parameters": parameters}


def _attachments(record: ItemRecord, run: ReportedRun) -> Iterator[Json]:
    for path in _files(record, run.folder):
        yield _attachment(path.name, _source(path.name))
    for plot in run.plots:
        if plot.subject == record.subject:
            yield _attachment(plot.title, plot_source(plot))


def _files(record: ItemRecord, folder: Path) -> list[Path]:
    """The transcript of an item and the samples of its GPUs, as far as they were written."""
    if not record.transcript:
        return []
    text = folder / record.transcript
    return [path for path in (text, text.with_suffix(".csv")) if path.is_file()]


def _source(name: str) -> str:
    kind = PurePath(name)
    return f"{kind.stem}-attachment{kind.suffix}"


def plot_source(plot: Plot) -> str:
    """Return the name of a plot's file among the results."""
    return f"{plot.name}-attachment.svg"


def _attachment(name: str, source: str) -> Json:
    return {"name": name, "source": source, "type": _TYPES[PurePath(source).suffix]}


def _copy(run: ReportedRun, records: Iterable[ItemRecord]) -> None:
    """Copy what these items attach to the results, each file once."""
    for path in {path: None for record in records for path in _files(record, run.folder)}:
        shutil.copyfile(path, run.results / _source(path.name))
