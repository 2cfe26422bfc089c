"""Compares the files of a run's folder with the manifest that the run wrote last."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from railgauge.bundle import strict
from railgauge.bundle.errors import BadBundle
from railgauge.core.digests import sha256_of
from railgauge.run.store import MANIFEST


def digests(run: Path) -> dict[str, str] | None:
    """Return the SHA-256 of each file at the end of the run; ``None`` if it has no manifest.

    Raises ``BadBundle`` for a manifest that holds none.
    """
    if not (run / MANIFEST).is_file():
        return None
    data = strict.loads((run / MANIFEST).read_bytes(), MANIFEST)
    held = data.get("sha256") if isinstance(data, dict) else None
    if not isinstance(held, dict):
        raise BadBundle("has no digests", where=MANIFEST)
    return {str(name): str(digest) for name, digest in held.items()}


def changed(run: Path, held: dict[str, str], names: Iterable[str]) -> list[str]:
    """Return those of ``names`` whose content is not that of the manifest; others are new."""
    found = (name for name in names if name in held and name != MANIFEST)
    return [name for name in found if sha256_of(run / name) != held[name]]
