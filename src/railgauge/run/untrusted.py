"""Reads untrusted files of a run: valid data, or ``BadBundle``, which names the file.

JSON is read strictly, and values are checked for what other code relies on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core import run_files
from railgauge.core.codec import from_plain
from railgauge.core.errors import (
    BadBundle,
    BadInput,
    BadInputs,
    FactMissing,
    NoEvidence,
    NotVerified,
)
from railgauge.core.model import Cluster
from railgauge.core.node_names import MOST_NODES, is_name
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.model import as_saved
from railgauge.judging import record
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan
from railgauge.planning.pairing import SCHEMES
from railgauge.planning.part import LevelPart
from railgauge.verdict.decision import RunPlan

_Value = TypeVar("_Value")
_LONGEST_NUMBER = 40
# The names of runs, clusters and groups; they become parts of file names.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
# The most shards of a run, and the most runs that one run is merged from.
_MOST_PARTS = 4096


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Raise the errors of the block for the user: with ``path``, and the file in it at fault."""
    try:
        yield
    except (BadBundle, NotVerified) as error:
        is_inside = error.where not in ("", path.name)
        where = f"{path}: {error.where}" if is_inside else str(path)
        raise BadInput(error.what, where=where) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path)) from None


# --- JSON ---


def loads(data: bytes, name: str) -> Any:
    """Read the JSON in ``data``: UTF-8, unique keys, finite numbers, limited depth.

    Raises ``BadBundle``, naming the file ``name``, for anything else.
    """
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_no_number,
            parse_float=_float,
            parse_int=_int,
        )
    except RecursionError:
        raise BadBundle("is nested too deeply", where=name) from None
    except ValueError as error:
        what = str(error).splitlines()[0][:120]
        raise BadBundle(f"is not valid JSON: {what}", where=name) from None


def lines(data: Iterable[bytes], name: str) -> Iterator[tuple[str, Any]]:
    """The values of the lines of a ``.jsonl`` file, each with its place (``NAME:LINE``).

    An incomplete last line is left out, because a killed run may leave one. Raises ``BadBundle``.
    """
    for number, line in enumerate(data, 1):
        if line.strip() and line.endswith(b"\n"):
            yield f"{name}:{number}", loads(line, f"{name}:{number}")


def value(kind: type[_Value], data: object, name: str) -> _Value:
    """Convert plain data to ``kind``. Raises ``BadBundle``, naming the file, for a wrong type."""
    try:
        return from_plain(kind, data)
    except BadInput as error:
        place = f"{error.where}: " if error.where else ""
        raise BadBundle(f"{place}{error.what}", where=name) from None


def versioned(data: object, known: int, name: str) -> dict[str, Any]:
    """Return ``data`` if it is an object of schema version ``known``; else raise ``BadBundle``."""
    if not isinstance(data, dict):
        raise BadBundle("should be an object", where=name)
    version = data.get("schema_version")
    if version != known or isinstance(version, bool):
        raise BadBundle(
            f"has schema version {str(version)[:20]}, but this version of railgauge reads {known}",
            where=name,
            remedy="use the version of railgauge that made it",
        )
    return data


def unstamped(data: object, file: str, name: str) -> object:
    """Return ``data`` without the version of the file. Raises ``BadBundle`` for a newer one.

    ``name`` is the place for the message.
    """
    try:
        return run_files.unstamped(file, data, name) if isinstance(data, dict) else data
    except BadInput as error:
        raise BadBundle(error.what, where=error.where, remedy=error.remedy) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key is given twice")
    return result


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is not a valid number")


def _float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _int(text: str) -> int:
    return int(text) if len(text) <= _LONGEST_NUMBER else _no_number(text)


# --- values ---


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


def header_in(survey: dict[str, Any], name: str) -> SurveyHeader:
    """The header of a survey."""
    names = {field.name for field in fields(SurveyHeader)}
    return value(SurveyHeader, {k: v for k, v in survey.items() if k in names}, name)


