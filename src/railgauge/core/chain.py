"""Lines that are bound to those before them: none can be changed, taken out or put in unseen. Pure.

Half a line, of a writer that was killed, is no link: the next line is bound to the last whole one.
The end of a file may be missing, as it is when a run was cut off. There is no key in it: who writes
all lines anew from the first changed one on is not found out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

FIELD = "chain"
_DIGITS = 32


def bound(line: Mapping[str, Any], before: str) -> dict[str, Any]:
    """The line with its link; ``before`` is that of the line before, empty for the first one."""
    plain = {name: value for name, value in line.items() if name != FIELD}
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True)
    return {**plain, FIELD: hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()[:_DIGITS]}


def rebound(lines: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """All lines, each bound to the one that is now before it."""
    before = ""
    for line in lines:
        one = bound(line, before)
        before = one[FIELD]
        yield one


def first_broken(lines: Iterable[Any]) -> int | None:
    """The number, from 1, of the first line that is not bound to those before it."""
    before = ""
    for number, line in enumerate(lines, 1):
        if not isinstance(line, Mapping) or bound(line, before)[FIELD] != line.get(FIELD):
            return number
        before = line[FIELD]
    return None
