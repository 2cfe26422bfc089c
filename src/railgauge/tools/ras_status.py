"""The status that the RAS service of NCCL and RCCL reports about a running job; only read.

Format: the text of version 2.28, without ``-v``.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from itertools import pairwise

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.text import clean, whole_lines
from railgauge.tools.torn import complain

_TOOL = "ras-status"
_VERSION = re.compile(r"^(?:NCCL|RCCL) version ([0-9][\w.+-]{0,20})", re.MULTILINE)
_FAILED = re.compile(
    r"^(?:(?:read|write|connect) socket: |[^\n]{0,120}Connection (?:refused|reset|timed out)"
    r"|Failed to |Connection timed out)[^\n]{0,160}",
    re.MULTILINE,
)
_BLANKS = r"\s{1,20}"
_COUNT = r"(\d{1,7}(?:-\d{1,7})?)"
_JOB = re.compile(rf"\s*{_BLANKS.join([_COUNT] * 5)}\s*")
_GROUP = re.compile(rf"\s*{_BLANKS.join([_COUNT] * 6 + ['([A-Z]+)'] * 2)}\s*")
_RANK = re.compile(r"\s*Rank (\d{1,7}) -- GPU (\d{1,4}) managed by process (\d{1,9}) on node (\S+)")
_UNDERLINE = re.compile(r"={4,80}")
# Words of the two lines of headings; the rest are rows.
_HEADING = re.compile(
    r"\s*|\s*(?:(?:Nodes|Processes|GPUs|Group|Comms|Ranks|Status|Errors)(?:\s+|$))+"
    r"|\s*(?:(?:\(total\)|#|in group|per (?:node|process|comm))(?:\s+|$))+"
)
_SECTIONS = ("Job summary", "Communicators", "Errors", "Warnings")
_UNDERWAY = frozenset({"INIT", "FINALIZE"})


@dataclass(frozen=True, slots=True)
class _Group:
    """One row of the communicators table, with cells as printed: counts may be ranges (``7-8``)."""

    group: str
    communicators: str
    ranks_per_node: str
    ranks_per_communicator: str
    ranks: str
    status: str
    errors: str


def parse(text: str) -> Parsed:
    """Read a report; never raises.

    Counts: ``nodes``, ``processes`` and ``gpus`` of the job; for each group (placement ``group0``)
    ``communicators``, ``ranks`` and ``missing_ranks`` (declared ranks that did not answer). A group
    whose errors are not ``OK`` gives the error ``incomplete`` or ``communicator-errors``. A group
    whose status is not RUNNING gives ``communicator-status``: a warning for INIT and FINALIZE,
    otherwise an error. ``summary.missing`` names rank, GPU, process and node. A report without its
    last section is ``truncated``; a service that did not answer is ``connection-lost``.
    """
    text = clean(text)
    collector = OutputCollector()
    sections = _sections(whole_lines(text))
    if collector.check_started(text, "rcclras", "ncclras") and (failed := _FAILED.search(text)):
        collector.error(ProblemKind.CONNECTION_LOST, failed[0])
    _collect_job(sections.get("Job summary", []), collector)
    lines = sections.get("Communicators", [])
    groups = [match for line in lines if (match := _group(line))]
    for line in lines:
        if not _group(line) and not _HEADING.fullmatch(line):
            complain(line, collector)
    if sections and not sections.get("Job summary", ["?"])[-1:]:
        collector.error(ProblemKind.TRUNCATED, "the summary of the job is empty")
    for group in groups:
        _collect_group(group, sections.get("Errors", []), collector)
    for line in filter(str.strip, sections.get("Warnings", [])):
        collector.warn(ProblemKind.RAS_WARNING, line)
    collector.refuse_several()
    _collect_end(text, sections, bool(groups), collector)
    version = _VERSION.search(text)
    summary = {
        "groups": [asdict(group) for group in groups],
        "missing": _missing(sections.get("Errors", [])),
    }
    return collector.parsed(_TOOL, version[1] if version else None, summary)


def _sections(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines of each section by its name; a section begins with an underlined heading."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line, following in pairwise([*lines, ""]):
        name = next((name for name in _SECTIONS if line.startswith(name)), None)
        if name and _UNDERLINE.fullmatch(following.strip()[:90]):
            current = found.setdefault(name, [])
        elif current is not None and not _UNDERLINE.fullmatch(line.strip()[:90]):
            current.append(line[:400])
    return found


def _group(line: str) -> _Group | None:
    match = _GROUP.fullmatch(line)
    if match is None:
        return None
    group, communicators, _nodes_each, *rest = match.groups()
    return _Group(group, communicators, *rest)


def _collect_job(lines: list[str], collector: OutputCollector) -> None:
    for line in lines:
        match = _JOB.fullmatch(line)
        if match is None:
            if not _HEADING.fullmatch(line):
                complain(line, collector)
            continue
        for metric, cell in (("nodes", 1), ("processes", 4), ("gpus", 5)):
            if match[cell].isdigit():
                collector.add(metric, "count", float(match[cell]))


def _collect_group(group: _Group, errors: list[str], collector: OutputCollector) -> None:
    placement = f"group{group.group}"
    if group.communicators.isdigit() and group.ranks.isdigit():
        collector.add("communicators", "count", float(group.communicators), placement)
        collector.add("ranks", "count", float(group.ranks), placement)
        if group.ranks_per_communicator.isdigit():
            declared = int(group.communicators) * int(group.ranks_per_communicator)
            missing = float(declared - int(group.ranks))
            collector.add("missing_ranks", "count", missing, placement, may_be_zero=True)
            if missing and group.errors == "OK":
                collector.error(
                    ProblemKind.COMMUNICATOR_INCOMPLETE,
                    f"{placement}: {missing:.0f} ranks are missing",
                )
    if group.errors != "OK":
        kind = (
            ProblemKind.COMMUNICATOR_INCOMPLETE
            if group.errors == "INCOMPLETE"
            else ProblemKind.COMMUNICATOR_ERRORS
        )
        lines = " ".join(line.strip() for line in errors if line.strip())
        collector.error(kind, f"{placement} is {group.errors}: {lines}")
    if group.status in _UNDERWAY:
        collector.warn(ProblemKind.COMMUNICATOR_STATUS, f"{placement} is {group.status}")
    elif group.status != "RUNNING":
        collector.error(ProblemKind.COMMUNICATOR_STATUS, f"{placement} is {group.status}")


def _missing(lines: list[str]) -> list[dict[str, object]]:
    matches = filter(None, map(_RANK.match, lines))
    return [
        {"rank": int(m[1]), "gpu": int(m[2]), "process": int(m[3]), "node": m[4]} for m in matches
    ]


def _collect_end(
    text: str, sections: dict[str, list[str]], has_groups: bool, collector: OutputCollector
) -> None:
    if sections and "Warnings" not in sections:
        collector.error(ProblemKind.TRUNCATED, "the report ends before its last section")
    if sections and "Job summary" not in sections:
        message = "the report begins before this text: it has no summary of the job"
        collector.warn(ProblemKind.NO_OPENING_LINE, message)
    if collector.has_errors or has_groups:
        return
    collector.nothing(text, "no table of communicators in this text")
