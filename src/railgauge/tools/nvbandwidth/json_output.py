"""The JSON output (``-j``): cells are texts, the sum is a number, and much may be missing."""

from __future__ import annotations

import math

from railgauge.tools.documents import Document, items, number, part
from railgauge.tools.findings import Findings
from railgauge.tools.nvbandwidth.matrices import Cell, Matrix, collect, split_parts

_TITLE = "nvbandwidth"
# Cells have six significant digits, so half of the last one is at most this part of the value.
_ROUNDING_OF_VALUE = 5e-6


def read_json(document: Document, findings: Findings) -> tuple[str | None, dict[str, object]]:
    """Samples into ``findings``; the version, and the summary.

    ``summary`` holds ``passed``, ``waived``, ``testcases`` (names that passed), ``driver``,
    ``cuda`` and ``devices``.
    """
    content = part(document.content, _TITLE)
    if not content:
        findings.complain("no-table", "JSON, but not of nvbandwidth")
        return None, {}
    _complain_of_words(content, document, findings)
    cases = items(content.get("testcases"))
    for case in cases:
        _read_case(case, findings)
    if not cases and not findings.has_errors:
        findings.complain("no-table", "no test case ran")
    _complain_of_twins(cases, findings)
    version = content.get("version")
    return version if isinstance(version, str) else None, _summary(content, cases)


def _complain_of_words(content: dict[str, object], document: Document, findings: Findings) -> None:
    if error := content.get("error"):
        findings.complain("tool-failed", str(error)[:400])
    if warning := content.get("warning"):
        findings.warn("tool-warning", str(warning)[:400])
    if not findings.has_errors and document.before.strip():
        findings.warn("text-before-json", document.before.strip()[:200])


def _complain_of_twins(cases: list[dict[str, object]], findings: Findings) -> None:
    names = [str(case.get("name")) for case in cases]
    if len(set(names)) < len(names):
        findings.complain("several-tables", "a test case is there twice: which one is meant?")


def _read_case(case: dict[str, object], findings: Findings) -> None:
    name, status = str(case.get("name"))[:90], case.get("status")
    if error := case.get("error"):
        findings.complain("tool-failed", f"{name}: {str(error)[:300]}")
    if status == "Waived":
        findings.warn("waived", f"{name} was waived")
    elif status != "Passed":
        findings.complain("testcase-failed", f"{name}: status {str(status)[:40]!r}")
    else:
        _read_matrix(name, case, findings)


def _read_matrix(name: str, case: dict[str, object], findings: Findings) -> None:
    printed = case.get("bandwidth_matrix")
    rows = printed if isinstance(printed, list) else []
    if not rows or not all(isinstance(row, list) for row in rows):
        findings.complain("truncated", f"{name} passed and has no matrix")
        return
    cells = tuple(tuple(_cell(name, cell, findings) for cell in row) for row in rows)
    largest = max((cell or 0.0 for row in cells for cell in row), default=0.0)
    matrix = Matrix(
        name=name,
        description=str(case.get("bandwidth_description"))[:200],
        rows=cells,
        total=number(case.get("sum")),
        rounding=largest * _ROUNDING_OF_VALUE,
    )
    for one in split_parts(matrix):
        collect(one, findings)


def _cell(name: str, cell: object, findings: Findings) -> Cell:
    if cell == "N/A":
        return None
    value = number(cell)
    if value is None and isinstance(cell, str):
        value = _read_number(cell)
    if value is None or not math.isfinite(value):
        findings.complain("not-a-number", f"{name}: a cell is {str(cell)[:40]!r}")
        return None
    return value


def _read_number(text: str) -> float | None:
    try:
        return float(text) if len(text) <= 30 and "_" not in text else None  # noqa: PLR2004
    except ValueError:
        return None


def _summary(content: dict[str, object], cases: list[dict[str, object]]) -> dict[str, object]:
    def named(status: str) -> tuple[str, ...]:
        return tuple(str(case.get("name")) for case in cases if case.get("status") == status)

    devices = content.get("GPU Device list")
    return {
        "passed": len(named("Passed")),
        "waived": len(named("Waived")),
        "testcases": named("Passed"),
        "driver": content.get("Driver Version"),
        "cuda": content.get("CUDA Runtime Version"),
        "devices": tuple(map(str, devices)) if isinstance(devices, list) else (),
    }
