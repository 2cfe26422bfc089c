"""The parser of nvbandwidth: from text or JSON to samples and problems."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.documents import Document, items, number, part, read_only_document
from railgauge.tools.nvbandwidth.matrices import Matrix, MatrixCell, collect, has_sides, split_parts
from railgauge.tools.text import clean, lines
from railgauge.tools.torn import complain, figures_at_an_end

_VERSION = re.compile(r"^nvbandwidth Version: v?([0-9][\w.]{0,20})", re.MULTILINE)
_DEVICE = re.compile(r"^Device ([0-9]{1,4}: [^\n]{1,120})$", re.MULTILINE)
_ERRORS = {
    ProblemKind.DATA_CORRUPTION: re.compile(r"Invalid value when checking the pattern[^\n]{0,120}"),
    ProblemKind.TOOL_FAILED: re.compile(
        r"^(?:ERROR: |\[CUDA_ERROR_\w{1,60}\]|\[NVML_ERROR_\w{1,60}\]|\s{0,4}ASSERT in expression"
        r"|terminate called|unrecognised option|Segmentation fault)[^\n]{0,200}",
        re.MULTILINE,
    ),
}


def parse(text: str) -> Parsed:
    """Read the text or the JSON (``-j``) of a run.

    Never raises and takes time linear in the text. Each test case gives samples of the metric with
    its name (``device_to_device_memcpy_read_ce``), in decimal GB/s, or ns for latencies, and with
    the placement ``all`` ``<name>_sum`` as printed and ``<name>_cells``, the number of measured
    cells. In a bidirectional case ``<name>`` is the total of both directions; ``<name>_read1`` and
    so on are its parts.

    Placements: ``gpu0>gpu1`` is the matrix's row, then its column, whatever arrow the description
    shows; ``gpu1`` is the column of a matrix with one row; ``cpu1>gpu0`` occurs in matrices with a
    row for each NUMA node. The buffer's size is not printed: ``size_bytes`` is ``None``. A pair
    without peer access is ``N/A``, the warning ``missing-cell``: assert the number of cells if
    every pair must be linked. A message about a wrong pattern is ``data-corruption``, whatever
    values follow it.
    """
    text = clean(text)
    collector = OutputCollector()
    _collect_complaints(text, collector)
    version = _VERSION.search(text)
    if not _is_json(text):
        summary = read_text(text, collector)
        if summary and (devices := _DEVICE.findall(text)):
            summary["devices"] = tuple(devices)
        _collect_nothing(text, bool(summary), collector)
        return collector.parsed("nvbandwidth", version[1] if version else None, summary)
    return _parse_json(text, collector)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{") or ('"nvbandwidth"' in text and "Running " not in text)


def _parse_json(text: str, collector: OutputCollector) -> Parsed:
    document = read_only_document(text, collector)
    if document is None:
        return collector.parsed("nvbandwidth")
    version, summary = read_json(document, collector)
    return collector.parsed("nvbandwidth", version.lstrip("v") if version else None, summary)


def _collect_complaints(text: str, collector: OutputCollector) -> None:
    collector.check_started(text, "nvbandwidth")
    for kind, pattern in _ERRORS.items():
        if match := pattern.search(text):
            collector.error(kind, match[0])


def _collect_nothing(text: str, has_cases: bool, collector: OutputCollector) -> None:
    if has_cases or collector.has_errors:
        return
    if text.startswith("nvbandwidth Version:"):
        collector.error(ProblemKind.TRUNCATED, "the output ends before the first test case")
    else:
        collector.nothing(text, "no test case of nvbandwidth in this text")


# --- text: ``Running NAME.``, a description, a matrix and its sum for each test case ---

_LONGEST_LINE = 4000
# Up to 0.5 it is printed before the first test case, and nothing behind the last one.
_NOTE = "NOTE: Th"
_RUNNING = re.compile(r"\s{0,8}Running (?:benchmark )?([a-z][a-z0-9_]{0,80})\.\s*$")
_SUM = re.compile(r"\s{0,8}SUM ([a-z][a-z0-9_]{0,90}) ([0-9]{1,12}\.[0-9]{2})(?=\s|$)")
_DESCRIPTION = re.compile(r".{0,120}\((?:GB/s|ns|[^()]{1,12})\)\s*$")
_ROW = re.compile(r"\s{0,12}(\d{1,4})((?:\s{1,20}\S{1,20}){1,300})\s*$")
_NAMED = re.compile(r"\s{0,8}(?:\w{0,6} )?[a-z0-9]{0,20}_[a-z0-9_]{1,90}\.\s{0,8}")
_INDICES = re.compile(r"(?:\s{0,20}\d{1,4}(?=\s|$)){1,300}\s*$")
_NUMBER = re.compile(r"\d{1,12}\.\d{2}")
_NOT_AVAILABLE = "N/A"
_ROUNDING = 0.005
_PARTS = ("_read1", "_read2", "_write1", "_write2", "_total")


@dataclass(slots=True)
class CaseText:
    """One test case while it is read. ``width`` is ``None`` until its column numbers are read."""

    name: str
    description: str = ""
    width: int | None = None
    rows: list[tuple[MatrixCell, ...]] = field(default_factory=list)
    total: float | None = None
    matrices: list[Matrix] = field(default_factory=list)
    is_waived: bool = False

    def finish(self) -> None:
        """Store the current matrix and prepare for the next one."""
        if self.description:
            rows = tuple(self.rows)
            self.matrices.append(Matrix(self.name, self.description, rows, self.total, _ROUNDING))
        self.description, self.width, self.rows, self.total = "", None, [], None


def read_text(text: str, collector: OutputCollector) -> dict[str, object]:
    """Add samples to ``collector``; return the summary of passed and waived test cases."""
    cases, waived = _read_cases(text, collector)
    names = [case.name for case in cases]
    if len(set(names)) < len(names):
        collector.error(
            ProblemKind.SEVERAL_TABLES, "a test case ran twice; give the output of one run"
        )
    if waived:
        collector.warn(ProblemKind.WAIVED, f"{waived} test cases were waived")
    for case in cases:
        _collect_case(case, collector)
    _check_sums(cases, collector)
    _check_ends(text, collector)
    passed = [case.name for case in cases if case.matrices]
    if not cases:
        return {}
    return {"passed": len(passed), ProblemKind.WAIVED: waived, "testcases": tuple(passed)}


def _read_cases(text: str, collector: OutputCollector) -> tuple[list[CaseText], int]:
    cases: list[CaseText] = []
    waived = 0
    for line, is_whole in lines(text, _LONGEST_LINE):
        if running := _RUNNING.match(line):
            if cases:
                cases[-1].finish()
            cases.append(CaseText(running[1]))
        elif line.lstrip().startswith("Waived:"):
            waived += 1
            if cases and not cases[-1].description and not cases[-1].matrices:
                cases[-1].is_waived = True
        elif cases and "Running " not in line:
            _read_line(line, is_whole, cases[-1], collector)
        elif is_whole and (cases or _SUM.match(line)):
            complain(line, collector)
    if cases:
        cases[-1].finish()
    return cases, waived


def _read_line(line: str, is_whole: bool, case: CaseText, collector: OutputCollector) -> None:
    if total := _SUM.match(line):
        _read_sum(total, case, collector)
    elif case.width is None and case.description:
        if _INDICES.match(line) and line.split() and is_whole:
            case.width = len(line.split())
    elif case.width is not None and (row := _ROW.match(line)):
        _read_row(row, is_whole, case, collector)
    elif is_whole and _is_part(line, is_matrix=case.width is not None):
        complain(line, collector)
    elif _DESCRIPTION.match(line) and "(column)" in line and is_whole:
        case.finish()
        case.description = line.strip()
        if not has_sides(case.description):
            complain(line, collector)


def _is_part(line: str, *, is_matrix: bool) -> bool:
    """Return whether a line is the rest of an interrupted row or sum."""
    is_row = is_matrix and figures_at_an_end(line) > 0
    return is_row or line.lstrip().startswith("SUM ") or bool(_NAMED.fullmatch(line[:120]))


def _read_sum(match: re.Match[str], case: CaseText, collector: OutputCollector) -> None:
    name = match[1]
    for ending in _PARTS:
        name = name.removesuffix(ending) if name != case.name else name
    if name != case.name:
        collector.error(
            ProblemKind.UNPARSABLE, f"the sum of {match[1]} follows the matrix of {case.name}"
        )
        return
    if not case.description:
        collector.error(ProblemKind.TRUNCATED, f"{match[1]}: a sum without its matrix")
    case.total = float(match[2])
    case.finish()


def _read_row(
    match: re.Match[str], is_whole: bool, case: CaseText, collector: OutputCollector
) -> None:
    tokens = match[2].split()
    unfit = [token for token in tokens if not _NUMBER.fullmatch(token) and token != _NOT_AVAILABLE]
    if unfit or len(tokens) != case.width or int(match[1]) != len(case.rows):
        is_cut = not is_whole or len(tokens) != case.width or not unfit
        kind = ProblemKind.TRUNCATED if is_cut else ProblemKind.NOT_A_NUMBER
        collector.error(kind, f"{case.name}: row {match[0][:120].strip()!r}")
        case.rows.append(())
        return
    case.rows.append(tuple(None if t == _NOT_AVAILABLE else float(t) for t in tokens))


def _collect_case(case: CaseText, collector: OutputCollector) -> None:
    if not case.matrices and not case.is_waived:
        collector.error(ProblemKind.TRUNCATED, f"{case.name} was started but has no matrix")
    for matrix in case.matrices:
        collect(matrix, collector)


def _check_sums(cases: list[CaseText], collector: OutputCollector) -> None:
    """Warn of a missing sum, which versions since 0.3 print below each matrix."""
    matrices = [matrix for case in cases for matrix in case.matrices]
    lacking = [matrix.metric for matrix in matrices if matrix.total is None]
    if lacking:
        message = f"no sum of {', '.join(lacking[:4])}: rows may be missing"
        collector.warn(ProblemKind.NO_CLOSING_LINE, message)


def _check_ends(text: str, collector: OutputCollector) -> None:
    """Warn of missing first and last lines: test cases may be missing beside them."""
    if not _VERSION.search(text):
        collector.warn(ProblemKind.NO_OPENING_LINE, "no version: test cases may be missing")
    if _NOTE not in text:
        collector.warn(ProblemKind.NO_CLOSING_LINE, "no closing note: test cases may be missing")


# --- JSON (``-j``): cells are strings, the sum is a number, and keys may be missing ---

_TITLE = "nvbandwidth"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,90}")
# Cells have six significant digits: half of the last one is at most this share of the value.
_ROUNDING_OF_VALUE = 5e-6


def read_json(
    document: Document, collector: OutputCollector
) -> tuple[str | None, dict[str, object]]:
    """Add samples to ``collector``; return the version and the summary.

    ``summary`` holds ``passed``, ``waived``, ``testcases`` (names that passed), ``driver``,
    ``cuda`` and ``devices``.
    """
    content = part(document.content, _TITLE)
    if not content:
        collector.error(ProblemKind.NO_TABLE, "JSON, but not from nvbandwidth")
        return None, {}
    _complain_of_words(content, document, collector)
    cases = items(content.get("testcases"))
    for case in cases:
        _read_case(case, collector)
    if not cases and not collector.has_errors:
        collector.error(ProblemKind.NO_TABLE, "no test case ran")
    _complain_of_twins(cases, collector)
    version = content.get("version")
    return version if isinstance(version, str) else None, _summary(content, cases)


def _complain_of_words(
    content: dict[str, object], document: Document, collector: OutputCollector
) -> None:
    if error := content.get("error"):
        collector.error(ProblemKind.TOOL_FAILED, str(error)[:400])
    if warning := content.get("warning"):
        collector.warn(ProblemKind.TOOL_WARNING, str(warning)[:400])
    if not collector.has_errors and document.before.strip():
        collector.warn(ProblemKind.TEXT_BEFORE_JSON, document.before.strip()[:200])


def _complain_of_twins(cases: list[dict[str, object]], collector: OutputCollector) -> None:
    names = [str(case.get("name")) for case in cases]
    if len(set(names)) < len(names):
        collector.error(
            ProblemKind.SEVERAL_TABLES, "a test case occurs twice; give the output of one run"
        )


def _read_case(case: dict[str, object], collector: OutputCollector) -> None:
    name, status = str(case.get("name"))[:90], case.get("status")
    if error := case.get("error"):
        collector.error(ProblemKind.TOOL_FAILED, f"{name}: {str(error)[:300]}")
    if not _NAME.fullmatch(name):
        complain(name, collector)
    if status == "Waived":
        collector.warn(ProblemKind.WAIVED, f"{name} was waived")
    elif status != "Passed":
        collector.error(ProblemKind.TESTCASE_FAILED, f"{name}: status {str(status)[:40]!r}")
    else:
        _read_matrix(name, case, collector)


def _read_matrix(name: str, case: dict[str, object], collector: OutputCollector) -> None:
    printed = case.get("bandwidth_matrix")
    rows = printed if isinstance(printed, list) else []
    if not rows or not all(isinstance(row, list) for row in rows):
        collector.error(ProblemKind.TRUNCATED, f"{name} passed but has no matrix")
        return
    cells = tuple(tuple(_cell(name, cell, collector) for cell in row) for row in rows)
    largest = max((cell or 0.0 for row in cells for cell in row), default=0.0)
    matrix = Matrix(
        name=name,
        description=str(case.get("bandwidth_description"))[:200],
        rows=cells,
        total=number(case.get("sum")),
        rounding=largest * _ROUNDING_OF_VALUE,
    )
    for one in split_parts(matrix):
        collect(one, collector)


def _cell(name: str, cell: object, collector: OutputCollector) -> MatrixCell:
    if cell == "N/A":
        return None
    value = number(cell)
    if value is None and isinstance(cell, str):
        value = _read_number(cell)
    if value is None or not math.isfinite(value):
        collector.error(ProblemKind.NOT_A_NUMBER, f"{name}: a cell is {str(cell)[:40]!r}")
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
        ProblemKind.WAIVED: len(named("Waived")),
        "testcases": named("Passed"),
        "driver": content.get("Driver Version"),
        "cuda": content.get("CUDA Runtime Version"),
        "devices": tuple(map(str, devices)) if isinstance(devices, list) else (),
    }
