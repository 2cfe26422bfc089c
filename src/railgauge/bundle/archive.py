"""Reads and writes the bundle's file: a compressed tar archive; equal content gives equal bytes.

A bundle to read is untrusted. It is first inflated into a temporary file, within limits. Then every
member must be a regular file with a safe name. This module unpacks no files.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, NoReturn, cast

from railgauge.core.errors import BadBundle
from railgauge.core.run_files import RUN
from railgauge.run.run_folder import RunFolder

_CHUNK_BYTES = 2**16
_HEADER_BYTES = 2**20
_GZIP = b"\x1f\x8b"
_PART = re.compile(r"[^\x00-\x1f\x7f\\/:*?\"<>|]{1,255}")
_LONGEST_NAME = 1024


@dataclass(frozen=True, slots=True)
class Caps:
    """The limits on a bundle. ``ratio`` is inflated divided by compressed bytes."""

    total_bytes: int = 8 * 2**30
    file_bytes: int = 2**30
    files: int = 500_000
    ratio: int = 200

    def most_bytes(self, compressed: int) -> int:
        """The limit in bytes for the inflated archive; up to 64 MiB any ratio is allowed."""
        return min(self.total_bytes, max(64 * 2**20, compressed * self.ratio))


# --- writing ---


class Writer:
    """Adds files in order; the same files in the same order give the same archive."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.sha256: dict[str, str] = {}

    def add(self, name: str, data: bytes) -> None:
        """Add a file and remember its SHA-256. Raises ``BadBundle`` for a name used before."""
        check_name(name, self.sha256)
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(data), 0o644
        self._tar.addfile(member, io.BytesIO(data))
        self.sha256[name] = hashlib.sha256(data).hexdigest()


@contextmanager
def written(path: Path) -> Iterator[Writer]:
    """Open a new archive for writing; it stores no times, owners or names of this machine."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        yield Writer(tar)


# --- reading ---


@dataclass(frozen=True, slots=True)
class Member:
    """The position of a file in the inflated archive, in bytes, and its SHA-256."""

    offset: int
    size: int
    sha256: str


class Archive:
    """The files of an archive by name, with their digests; contents are read on demand."""

    def __init__(self, source: str, file: BinaryIO, members: dict[str, Member]) -> None:
        self.source = source
        self._file = file
        self.members = members

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raises ``BadBundle`` if there is no such file."""
        if name not in self.members:
            raise BadBundle(f"has no {name}", where=self.source)
        member = self.members[name]
        self._file.seek(member.offset)
        return self._file.read(member.size)


class BundledRun(RunFolder):
    """The run in a bundle; its files stay in the archive."""

    def __init__(self, archive: Archive, at: str = RUN) -> None:
        """``at`` is the folder of the run in the archive: that of the bundle's, or of a part."""
        super().__init__(Path(archive.source), at)
        self.archive = archive

    def __contains__(self, name: str) -> bool:
        return f"{self._at}{name}" in self.archive

    def bytes(self, name: str) -> bytes:
        return self.archive.read(f"{self._at}{name}")

    def opened(self, name: str) -> BinaryIO:
        return io.BytesIO(self.bytes(name))

    def names(self, start: str = "") -> Iterable[str]:
        found = (name for name in self.archive.members if name.startswith(f"{self._at}{start}"))
        return (name.removeprefix(self._at) for name in found)

    def _below(self, name: str) -> RunFolder:
        return BundledRun(self.archive, f"{self._at}{name}")


@contextmanager
def opened(path: Path, caps: Caps | None = None) -> Iterator[Archive]:
    """Open an archive and check every byte of it. Raises ``BadBundle``."""
    caps = caps or Caps()
    with tempfile.TemporaryFile(prefix="railgauge-bundle-") as plain:
        file = cast("BinaryIO", plain)
        _inflate(path, file, caps)
        try:
            members = _members(file, caps, path.name)
        except _UNREADABLE as error:
            _refuse(path.name, f"is not a complete archive: {_first_line(error)}")
        yield Archive(path.name, file, members)


_UNREADABLE = (
    tarfile.TarError,
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    IndexError,
    RecursionError,
    zlib.error,
)


