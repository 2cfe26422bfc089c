"""Causes in Allure: a category for each, and its name on every item that it accounts for.

Categories find their items by the message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from railgauge.diagnosis import Cause


def marked(result: dict[str, Any], cause: Cause | None) -> dict[str, Any]:
    """The result with the name of its cause; without the one that an earlier diagnosis named."""
    plain = _unmarked(_without_traces(result))
    return _marked(plain, cause) if cause else plain


def _unmarked(result: dict[str, Any]) -> dict[str, Any]:
    """A run that was carried on is diagnosed again: what was said before is taken back."""
    details = dict(result.get("statusDetails") or {})
    if message := details.get("message"):
        lines = [line for line in message.split("\n") if not line.startswith(_MARK)]
        details["message"] = "\n".join(lines)
    labels = [one for one in result.get("labels", ()) if not str(one["value"]).startswith(_TAG)]
    return {**result, "labels": labels, **({"statusDetails": details} if details else {})}


_MARK, _TAG = "[cause: ", "cause: "


def categories(causes: Sequence[Cause]) -> list[dict[str, Any]]:
    """One category for each cause, before those for what has none."""
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
    """For the regular expressions of Java (Allure 2) and JavaScript (Allure 3) alike."""
    return re.sub(r"([.*+?^${}()|\[\]\\])", r"\\\1", text)


def _without_traces(result: dict[str, Any]) -> dict[str, Any]:
    """A step that missed a limit was ended by an exception; where in this suite is of no use."""
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
