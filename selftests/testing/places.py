"""The folders of the project, of the shared documents and of memory; not every machine has all."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"

_MEMORY = Path("/dev/shm")
_ENOUGH_BYTES = 4 << 30  # all selftests write about 1 GiB


def memory() -> Path | None:
    """Return a folder in memory for what tests write; ``None`` if this machine has none that does.

    A run of the ladder writes some thousand small files, each of which costs a disk more than
    what the file is about. Programs in the folder must be allowed to run.
    """
    try:
        found = os.statvfs(_MEMORY)
    except OSError:
        return None
    is_large = found.f_bavail * found.f_frsize >= _ENOUGH_BYTES
    return _MEMORY if is_large and not found.f_flag & os.ST_NOEXEC else None
