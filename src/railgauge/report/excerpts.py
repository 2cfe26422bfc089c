"""The commands of a case and the first and last lines of its output, for rows of the report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from railgauge.core.model import GOOD
from railgauge.core.terms import BESIDE_ROLES, Role
from railgauge.judging.record import ItemRecord

# The limit for all excerpts of a page; the rest is only in the transcripts.
_MOST_BYTES = 1_500_000
_FIRST, _LAST, _WIDTH = 4, 8, 160
_ARGV_WIDTH = 1200
# nccl-tests has three lines of heading: of the placements, of the columns, and of their units.
_HEADING = 3
_NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:[eE][+-]?\d+)?%?")


def excerpts(records: Iterable[ItemRecord], folder: Path) -> dict[str, Any]:
    """Return transcript -> excerpt, failed items first, until the limit of the page is reached."""
    ordered = sorted(records, key=lambda record: record.outcome in GOOD)
    found: dict[str, Any] = {}
    room = _MOST_BYTES
    for name in dict.fromkeys(record.transcript for record in ordered if record.transcript):
        if (excerpt := _excerpt(folder / name)) is None:
            continue
        room -= len(json.dumps(excerpt))
        if room < 0:
            break
        found[name] = excerpt
    return found


def _excerpt(path: Path) -> dict[str, Any] | None:
    """Return the excerpt of the last run of a case, without the suite's own commands."""
    with suppress(OSError, ValueError, RecursionError):
        runs = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["runs"]
        last = [t for t in runs[-1] if t["role"] not in BESIDE_ROLES] if runs else []
        if last:
            main = next((t for t in last if t["role"] == Role.CLIENT), last[-1])
            return {"commands": [_command(t) for t in last], "output": _output(main)}
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
    """Return the first and the last lines of stdout and stderr; long lines are cut.

    The heading of a table whose last rows are shown is shown too: without it the rows are bare
    numbers.
    """
    both = "\n".join(filter(None, (transcript["stdout"].strip(), transcript["stderr"].strip())))
    lines = [line[:_WIDTH] for line in both.splitlines() if line.strip()]
    last = len(lines) - _LAST
    heading = _heading(lines, last) if last > _FIRST else range(0)
    kept = sorted({*range(min(_FIRST, len(lines))), *heading, *range(max(last, 0), len(lines))})
    return "\n".join(_with_gaps(lines, kept))


def _with_gaps(lines: Sequence[str], kept: Sequence[int]) -> Iterator[str]:
    """Yield these lines, and how many are left out between them; never a single one."""
    before = -1
    for number in kept:
        gap = number - before - 1
        if gap == 1:
            yield lines[number - 1]
        elif gap:
            yield f"... {gap} lines left out ..."
        yield lines[number]
        before = number


def _heading(lines: Sequence[str], last: int) -> range:
    """Return the numbers of the lines above the table of which the first row from ``last`` is."""
    row = next((n for n in range(last, len(lines)) if _is_row(lines[n])), None)
    if row is None:
        return range(0)
    while row > 0 and _is_row(lines[row - 1]):
        row -= 1
    return range(max(row - _HEADING, 0), row)


def _is_row(line: str) -> bool:
    """Whether a line is a row of a table: at least two numbers, the first word among them."""
    words = line.split()
    numbers = sum(_NUMBER.fullmatch(word) is not None for word in words)
    return numbers > 1 and _NUMBER.fullmatch(words[0]) is not None
