"""The run's folder: create it, store the run's input in it, and report exhausted resources.

If disk space, memory, threads or descriptors run out, the run prints one line and removes the files
of the report that may be incomplete.
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
from railgauge.core.errors import BadInput, Exhausted
from railgauge.core.exhaustion import what_ran_out, what_ran_out_in
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.model import Cluster
from railgauge.core.run_files import CLUSTER, MANIFEST, MEASUREMENTS, PLATFORM, VERDICT
from railgauge.judging import record
from railgauge.run.disk_quota import OPTION
from railgauge.run.folders import new_folder, point_latest
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store, write_whole

_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
# A worker sends its controller the text of a traceback; this finds a disk error in it.
_DISK_ERROR = re.compile(rf"OSError: \[Errno (?:{'|'.join(map(str, _NUMBERS))})\] ([^:\n]*)")
# These files are written at the end of a run. An incomplete set would look like a run that reached
# a verdict.
_AT_THE_END = (VERDICT, "junit.xml", "report.html", MANIFEST)


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
    """Store the run's input: the cluster as reached, the hostfile, limits, accepted deviations.

    Secrets are masked.
    """
    environment = MASK_OF_PROCESS.environment(reached.environment)
    store.write_json(CLUSTER, cluster_to_json(replace(reached, environment=environment)))
    source = Path(settings.declared.source)
    text = source.read_text(encoding="utf-8")
    write_whole(store.folder / f"hostfile{source.suffix or '.txt'}", text)
    write_whole(store.folder / PLATFORM, settings.platform.text)
    if settings.deviations:
        store.write_json(deviations.FILE, deviations.to_json(settings.deviations))
    for name in (MEASUREMENTS, record.FILE):  # they exist even if nothing is measured
        (store.folder / name).touch()


def is_lack(error: BaseException) -> bool:
    """Whether an error shows that this machine has run out of a resource, such as disk space."""
    of_disk = isinstance(error, OSError) and error.errno in _NUMBERS
    return of_disk or isinstance(error, Exhausted) or bool(what_ran_out(error))


class ResourceExhaustion:
    """Reports once which resource this machine has run out of, so that the run cannot go on.

    That is space on the disk, memory, threads or descriptors. ``happened`` is true from then on,
    and the run has no verdict. ``exhausted`` is true if it was not the disk.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.happened = False
        self.exhausted = False

    def of_text(self, text: str) -> str:
        """The line to print for a traceback of an exhausted resource; empty for any other text."""
        found = _DISK_ERROR.search(text)
        return self._of_disk(found[1]) if found else self._of_others(what_ran_out_in(text))

    def report(self, error: Exception) -> None:
        """Print the line if none was printed yet. Raises every other ``error`` again."""
        is_first = not self.happened
        of_disk = isinstance(error, OSError) and error.errno in _NUMBERS
        message = getattr(error, "strerror", "") or str(error)
        line = self._of_disk(message) if of_disk else self._of_others(what_ran_out(error))
        if not line:
            raise error
        if is_first:
            sys.stderr.write(f"\n{line}\n")

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Report a resource whose exhaustion ends the block."""
        try:
            yield
        except Exception as error:
            self.report(error)

    def discard_verdict(self) -> None:
        """Once a resource is exhausted, delete the files that would look like a verdict."""
        for name in _AT_THE_END if self.happened else ():
            with suppress(OSError):
                (self._folder / name).unlink(missing_ok=True)

    def _of_disk(self, why: str) -> str:
        do = f"give more with {OPTION}" if OPTION in why else "free disk space"
        return self._line(f"{self._folder} cannot be written: {why.strip()}; {do}")

    def _of_others(self, lacking: str) -> str:
        what = f"this machine has run out of {lacking} or measure less at once (-n, --at-once)"
        self.exhausted |= bool(lacking)
        return self._line(what) if lacking else ""

    def _line(self, what: str) -> str:
        self.happened = True
        return f"railgauge: {what}, and carry the run on with --resume {self._folder.name}"
