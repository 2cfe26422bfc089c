"""Causes in Allure: a category for each cause, and its name on every item that it explains.

Allure assigns items to categories by their message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from railgauge.diagnosis import Cause
from railgauge.verdict.deviations import DeviationEffect

_MARK, _TAG = "[cause: ", "cause: "
_ACCEPTED = "[deviation: "


def with_cause(result: dict[str, Any], cause: Cause | None) -> dict[str, Any]:
    """Return the result with its cause and remedy below its message, and the cause as a tag."""
    if cause is None:
        return result
    tag = {"name": "tag", "value": f"{_TAG}{cause.cause}"}
    labels = [*result.get("labels", ()), tag]
    line = f"{_words(cause)} {_again(cause)}{cause.remedy}"
    return {**_with_line(result, line), "labels": labels}


def with_deviation(result: dict[str, Any], accepted: DeviationEffect | None) -> dict[str, Any]:
    """Return the result with the deviation that covers it; it stays failed."""
    if accepted is None:
        return result
    until = f"accepted until {accepted.deviation.until}"
    return _with_line(result, f"{_ACCEPTED}{accepted.head}] {until}; {accepted.signature}")


def _with_line(result: dict[str, Any], line: str) -> dict[str, Any]:
    details = result.get("statusDetails", {})
    message = f"{details.get('message', '')}\n{line}".strip()
    return {**result, "statusDetails": {**details, "message": message}}


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


def _again(cause: Cause) -> str:
    return f"{cause.confirmation.state}; " if cause.confirmation else ""
