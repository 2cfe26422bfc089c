"""The run's folder: create it, store the run's input in it, and report a disk error.

After a disk error the run prints one line and removes the files of the report that could be
incomplete.
"""

from __future__ import annotations

import errno
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from railgauge.config import deviations
from railgauge.config.hostfile import cluster_to_json
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster
from railgauge.core.redaction import mask_environment, mask_named
from railgauge.judging import record
from railgauge.run.folders import new_folder, point_latest
from railgauge.run.resume import CLUSTER
from railgauge.run.room import OPTION
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store, write_whole

_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
# A worker sends its controller the text of a traceback; this finds a disk error in it.
_SAID = re.compile(rf"OSError: \[Errno (?:{'|'.join(map(str, _NUMBERS))})\] ([^:\n]*)")
# These files are written at the end of a run. An incomplete set would look like a run that reached
# a verdict.
_AT_THE_END = ("verdict.json", "junit.xml", "report.html", "manifest.json")


@contextmanager
def begun(reports: Path, stem: str) -> Iterator[Path]:
    """Create the folder of a new run; ``reports/latest`` points to it when the block has ended.

    Raises ``BadInput``, and removes the folder, if it cannot be written.
    """
    folder = None
    try:
        folder = new_folder(reports, stem)
        (folder / "leases").mkdir()
        yield folder
        point_latest(reports, folder)
    except OSError as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise BadInput(
            f"the run cannot be stored there: {error.strerror or error}",
            where=str(reports),
            remedy="free disk space, or make the folder writable",
        ) from None


def keep_input(store: Store, settings: RunSettings, reached: Cluster) -> None:
    """Store what the run is judged by: the cluster as it is reached, the hostfile, the limits.

    Also the deviations that somebody has accepted. The values of secret variables are masked.
    """
    environment = mask_environment(reached.environment)
    store.write_json(CLUSTER, cluster_to_json(replace(reached, environment=environment)))
    source = Path(settings.declared.source)
    text = mask_named(source.read_text(encoding="utf-8"), settings.declared.environment)
    text = store.masked(text)
    write_whole(store.folder / f"hostfile{source.suffix or '.txt'}", text)
    write_whole(store.folder / "thresholds.json", settings.platform.text)
    if settings.deviations:
        store.write_json(deviations.FILE, deviations.to_json(settings.deviations))
    for name in (record.MEASUREMENTS, record.FILE):  # they exist even if nothing is measured
        (store.folder / name).touch()


class DiskErrors:
    """Reports a disk error once; ``happened`` is true from then on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.happened = False

    def line(self, why: str) -> str:
        self.happened = True
        do = f"give more with {OPTION}" if OPTION in why else "free disk space"
        return (
            f"railgauge: {self._folder} cannot be written: {why.strip()}; {do} and "
            f"carry the run on with --resume {self._folder.name}"
        )

    def of_text(self, text: str) -> str:
        """The line to print for a traceback that ends in a disk error; empty for any other text."""
        found = _SAID.search(text)
        return self.line(found[1]) if found else ""

    def tell(self, error: OSError) -> None:
        """Print the line if it was not printed yet, and delete files that may be incomplete.

        Raises ``error`` again if it is not a disk error.
        """
        if error.errno not in _NUMBERS:
            raise error
        if not self.happened:
            sys.stderr.write(f"\n{self.line(error.strerror or str(error))}\n")
        for name in _AT_THE_END:
            with suppress(OSError):
                (self._folder / name).unlink(missing_ok=True)
