"""A hash chain over lines: a line that is changed, removed or inserted breaks it. Pure.

Each line holds a digest of itself and of the digest of the line before it. A line that is
incomplete, because its writer was killed, is not part of the chain: the next line follows the last
complete one. Lines that are missing at the end of a file, as after a run that was cut off, are not
detected. The chain has no key: it does not detect that all lines from the first changed one to the
end were written again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

FIELD = "chain"
_DIGITS = 32
_encoded = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def bound(line: Mapping[str, Any], before: str) -> dict[str, Any]:
    """Return the line with its digest; ``before`` is the previous line's, empty for the first."""
    plain = {name: value for name, value in line.items() if name != FIELD}
    return {**plain, FIELD: _digest(before, _encoded(plain))}


def bound_text(line: Mapping[str, Any], before: str) -> tuple[str, str]:
    """Return the JSON of ``bound``, and its digest; the line is encoded once for both."""
    parts = [
        _encoded({name: value for name, value in line.items() if name < FIELD})[1:-1],
        _encoded({name: value for name, value in line.items() if name > FIELD})[1:-1],
    ]
    digest = _digest(before, f"{{{', '.join(filter(None, parts))}}}")
    parts.insert(1, f'"{FIELD}": "{digest}"')
    return f"{{{', '.join(filter(None, parts))}}}", digest


def _digest(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()[:_DIGITS]


def rebound(lines: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield all lines, each with the digest that fits the line that is now before it."""
    before = ""
    for line in lines:
        one = bound(line, before)
        before = one[FIELD]
        yield one


def first_broken(lines: Iterable[Any]) -> int | None:
    """The number, from 1, of the first line with a wrong digest; ``None`` if the chain holds."""
    before = ""
    for number, line in enumerate(lines, 1):
        if not isinstance(line, Mapping) or bound(line, before)[FIELD] != line.get(FIELD):
            return number
        before = line[FIELD]
    return None
