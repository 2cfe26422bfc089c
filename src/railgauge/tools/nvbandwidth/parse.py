"""Everything that nvbandwidth prints, as text or as JSON, to samples and typed problems."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from railgauge.core.model import Parsed
from railgauge.tools.documents import Document, items, number, part, read_document
from railgauge.tools.findings import Findings, missing_program, plain
from railgauge.tools.nvbandwidth.matrices import Cell, Matrix, collect, split_parts

_VERSION = re.compile(r"^nvbandwidth Version: v?([0-9][\w.]{0,20})", re.MULTILINE)
_DEVICE = re.compile(r"^Device ([0-9]{1,4}: [^\n]{1,120})$", re.MULTILINE)
_ERRORS = {
    "data-corruption": re.compile(r"Invalid value when checking the pattern[^\n]{0,120}"),
    "tool-failed": re.compile(
        r"^(?:ERROR: |\[CUDA_ERROR_\w{1,60}\]|\[NVML_ERROR_\w{1,60}\]|\s{0,4}ASSERT in expression"
        r"|terminate called|unrecognised option|Segmentation fault)[^\n]{0,200}",
        re.MULTILINE,
    ),
}


def parse(text: str) -> Parsed:
    """Read the text or the JSON (``-j``) of a run.

    Never raises and takes time linear in the text. Each test case gives samples of the metric with
    its own name (``device_to_device_memcpy_read_ce``), in decimal GB/s, or ns for latencies;
    ``<name>_sum`` as printed and ``<name>_cells``, how many were measured (both ``all``). In a
    bidirectional case the name alone is the total of both directions, ``<name>_read1`` and so on
    its parts.

    Placements: ``gpu0>gpu1`` is the matrix's row, then its column, whatever arrow the description
    shows between them; ``gpu1`` is the column of a matrix with one row; ``cpu1>gpu0`` stands in
    matrices with a row for each NUMA node. The buffer's size is not printed: ``size_bytes`` is
    ``None``. A pair without peer access is ``N/A``, the warning ``missing-cell``: assert the number
    of cells where every pair must be linked. Text about a wrong pattern is ``data-corruption``,
    whatever figures follow it.
    """
    text = plain(text)
    findings = Findings()
    _collect_complaints(text, findings)
    version = _VERSION.search(text)
    if not _is_json(text):
        summary = read_text(text, findings)
        if summary and (devices := _DEVICE.findall(text)):
            summary["devices"] = tuple(devices)
        _collect_nothing(text, bool(summary), findings)
        return findings.parsed("nvbandwidth", version[1] if version else None, summary)
    return _parse_json(text, findings)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{") or ('"nvbandwidth"' in text and "Running " not in text)


def _parse_json(text: str, findings: Findings) -> Parsed:
    document = read_document(text)
    if not isinstance(document, Document):
        findings.problems.append(document)
        return findings.parsed("nvbandwidth")
    if document.behind.lstrip().startswith("{"):
        findings.complain("several-tables", "several JSON documents: which one is meant?")
    version, summary = read_json(document, findings)
    return findings.parsed("nvbandwidth", version.lstrip("v") if version else None, summary)


def _collect_complaints(text: str, findings: Findings) -> None:
    if missing := missing_program(text, ("nvbandwidth",)):
        findings.problems.append(missing)
    for kind, pattern in _ERRORS.items():
        if match := pattern.search(text):
            findings.complain(kind, match[0])


def _collect_nothing(text: str, has_cases: bool, findings: Findings) -> None:
    if has_cases or findings.has_errors:
        return
    if not text.strip():
        findings.complain("no-output", "nothing was printed")
    elif text.startswith("nvbandwidth Version:"):
        findings.complain("truncated", "the output ends before the first test case")
    else:
        findings.complain("no-table", "no test case of nvbandwidth in this text")


_LONGEST_LINE = 4000
_RUNNING = re.compile(r"\s{0,8}Running (?:benchmark )?([a-z][a-z0-9_]{0,80})\.\s*$")
_SUM = re.compile(r"\s{0,8}SUM ([a-z][a-z0-9_]{0,90}) ([0-9]{1,12}\.[0-9]{2})(?=\s|$)")
_DESCRIPTION = re.compile(r".{0,120}\((?:GB/s|ns|[^()]{1,12})\)\s*$")
_ROW = re.compile(r"\s{0,12}(\d{1,4})((?:\s{1,20}\S{1,20}){1,300})\s*$")
_INDICES = re.compile(r"(?:\s{0,20}\d{1,4}(?=\s|$)){1,300}\s*$")
_NUMBER = re.compile(r"\d{1,12}\.\d{2}")
_NOT_AVAILABLE = "N/A"
_ROUNDING = 0.005
_PARTS = ("_read1", "_read2", "_write1", "_write2", "_total")


@dataclass(slots=True)
class Case:
    """One test case while it is read. ``width`` is ``None`` until the column numbers come."""

    name: str
    description: str = ""
    width: int | None = None
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    total: float | None = None
    matrices: list[Matrix] = field(default_factory=list)
    is_waived: bool = False

    def finish(self) -> None:
        """Put the matrix that was read aside, and be ready for another one."""
        if self.description:
            rows = tuple(self.rows)
            self.matrices.append(Matrix(self.name, self.description, rows, self.total, _ROUNDING))
        self.description, self.width, self.rows, self.total = "", None, [], None


def read_text(text: str, findings: Findings) -> dict[str, object]:
    """Samples into ``findings``; the summary: passed and waived cases and their descriptions."""
    cases, waived = _read_cases(text, findings)
    names = [case.name for case in cases]
    if len(set(names)) < len(names):
        findings.complain("several-tables", "a test case ran twice: which one is meant?")
    if waived:
        findings.warn("waived", f"{waived} test cases were waived")
    for case in cases:
        _collect_case(case, findings)
    _check_sums(cases, findings)
    passed = [case.name for case in cases if case.matrices]
    if not cases:
        return {}
    return {"passed": len(passed), "waived": waived, "testcases": tuple(passed)}


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line that is not noise, and whether its end was printed too."""
    lines = text.split("\n")
    for count, line in enumerate(lines, 1):
        if len(line) <= _LONGEST_LINE:
            yield line, count < len(lines)


