"""The run's folder: begun, given its input, and what is said when it can't be written any more.

Then there is one clear line, and nothing that looks whole.
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

from railgauge.config.hostfile import cluster_to_json
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster
from railgauge.core.redaction import mask_environment, mask_named
from railgauge.judging import record
from railgauge.run.resume import CLUSTER
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store, new_folder, point_latest, write_whole

_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
# As a worker tells its controller: the text of a traceback.
_SAID = re.compile(rf"OSError: \[Errno (?:{'|'.join(map(str, _NUMBERS))})\] ([^:\n]*)")
# What is written at the end, in place: half of it would read as a run that came to a verdict.
_AT_THE_END = ("verdict.json", "junit.xml", "report.html", "manifest.json")


@contextmanager
def begun(reports: Path, stem: str) -> Iterator[Path]:
    """A new folder for a run, which is the newest one when the block has ended.

    Raises ``BadInput``, and leaves nothing there, if it cannot be written.
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
            f"no run can be kept there: {error.strerror or error}",
            where=str(reports),
            remedy="make room, or make the folder writable",
        ) from None


def keep_input(store: Store, settings: RunSettings, reached: Cluster) -> None:
    """What the run is judged by later: the cluster as it is reached, the hostfile, the limits.

    None of them has the values of secret variables.
    """
    environment = mask_environment(reached.environment)
    store.write_json(CLUSTER, cluster_to_json(replace(reached, environment=environment)))
    source = Path(settings.declared.source)
    text = mask_named(source.read_text(encoding="utf-8"), settings.declared.environment)
    write_whole(store.folder / f"hostfile{source.suffix or '.txt'}", text)
    write_whole(store.folder / "thresholds.json", settings.platform.text)
    for name in (record.MEASUREMENTS, record.FILE):  # there even if nothing is measured
        (store.folder / name).touch()


class Trouble:
    """Says once what is wrong with the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.happened = False

    def line(self, why: str) -> str:
        self.happened = True
        return (
            f"railgauge: {self._folder} cannot be written: {why.strip()}; make room and carry the "
            f"run on with --resume {self._folder.name}"
        )

    def of_text(self, text: str) -> str:
        """The line for an internal error that comes from the disk; else nothing."""
        found = _SAID.search(text)
        return self.line(found[1]) if found else ""

    def tell(self, error: OSError) -> None:
        """Print the line unless it was printed, and take away what may be half written.

        Raises the error if it is not of the disk.
        """
        if error.errno not in _NUMBERS:
            raise error
        if not self.happened:
            sys.stderr.write(f"\n{self.line(error.strerror or str(error))}\n")
        for name in _AT_THE_END:
            with suppress(OSError):
                (self._folder / name).unlink(missing_ok=True)
