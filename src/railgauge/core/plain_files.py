"""Reads files that a user names, which may be anything: other than plain files are refused.

Reading a device may never end, and a pipe waits for a writer that may never come.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


class Unreadable(Exception):
    """Says what is wrong with a file."""


def read_bytes(path: Path, most: int) -> bytes:
    """Return what is in a plain file of at most ``most`` bytes. Raises ``Unreadable``."""
    try:
        # Without O_NONBLOCK opening a pipe would wait already.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise Unreadable("is no plain file, but a device or a pipe")
            data = file.read(most + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    if len(data) > most:
        raise Unreadable(f"is larger than {most // 2**20} MiB")
    return data


def read_text(path: Path, most: int) -> str:
    """Return its text in UTF-8, with all line ends as ``\\n``. Raises ``Unreadable``."""
    try:
        text = read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("is not text in UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
