"""Results of health checks that a site has run: ``dcgmi diag`` and Azure's node health checks.

Pure. An empty output is not a pass: such a report has no result, and a problem.

The table row ``| PCIe                      | Fail - GPU: 3    |`` becomes a ``DiagResult`` with the
name ``PCIe``, the status ``fail`` and the GPUs ``(3,)``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from railgauge.core.model import Problem

_TITLES = ("DCGM GPU Diagnostic", "DCGM Diagnostic")
_STATUS = re.compile(
    r"(Pass|Fail|Warn|Skip|Not Run|Not run)(?: - (All|GPUs?: ?[0-9][0-9, ]{0,200}))?"
)
_SECTION = re.compile(r"[|+]-{2,20}\s{1,4}([A-Z][\w /]{0,40}?)\s{1,4}-{2,20}\+-{2,80}[|+]")
_BORDER = re.compile(r"\+-{5,80}\+-{5,120}\+")
_CELLS = re.compile(r"\|([^|\n]{3,60})\|(.{0,400}?)\|?[ \t]{0,20}")
_MESSAGES = frozenset({"Warning", "Info", "Error"})
_METADATA = ("Version", "Detected", "Device IDs")
_COMPLAINT = re.compile(
    r"^(?:Error: |Unable to |.{0,80}dcgmi: (?:command )?not found)[^\n]{0,200}", re.MULTILINE
)
# Rows below a test give its results for single GPUs: "Fail - GPU: 0" (DCGM 3), "GPU0: Fail" (4).
_BELOW = re.compile(
    r"(Pass|Fail|Warn|Skip|Not Run|Not run) - GPUs?: ?[0-9][0-9, ]{0,200}"
    r"|GPU ?(\d{1,4}): (Pass|Fail|Warn|Skip|Not Run|Not run)"
)
# A wrapped line fills this many characters of its cell; the next line continues without a blank.
_WRAPPED = 45

_NHC = re.compile(
    r"(SUCCESS|ERROR):[ \t]{1,9}nhc:[ \t]{1,9}Health check (passed|failed):"
    r"[ \t]{0,9}([^\n]{0,2000})"
)
_CHECK = re.compile(r"([A-Za-z_][\w.-]{0,80}):(?:[ \t]{1,9}|$)(.{0,2000})")
_FAULT = re.compile(r"\.?[ \t]{0,4}FaultCode: (\w{1,40})[ \t]{0,9}$")
_FIGURE = re.compile(r"(~?)(?<![\w.])(\d{1,9}(?:\.\d{1,9})?) ?(GB/s|GBps|Gb/s|Gbps)(?!\w)")
_UNITS = {"GBps": "GB/s", "Gbps": "Gb/s"}


@dataclass(frozen=True, slots=True)
class DiagResult:
    """The result of one test of ``dcgmi diag``, for all GPUs or for those in ``gpus``.

    ``status`` is ``pass``, ``fail``, ``warn``, ``skip`` or ``not run``; ``printed`` is the text of
    the tool (``Fail - All``). ``gpus`` is empty if the result is for all GPUs.
    """

    name: str
    status: str
    printed: str
    category: str = ""
    gpus: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    information: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiagReport:
    """The report of ``dcgmi diag``. ``details`` holds versions and device ids as printed."""

    results: tuple[DiagResult, ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def has_passed(self) -> bool:
        """Whether the report has no problem, one test or more passed, and the rest were skipped."""
        statuses = {result.status for result in self.results}
        return not self.problems and "pass" in statuses and statuses <= {"pass", "skip"}

    def named(self, name: str) -> tuple[DiagResult, ...]:
        return tuple(result for result in self.results if result.name == name)


@dataclass(slots=True)
class _Row:
    """A test while its rows are read; ``messages`` are pairs of a label and the wrapped text."""

    category: str
    name: str
    printed: str
    messages: list[tuple[str, str]] = field(default_factory=list)


def parse_dcgmi_diag(text: str) -> DiagReport:
    """Parse the table or the JSON (``-j``) of DCGM 2 to 4. Never raises.

    Problems, all errors: ``no-output``, ``no-table``, ``truncated``, ``unparsable`` (an unknown
    status) and ``tool-failed``. Results that were printed are kept beside the problems.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    start = text.find("{")
    if start >= 0 and any(f'"{title}"' in text for title in _TITLES):
        return _parse_json(text, start)
    return _parse_table(text)


