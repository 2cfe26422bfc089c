"""Reads what triage needs of a run: its verdict and the names of its nodes.

Both files are untrusted: they may come from another site. Runs of earlier versions kept neither
severity nor action; these follow from the cause's name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from railgauge.config import hostfile
from railgauge.core import run_files
from railgauge.core.codec import from_plain
from railgauge.core.errors import BadInput
from railgauge.core.node_names import is_name
from railgauge.core.run_files import CLUSTER, VERDICT
from railgauge.core.terms import Verdict
from railgauge.diagnosis import UNDIAGNOSED
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.catalogue.kind import CauseAction, CauseSeverity, CauseTriage
from railgauge.diagnosis.left_open.unknown import Unknown
from railgauge.diagnosis.model import Where
from railgauge.run.newer import refuse_newer

# A verdict has a few kilobytes, or megabytes with thousands of causes.
_MOST_BYTES = 64 * 2**20
_RUN = "name the folder of a run that reached a verdict, or its verdict.json"
_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class RecordedCause:
    """The fields of a cause in ``verdict.json`` that say where it is and what to do."""

    cause: str
    where: Where
    says: str
    confidence: str
    remedy: str
    severity: CauseSeverity | None = None
    action: CauseAction | None = None

    @property
    def triage(self) -> CauseTriage:
        """As recorded, else as this version has it; unknown causes are as undiagnosed ones."""
        known = CATALOGUE.get(self.cause, CATALOGUE[UNDIAGNOSED])
        return CauseTriage(self.severity or known.severity, self.action or known.action)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The head of ``verdict.json``."""

    run_id: str
    cluster: str
    platform: str
    evidence: str
    level: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class TriagedRun:
    """A run, its causes in the order of the verdict, and what it left open.

    ``unknown`` is ``None`` for a run that did not keep it; ``nodes`` are the cluster's, or ``None``
    if only the verdict is there.
    """

    run: RecordedRun
    causes: tuple[RecordedCause, ...]
    unknown: tuple[Unknown, ...] | None
    nodes: tuple[str, ...] | None


def read(path: Path) -> TriagedRun:
    """Read the folder of a run, or a ``verdict.json`` by itself. Raises ``BadInput``."""
    folder = path if path.is_dir() else None
    if folder:
        refuse_newer(folder)
    data = _object(path / VERDICT if folder else path)
    run_files.refuse_newer(VERDICT, data, str(path))
    has_unknown = "unknown" in data
    return TriagedRun(
        run=_some_of(RecordedRun, data, VERDICT),
        causes=_each(RecordedCause, data, "causes"),
        unknown=_each(Unknown, data, "unknown") if has_unknown else None,
        nodes=_nodes(folder) if folder else None,
    )


def _nodes(folder: Path) -> tuple[str, ...] | None:
    path = folder / CLUSTER
    if not path.is_file():
        return None
    cluster = hostfile.cluster_from_json(_object(path))
    return tuple(checked_name(node.name, str(path)) for node in cluster.nodes)


def checked_name(name: str, where: str) -> str:
    """Return ``name``. Raises ``BadInput`` if no hostfile can give it to a node."""
    if not is_name(name):
        raise BadInput(
            f"{name[:80]!r} cannot be a node's name",
            where=where,
            remedy="the file was changed, or is not of a run",
        )
    return name


def _object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file. Raises ``BadInput`` if there is none."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path), remedy=_RUN) from None
    if len(content) > _MOST_BYTES:
        raise BadInput(f"is larger than {_MOST_BYTES // 2**20} MiB", where=str(path), remedy=_RUN)
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise BadInput("is no JSON", where=str(path), remedy=_RUN) from None
    if not isinstance(data, dict):
        raise BadInput("is no object", where=str(path), remedy=_RUN)
    return data


def _each(kind: type[_Kind], data: Mapping[str, Any], name: str) -> tuple[_Kind, ...]:
    found = data.get(name)
    if not isinstance(found, list):
        raise BadInput("should be a list", where=f"{VERDICT}: {name}")
    return tuple(_some_of(kind, one, f"{VERDICT}: {name}[{at}]") for at, one in enumerate(found))


def _some_of(kind: type[_Kind], data: object, where: str) -> _Kind:
    """Convert the fields that ``kind`` has; a verdict has others, and those of later versions."""
    if not isinstance(data, dict):
        raise BadInput("should be an object", where=where)
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    try:
        return from_plain(kind, {k: v for k, v in data.items() if k in names})
    except BadInput as error:
        place = f"{where}: {error.where}" if error.where else where
        raise BadInput(error.what, where=place) from None
