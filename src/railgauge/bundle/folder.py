"""The files of a run in a folder, read as those of a bundle."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from railgauge.bundle.contents import HOSTFILE, Contents
from railgauge.bundle.errors import BadBundle
from railgauge.bundle.statement import RUN
from railgauge.run.store import EARLIER


class FolderContents(Contents):
    """The files of a run in a folder: the run's own, or that of an unpacked bundle."""

    def __init__(self, folder: Path, at: str = RUN) -> None:
        self.folder = folder
        self._at = at

    def _part(self, below: str) -> Contents:
        return FolderContents(self.folder / below, f"{self._at}{below}")

    def __contains__(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def bytes(self, name: str) -> bytes:
        if not (self.folder / name).is_file():
            raise BadBundle("does not exist", where=name)
        return (self.folder / name).read_bytes()

    def opened(self, name: str) -> BinaryIO:
        """A file to read piece by piece: the records of a large run are gigabytes."""
        if name not in self:
            raise BadBundle("does not exist", where=name)
        return (self.folder / name).open("rb")

    def names(self) -> Iterable[str]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return (path.relative_to(self.folder).as_posix() for path in found)

    def earlier_names(self) -> set[str]:
        return {path.name for path in (self.folder / EARLIER).glob("*") if path.is_dir()}

    def hostfiles(self) -> tuple[str, ...]:
        return tuple(sorted(path.name for path in self.folder.glob(f"{HOSTFILE}*")))