def _error(kind: str, message: str) -> Problem:
    return Problem(kind, "error", " ".join(message[:200].split()))


def _parse_table(text: str) -> DiagReport:
    rows, details, is_closed = _read_rows(text)
    problems = [_error("tool-failed", match[0]) for match in _COMPLAINT.finditer(text)][:1]
    results = []
    for row in rows:
        status = _STATUS.fullmatch(row.printed)
        if status is None:
            problems.append(_error("unparsable", f"{row.name}: {row.printed!r}"))
            continue
        results.append(_result(row, status))
    if not problems and not rows and not details:
        problems.append(_nothing(text))
    elif (rows or details) and not is_closed:
        problems.append(_error("truncated", "the last line of the table is missing"))
    return DiagReport(tuple(results), tuple(details), tuple(problems))


def _nothing(text: str) -> Problem:
    if not text.strip():
        return _error("no-output", "nothing was printed")
    return _error("no-table", "the text contains no table of dcgmi diag")


def _read_rows(text: str) -> tuple[list[_Row], list[tuple[str, str]], bool]:
    """Return the tests, the details (name and value), and whether the last line was printed."""
    rows: list[_Row] = []
    details: list[tuple[str, str]] = []
    category, is_closed = "", False
    for line, is_whole in _lines(text):
        if section := _SECTION.fullmatch(line):
            category, is_closed = section[1], False
        elif _BORDER.fullmatch(line):
            is_closed = True
        elif is_whole and (cells := _CELLS.fullmatch(line)):
            is_closed = False
            _read_cells(cells[1].strip(), cells[2], category, rows, details)
    return rows, details, is_closed


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if len(line) <= 500:  # noqa: PLR2004 - a table is 79 characters wide
            yield line.strip(), number < len(lines)


def _read_cells(
    name: str, value: str, category: str, rows: list[_Row], details: list[tuple[str, str]]
) -> None:
    if (name, value.strip()) == ("Diagnostic", "Result"):
        return
    if not name and rows and (below := _BELOW.fullmatch(value.strip())):
        _add_below(below, category, rows)
    elif not name:
        _continue_message(value, rows)
    elif name in _MESSAGES and rows:
        rows[-1].messages.append((name, _chunk(value)))
    elif category == "Metadata" or name.endswith(_METADATA):
        details.append((name, value.strip()))
    else:
        rows.append(_Row(category, name, value.strip()))


def _add_below(found: re.Match[str], category: str, rows: list[_Row]) -> None:
    """Add the result of the test above for single GPUs; the messages that follow belong to it."""
    printed = f"{found[3]} - GPU: {found[2]}" if found[3] else found[0]
    rows.append(_Row(category, rows[-1].name, printed))


def _continue_message(value: str, rows: list[_Row]) -> None:
    """Append a wrapped line to the message above it."""
    if rows and rows[-1].messages:
        label, begun = rows[-1].messages[-1]
        rows[-1].messages[-1] = (label, begun + _chunk(value))


def _chunk(value: str) -> str:
    return value[1 : 1 + _WRAPPED]


def _result(row: _Row, status: re.Match[str]) -> DiagResult:
    gpus = re.findall(r"\d{1,4}", status[2] or "")
    said = [(label, " ".join(words.split())) for label, words in row.messages]
    return DiagResult(
        name=row.name,
        status=status[1].lower(),
        printed=row.printed,
        category=row.category,
        gpus=tuple(map(int, gpus)),
        warnings=tuple(words for label, words in said if label != "Info"),
        information=tuple(words for label, words in said if label == "Info"),
    )


def _parse_json(text: str, start: int) -> DiagReport:
    try:
        content, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        is_cut = not text.rstrip().endswith("}")
        kind = "truncated" if is_cut else "unparsable"
        return DiagReport(problems=(_error(kind, f"JSON: {error}"),))
    report = next((content[title] for title in _TITLES if title in content), None)
    if not isinstance(report, dict):
        return DiagReport(problems=(_error("no-table", "the JSON is not from dcgmi diag"),))
    return _read_report(report)


