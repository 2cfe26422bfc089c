"""The commands of a case and the first and last lines of its output, for rows of the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from railgauge.core.terms import BESIDE_ROLES, Role
from railgauge.judging.record import ItemRecord
from railgauge.report.page import GOOD

# The limit for all excerpts of a page; the rest is only in the transcripts.
_MOST_BYTES = 1_500_000
_FIRST, _LAST, _WIDTH = 4, 8, 160
_ARGV_WIDTH = 1200


def excerpts(records: Iterable[ItemRecord], folder: Path) -> dict[str, Any]:
    """Return transcript -> excerpt, failed items first, until the limit of the page is reached."""
    ordered = sorted(records, key=lambda record: record.outcome in GOOD)
    found: dict[str, Any] = {}
    room = _MOST_BYTES
    for name in dict.fromkeys(record.transcript for record in ordered if record.transcript):
        if (told := _told(folder / name)) is None:
            continue
        room -= len(json.dumps(told))
        if room < 0:
            break
        found[name] = told
    return found


def _told(path: Path) -> dict[str, Any] | None:
    """Return the excerpt of the last run of a case, without the suite's own commands."""
    with suppress(OSError, ValueError):
        runs = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["runs"]
        last = [t for t in runs[-1] if t["role"] not in BESIDE_ROLES] if runs else []
        if last:
            said = next((t for t in last if t["role"] == Role.CLIENT), last[-1])
            return {"commands": [_command(t) for t in last], "output": _output(said)}
    return None


def _command(transcript: Mapping[str, Any]) -> dict[str, str]:
    ended = transcript["error"] or f"exit code {transcript['exit_code']}"
    argv = " ".join(transcript["argv"])
    return {
        "node": transcript["node"],
        "role": transcript["role"],
        "argv": argv if len(argv) <= _ARGV_WIDTH else f"{argv[:_ARGV_WIDTH]} ...",
        "ended": f"{ended}, {transcript['duration_s']:.1f} s",
    }


def _output(transcript: Mapping[str, Any]) -> str:
    """Return the first and the last lines of stdout and stderr; long lines are cut."""
    both = "\n".join(filter(None, (transcript["stdout"].strip(), transcript["stderr"].strip())))
    lines = [line[:_WIDTH] for line in both.splitlines() if line.strip()]
    if len(lines) > _FIRST + _LAST + 1:
        left_out = f"... {len(lines) - _FIRST - _LAST} lines left out ..."
        lines = [*lines[:_FIRST], left_out, *lines[-_LAST:]]
    return "\n".join(lines)
