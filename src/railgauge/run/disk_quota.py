"""How much a run may store: nodes that print without end must not fill the disk of a control host.

The limit is an error of the disk like any other: the run ends with one line, keeps all that was
measured before, and can be carried on with a higher limit.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from railgauge.core.units import format_size

MOST_BYTES = 64 * 2**30
"""The limit where none is given: some ten times what a sign-off of 512 nodes stores."""
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

        From then on all processes of the run are refused, so that it ends, as on a full disk, and
        does not go on with errors in place of measurements.
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
