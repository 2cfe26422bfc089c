"""The schema version of each file of a run. Pure.

Every JSON file holds its version, and every line of a ``.jsonl`` file holds that of the file. Files
of earlier versions of the package may have none; they are of version 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from railgauge.core.errors import BadInput

FIELD = "schema_version"
TRANSCRIPTS = "transcripts"
"""Stands for all JSON files of transcripts."""
VERSIONS: Mapping[str, int] = {
    "cluster.json": 1,
    "confirmations.jsonl": 1,
    "deviations.json": 1,
    "elsewhere.jsonl": 1,
    "environment.json": 1,
    "invocation.json": 1,
    "kernel_marks.jsonl": 1,
    "manifest.json": 1,
    "measurements.jsonl": 1,
    "prepared.json": 2,
    "reboots.jsonl": 1,
    "records.jsonl": 2,
    "resumed.jsonl": 1,
    "run.json": 2,
    TRANSCRIPTS: 1,
    "verdict.json": 2,
    "vouched.jsonl": 1,
}
"""The versions that this version of the package writes; it reads these and earlier ones."""


def stamped(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The object with the version of the file ``name``, if that is a file of a run."""
    return {FIELD: VERSIONS[name], **data} if name in VERSIONS else dict(data)


def unstamped(name: str, data: object, where: str = "") -> dict[str, Any]:
    """The object without its version. Raises ``BadInput`` if that is newer or not a version.

    Also for data that is no object.
    """
    if not isinstance(data, Mapping):
        raise BadInput("holds a value that is no JSON object", where=where or name)
    refuse_newer(name, data, where)
    return {key: value for key, value in data.items() if key != FIELD}


def refuse_newer(name: str, data: object, where: str = "") -> None:
    """Raise ``BadInput``, naming the file, unless this version of the package can read the data."""
    version = data.get(FIELD, 1) if isinstance(data, Mapping) else 1
    if is_newer(name, version):
        raise BadInput(
            f"has schema version {str(version)[:20]}, but this version of railgauge reads"
            f" {VERSIONS[name]}",
            where=where or name,
            remedy="use the version of railgauge that made it",
        )


def is_newer(name: str, version: object) -> bool:
    return type(version) is not int or not 1 <= version <= VERSIONS[name]
