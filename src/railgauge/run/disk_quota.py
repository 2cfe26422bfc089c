"""The limit on what a run stores: nodes that print endlessly must not fill the control host's disk.

Reaching the limit is handled like any disk error: the run ends with one line, keeps all
measurements made before, and can be resumed with a higher limit.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from railgauge.core.units import format_size

MOST_BYTES = 64 * 2**30
"""The default limit: three times what a sign-off of all pairs of 64 nodes stores."""
OPTION = "--disk-limit"
# Other processes of the run write too, so the folder is measured again after so much.
_OWN_SHARE = 64


class DiskQuota:
    """The space that the folder of a run may take, for all processes of the run together."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._mark = folder / "leases" / "quota-reached"
        self._most_bytes = most_bytes
        self._used_bytes = 0
        self._sure_bytes = -1  # of own files, until the folder is measured again

    def take(self, size_bytes: int) -> None:
        """Count what is about to be written. Raises ``OSError`` if it exceeds the limit.

        From then on all processes of the run are refused, so that it ends as on a full disk, and
        does not record errors in place of measurements.
        """
        self._sure_bytes -= size_bytes
        if self._sure_bytes < 0:
            self._used_bytes = _size_of(self._folder)
            self._sure_bytes = self._most_bytes // _OWN_SHARE
        self._used_bytes += size_bytes
        if self._used_bytes > self._most_bytes or self._mark.exists():
            self._mark.parent.mkdir(parents=True, exist_ok=True)
            self._mark.touch()
            limit = format_size(self._most_bytes)
            why = f"the limit of {limit} for what a run stores is reached ({OPTION})"
            raise OSError(errno.EDQUOT, why)


def _size_of(folder: Path) -> int:
    """The bytes of all files below a folder; one that vanishes meanwhile has none."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - 10,000 files
            except OSError:
                continue
    return total
