"""Read the folder of a finished run for ``railgauge metrics``. Its files are untrusted."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from railgauge.cli import text
from railgauge.core.codec import from_plain
from railgauge.core.errors import BadInput
from railgauge.core.run_files import VERDICT
from railgauge.facts.parts import PartKind
from railgauge.judging import inventory, record
from railgauge.judging.record import ItemRecord
from railgauge.report import junit
from railgauge.report.openmetrics import (
    CausePlace,
    DatedDeviation,
    FinishedRun,
    NamedCause,
    PartIdentity,
    RunOutcome,
)
from railgauge.run.newer import refuse_newer
from railgauge.verdict import counts, decision

_FINISHED = "name the folder of a finished run"
# The attributes of the run are at the start of its ``junit.xml``.
_HEAD_CHARACTERS = 2**16


def read(folder: Path) -> FinishedRun:
    """Read what a run left. Raises ``BadInput`` if a file is missing or broken."""
    refuse_newer(folder)
    verdict, plan = folder / VERDICT, folder / decision.FILE
    found = _versioned(text.read(str(verdict)), counts.SCHEMA_VERSION, str(verdict))
    outcome = from_plain(RunOutcome, _picked(found), str(verdict))
    software = _versioned(text.read(str(plan)), decision.SCHEMA_VERSION, str(plan)).get("software")
    if not isinstance(software, str):
        raise BadInput("does not name the version that made the run", where=str(plan))
    records: dict[str, ItemRecord] = {}
    for item in _ended(folder / record.FILE):
        records[item.id] = record.merged(records.get(item.id), item)
    if outcome.counts.asserted and not records:
        raise BadInput("holds no item, but the verdict does", where=str(folder / record.FILE))
    start_s, duration_s = _times(folder / junit.FILE)
    every, identities = tuple(records.values()), _identities(folder / inventory.FILE)
    return FinishedRun(outcome, software, every, start_s, start_s + duration_s, identities)


def _identities(path: Path) -> dict[tuple[str, str], PartIdentity]:
    """The identity of each part of the inventory, by node and device; empty if there is none."""
    found: dict[tuple[str, str], PartIdentity] = {}
    if not path.exists():  # a run of an earlier version
        return found
    try:
        for row in csv.DictReader(io.StringIO(text.read(str(path)))):
            kind, name = row["kind"], row["name"]
            device = "" if kind == PartKind.NODE else name
            uuid = row["uuid"] if kind == PartKind.GPU else ""
            found[row["node"], device] = PartIdentity(row["serial"] or "", uuid or "")
    except (csv.Error, KeyError):
        raise BadInput("is no inventory of a run", where=str(path)) from None
    return found


def _picked(verdict: dict[str, Any]) -> dict[str, Any]:
    """Only the keys that are read, so that others may be added to the file."""
    picked = {f.name: verdict[f.name] for f in fields(RunOutcome) if f.name in verdict}
    if isinstance(causes := picked.get("causes"), list):
        picked["causes"] = [_cause(one) if isinstance(one, dict) else one for one in causes]
    if isinstance(given := picked.get("deviations"), list):
        kept = [field.name for field in fields(DatedDeviation)]
        picked["deviations"] = [
            {k: one[k] for k in kept if k in one} if isinstance(one, dict) else one for one in given
        ]
    return picked


def _cause(one: dict[str, Any]) -> dict[str, Any]:
    picked = {f.name: one[f.name] for f in fields(NamedCause) if f.name in one}
    if isinstance(where := picked.get("where"), dict):
        picked["where"] = {f.name: where[f.name] for f in fields(CausePlace) if f.name in where}
    return picked


def _ended(path: Path) -> Iterator[ItemRecord]:
    for number, line in enumerate(text.read(str(path)).split("\n"), 1):
        if line.strip():
            place = f"{path}:{number}"
            data = _versioned(line, record.SCHEMA_VERSION, place)
            del data["schema_version"]
            yield record.from_json(data, place)


def _versioned(content: str, known: int, where: str) -> dict[str, Any]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise BadInput("is not valid JSON", where=where, remedy=_FINISHED) from None
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != known or isinstance(version, bool):
        what = f"has schema version {str(version)[:20]}; this version reads {known}"
        raise BadInput(what, where=where, remedy=_FINISHED)
    found: dict[str, Any] = data
    return found


def _times(path: Path) -> tuple[float, float]:
    """When the run began, in seconds since the epoch, and how many seconds it took."""
    reader: Any = Xml.XMLPullParser(["start"])
    head = text.read(str(path))[:_HEAD_CHARACTERS]
    if "<!DOCTYPE" in head:  # its entities could expand without end
        raise BadInput("has a document type, which no run writes", where=str(path))
    try:
        reader.feed(head)
        suite = next(
            one
            for event in reader.read_events()
            for one in event
            if isinstance(one, Xml.Element) and one.tag == "testsuite"
        )
        began = datetime.fromisoformat(suite.attrib["timestamp"])
        start_s, duration_s = began.timestamp(), float(suite.attrib["time"])
    except (Xml.ParseError, StopIteration, KeyError, ValueError, OverflowError):
        raise BadInput("does not hold when the run began", where=str(path)) from None
    if began.tzinfo is None or not 0 <= duration_s < float("inf"):
        raise BadInput("does not hold when the run began", where=str(path))
    return start_s, duration_s
