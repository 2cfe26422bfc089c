"""Triage as CSV, one row for each cause at each node, safe to open in a spreadsheet. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core.spreadsheet import csv_text
from railgauge.report.triage.sheet import OpenQuestion, TriageRow, TriageSheet

COLUMNS = ("node", "place", "severity", "action", "cause", "part", "suspect", "why", "do")
NOT_KNOWN = "not known"
"""The cell ``cause`` of an open question of a node, which has no cause."""


def lines(sheet: TriageSheet) -> str:
    """Return the rows of the nodes, of what is not one node, and of what is not known."""
    return csv_text([COLUMNS, *_rows(sheet)])


def _rows(sheet: TriageSheet) -> Iterator[tuple[str, ...]]:
    yield from map(_cause, (*sheet.rows, *sheet.elsewhere))
    yield from map(_question, sheet.open)


def _cause(row: TriageRow) -> tuple[str, ...]:
    suspect = "yes" if row.is_suspect else "no"
    triage = str(row.triage.severity), str(row.triage.action)
    return row.node, row.place, *triage, row.cause, row.part, suspect, row.says, row.remedy


def _question(one: OpenQuestion) -> tuple[str, ...]:
    place = one.node or "the subnet"
    return one.node, place, "unknown", "measure again", NOT_KNOWN, one.what, "no", one.why, ""
