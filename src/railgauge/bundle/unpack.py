"""Unpacks the files of a bundle that a replay needs into a new folder. They are data only."""

from __future__ import annotations

import re
from pathlib import Path

from railgauge.bundle.archive import Archive, BundledRun
from railgauge.config import deviations
from railgauge.core.run_files import CLUSTER, EARLIER, FACTS, HOSTFILE, PLATFORM, RUN, TRANSCRIPTS
from railgauge.facts import boot
from railgauge.judging import confirmation, record
from railgauge.judging.confirmation import FOLDER as AGAIN
from railgauge.planning.soak import FOLDER as SOAK
from railgauge.verdict.decision import FILE as PLAN

_NEEDED = frozenset(
    {
        *(PLAN, CLUSTER, FACTS, PLATFORM, boot.FILE, boot.MARKS, confirmation.FILE),
        deviations.FILE,
    }
)
_OF_EARLIER = frozenset({CLUSTER, FACTS, boot.FILE, boot.MARKS, record.FILE})
_EARLIER = re.compile(rf"^{EARLIER}/[^/]+/")
_ROUND = re.compile(rf"^{SOAK}/\d{{4,}}/(?={TRANSCRIPTS}/)")


def unpack(archive: Archive, folder: Path) -> None:
    """Write the files below ``folder``; whether they verify is not checked here.

    Raises ``BadBundle`` before a file is written. The archive was opened with checked names, so no
    file can be written outside ``folder``.
    """
    contents = BundledRun(archive)
    contents.plan(), contents.cluster(), contents.platform()  # each raises for bad content
    for name in archive.members:
        inner = name.removeprefix(RUN)
        if name != inner and _is_needed(inner):
            path = folder / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))


def _is_needed(name: str) -> bool:
    if (inner := _EARLIER.sub("", name)) != name:
        return inner in _OF_EARLIER or (_is_needed(inner) and inner.startswith(f"{TRANSCRIPTS}/"))
    parts = _ROUND.sub("", name.removeprefix(f"{AGAIN}/")).split("/")
    if len(parts) == 1:
        return name in _NEEDED or name.startswith(HOSTFILE)  # only at the top level
    return parts[0] == TRANSCRIPTS and len(parts) == 2 and name.endswith(".json")  # noqa: PLR2004
