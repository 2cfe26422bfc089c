"""``junit.xml``, made from the records alone, so that marks and hooks cannot change it.

The format is pytest's own (``xunit2``), which Jenkins and others read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from xml.etree import ElementTree as Xml

from railgauge.core.model import GOOD, Outcome
from railgauge.judging.record import ItemRecord
from railgauge.report.lines import ReportLines
from railgauge.verdict.deviations import DeviationEffect

FILE = "junit.xml"
_CASES = "cases"  # an element that stands for the text of all cases

# An outcome that is neither here nor in ``_KINDS`` is an error, so it cannot look like a pass.
_KINDS = {
    Outcome.FAILED: "failure",
    Outcome.BLOCKED: "skipped",
    Outcome.RECORD_ONLY: "skipped",
    Outcome.NOT_RUN: "skipped",
}
_PREFIXES = {
    Outcome.FAILED: "limit missed: ",
    Outcome.FLAKY: "flaky: ",
    Outcome.NOT_RUN: "not run: ",
}
# Also what XML allows but a terminal interprets: C1 controls, and marks for the direction of text.
_NOT_XML = re.compile(
    "[^\t\n\r\u0020-\u007e\u00a0-\u200d\u2010-\u2029\u202f-\u2065\u206a-\ud7ff"
    "\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """When the session began, how long it took, on which machine, and what evidence it is.

    ``excluded`` is what could have been tested there and was not, and ``measured_again`` what a
    later run replaced, both as in ``RunVerdict``. ``deviations`` are the accepted ones, and
    ``scope`` says what the verdict is about.
    """

    began: datetime
    duration_s: float
    hostname: str
    evidence: str
    excluded: str = ""
    deviations: tuple[DeviationEffect, ...] = ()
    measured_again: tuple[str, ...] = ()
    scope: str = ""


def document(lines: ReportLines, session: SessionInfo) -> str:
    """Return the text of the file, with one ``testcase`` for each line, in their order."""
    suites = Xml.Element("testsuites", name="pytest tests")
    suite = Xml.SubElement(suites, "testsuite", name="railgauge")
    kinds = Counter(_kind(record.outcome) for record in lines.records.values())
    counts = {"errors": "error", "failures": "failure", "skipped": "skipped"}
    suite.attrib |= {name: str(kinds[kind]) for name, kind in counts.items()}
    suite.attrib |= {
        "tests": str(len(lines.records)),
        "time": f"{session.duration_s:.3f}",
        "timestamp": session.began.isoformat(),
        "hostname": _clean(session.hostname),
    }
    if found := list(_of_the_run(session)):
        properties = Xml.Element("properties")
        for name, value in found:
            Xml.SubElement(properties, "property", name=name, value=_clean(value))
        suite.append(properties)
    declaration = '<?xml version="1.0" encoding="utf-8"?>'
    if not lines.records:
        return declaration + Xml.tostring(suites, encoding="unicode")
    # Elements of all cases would need far more memory than their text.
    Xml.SubElement(suite, _CASES)
    head, tail = Xml.tostring(suites, encoding="unicode").split(f"<{_CASES} />")
    return "".join([declaration, head, *_cases(lines, session), tail])


def _cases(lines: ReportLines, session: SessionInfo) -> Iterator[str]:
    covered = lines.accepted(session.deviations)
    for record in lines.records.values():
        about = (("evidence", session.evidence), *_accepted(covered.get(record.id)))
        case = _case(record, about)
        Xml.indent(case)  # what is alike in many items is a line of its own, which is masked once
        yield f"\n{Xml.tostring(case, encoding='unicode')}"


def _of_the_run(session: SessionInfo) -> Iterator[tuple[str, str]]:
    """The properties of the whole run."""
    if session.scope:
        yield "scope", session.scope
    if session.excluded:
        yield "not tested", session.excluded
    for line in session.measured_again:
        yield "measured again", line
    for one in session.deviations:
        yield "deviation", "; ".join((one.head, one.effect, one.signature))


def _accepted(effect: DeviationEffect | None) -> Iterator[tuple[str, str]]:
    """The property of an item that failed, and whose failure is accepted."""
    if effect:
        until = f"accepted until {effect.deviation.until}"
        yield "deviation", "; ".join((effect.head, until, effect.signature))


def _kind(outcome: Outcome) -> str:
    """Return the element that holds why an item did not pass; empty if it passed."""
    return "" if outcome in GOOD else _KINDS.get(outcome, "error")


def _case(record: ItemRecord, about: Iterable[tuple[str, str]]) -> Xml.Element:
    classname, name = _address(record.id)
    attributes = {"classname": classname, "name": name, "time": f"{record.duration_s:.3f}"}
    case = Xml.Element("testcase", {k: _clean(v) for k, v in attributes.items()})
    properties = Xml.SubElement(case, "properties")
    for key, value in (*_judged(record), ("outcome", record.outcome), *about):
        Xml.SubElement(properties, "property", name=_clean(key), value=_clean(value))
    if kind := _kind(record.outcome):
        reason = _clean(message(record))
        Xml.SubElement(case, kind, message=reason).text = reason
    return case


def _judged(record: ItemRecord) -> Iterator[tuple[str, str]]:
    for judged in record.judgements:
        for name in ("measured", "limit", "basis"):
            yield f"{judged.metric}.{name}", getattr(judged, name)


def message(record: ItemRecord) -> str:
    """Return why an item did not pass: the kind of its outcome, the reason and the remedy."""
    remedy = f"; {record.remedy}" if record.remedy else ""
    prefix = _PREFIXES.get(record.outcome) or (
        f"{record.error_kind}: " if record.error_kind else ""
    )
    return f"{prefix}{record.reason or record.outcome}{remedy}"


def _address(item_id: str) -> tuple[str, str]:
    """Return class and name as pytest does: ``tests.network.test_rdma``, ``test_x[a:b]``."""
    where, bracket, parameters = item_id.partition("[")
    names = where.split("::")
    names[0] = names[0].removesuffix(".py").replace("/", ".")
    return ".".join(names[:-1]), f"{names[-1]}{bracket}{parameters}"


def _clean(text: str) -> str:
    """Replace control characters, which a node may print and XML cannot represent."""
    return _NOT_XML.sub(lambda found: f"#x{ord(found[0]):02X}", text)
