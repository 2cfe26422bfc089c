"""Correct Allure's results at the end of a run: set the record's status, and add the cause.

Allure's own plugin writes an item's result as soon as the item ends. It follows marks and hooks
instead of the record, and causes are not known at that time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from railgauge.core.model import Outcome
from railgauge.core.terms import Rung
from railgauge.diagnosis import Cause
from railgauge.judging.record import ItemRecord
from railgauge.report import allure_causes
from railgauge.verdict.deviations import DeviationEffect

# Outcome -> statuses that agree with it; any other status is replaced by the first one. An outcome
# that is not listed is broken. The first run of an item that ran again may have failed.
_STATUSES = {
    Outcome.PASSED: ("passed",),
    Outcome.MARGINAL: ("passed",),
    Outcome.FAILED: ("failed",),
    Outcome.BLOCKED: ("skipped",),
    Outcome.RECORD_ONLY: ("skipped",),
    Outcome.NOT_RUN: ("skipped",),
    Outcome.FLAKY: ("broken", "failed"),
}


_BROKEN = ("broken",)


def severity(rung: Rung) -> str:
    """Allure's severity of an item: a fact of a node is *normal*, a measurement *critical*."""
    return "normal" if rung == Rung.PREFLIGHT else "critical"


def status(outcome: Outcome) -> str:
    """Return the status of an item with this outcome."""
    return _STATUSES.get(outcome, _BROKEN)[0]


def settle(
    folder: Path,
    records: Mapping[str, ItemRecord],
    causes: Sequence[Cause],
    deviations: Sequence[DeviationEffect] = (),
) -> None:
    """Set the status, the cause and the deviation of every result of ``folder``."""
    accepted = {item: one for one in deviations for item in one.covers}
    by_item = {
        item: cause for cause in reversed(causes) for item in (*cause.explains, *cause.evidence)
    }
    for path in folder.glob("*-result.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        test, other = _item_ids(result)
        item = other if other in records else test
        told = with_status(result, records[item]) if item in records else result
        told = allure_causes.marked(told, by_item.get(item))
        told = allure_causes.with_deviation(told, accepted.get(item))
        if told != result:
            path.write_text(json.dumps(told), encoding="utf-8")


def with_status(result: dict[str, Any], record: ItemRecord) -> dict[str, Any]:
    """Return the result with the record's status; if it changes, also with the record's reason."""
    fitting = _STATUSES.get(record.outcome, _BROKEN)
    if result.get("status") in fitting:
        return result
    details = {"message": record.reason} if record.reason else {}
    return {**result, "status": fitting[0], "statusDetails": details}


def _item_ids(result: Mapping[str, Any]) -> tuple[str, str]:
    """The id of the item if a test made it, and if none did."""
    module = str(result.get("fullName", "")).partition("#")[0].replace(".", "/")
    return f"{module}.py::{result.get('name', '')}", f"{module}::{result.get('name', '')}"