def _read_cases(text: str, findings: Findings) -> tuple[list[Case], int]:
    cases: list[Case] = []
    waived = 0
    for line, is_whole in _lines(text):
        if running := _RUNNING.match(line):
            if cases:
                cases[-1].finish()
            cases.append(Case(running[1]))
        elif line.lstrip().startswith("Waived:"):
            waived += 1
            if cases and not cases[-1].description and not cases[-1].matrices:
                cases[-1].is_waived = True
        elif cases:
            _read_line(line, is_whole, cases[-1], findings)
    if cases:
        cases[-1].finish()
    return cases, waived


def _read_line(line: str, is_whole: bool, case: Case, findings: Findings) -> None:
    if total := _SUM.match(line):
        _read_sum(total, case, findings)
    elif case.width is None and case.description:
        if _INDICES.match(line) and line.split() and is_whole:
            case.width = len(line.split())
    elif case.width is not None and (row := _ROW.match(line)):
        _read_row(row, is_whole, case, findings)
    elif _DESCRIPTION.match(line) and "(column)" in line and is_whole:
        case.finish()
        case.description = line.strip()


def _read_sum(match: re.Match[str], case: Case, findings: Findings) -> None:
    name = match[1]
    for ending in _PARTS:
        name = name.removesuffix(ending) if name != case.name else name
    if name != case.name:
        findings.complain("unparsable", f"the sum of {match[1]} below the matrix of {case.name}")
        return
    case.total = float(match[2])
    case.finish()


def _read_row(match: re.Match[str], is_whole: bool, case: Case, findings: Findings) -> None:
    tokens = match[2].split()
    unfit = [token for token in tokens if not _NUMBER.fullmatch(token) and token != _NOT_AVAILABLE]
    if unfit or len(tokens) != case.width or int(match[1]) != len(case.rows):
        is_cut = not is_whole or len(tokens) != case.width or not unfit
        kind = "truncated" if is_cut else "not-a-number"
        findings.complain(kind, f"{case.name}: row {match[0][:120].strip()!r}")
        case.rows.append(())
        return
    case.rows.append(tuple(None if t == _NOT_AVAILABLE else float(t) for t in tokens))


def _collect_case(case: Case, findings: Findings) -> None:
    if not case.matrices and not case.is_waived:
        findings.complain("truncated", f"{case.name} was started and has no matrix")
    for matrix in case.matrices:
        collect(matrix, findings)


def _check_sums(cases: list[Case], findings: Findings) -> None:
    """Versions since 0.3 print a sum below each matrix: where one lacks, the output may go on."""
    matrices = [matrix for case in cases for matrix in case.matrices]
    lacking = [matrix.metric for matrix in matrices if matrix.total is None]
    if lacking and len(lacking) < len(matrices):
        findings.warn("no-closing-line", f"no sum of {', '.join(lacking[:4])}")


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
