"""JSON that a tool printed among other text: the document, or the problem that prevents it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from railgauge.core.problems import Problem, ProblemKind
from railgauge.tools.collector import OutputCollector, problem


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON object, and the text before and after it."""

    content: dict[str, object]
    before: str
    behind: str


def read_document(text: str) -> Document | Problem:
    """Return the first JSON object of ``text``, or a problem.

    The problem is ``no-output``, ``no-table``, ``truncated`` or ``unparsable``. Values of an
    incomplete document are never returned.
    """
    start = text.find("{")
    if start < 0:
        return _nothing(text)
    try:
        content, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        return _broken(text, error)
    return Document(content, text[:start], text[end:])


def read_only_document(text: str, collector: OutputCollector) -> Document | None:
    """Return the JSON object of one run; ``None`` with an error if there is none.

    A second one behind it is an error too.
    """
    found = read_document(text)
    if not isinstance(found, Document):
        collector.problems.append(found)
        return None
    if found.behind.lstrip().startswith("{"):
        collector.several_runs()
    return found


def _nothing(text: str) -> Problem:
    if not text.strip():
        return problem(ProblemKind.NO_OUTPUT, "nothing was printed")
    return problem(ProblemKind.NO_TABLE, "no JSON in this text")


def _broken(text: str, error: Exception) -> Problem:
    position = error.pos if isinstance(error, json.JSONDecodeError) else 0
    is_cut = position >= len(text.rstrip()) or "Unterminated" in str(error)
    if is_cut or not text.rstrip().endswith("}"):
        return problem(
            ProblemKind.TRUNCATED, f"the JSON ends before it is complete ({str(error)[:100]})"
        )
    return problem(ProblemKind.UNPARSABLE, f"invalid JSON ({str(error)[:100]})")


def part(content: object, *names: str) -> dict[str, object]:
    """Return the object under the path ``names``; empty if there is none."""
    for name in names:
        content = content.get(name) if isinstance(content, dict) else None
    return content if isinstance(content, dict) else {}


def items(content: object) -> list[dict[str, object]]:
    """Return the objects in a JSON list; none if ``content`` is not a list."""
    return [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []


def number(value: object) -> float | None:
    """Return a JSON number, finite or not; ``None`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
