"""The hostfile's section ``storage``: which paths are measured, and what they must deliver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from railgauge.core.storage import FIGURES, StorageMount


def mounts(said: Mapping[str, Mapping[str, Any]]) -> dict[str, StorageMount]:
    """Return the declared mounts by name, of a section that the schema has accepted."""
    return {name: _mount(one) for name, one in said.items()}


def _mount(said: Mapping[str, Any]) -> StorageMount:
    least = {name: float(said[name]) for name in FIGURES if name in said}
    rest = {name: value for name, value in said.items() if name not in FIGURES}
    return StorageMount(**rest, least=least)
