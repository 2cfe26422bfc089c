"""Digests of files."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

_PIECE_BYTES = 2**20


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return sha256_in(file)


def sha256_in(file: BinaryIO) -> str:
    """The SHA-256 of a file, read piece by piece: the records of a large run are gigabytes."""
    made = sha256()
    while piece := file.read(_PIECE_BYTES):
        made.update(piece)
    return made.hexdigest()
