"""Reads the plan, the survey and the limits of a run from untrusted data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from railgauge.bundle import strict
from railgauge.bundle.errors import BadBundle
from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput, BadInputs, NoEvidence
from railgauge.core.node_names import is_name
from railgauge.facts import NodeFacts
from railgauge.judging import record
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan
from railgauge.planning.pairing import SCHEMES
from railgauge.planning.part import LevelPart
from railgauge.verdict.decision import RunPlan

# The names of runs, clusters and groups; they become parts of file names.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
# The most shards of a run, and the most runs that one run is merged from.
MOST_PARTS = 4096


@dataclass(frozen=True, slots=True)
class SurveyedNode:
    """What ``environment.json`` holds of a node: its facts, or the error that left none."""

    facts: NodeFacts | None = None
    error: NoEvidence | None = None


@dataclass(frozen=True, slots=True)
class SurveyHeader:
    """The fields of ``environment.json`` other than the facts of the nodes."""

    evidence: str
    cluster: str
    platform: str


SURVEYED = ("evidence", "cluster", "platform")


def plan_in(data: object, name: str) -> RunPlan:
    """Read the plan of a run, and check what other code relies on. Raises ``BadBundle``."""
    run = strict.value(RunPlan, data, name)
    if run.level not in thresholds.LEVELS:
        raise BadBundle(f"names a level {run.level[:40]!r}", where=name)
    if not NAME.fullmatch(run.run_id):
        raise BadBundle("has an invalid run id", where=name)
    if run.rounds is not None and run.rounds < 1:
        raise BadBundle("has no rounds", where=name)
    if run.directions not in SCHEMES:
        raise BadBundle(f"has an unknown scheme of directions, {run.directions}", where=name)
    if run.ended and not _is_moment(run.ended):
        raise BadBundle("does not say when it ended", where=name)
    if len(set(run.planned)) < len(run.planned):
        raise BadBundle("plans an item twice", where=name)
    if not all(NAME.fullmatch(test.name) for test in run.tests):
        raise BadBundle("has a test with an invalid name", where=name)
    _refuse_bad_parts(run, name)
    return run


def _refuse_bad_parts(run: RunPlan, name: str) -> None:
    ids = [part.run_id for part in run.parts]
    if len(set(ids)) < len(ids) or not all(map(NAME.fullmatch, ids)) or len(ids) > MOST_PARTS:
        raise BadBundle("is merged from runs with invalid ids, or of one twice", where=name)
    if run.parts and run.part:
        raise BadBundle("is both a part and merged from parts", where=name)
    if run.part is not None:
        _refuse_bad_part(run.part, name)


def _refuse_bad_part(part: LevelPart, name: str) -> None:
    nodes, members = set(part.nodes), {node for group in part.groups.values() for node in group}
    names_fit = all(map(is_name, part.nodes)) and all(map(NAME.fullmatch, part.groups))
    if not names_fit or len(nodes) < len(part.nodes) or not members <= nodes:
        raise BadBundle("is a part of a cluster with invalid nodes", where=name)
    if not nodes.issuperset((*part.uses, *part.only, *part.partners)):
        raise BadBundle("uses a node that the cluster does not have", where=name)
    if not part.only and not 1 <= part.shard <= part.of <= MOST_PARTS:
        raise BadBundle(f"is a shard {part.shard} of {part.of}", where=name)


def record_in(data: object, place: str) -> ItemRecord:
    """Read a line of the records. Raises ``BadBundle``."""
    fields = dict(strict.versioned(data, record.SCHEMA_VERSION, place))
    del fields["schema_version"]
    return strict.value(ItemRecord, fields, place)


def _is_moment(text: str) -> bool:
    """Whether a text is a time with its offset from UTC, and one that UTC has."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.tzinfo is not None and bool(moment.astimezone(timezone.utc))
    except (ValueError, OverflowError):
        return False


def platform_in(data: bytes, path: Path) -> Platform:
    """Read a platform file with valid limits. Raises ``BadBundle``."""
    try:
        platform = thresholds.load_file(path, data.decode("utf-8"))
        if lines := list(plan.complaints(platform)):
            raise BadBundle(lines[0], where=str(path))
    except UnicodeDecodeError:
        raise BadBundle("is not text in UTF-8", where=str(path)) from None
    except BadBundle:
        raise
    except BadInput as error:
        first = error.complaints[0] if isinstance(error, BadInputs) else error
        raise BadBundle(first.what, where=first.where or str(path)) from None
    return platform
