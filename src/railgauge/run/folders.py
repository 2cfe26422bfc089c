"""The folders of runs in ``reports/``: a new one, and the link to the newest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

EVIDENCE = "evidence.railgauge"
"""The bundle to which ``railgauge prune`` reduces the folder of a run."""


def new_folder(reports: Path, stem: str) -> Path:
    """Create the folder ``reports/<stem>``, with a number added if that name is taken."""
    for name in _numbered(stem):
        folder = reports / name
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError("unreachable: the names never end")


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1


def point_latest(reports: Path, folder: Path) -> None:
    """Make ``reports/latest`` a link to ``folder``."""
    beside = reports / f".latest.{os.getpid()}"
    beside.unlink(missing_ok=True)
    beside.symlink_to(folder.name, target_is_directory=True)
    beside.replace(reports / "latest")
