"""``dcgmi health -c`` (only read): what DCGM's background watches found.

Format: DCGM's sources, dcgmi/Health.cpp, and outputs quoted in public repositories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.dcgmi_tree import Box, read_boxes
from railgauge.tools.text import clean

_TOOL = "dcgmi-health"
_TITLE, _OVERALL = "Health Monitor Report", "Overall Health"
_STATUS = re.compile(r"(Healthy|Warning|Failure)\b ?(.{0,1000})")
_KINDS = {"Warning": ProblemKind.TEST_WARNED, "Failure": ProblemKind.TEST_FAILED}
_COMPLAINT = re.compile(r"^Error: [^\n]{1,200}", re.MULTILINE)


def parse(text: str) -> Parsed:
    """Read one report. Never raises and takes time linear in the text.

    ``incidents_warning`` and ``incidents_failure`` count what was found; each is a warning
    (``test-warned``, ``test-failed``), and ``summary.incidents`` has its entity (``GPU 0``), its
    system, status and words. ``summary.overall`` is DCGM's own verdict, which must be that of the
    worst incident.
    """
    text = clean(text)
    collector = OutputCollector()
    summary: dict[str, object] = {}
    if collector.check_started(text, "dcgmi"):
        for message in _COMPLAINT.findall(text):
            collector.error(ProblemKind.TOOL_FAILED, message)
        boxes = [box for box in read_boxes(text) if box.headers[:1] == [_TITLE]]
        collector.refuse_several(len(boxes))
        for box in boxes[:1]:
            summary = _take(box, collector)
    if collector.is_empty:
        collector.nothing(text, "no report of dcgmi health -c in this text")
    return collector.parsed(_TOOL, None, summary)


def _take(box: Box, collector: OutputCollector) -> dict[str, object]:
    overall = next((value for path, value in box.rows if path == (_OVERALL,)), "")
    found = [*_incidents(box)]
    for one in found:
        collector.warn(_KINDS[one["status"]], f"{one['entity']}, {one['system']}: {one['says']}")
    worst = next((one for one in ("Failure", "Warning") if _has(found, one)), "Healthy")
    unread = [*box.strange, *(path[-1] for path, shown in box.rows if not _is_known(path, shown))]
    if unread:
        collector.error(ProblemKind.UNPARSABLE, f"no row of a report: {unread[0][:120]}")
    elif overall != worst:
        what = f"{_OVERALL} is {overall or 'missing'}, and the worst incident is {worst}"
        collector.error(ProblemKind.INCONSISTENT, what)
    if not box.is_closed:
        collector.error(ProblemKind.TRUNCATED, "the report is not closed")
    for status in _KINDS:
        number = sum(one["status"] == status for one in found)
        metric = f"incidents_{status.lower()}"
        collector.add(metric, "count", number, may_be_zero=True)
    return {"overall": overall, "incidents": found}


def _has(found: list[dict[str, str]], status: str) -> bool:
    return any(one["status"] == status for one in found)


def _incidents(box: Box) -> Iterator[dict[str, str]]:
    """Yield each system of an entity that is not healthy: GPU / 0 / Errors / PCIe system."""
    for path, value in box.rows:
        status = _STATUS.fullmatch(value)
        if status and len(path) > 1 and status[1] in _KINDS and not _is_parent(path, box):
            entity = " ".join(path[:2])
            system = path[-1] if len(path) > len(("GPU", "0")) else "overall"
            named = {"entity": entity, "system": system, "status": status[1]}
            yield {**named, "says": " ".join(status[2].split())}


def _is_parent(path: tuple[str, ...], box: Box) -> bool:
    return any(len(other) > len(path) and other[: len(path)] == path for other, _ in box.rows)


def _is_known(path: tuple[str, ...], value: str) -> bool:
    return not value or path == (_OVERALL,) or _STATUS.fullmatch(value) is not None
