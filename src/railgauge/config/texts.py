"""Text files that the user names, which may be anything: read to an end, or refused by one word."""

from __future__ import annotations

from pathlib import Path

_MOST_BYTES = 4 * 2**20
"""The hostfile of the largest cluster has a tenth of that; ``/dev/zero`` has no end."""


class Unreadable(Exception):
    """Says what is wrong with a file."""


def read(path: Path) -> str:
    """Return the text of a file in UTF-8. Raises ``Unreadable``."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise Unreadable(f"is larger than {_MOST_BYTES // 2**20} MiB")
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise Unreadable("is not text in UTF-8") from None
