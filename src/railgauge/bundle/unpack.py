"""What a replay needs of a bundle, unpacked into a fresh folder: data only, each under its name."""

from __future__ import annotations

from pathlib import Path

from railgauge.bundle import check, statement
from railgauge.bundle.archive import Archive
from railgauge.bundle.contents import AGAIN, CLUSTER, FACTS, PLATFORM, TRANSCRIPTS, Contents
from railgauge.bundle.signing import Signature
from railgauge.bundle.statement import RUN
from railgauge.facts import boot
from railgauge.judging import confirmation
from railgauge.verdict.decision import FILE as PLAN

_NEEDED = frozenset({PLAN, CLUSTER, FACTS, PLATFORM, boot.FILE, confirmation.FILE})


def unpack(archive: Archive, folder: Path) -> Signature:
    """Write them below ``folder``. Raises ``NotVerified`` or ``BadBundle`` before anything is.

    The names were looked at when the archive was opened, and lead nowhere else.
    """
    signature, payload = check.signed(archive, None)
    check.refuse_other_content(archive, statement.read(payload).sha256)
    contents = Contents(archive)
    contents.plan(), contents.cluster(), contents.platform()  # each refuses what is unsound
    for name in archive.members:
        inner = name.removeprefix(RUN)
        if name != inner and _is_needed(inner):
            path = folder / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))
    return signature


def _is_needed(name: str) -> bool:
    parts = name.removeprefix(AGAIN).split("/")
    if len(parts) == 1:
        return name in _NEEDED or name.startswith("hostfile.")  # whole: none below a folder
    return f"{parts[0]}/" == TRANSCRIPTS and len(parts) == 2 and name.endswith(".json")  # noqa: PLR2004