def _inflate(path: Path, plain: BinaryIO, caps: Caps) -> None:
    try:
        with path.open("rb") as raw:
            if raw.read(2) != _GZIP:
                _refuse(path.name, "is not an evidence bundle: not a compressed archive")
            raw.seek(0)
            most = caps.most_bytes(path.stat().st_size)
            with gzip.GzipFile(fileobj=raw, mode="rb") as packed:
                _copy(packed, plain, most, path.name)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        _refuse(path.name, f"is damaged: {_first_line(error)}")
    except OSError as error:
        _refuse(path.name, f"cannot be read: {error.strerror or error}")


def _copy(packed: gzip.GzipFile, plain: BinaryIO, most: int, name: str) -> None:
    total = 0
    while chunk := packed.read(_CHUNK_BYTES):
        total += len(chunk)
        if total > most:
            _refuse(name, f"inflates to more than {most // 2**20} MiB, its limit")
        plain.write(chunk)


class _Guarded:
    """The inflated file for tarfile, which would trust any size that a header claims.

    Versions of Python differ in whether they read a header at once or in pieces.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.begin_member()

    def begin_member(self) -> None:
        self._left = _HEADER_BYTES

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self._left:
            raise tarfile.ReadError(f"a header of more than {_HEADER_BYTES} bytes")
        self._left -= size
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


def _members(file: BinaryIO, caps: Caps, source: str) -> dict[str, Member]:
    file.seek(0)
    members: dict[str, Member] = {}
    guarded = _Guarded(file)
    with tarfile.open(fileobj=cast("IO[bytes]", guarded), mode="r:") as tar:
        while (info := tar.next()) is not None:
            guarded.begin_member()
            tar.members = []  # type: ignore[attr-defined]  # tarfile would keep all of them in memory
            if len(members) >= caps.files:
                _refuse(source, f"has more than {caps.files} files")
            _check_kind(info, caps, source)
            check_name(info.name, members, source)
            members[info.name] = _member(file, info)
        end = tar.offset
    _check_inner(members, source)
    _check_rest(file, end, source)
    return members


def _check_kind(info: tarfile.TarInfo, caps: Caps, source: str) -> None:
    if not info.isreg() or info.issparse() or info.linkname:
        _refuse(source, f"{info.name[:80]!r} is not a regular file")
    if not 0 <= info.size <= caps.file_bytes:
        _refuse(source, f"{info.name[:80]!r} has {info.size} bytes, more than is allowed")


def check_name(name: str, known: object, source: str = "bundle") -> None:
    """Raise ``BadBundle`` for an unsafe name, or one that is in ``known`` already."""
    parts = name.split("/")
    if len(name) > _LONGEST_NAME or not all(_PART.fullmatch(part) for part in parts):
        _refuse(source, f"{name[:80]!r} is not a valid file name in a bundle")
    if any(part in (".", "..") or part != part.strip() for part in parts):
        _refuse(source, f"{name[:80]!r} leads out of the bundle")
    if name in known:  # type: ignore[operator]
        _refuse(source, f"{name[:80]!r} is in it twice")


def _check_inner(members: dict[str, Member], source: str) -> None:
    """Raise ``BadBundle`` if a file is also the folder of another file."""
    for name in members:
        parts = name.split("/")
        for depth in range(1, len(parts)):
            if "/".join(parts[:depth]) in members:
                _refuse(source, f"{name[:80]!r} lies below a file")


def _member(file: BinaryIO, info: tarfile.TarInfo) -> Member:
    file.seek(info.offset_data)
    digest, left = hashlib.sha256(), info.size
    while left:
        chunk = file.read(min(left, _CHUNK_BYTES))
        if not chunk:
            raise tarfile.ReadError(f"{info.name[:80]} ends too early")
        digest.update(chunk)
        left -= len(chunk)
    return Member(info.offset_data, info.size, digest.hexdigest())


def _check_rest(file: BinaryIO, end: int, source: str) -> None:
    """Raise ``BadBundle`` if data follow the end of the archive, such as a hidden second one."""
    file.seek(end)
    while chunk := file.read(_CHUNK_BYTES):
        if chunk.strip(b"\0"):
            _refuse(source, "has data behind the end of the archive")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _refuse(source: str, what: str) -> NoReturn:
    raise BadBundle(what, where=source)
