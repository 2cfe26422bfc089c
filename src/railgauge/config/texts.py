"""Text files that the user names: read within bounds, or refused with one error."""

from __future__ import annotations

from pathlib import Path

from railgauge.core.plain_files import Unreadable, read_text

__all__ = ["Unreadable", "read"]

_MOST_BYTES = 4 * 2**20
"""The hostfile of the largest cluster has a tenth of that."""
_MOST_LINES = 200_000
"""Millions of empty lines take seconds to read. The largest cluster has a tenth of that."""


def read(path: Path) -> str:
    """Return the text of a file in UTF-8. Raises ``Unreadable``."""
    text = read_text(path, _MOST_BYTES)
    if text.count("\n") > _MOST_LINES:
        raise Unreadable(f"has more than {_MOST_LINES} lines")
    return text
