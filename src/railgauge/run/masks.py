"""How many values were masked in what a run has stored, for its reports."""

from __future__ import annotations

from pathlib import Path

from railgauge.core.run_files import FACTS, HOSTFILE, PLATFORM, TRANSCRIPTS
from railgauge.core.secret_forms import MASK

_MASKED = MASK.encode()
_PIECE_BYTES = 2**20
# What the reports are made of; each has its own count.
_PLACES = (
    ("the hostfile", f"{HOSTFILE}*"),
    ("the platform file", PLATFORM),
    ("deviations", "deviations.json"),
    ("the plan", "run.json"),
    ("the facts of nodes", FACTS),
    ("transcripts", f"{TRANSCRIPTS}/*.json"),
    ("records", "records.jsonl"),
)


def counted(folder: Path) -> dict[str, int]:
    """Return the number of masked values by place; a place without any is left out."""
    found = {
        place: sum(_counted(path) for path in folder.glob(pattern)) for place, pattern in _PLACES
    }
    return {place: count for place, count in found.items() if count}


def _counted(path: Path) -> int:
    """The number of masked values in a file, which is read piece by piece: records are long."""
    count, end = 0, b""
    with path.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE_BYTES):
            text = end + piece
            count += text.count(_MASKED)
            end = text[1 - len(_MASKED) :]  # it may be the beginning of a mask
    return count


def summary(folder: Path) -> str:
    """Return one line on what was masked; empty if nothing was."""
    found = counted(folder)
    parts = ", ".join(f"{count} in {place}" for place, count in found.items())
    return f"secrets masked: {parts}" if found else ""
