"""Allure's result for an item that wrote none: its workers died, or no test ran it."""

from __future__ import annotations

import json
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import uuid4

from railgauge.core.model import Outcome
from railgauge.judging.record import ItemRecord
from railgauge.report import allure_results


def write(folder: Path, record: ItemRecord, evidence: str, at_ms: int) -> None:
    """Write a result file for the item; ``at_ms`` is Unix time in milliseconds."""
    folder.mkdir(parents=True, exist_ok=True)
    uuid = str(uuid4())
    result = {"uuid": uuid, **_result(record, evidence), "start": at_ms, "stop": at_ms}
    (folder / f"{uuid}-result.json").write_text(json.dumps(result), encoding="utf-8")


def _result(record: ItemRecord, evidence: str) -> dict[str, Any]:
    path, _, name = record.id.partition("::")
    module = path.removesuffix(".py").replace("/", ".")
    full = f"{module}#{name.partition('[')[0]}"
    labels = {
        "parentSuite": f"{evidence.upper()} evidence",
        "suite": f"rung {record.rung}: {record.rung.folder}",
        "subSuite": record.subject,
        "tag": evidence,
        "severity": allure_results.severity(record.rung),
    }
    return {
        "name": name,
        "fullName": full,
        "testCaseId": _digest(full),
        "historyId": _digest(record.id),
        "status": allure_results.status(record.outcome),
        "statusDetails": {"message": _message(record)},
        "description": f"{record.title}\n\n{_judged(record)}Evidence: {evidence}.",
        "labels": [{"name": label, "value": value} for label, value in labels.items()],
    }


def _judged(record: ItemRecord) -> str:
    return "".join(f"{j.metric}: {j.measured}, limit {j.limit}.\n\n" for j in record.judgements)


def _message(record: ItemRecord) -> str:
    if record.outcome is Outcome.NOT_RUN:
        return f"not run: {record.reason}"
    return ": ".join(filter(None, (record.error_kind, record.reason)))


def _digest(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()
