"""The parser of ``dcgmi diag``, from a table or JSON: results, and their counts by status."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace

from railgauge.core.model import Parsed
from railgauge.core.problems import Problem, ProblemKind
from railgauge.tools.collector import OutputCollector, problem
from railgauge.tools.documents import Document, items, read_document
from railgauge.tools.text import clean, lines

_WARNINGS = {"fail": ProblemKind.TEST_FAILED, "warn": ProblemKind.TEST_WARNED}
_STATUSES = ("pass", "fail", "warn", "skip", "not run")
# A table is 79 characters wide.
_LONGEST_LINE = 500

DEPLOYMENT = (
    "Denylist",
    "NVML Library",
    "CUDA Main Library",
    "Permissions and OS Blocks",
    "Persistence Mode",
    "Environment Variables",
    "Page Retirement/Row Remap",
    "Graphics Processes",
    "Inforom",
)
EUD = "EUD Test"
# The tests that each level adds to those below it (DCGM's user guide, run levels and tests).
_ADDED = {
    "4": ("Memtest", "Pulse Test"),
    "3": ("Diagnostic", "Memory Bandwidth", "Targeted Stress", "Targeted Power"),
    "2": ("GPU Memory", "PCIe"),
    "eud": (EUD,),
    "1": DEPLOYMENT,
}
# The names of other releases for the tests of 3.3: release 2 has two older names; release 4 uses
# the names of option ``-r``, and one name for all deployment checks.
_CALLED = {
    "Blacklist": ("Denylist",),
    "Page Retirement": ("Page Retirement/Row Remap",),
    "software": DEPLOYMENT,
    "memory": ("GPU Memory",),
    "pcie": ("PCIe",),
    "diagnostic": ("Diagnostic",),
    "memory_bandwidth": ("Memory Bandwidth",),
    "targeted_stress": ("Targeted Stress",),
    "targeted_power": ("Targeted Power",),
    "memtest": ("Memtest",),
    "pulse_test": ("Pulse Test",),
    "eud": (EUD,),
}


def parse(text: str) -> Parsed:
    """Count the results by status; never raises.

    ``tests_pass``, ``tests_fail``, ``tests_warn``, ``tests_skip`` and ``tests_not_run`` are counts;
    ``summary.results`` holds each result as printed, ``summary.tests`` by the names of DCGM 3.3,
    ``summary.run`` the level that has these tests, ``summary.details`` versions and device ids. A
    test that failed or warned is a measured value and the warning ``test-failed`` or
    ``test-warned``; an incomplete report is an error (see ``parse_dcgmi_diag``).
    """
    text = clean(text)
    report = parse_dcgmi_diag(text)
    collector = OutputCollector()
    if collector.check_started(text, "dcgmi"):
        collector.problems.extend(report.problems)
    if report.results:
        _collect_counts(report, collector)
    for result in report.results:
        if kind := _WARNINGS.get(result.status):
            collector.warn(kind, _text(result))
    details = dict(report.details)
    tests = list(_tests(report))
    summary = {
        "has_passed": report.has_passed,
        "results": [asdict(result) for result in report.results],
        "tests": tests,
        "run": _run_of({str(test["name"]) for test in tests}),
        "details": details,
    }
    version = details.get("DCGM Version") or details.get("version")
    return collector.parsed("dcgmi-diag", version, summary)


def _collect_counts(report: DiagReport, collector: OutputCollector) -> None:
    statuses = [result.status for result in report.results]
    for status in _STATUSES:
        metric = f"tests_{status.replace(' ', '_')}"
        collector.add(metric, "count", statuses.count(status), may_be_zero=True)


def _text(result: DiagResult) -> str:
    return f"{result.name}: {result.printed} {' '.join(result.warnings)}"


def _tests(report: DiagReport) -> Iterator[dict[str, object]]:
    """Yield each result with its DCGM 3.3 name, as the fields of ``results.NamedResult``."""
    for result in report.results:
        for name in _CALLED.get(result.name, (result.name,)):
            yield {
                "name": name,
                "status": result.status,
                "printed": result.printed,
                "gpus": result.gpus,
                "says": " ".join(result.warnings),
            }


def _run_of(names: set[str]) -> str | None:
    """Return the value of ``-r`` that runs these tests; ``None`` if no level does."""
    return next((run for run, added in _ADDED.items() if names.intersection(added)), None)


# --- the table and the JSON ---

_HEADING = ("Diagnostic", "Result")
_SEVERAL = "several outputs in one; give the output of one run"
_TITLES = ("DCGM GPU Diagnostic", "DCGM Diagnostic")
_STATUS = re.compile(
    r"(Pass|Fail|Warn|Skip|Not Run|Not run)(?: - (All|GPUs?: ?[0-9][0-9, ]{0,200}))?"
)
_SECTION = re.compile(r"[|+]-{2,20}\s{1,4}([A-Z][\w /]{0,40}?)\s{1,4}-{2,20}\+-{2,80}[|+]")
_BORDER = re.compile(r"\+-{5,80}\+-{5,120}\+")
_CELLS = re.compile(r"\|([^|\n]{3,60})\|(.{0,400}?)\|?[ \t]{0,20}")
_RULE = re.compile(r"[+|]=[=+]{3,200}[+|]")
_PART = re.compile(r"\||[+=-]{4}|-\+-|=\+=")
_MESSAGES = frozenset({"Warning", "Info", "Error"})
_METADATA = ("Version", "Detected", "Device IDs")
_COMPLAINT = re.compile(
    r"^(?:Error: |Unable to |.{0,80}dcgmi: (?:command )?not found)[^\n]{0,200}", re.MULTILINE
)
# The result for single GPUs is below the test: "Fail - GPU: 0" (DCGM 3), "GPU0: Fail" (DCGM 4).
_BENEATH = re.compile(
    r"(Pass|Fail|Warn|Skip|Not Run|Not run) - GPUs?: ?[0-9][0-9, ]{0,200}"
    r"|GPU ?(\d{1,4}): (Pass|Fail|Warn|Skip|Not Run|Not run)"
)
# A wrapped line fills this many characters of its cell; the text continues without a blank.
_WRAPPED = 45


@dataclass(frozen=True, slots=True)
class DiagResult:
    """The result of one test of ``dcgmi diag``, for the GPUs in ``gpus``, or for all if empty.

    ``status`` is ``pass``, ``fail``, ``warn``, ``skip`` or ``not run``; ``printed`` is the status
    as printed (``Fail - All``).
    """

    name: str
    status: str
    printed: str
    category: str = ""
    gpus: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiagReport:
    """A parsed report. ``details`` holds versions and device ids as printed."""

    results: tuple[DiagResult, ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def has_passed(self) -> bool:
        """Whether the report is complete and every test passed or was skipped, but not all."""
        statuses = {result.status for result in self.results}
        return not self.problems and "pass" in statuses and statuses <= {"pass", "skip"}

    def named(self, name: str) -> tuple[DiagResult, ...]:
        return tuple(result for result in self.results if result.name == name)


@dataclass(slots=True)
class _Row:
    """A test while its rows are read; ``messages`` are pairs of label and wrapped text."""

    category: str
    name: str
    printed: str
    messages: list[tuple[str, str]] = field(default_factory=list)


def parse_dcgmi_diag(text: str) -> DiagReport:
    """Read the table or the JSON (``-j``) of DCGM 2 to 4. Never raises.

    Problems, all errors: ``no-output``, ``no-table``, ``truncated``, ``unparsable`` (an unknown
    status) and ``tool-failed``. Results that were printed before an error are kept beside it.
    """
    text = clean(text)
    if "{" in text and any(f'"{title}"' in text for title in _TITLES):
        return _parse_json(text)
    return _parse_table(text)


def _parse_table(text: str) -> DiagReport:
    rows, details, headings, is_closed, torn = _read_rows(text)
    problems = [problem(ProblemKind.TOOL_FAILED, match[0]) for match in _COMPLAINT.finditer(text)][
        :1
    ]
    results = []
    for row in rows:
        status = _STATUS.fullmatch(row.printed)
        if status is None:
            problems.append(problem(ProblemKind.UNPARSABLE, f"{row.name}: {row.printed!r}"))
            continue
        results.append(_result(row, status))
    if not problems and not rows and not details:
        problems.append(_nothing(text))
    elif (rows or details) and not is_closed:
        problems.append(problem(ProblemKind.TRUNCATED, "the table has no closing line"))
    if (rows or details) and not headings:
        what = "the table begins before this text: its first tests are missing"
        problems.append(problem(ProblemKind.TRUNCATED, what))
    elif headings > 1:
        problems.append(problem(ProblemKind.SEVERAL_TABLES, _SEVERAL))
    if torn:
        what = f"a row is interrupted by another text: {torn[0]!r}"
        problems.append(problem(ProblemKind.UNPARSABLE, what))
    return DiagReport(tuple(results), tuple(details), tuple(problems))


def _nothing(text: str) -> Problem:
    if not text.strip():
        return problem(ProblemKind.NO_OUTPUT, "nothing was printed")
    return problem(ProblemKind.NO_TABLE, "no table of dcgmi diag in this text")


def _read_rows(text: str) -> tuple[list[_Row], list[tuple[str, str]], int, bool, list[str]]:
    """Return tests, details (name, value), headings, whether the last line was printed, and parts.

    Parts are lines of the table that are no whole ones.
    """
    torn: list[str] = []
    rows: list[_Row] = []
    details: list[tuple[str, str]] = []
    category, headings, is_closed = "", 0, False
    for printed, is_whole in lines(text, _LONGEST_LINE):
        line = printed.strip()
        if section := _SECTION.fullmatch(line):
            category, is_closed = section[1], False
        elif _BORDER.fullmatch(line):
            is_closed = True
        elif is_whole and (cells := _CELLS.fullmatch(line)):
            is_closed = False
            words = (cells[1].strip(), cells[2].strip())
            headings += words == _HEADING
            if words != _HEADING:
                _read_cells(words[0], cells[2], category, rows, details)
        elif is_whole and _PART.search(line) and not _RULE.fullmatch(line):
            torn.append(line)
    return rows, details, headings, is_closed, torn


def _read_cells(
    name: str, value: str, category: str, rows: list[_Row], details: list[tuple[str, str]]
) -> None:
    if not name and rows and (beneath := _BENEATH.fullmatch(value.strip())):
        _go_beneath(beneath, category, rows)
    elif not name:
        _go_on(value, rows)
    elif name in _MESSAGES and rows:
        rows[-1].messages.append((name, _chunk(value)))
    elif category == "Metadata" or name.endswith(_METADATA):
        details.append((name, value.strip()))
    else:
        rows.append(_Row(category, name, value.strip()))


def _go_beneath(found: re.Match[str], category: str, rows: list[_Row]) -> None:
    """Add a result of the test above for single GPUs; the messages that follow belong to it."""
    printed = f"{found[3]} - GPU: {found[2]}" if found[3] else found[0]
    rows.append(_Row(category, rows[-1].name, printed))


def _go_on(value: str, rows: list[_Row]) -> None:
    """Append a wrapped line to the message above it."""
    if rows and rows[-1].messages:
        label, begun = rows[-1].messages[-1]
        rows[-1].messages[-1] = (label, begun + _chunk(value))


def _chunk(value: str) -> str:
    return value[1 : 1 + _WRAPPED]


def _result(row: _Row, status: re.Match[str]) -> DiagResult:
    gpus = re.findall(r"\d{1,4}", status[2] or "")
    messages = [(label, " ".join(words.split())) for label, words in row.messages]
    return DiagResult(
        name=row.name,
        status=status[1].lower(),
        printed=row.printed,
        category=row.category,
        gpus=tuple(map(int, gpus)),
        warnings=tuple(words for label, words in messages if label != "Info"),
    )


def _parse_json(text: str) -> DiagReport:
    document = read_document(text)
    if not isinstance(document, Document):
        return DiagReport(problems=(document,))
    report = next((document.content[title] for title in _TITLES if title in document.content), None)
    if not isinstance(report, dict):
        return DiagReport(
            problems=(problem(ProblemKind.NO_TABLE, "JSON, but not from dcgmi diag"),)
        )
    found = _read_report(report)
    if "{" in document.behind and any(f'"{title}"' in document.behind for title in _TITLES):
        several = problem(ProblemKind.SEVERAL_TABLES, _SEVERAL)
        return replace(found, problems=(*found.problems, several))
    return found


def _read_report(report: dict[str, object]) -> DiagReport:
    problems = []
    for key in ("runtime_error", "error", "errors"):
        if error := report.get(key):
            problems.append(problem(ProblemKind.TOOL_FAILED, str(error)))
    results = []
    for category, name, result in _json_results(report):
        status = _STATUS.fullmatch(str(result.get("status")))
        if status is None:
            problems.append(
                problem(ProblemKind.UNPARSABLE, f"{name}: status {result.get('status')!r}")
            )
        else:
            results.append(_json_result(category, name, status, result))
    if not results and not problems:
        problems.append(problem(ProblemKind.NO_TABLE, "no test ran"))
    return DiagReport(tuple(results), tuple(_json_details(report)), tuple(problems))


def _json_results(report: dict[str, object]) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Yield category, name and result; a test without results gives an empty one."""
    for category in items(report.get("test_categories")):
        for test in items(category.get("tests")):
            for result in items(test.get("results")) or [{}]:
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
    )


def _gpus(result: dict[str, object]) -> tuple[int, ...]:
    if result.get("entity_group", "GPU") != "GPU":
        return ()
    named = next((result[key] for key in ("gpu_ids", "gpu_id", "entity_id") if key in result), "")
    return tuple(int(index) for index in re.findall(r"\d{1,4}", str(named)[:400]))


def _words(message: object) -> tuple[str, ...]:
    """Return the messages in a text, a list of texts, or objects that hold a text."""
    if isinstance(message, dict):
        message = message.get("warning") or message.get("message") or message.get("error")
    if isinstance(message, list):
        return tuple(words for item in message for words in _words(item))
    return (" ".join(message.split()),) if isinstance(message, str) and message.strip() else ()


def _json_details(report: dict[str, object]) -> Iterator[tuple[str, str]]:
    metadata = report.get("metadata")
    for content in (report, metadata if isinstance(metadata, dict) else {}):
        for key, value in content.items():
            if isinstance(value, str) and "error" not in key:
                yield key, value
