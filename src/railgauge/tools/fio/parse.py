"""fio's output: its table for people and its JSON, versions 3.x."""

from __future__ import annotations

import re
from collections.abc import Sequence

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools import on_storage
from railgauge.tools.collector import OutputCollector
from railgauge.tools.documents import items, number, part, read_only_document
from railgauge.tools.text import clean, lines

_LONGEST_LINE = 600
_WAYS = ("read", "write", "trim")
# The engines whose operations are on files, and not on what is in them.
_OF_FILES = {"filecreate": "creates", "filestat": "stats", "filedelete": "deletes"}
_MOST_OPTIONS, _LONGEST_OPTION = 40, 200
_VERSION = re.compile(r"^fio-([0-9][\w.\-]{0,30})\s*$", re.MULTILINE)
_JOB = re.compile(
    r"([^\s:][^:\n]{0,100}): \(groupid=[0-9]{1,6}, jobs=([0-9]{1,6})\): err= ?([0-9]{1,6})"
)
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,6})?"
_WAY = re.compile(
    rf"\s{{1,12}}(read|write|trim) ?: IOPS=({_NUMBER})([kMG]?), BW=({_NUMBER})([KMGT]i)?B/s "
    rf"\(({_NUMBER})([kMGT]?)B/s\)\(({_NUMBER})([KMGT]i)?B/([0-9]{{1,12}})msec\)[^\n]{{0,80}}"
)
_STARTED = re.compile(r"^[^\s:][^:\n]{0,100}: \(g=[0-9]{1,6}\): rw=", re.MULTILINE)
_END = re.compile(r"^Run status group [0-9]{1,6} \(all jobs\):", re.MULTILINE)
_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {None: 1.0, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_AGREEMENT = 0.02


def parse(text: str) -> Parsed:
    """Read the table or the JSON of one run. Never raises and takes time linear in the text.

    ``bandwidth_read``, ``bandwidth_write`` (decimal ``MB/s``) and ``iops_read``, … (``1/s``) of
    each job, with its name as placement; of a job of metadata ``creates``, ``stats`` or ``deletes``
    in their place. A bandwidth must follow from bytes and time. A job with an error code is
    ``tool-failed``; a table without its last part is ``truncated``. ``summary.jobs`` maps the name
    of each job in the JSON to its options.
    """
    text = clean(text)
    collector = OutputCollector()
    version: str | None = None
    summary: dict[str, object] = {}
    if refused := on_storage.refused(text):
        collector.error(ProblemKind.TOOL_FAILED, refused)
    elif collector.check_started(text, "fio"):
        if phases := list(on_storage.phases(text)):
            version, summary = _read_phases(phases, collector)
        elif '"fio version"' in text:
            version, summary = _read_json(text, collector)
        else:
            found = _VERSION.search(text)
            version = found[1] if found else None
            _read_table(text, collector)
    return collector.parsed("fio", version, summary)


def _read_json(text: str, collector: OutputCollector) -> tuple[str | None, dict[str, object]]:
    document = read_only_document(text, collector)
    if document is None:
        return None, {}
    jobs = items(document.content.get("jobs"))
    _refuse_twins([str(job.get("jobname")) for job in jobs], collector)
    for job in jobs:
        _read_job(job, collector)
    if collector.is_empty:
        collector.error(ProblemKind.NO_TABLE, "the JSON holds no job that read or wrote")
    version = str(document.content.get("fio version", "")).removeprefix("fio-")[:30] or None
    return version, {"jobs": {str(job.get("jobname"))[:100]: _options(job) for job in jobs}}


def _read_phases(
    phases: Sequence[tuple[str, str]], collector: OutputCollector
) -> tuple[str | None, dict[str, object]]:
    """Read the documents of a run in phases, one behind each line that names its phase."""
    version: str | None = None
    jobs: dict[str, object] = {}
    for _, printed in phases:
        version, summary = _read_json(printed, collector)
        found = summary.get("jobs")
        if isinstance(found, dict):
            if found.keys() & jobs.keys():
                collector.error(ProblemKind.SEVERAL_TABLES, "a phase is there twice")
            jobs |= found
    return version, {"jobs": jobs}


def _options(job: dict[str, object]) -> dict[str, str]:
    """The options of a job as the command line has them."""
    options = list(part(job, "job options").items())[:_MOST_OPTIONS]
    return {name: value[:_LONGEST_OPTION] for name, value in options if isinstance(value, str)}


def _read_job(job: dict[str, object], collector: OutputCollector) -> None:
    name = str(job.get("jobname"))[:100]
    errors = number(job.get("total_err"))
    if errors is not None and _options(job).get("continue_on_error") == "verify":
        # A block that is not as it was written is the answer to what the job was asked.
        collector.add("corrupt", "count", errors, name, may_be_zero=True)
        return
    if job.get("error"):
        collector.error(ProblemKind.TOOL_FAILED, f"job {name} ended with error {job['error']}")
    for way in _WAYS:
        of_way = part(job, way)
        size, time_ms = number(of_way.get("io_bytes")), number(of_way.get("runtime"))
        rate = number(of_way.get("bw_bytes"))
        iops = number(of_way.get("iops"))
        if not size:
            continue
        if rate is None or iops is None or not time_ms:
            collector.error(ProblemKind.METRIC_MISSING, f"{way} of {name} has no bw_bytes or iops")
            continue
        if of_files := _OF_FILES.get(str(part(job, "job options").get("ioengine"))):
            collector.add(of_files, "1/s", iops, name)
        else:
            _add(way, name, (rate, iops), (size, time_ms), collector)


def _read_table(text: str, collector: OutputCollector) -> None:
    name, jobs = "", []
    for line, is_whole in lines(text, _LONGEST_LINE):
        if job := _JOB.match(line):
            name = job[1]
            jobs.append(name)
            if job[3] != "0":
                collector.error(ProblemKind.TOOL_FAILED, f"job {name} ended with error {job[3]}")
        elif name and is_whole and (found := _WAY.fullmatch(line)):
            rate = float(found[6]) * _DECIMAL[found[7]]
            iops = float(found[2]) * _DECIMAL[found[3]]
            size = float(found[8]) * _BINARY[found[9]]
            if abs(float(found[4]) * _BINARY[found[5]] - rate) > _AGREEMENT * rate:
                collector.error(ProblemKind.INCONSISTENT, f"two bandwidths: {line.strip()[:120]}")
            _add(found[1], name, (rate, iops), (size, float(found[10])), collector)
    _refuse_twins(jobs, collector)
    if not jobs:
        collector.nothing(text, "no job of fio in this text")
    elif not _END.search(text):
        collector.error(ProblemKind.TRUNCATED, "the output ends before the status of its group")
    elif collector.is_empty:
        collector.error(ProblemKind.METRIC_MISSING, "no job read or wrote anything")
    elif not _STARTED.search(text):
        message = "the output begins before this text: jobs may be missing"
        collector.warn(ProblemKind.NO_OPENING_LINE, message)


def _add(
    way: str,
    name: str,
    rates: tuple[float, float],
    of: tuple[float, float],
    collector: OutputCollector,
) -> None:
    rate, iops = rates
    size, time_ms = of
    expected = size / time_ms * 1e3 if time_ms else 0.0
    if abs(expected - rate) > _AGREEMENT * rate + 1e3:
        what = f"{way} of {name}: {size:.6g} bytes in {time_ms:g} ms are not {rate:.6g} B/s"
        collector.error(ProblemKind.INCONSISTENT, what)
    collector.add(f"bandwidth_{way}", "MB/s", rate / 1e6, name)
    collector.add(f"iops_{way}", "1/s", iops, name)


def _refuse_twins(names: list[str], collector: OutputCollector) -> None:
    if len(set(names)) < len(names):
        message = "a job is there twice; give one run, with group_reporting or names of their own"
        collector.error(ProblemKind.SEVERAL_TABLES, message)
