"""Causes in Allure: a category for each cause, and its name on every item that it explains.

Allure assigns items to categories by their message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from railgauge.diagnosis import Cause
from railgauge.verdict.deviations import DeviationEffect


def marked(result: dict[str, Any], cause: Cause | None) -> dict[str, Any]:
    """Return the result with the name of its cause, instead of one from an earlier diagnosis."""
    plain = _unmarked(_without_traces(result))
    return _marked(plain, cause) if cause else plain


def _unmarked(result: dict[str, Any]) -> dict[str, Any]:
    """Remove the cause of an earlier diagnosis: a resumed run is diagnosed again."""
    details = dict(result.get("statusDetails") or {})
    if message := details.get("message"):
        lines = [line for line in message.split("\n") if not line.startswith(_MARK)]
        details["message"] = "\n".join(lines)
    labels = [one for one in result.get("labels", ()) if not str(one["value"]).startswith(_TAG)]
    return {**result, "labels": labels, **({"statusDetails": details} if details else {})}


_MARK, _TAG = "[cause: ", "cause: "
_ACCEPTED = "[deviation: "


def with_deviation(result: dict[str, Any], accepted: DeviationEffect | None) -> dict[str, Any]:
    """Return the result with the deviation that covers it; it stays failed."""
    details = dict(result.get("statusDetails") or {})
    lines = [one for one in details.get("message", "").split("\n") if not one.startswith(_ACCEPTED)]
    if accepted:
        until = f"accepted until {accepted.deviation.until}"
        lines.append(f"{_ACCEPTED}{accepted.head}] {until}; {accepted.signature}")
    if message := "\n".join(lines).strip("\n"):
        return {**result, "statusDetails": {**details, "message": message}}
    return result


def categories(causes: Sequence[Cause]) -> list[dict[str, Any]]:
    """Return one category for each cause; they precede the categories of items without one."""
    return [
        {
            "name": f"Cause: {cause.cause}, {cause.where}",
            "messageRegex": rf"[\s\S]*{_literal(_words(cause))}[\s\S]*",
            "matchedStatuses": ["failed", "broken", "skipped"],
        }
        for cause in causes
    ]


def _words(cause: Cause) -> str:
    return f"{_MARK}{cause.cause}, {cause.where}]"


def _literal(text: str) -> str:
    """Escape text for regular expressions of both Java (Allure 2) and JavaScript (Allure 3)."""
    return re.sub(r"([.*+?^${}()|\[\]\\])", r"\\\1", text)


def _without_traces(result: dict[str, Any]) -> dict[str, Any]:
    """Remove the stack traces of steps that missed a limit: they only show code of this suite."""
    steps = [_without_traces(step) for step in result.get("steps", ())]
    details = {k: v for k, v in (result.get("statusDetails") or {}).items() if k != "trace"}
    told = {**result, **({"steps": steps} if steps else {})}
    return {**told, "statusDetails": details} if "uuid" not in result and details else told


def _again(cause: Cause) -> str:
    return f"{cause.confirmation.state}; " if cause.confirmation else ""


def _marked(result: dict[str, Any], cause: Cause) -> dict[str, Any]:
    details = dict(result.get("statusDetails") or {})
    details["message"] = (
        f"{details.get('message', '')}\n{_words(cause)} {_again(cause)}{cause.remedy}".strip()
    )
    label = {"name": "tag", "value": f"{_TAG}{cause.cause}"}
    return {**result, "statusDetails": details, "labels": [*result.get("labels", ()), label]}
