"""The text output: ``Running NAME.``, a description, a matrix and its sum for each test case."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from railgauge.tools.findings import Findings
from railgauge.tools.nvbandwidth.matrices import Cell, Matrix, collect

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
class CaseText:
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
    for number, line in enumerate(lines, 1):
        if len(line) <= _LONGEST_LINE:
            yield line, number < len(lines)


def _read_cases(text: str, findings: Findings) -> tuple[list[CaseText], int]:
    cases: list[CaseText] = []
    waived = 0
    for line, is_whole in _lines(text):
        if running := _RUNNING.match(line):
            if cases:
                cases[-1].finish()
            cases.append(CaseText(running[1]))
        elif line.lstrip().startswith("Waived:"):
            waived += 1
            if cases and not cases[-1].description and not cases[-1].matrices:
                cases[-1].is_waived = True
        elif cases:
            _read_line(line, is_whole, cases[-1], findings)
    if cases:
        cases[-1].finish()
    return cases, waived


def _read_line(line: str, is_whole: bool, case: CaseText, findings: Findings) -> None:
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


def _read_sum(match: re.Match[str], case: CaseText, findings: Findings) -> None:
    name = match[1]
    for part in _PARTS:
        name = name.removesuffix(part) if name != case.name else name
    if name != case.name:
        findings.complain("unparsable", f"the sum of {match[1]} below the matrix of {case.name}")
        return
    case.total = float(match[2])
    case.finish()


def _read_row(match: re.Match[str], is_whole: bool, case: CaseText, findings: Findings) -> None:
    tokens = match[2].split()
    unfit = [token for token in tokens if not _NUMBER.fullmatch(token) and token != _NOT_AVAILABLE]
    if unfit or len(tokens) != case.width or int(match[1]) != len(case.rows):
        is_cut = not is_whole or len(tokens) != case.width or not unfit
        kind = "truncated" if is_cut else "not-a-number"
        findings.complain(kind, f"{case.name}: row {match[0][:120].strip()!r}")
        case.rows.append(())
        return
    case.rows.append(tuple(None if t == _NOT_AVAILABLE else float(t) for t in tokens))


def _collect_case(case: CaseText, findings: Findings) -> None:
    if not case.matrices and not case.is_waived:
        findings.complain("truncated", f"{case.name} was started and has no matrix")
    for matrix in case.matrices:
        collect(matrix, findings)


def _check_sums(cases: list[CaseText], findings: Findings) -> None:
    """Versions since 0.3 print a sum below each matrix: where one lacks, the output may go on."""
    matrices = [matrix for case in cases for matrix in case.matrices]
    lacking = [matrix.metric for matrix in matrices if matrix.total is None]
    if lacking and len(lacking) < len(matrices):
        findings.warn("no-closing-line", f"no sum of {', '.join(lacking[:4])}")
