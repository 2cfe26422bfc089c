"""The files of a run: where they are in its folder, and their schema versions. Pure.

Every JSON file holds its version, and every line of a ``.jsonl`` file holds that of the file. Files
of earlier versions of the package may have none; they are of version 1. A file that only one module
writes and reads is named there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from railgauge.core.errors import BadInput

CLUSTER = "cluster.json"
PLATFORM = "thresholds.json"
HOSTFILE = "hostfile."
"""The beginning of the name of a run's copy of its hostfile."""
FACTS = "environment.json"
"""What the survey found on every node."""
MEASUREMENTS = "measurements.jsonl"
"""One line a judgement, written when the judgement is made."""
VERDICT = "verdict.json"
MANIFEST = "manifest.json"
"""The SHA-256 of every file of a run that has ended."""
TRANSCRIPTS = "transcripts"
"""A folder, and in ``VERSIONS`` all JSON files of transcripts."""
EARLIER = "earlier"
"""The folder with what is kept of each run that this one carries on, by the run's name."""
PARTS = "parts"
"""The folder of a merged run that holds the evidence of the runs it was merged from, by run id."""

RUN = "run/"
"""The folder of the run in a bundle; errors name a file of a run by it."""

FIELD = "schema_version"
VERSIONS: Mapping[str, int] = {
    CLUSTER: 1,
    "confirmations.jsonl": 1,
    "deviations.json": 1,
    "elsewhere.jsonl": 1,
    FACTS: 1,
    "invocation.json": 1,
    "kernel_marks.jsonl": 1,
    MANIFEST: 1,
    MEASUREMENTS: 1,
    "prepared.json": 2,
    "reboots.jsonl": 1,
    "records.jsonl": 2,
    "resumed.jsonl": 1,
    "run.json": 2,
    TRANSCRIPTS: 1,
    VERDICT: 2,
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