def _read_report(report: dict[str, object]) -> DiagReport:
    problems = []
    for key in ("runtime_error", "error", "errors"):
        if said := report.get(key):
            problems.append(_error("tool-failed", str(said)))
    results = []
    for category, name, result in _json_results(report):
        status = _STATUS.fullmatch(str(result.get("status")))
        if status is None:
            problems.append(_error("unparsable", f"{name}: status {result.get('status')!r}"))
        else:
            results.append(_json_result(category, name, status, result))
    if not results and not problems:
        problems.append(_error("no-table", "no test ran"))
    return DiagReport(tuple(results), tuple(_json_details(report)), tuple(problems))


def _objects(content: object) -> list[dict[str, object]]:
    return [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []


def _json_results(report: dict[str, object]) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Yield category, name and result; a test without results yields one ``{}``, without status."""
    for category in _objects(report.get("test_categories")):
        for test in _objects(category.get("tests")):
            for result in _objects(test.get("results")) or [{}]:
                yield str(category.get("category", "")), str(test.get("name", "")), result


def _json_result(
    category: str, name: str, status: re.Match[str], result: dict[str, object]
) -> DiagResult:
    return DiagResult(
        name=name,
        status=status[1].lower(),
        printed=status[0],
        category=category,
        gpus=_gpus(result),
        warnings=_words(result.get("warnings")),
        information=_words(result.get("info")),
    )


def _gpus(result: dict[str, object]) -> tuple[int, ...]:
    if result.get("entity_group", "GPU") != "GPU":
        return ()
    named = next((result[key] for key in ("gpu_ids", "gpu_id", "entity_id") if key in result), "")
    return tuple(int(index) for index in re.findall(r"\d{1,4}", str(named)[:400]))


def _words(said: object) -> tuple[str, ...]:
    """Return the messages in ``said``: a text, an object with a text, or a list of either."""
    if isinstance(said, dict):
        said = said.get("warning") or said.get("message") or said.get("error")
    if isinstance(said, list):
        return tuple(words for item in said for words in _words(item))
    return (" ".join(said.split()),) if isinstance(said, str) and said.strip() else ()


def _json_details(report: dict[str, object]) -> Iterator[tuple[str, str]]:
    metadata = report.get("metadata")
    for content in (report, metadata if isinstance(metadata, dict) else {}):
        for key, value in content.items():
            if isinstance(value, str) and "error" not in key:
                yield key, value


@dataclass(frozen=True, slots=True)
class BandwidthFigure:
    """A bandwidth in a check's message; ``is_approximate`` if a ``~`` precedes it."""

    value: float
    unit: str
    is_approximate: bool = False


@dataclass(frozen=True, slots=True)
class NhcResult:
    """One result line. ``check`` is empty if a failure names no check."""

    check: str
    has_passed: bool
    message: str
    fault_code: str = ""
    figures: tuple[BandwidthFigure, ...] = ()


def parse_nhc(text: str) -> tuple[NhcResult, ...]:
    """Parse the result lines of Azure's node health checks, in printed order; skip other lines.

    A success counts only if it names its check in a complete line; a failure always counts.
    ``Gbps`` and ``GBps`` become ``Gb/s`` and ``GB/s``. Never raises.
    """
    found = (_nhc_result(match) for match in _NHC.finditer(text.replace("\r", "")))
    return tuple(result for result in found if result)


def _nhc_result(match: re.Match[str]) -> NhcResult | None:
    has_passed = (match[1], match[2]) == ("SUCCESS", "passed")
    check = _CHECK.fullmatch(match[3].strip())
    name, message = (check[1], check[2]) if check else ("", match[3].strip())
    if has_passed and not name:
        return None
    fault = _FAULT.search(message)
    if fault:
        message = message[: fault.start()]
    return NhcResult(name, has_passed, message, fault[1] if fault else "", _figures(message))


def _figures(message: str) -> tuple[BandwidthFigure, ...]:
    return tuple(
        BandwidthFigure(float(value), _UNITS.get(unit, unit), bool(about))
        for about, value, unit in _FIGURE.findall(message)
    )
