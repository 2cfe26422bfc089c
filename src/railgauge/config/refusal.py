"""The error for a place of a hostfile."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from railgauge.core.errors import HostfileError


def refuse(path: Path, what: str, remedy: str = "", line: int | None = None) -> NoReturn:
    """Raise ``HostfileError`` for this line of the file, or for the file if there is none."""
    where = f"{path}:{line}" if line else str(path)
    raise HostfileError(what, where=where, remedy=remedy)
