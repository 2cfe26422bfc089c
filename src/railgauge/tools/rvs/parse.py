"""The parser of RVS: from its lines to samples, results of actions, and problems."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.relations import Statistics
from railgauge.tools.rvs import memory, peers
from railgauge.tools.rvs.memory import Memory
from railgauge.tools.rvs.products import Products
from railgauge.tools.rvs.reading import OF_GPU, PREFIX, RvsRun
from railgauge.tools.text import clean, is_torn, whole_lines
from railgauge.tools.torn import complain

_LONGEST_LINE = 500
_BEGIN = "railgauge: rvs begins"
_END = re.compile(r"railgauge: rvs ended with ([0-9]{1,3})")
_ACTION = re.compile(r"Action name {0,2}: {0,2}(\S{1,120})")
_OF_ACTION = re.compile(r"\[(\S{1,120})\] (?:\[GPU:: |(?:a2a-)?p2p)")
_SUMMARY = re.compile(
    r"\| (\S{1,120}) {1,80}\| ([A-Z]{2,12}) {1,40}\| (PASS|FAIL|SKIP)[A-Z]* {1,40}\|"
)
_VERSION = re.compile(r"\| RVS version {1,40}\| (\S{1,30}) {1,60}\|")
_STATUS = {"PASS": "pass", "FAIL": "fail", "SKIP": "skip"}
_PART = re.compile(
    r"RESULT *\] |\[RES|\[GPU:: |[A-Z]S \d|GBps  duration|pass: (?:TRUE|FALSE)|ramp up|^\d{1,9}$"
)
_OF_RESULT = ("Start of GPU ramp up", "End of GPU ramp up", "GFLOPS", "Power(W)", memory.BEGIN)
_RELATIONS = (Statistics("(?P<of>babel_[a-z]{1,9})(?:_(?P<as>min|max))?", 0.01),)
_OLD_ERROR = re.compile(r"RVS-ERROR (.{1,300})")


@dataclass(slots=True)
class _Marks:
    """The suite's own lines, the names of the actions, and RVS's closing table."""

    begins: int = 0
    ends: list[int] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    unannounced: set[str] = field(default_factory=set)
    closing: dict[str, str] = field(default_factory=dict)
    version: str | None = None


def parse(text: str) -> Parsed:
    """Read the results of GST, IET, BABEL and PBQT, and RVS's own verdicts. Never raises.

    ``gflops_bf16``, … or ``gflops`` (``GFLOP/s``) is GST's rate in each interval, by the format in
    the action's name; ``babel_copy``, ``babel_copy_min``, ``babel_copy_max``, … (``MB/s`` or
    ``MiB/s``) are a kernel's mean, its slowest and its fastest run; ``p2p_bw`` and
    ``p2p_bw_bidirectional`` are decimal ``GB/s`` between two GPUs. The placement is ``gpu0`` in the
    order of RVS's list of GPUs, or RVS's own number without that list. ``summary.tests`` has each
    action on each GPU, as in ``NamedResult``; RVS's closing table alone gives ``tests_pass``, ….
    A failed one is the warning ``test-failed``. ``summary``: ``measured``, ``models``, ``buses``
    (PCI addresses), ``peers``,
    ``actions``. An id or a value that is no number (the manual prints ``<result>``) is an error, as
    is an action that a listed GPU did not end.
    """
    text = clean(text)
    run, marks = RvsRun(OutputCollector(relations=_RELATIONS)), _Marks()
    products, tables = Products(), Memory()
    started = run.collector.check_started(text, "rvs")
    for line in whole_lines(text):
        if len(line) < _LONGEST_LINE:
            _take(line.rstrip(), run, marks, (products, tables))
    if is_torn(text):
        run.collector.error(ProblemKind.TRUNCATED, "the last line is incomplete")
    if started:
        _check(text, run, marks, tables)
    return run.collector.parsed("rvs", marks.version, _summary(run, marks))


def _summary(run: RvsRun, marks: _Marks) -> dict[str, object]:
    """The GPUs that were measured are those of the list that an action ended on."""
    ended = {number for numbers in run.ended.values() for number in numbers}
    order = sorted(run.listed, key=lambda one: run.listed[one][0].lower())
    closing = [
        {"name": name, "status": status, "printed": status, "gpus": (), "says": "RVS's summary"}
        for name, status in marks.closing.items()
    ]
    return {
        "peers": run.peers,
        "measured": tuple(run.place(number) for number in order if number in ended),
        "models": tuple(model for _, model in run.listed.values()),
        "buses": tuple(bus for bus, _ in run.listed.values()),
        "actions": tuple(marks.actions),
        "tests": [*run.results, *closing],
    }


def _take(line: str, run: RvsRun, marks: _Marks, modules: tuple[Products, Memory]) -> None:
    match = PREFIX.fullmatch(line)
    if match and match[1] == "ERROR":
        run.collector.error(ProblemKind.TOOL_FAILED, match[2])
    elif match and match[1] == "RESULT":
        _take_result(match[2].strip(), run, marks, modules)
    elif match or run.take_listed(line) or _take_mark(line, marks):
        return
    elif old := _OLD_ERROR.search(line):
        run.collector.error(ProblemKind.TOOL_FAILED, old[1])
    elif _PART.search(line):
        complain(line, run.collector)
    else:
        modules[1].take(line, run)


def _take_result(result: str, run: RvsRun, marks: _Marks, modules: tuple[Products, Memory]) -> None:
    products, tables = modules
    of_action = _OF_ACTION.match(result)
    if action := _ACTION.fullmatch(result):
        marks.actions.append(action[1])
    elif of_action and of_action[1] not in marks.actions:
        marks.unannounced.add(of_action[1])
    elif peers.take(result, run):
        return
    elif not (of_gpu := OF_GPU.fullmatch(result)):
        is_part = "[GPU::" in result or result.count("[") != result.count("]")
        if is_part or "GFLOPS" in result or "Power(W)" in result:
            run.collector.error(ProblemKind.UNPARSABLE, result)
    elif of_gpu[3] == memory.BEGIN:
        tables.begin(of_gpu[1], of_gpu[2], run)
    elif not products.take(of_gpu[1], of_gpu[2], of_gpu[3], run) and _is_part(of_gpu[3]):
        run.collector.error(ProblemKind.UNPARSABLE, result)


def _is_part(result: str) -> bool:
    """Return whether words about a GPU are the rest of an interrupted result."""
    return "GFLOPS" in result or any(one.startswith(result[:4].rstrip()) for one in _OF_RESULT)


def _take_mark(line: str, marks: _Marks) -> bool:
    if line == _BEGIN:
        marks.begins += 1
    elif match := _END.fullmatch(line):
        marks.ends.append(int(match[1]))
    elif match := _VERSION.fullmatch(line):
        marks.version = match[1]
    elif match := _SUMMARY.fullmatch(line):
        marks.closing[match[1]] = _STATUS[match[3]]
    else:
        return line.startswith(("|", "+"))
    return True


# --- the whole ---


def _check(text: str, run: RvsRun, marks: _Marks, tables: Memory) -> None:
    for result in run.results:
        if result["status"] == "fail":
            what = f"{result['name']} on gpu{result['gpus']}: {result['printed']}"
            run.collector.warn(ProblemKind.TEST_FAILED, what.replace("(", "").replace(",)", ""))
    for name, status in marks.closing.items():
        if status == "fail":
            run.collector.warn(ProblemKind.TEST_FAILED, f"{name}, in RVS's summary")
    if marks.begins > 1 or len(set(marks.actions)) < len(marks.actions):
        run.collector.several_runs()
    elif marks.begins and len(marks.ends) != 1:
        run.collector.error(ProblemKind.TRUNCATED, "rvs did not end")
    if marks.unannounced:
        what = f"no line announces the action {', '.join(sorted(marks.unannounced)[:3])}"
        run.collector.error(ProblemKind.INCONSISTENT, what)
    if tables.rows:
        run.collector.error(ProblemKind.TRUNCATED, "a table of BABEL without its closing rule")
    _check_gpus(run)
    peers.check(run)
    if marks.closing and not (run.results or run.peers or run.collector.samples):
        message = "RVS's summary alone: the results of single GPUs are missing"
        run.collector.warn(ProblemKind.NO_OPENING_LINE, message)
        for status in _STATUS.values():
            number = list(marks.closing.values()).count(status)
            run.collector.add(f"tests_{status}", "count", number, may_be_zero=True)
    elif run.collector.is_empty and not (run.results or run.peers):
        run.collector.nothing(text, "no result of RVS in this text")


def _check_gpus(run: RvsRun) -> None:
    """Each action that began on a GPU must end there, and on every GPU of the list alone."""
    numbers = {one for each in (*run.began.values(), *run.ended.values()) for one in each}
    if strange := sorted(numbers - set(run.listed)) if run.listed else []:
        what = f"RVS's list of GPUs lacks {', '.join(strange)}"
        run.collector.error(ProblemKind.INCONSISTENT, what)
    for action, began in run.began.items():
        wanted = sorted({*began, *run.listed})
        ended = sorted(run.ended.get(action, []))
        if missing := [run.place(number) for number in wanted if number not in ended]:
            what = f"{action} did not end on {', '.join(missing)}"
            run.collector.error(ProblemKind.METRIC_MISSING, what)
        elif len(began) != len(set(began)) or len(ended) != len(wanted):
            what = f"{action} ran several times on a GPU; give one run"
            run.collector.error(ProblemKind.SEVERAL_TABLES, what)
