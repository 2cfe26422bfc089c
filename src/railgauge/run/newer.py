"""Refuses the folder of a run that a newer version of the package made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from railgauge.core import run_files

# Longer than the first line of any file of a run.
_LINE_MAX_BYTES = 2**20


def refuse_newer(folder: Path) -> None:
    """Raise ``BadInput``, naming the file, if this version of the package cannot read a file.

    A file that is missing or incomplete has no version; its reader reports that.
    """
    for name in run_files.VERSIONS:
        path = folder / name
        if path.is_file():
            run_files.refuse_newer(name, _first(path), str(path))


def _first(path: Path) -> Any:
    """The object of a JSON file, or that of the first line; ``None`` if it is incomplete."""
    try:
        with path.open(encoding="utf-8") as file:
            is_lines = path.suffix == ".jsonl"
            return json.loads(file.readline(_LINE_MAX_BYTES) if is_lines else file.read())
    except (OSError, ValueError, RecursionError):
        return None
