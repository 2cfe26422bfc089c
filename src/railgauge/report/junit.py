"""``junit.xml`` from the record alone: what a mark or a hook makes of an item does not reach it.

The form is pytest's own (``xunit2``), which Jenkins and others read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from xml.etree import ElementTree as Xml

from railgauge.core.model import Outcome
from railgauge.judging.record import ItemRecord

FILE = "junit.xml"

# Everything else is an error: no outcome that is not known here can look like a pass.
_GOOD = (Outcome.PASSED, Outcome.MARGINAL)
_KINDS = {
    Outcome.FAILED: "failure",
    Outcome.BLOCKED: "skipped",
    Outcome.RECORD_ONLY: "skipped",
    Outcome.NOT_RUN: "skipped",
}
_SAID = {Outcome.FAILED: "limit missed: ", Outcome.FLAKY: "flaky: ", Outcome.NOT_RUN: "not run: "}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """When the session began, how long it took, on which machine, and what evidence it is.

    ``excluded`` is what could have been tested there and was not, as ``RunVerdict`` says it.
    """

    began: datetime
    duration_s: float
    hostname: str
    evidence: str
    excluded: str = ""


def document(records: Iterable[ItemRecord], session: SessionInfo) -> str:
    """The whole file; one ``testcase`` for each record, in their order."""
    suites = Xml.Element("testsuites", name="pytest tests")
    suite = Xml.SubElement(suites, "testsuite", name="railgauge")
    for record in records:
        _case(suite, record, session.evidence)
    kinds = [child.tag for case in suite for child in case]
    counts = {"errors": "error", "failures": "failure", "skipped": "skipped"}
    suite.attrib |= {name: str(kinds.count(kind)) for name, kind in counts.items()}
    suite.attrib |= {
        "tests": str(len(suite)),
        "time": f"{session.duration_s:.3f}",
        "timestamp": session.began.isoformat(),
        "hostname": _clean(session.hostname),
    }
    if session.excluded:
        properties = Xml.Element("properties")
        Xml.SubElement(properties, "property", name="not tested", value=_clean(session.excluded))
        suite.insert(0, properties)
    declaration = '<?xml version="1.0" encoding="utf-8"?>'
    return declaration + Xml.tostring(suites, encoding="unicode")


def _case(suite: Xml.Element, record: ItemRecord, evidence: str) -> None:
    classname, name = _address(record.id)
    attributes = {"classname": classname, "name": name, "time": f"{record.duration_s:.3f}"}
    case = Xml.SubElement(suite, "testcase", {k: _clean(v) for k, v in attributes.items()})
    properties = Xml.SubElement(case, "properties")
    for key, value in (*_judged(record), ("outcome", record.outcome), ("evidence", evidence)):
        Xml.SubElement(properties, "property", name=_clean(key), value=_clean(value))
    if record.outcome not in _GOOD:
        message = _clean(_message(record))
        kind = _KINDS.get(record.outcome, "error")
        Xml.SubElement(case, kind, message=message).text = message


def _judged(record: ItemRecord) -> Iterator[tuple[str, str]]:
    for judged in record.judgements:
        for name in ("measured", "limit", "basis"):
            yield f"{judged.metric}.{name}", getattr(judged, name)


def _message(record: ItemRecord) -> str:
    remedy = f"; {record.remedy}" if record.remedy else ""
    said = _SAID.get(record.outcome) or (f"{record.error_kind}: " if record.error_kind else "")
    return f"{said}{record.reason or record.outcome}{remedy}"


def _address(item_id: str) -> tuple[str, str]:
    """Class and name as pytest gives them: ``tests.network.test_rdma``, ``test_x[a:b]``."""
    where, bracket, parameters = item_id.partition("[")
    names = where.split("::")
    names[0] = names[0].removesuffix(".py").replace("/", ".")
    return ".".join(names[:-1]), f"{names[-1]}{bracket}{parameters}"


def _clean(text: str) -> str:
    """XML has no way to write most control characters, which a node may print."""
    return _NOT_XML.sub(lambda found: f"#x{ord(found[0]):02X}", text)
