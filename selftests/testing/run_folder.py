"""The folder of a run as a test makes it."""

from __future__ import annotations

from pathlib import Path

from railgauge.run.store import Store


def store_in(folder: Path) -> Store:
    """A store in the folder, which is made with the place of its locks."""
    (folder / "leases").mkdir(parents=True, exist_ok=True)
    return Store(folder)