def nodes_in(survey: dict[str, Any], name: str) -> dict[str, NodeAnswer]:
    """The answer of each node in a survey."""
    nodes = survey.get("nodes")
    if not isinstance(nodes, dict):
        raise BadBundle("has no nodes", where=name)
    return {node: _node_in(data, f"{name}: {node[:80]}") for node, data in nodes.items()}


def _node_in(data: object, name: str) -> NodeAnswer:
    found = value(SurveyedNode, data, name)
    if found.facts is None:
        return found.error or FactMissing("no facts and no error", where=name)
    # A missing fact would get its default, which would look like a fact that was read.
    try:
        return as_saved(found.facts, data["facts"])  # type: ignore[index]
    except BadInput:
        raise BadBundle("lacks facts that every node has", where=name) from None


def cluster_in(data: object, name: str) -> Cluster:
    """Read the cluster of a run; its names become parts of file names."""
    cluster = value(Cluster, data, name)
    if not 0 < len(cluster.nodes) <= MOST_NODES:
        raise BadBundle(f"has {len(cluster.nodes)} nodes", where=name)
    nodes = [node.name for node in cluster.nodes]
    others = (cluster.name, *cluster.groups)
    wrong = [word for word in others if not _NAME.fullmatch(word)]
    if wrong := wrong or [node for node in nodes if not is_name(node)]:
        raise BadBundle(f"has the name {wrong[0][:60]!r}", where=name)
    members = {node for group in cluster.groups.values() for node in group}
    if len(set(nodes)) < len(nodes) or not members <= set(nodes):
        raise BadBundle("names a node twice, or one that it does not have", where=name)
    return cluster


def plan_in(data: object, name: str) -> RunPlan:
    """Read the plan of a run, and check what other code relies on. Raises ``BadBundle``."""
    run = value(RunPlan, data, name)
    if run.level not in thresholds.LEVELS:
        raise BadBundle(f"names a level {run.level[:40]!r}", where=name)
    if not _NAME.fullmatch(run.run_id):
        raise BadBundle("has an invalid run id", where=name)
    if run.rounds is not None and run.rounds < 1:
        raise BadBundle("has no rounds", where=name)
    if run.directions not in SCHEMES:
        raise BadBundle(f"has an unknown scheme of directions, {run.directions}", where=name)
    if run.ended and not _is_moment(run.ended):
        raise BadBundle("does not say when it ended", where=name)
    if len(set(run.planned)) < len(run.planned):
        raise BadBundle("plans an item twice", where=name)
    if not all(_NAME.fullmatch(test.name) for test in run.tests):
        raise BadBundle("has a test with an invalid name", where=name)
    _refuse_bad_parts(run, name)
    return run


def _refuse_bad_parts(run: RunPlan, name: str) -> None:
    ids = [part.run_id for part in run.parts]
    if len(set(ids)) < len(ids) or not all(map(_NAME.fullmatch, ids)) or len(ids) > _MOST_PARTS:
        raise BadBundle("is merged from runs with invalid ids, or of one twice", where=name)
    if run.parts and run.part:
        raise BadBundle("is both a part and merged from parts", where=name)
    if run.part is not None:
        _refuse_bad_part(run.part, name)


def _refuse_bad_part(part: LevelPart, name: str) -> None:
    nodes, members = set(part.nodes), {node for group in part.groups.values() for node in group}
    names_fit = all(map(is_name, part.nodes)) and all(map(_NAME.fullmatch, part.groups))
    if not names_fit or len(nodes) < len(part.nodes) or not members <= nodes:
        raise BadBundle("is a part of a cluster with invalid nodes", where=name)
    if not nodes.issuperset((*part.uses, *part.only, *part.partners)):
        raise BadBundle("uses a node that the cluster does not have", where=name)
    if not part.only and not 1 <= part.shard <= part.of <= _MOST_PARTS:
        raise BadBundle(f"is a shard {part.shard} of {part.of}", where=name)


def record_in(data: object, place: str) -> ItemRecord:
    """Read a line of the records. Raises ``BadBundle``."""
    fields = dict(versioned(data, record.SCHEMA_VERSION, place))
    del fields["schema_version"]
    return value(ItemRecord, fields, place)


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
