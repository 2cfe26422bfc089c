"""Allure's results once the run is over: the status is the record's, and the cause is named.

Allure's own plugin writes an item's result as the item ends: by what marks and hooks made of it,
and long before the run knows why it went wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from railgauge.core.model import Outcome
from railgauge.diagnosis import Cause
from railgauge.judging.record import ItemRecord
from railgauge.report import allure_causes

# The statuses that say what the record says. The first is set where another one stands; everything
# that is not known here is broken. Of an item that ran again, the first run may have failed.
_STATUSES = {
    Outcome.PASSED: ("passed",),
    Outcome.MARGINAL: ("passed",),
    Outcome.FAILED: ("failed",),
    Outcome.BLOCKED: ("skipped",),
    Outcome.RECORD_ONLY: ("skipped",),
    Outcome.NOT_RUN: ("skipped",),
    Outcome.FLAKY: ("broken", "failed"),
}


def settle(folder: Path, records: Mapping[str, ItemRecord], causes: Sequence[Cause]) -> None:
    """Bring every result in line with the record and with what was found to be the cause."""
    by_item = {
        item: cause for cause in reversed(causes) for item in (*cause.explains, *cause.evidence)
    }
    for path in folder.glob("*-result.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        item = _item_id(result)
        told = with_status(result, records[item]) if item in records else result
        told = allure_causes.marked(told, by_item.get(item))
        if told != result:
            path.write_text(json.dumps(told), encoding="utf-8")


def with_status(result: dict[str, Any], record: ItemRecord) -> dict[str, Any]:
    """The result with the status of the record, and its reason where that is another one."""
    fitting = _STATUSES.get(record.outcome, ("broken",))
    if result.get("status") in fitting:
        return result
    details = {"message": record.reason} if record.reason else {}
    return {**result, "status": fitting[0], "statusDetails": details}


def _item_id(result: Mapping[str, Any]) -> str:
    module = str(result.get("fullName", "")).partition("#")[0].replace(".", "/")
    return f"{module}.py::{result.get('name', '')}"
