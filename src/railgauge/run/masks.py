"""How many values were masked in what a run has stored, for its reports."""

from __future__ import annotations

from pathlib import Path

from railgauge.core.secret_forms import MASK

_MASKED = MASK.encode()
# What the reports are made of; each has its own count.
_PLACES = (
    ("the hostfile", "hostfile.*"),
    ("the facts of nodes", "environment.json"),
    ("transcripts", "transcripts/*.json"),
    ("records", "records.jsonl"),
)


def counted(folder: Path) -> dict[str, int]:
    """Return the number of masked values by place; a place without any is left out."""
    found = {
        place: sum(_counted(path) for path in folder.glob(pattern)) for place, pattern in _PLACES
    }
    return {place: count for place, count in found.items() if count}


def _counted(path: Path) -> int:
    with path.open("rb") as file:
        return sum(line.count(_MASKED) for line in file)


def told(folder: Path) -> str:
    """Return one line on what was masked; empty if nothing was."""
    found = counted(folder)
    parts = ", ".join(f"{count} in {place}" for place, count in found.items())
    return f"secrets masked: {parts}" if found else ""
