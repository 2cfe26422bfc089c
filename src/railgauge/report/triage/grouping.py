"""Folds equal rows and questions of many nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from railgauge.core.naming import folded
from railgauge.report.triage.sheet import OpenQuestion, TriageRow

_FEW = 4


def grouped(rows: Iterable[TriageRow]) -> Iterator[tuple[str, TriageRow]]:
    """Yield the nodes of each cause, folded, with the first of their rows."""
    alike: dict[tuple[object, ...], list[TriageRow]] = {}
    for row in rows:
        # Two causes with suspects are two questions, even about the same part.
        says = (row.is_suspect, row.says if row.is_suspect else "")
        place = "" if row.node else row.place
        alike.setdefault((row.triage, row.cause, row.part, row.remedy, says, place), []).append(row)
    for group in alike.values():
        yield _place(group), group[0]


def _place(group: Sequence[TriageRow]) -> str:
    first, names = group[0], [row.node for row in group]
    if not first.node:
        return first.place
    if not first.is_suspect:
        return folded(names)
    return " or ".join(names) if len(names) <= _FEW else f"one of {folded(names)}"


def open_places(questions: Iterable[OpenQuestion]) -> dict[str, list[str]]:
    """Return what is not known, by folded nodes; questions that nodes share are listed once."""
    alike: dict[str, list[str]] = {}
    for one in questions:
        alike.setdefault(f"{one.what}; {one.why}", []).append(one.node)
    found: dict[str, list[str]] = {}
    for text, nodes in alike.items():
        found.setdefault(folded(filter(None, nodes)) or "the subnet", []).append(text)
    return found
