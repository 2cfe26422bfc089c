"""Reduces old runs to what trend, compare and evidence need: a bundle and six small files.

A run's evidence is bundled and judged again before anything of it is deleted. Only files that the
run itself wrote are deleted, by its manifest; bundles, links and all other files stay.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from railgauge.bundle import archive, check, make
from railgauge.core.digests import sha256_of
from railgauge.core.errors import BadInput, RailgaugeError
from railgauge.core.run_files import CLUSTER, MANIFEST, MEASUREMENTS, PLATFORM, VERDICT
from railgauge.leases.files import held_open, is_held
from railgauge.run import invocation, resume
from railgauge.run.folders import EVIDENCE
from railgauge.run.run_folder import RunFolder
from railgauge.trend.read import night_of
from railgauge.verdict import decision

KEPT = (decision.FILE, VERDICT, PLATFORM, CLUSTER, MEASUREMENTS, MANIFEST)
"""What stays of a run beside its bundle."""
_SUFFIX = ".railgauge"
# Files made from the record: they are no evidence and take most of the space.
REPORTS = ("allure-results/", "plots/", "report.html", "report.css", "junit.xml", "allurerc.json")


@dataclass(frozen=True, slots=True)
class OldRun:
    """A run that is to be reduced: the files to delete, and their size."""

    folder: Path
    names: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Pruning:
    """The runs to reduce, how many were reduced before, and what is left alone, with the reason."""

    old: tuple[OldRun, ...]
    reduced: int
    left_alone: tuple[tuple[str, str], ...]


def find(reports: Path, keep: int) -> Pruning:
    """Return what there is to prune; the newest ``keep`` runs of each cluster stay whole.

    Nothing is changed. Raises ``BadInput`` if ``reports`` is not a folder, or is that of one run.
    """
    if reports.is_symlink() or not reports.is_dir():
        raise BadInput("is not a folder of runs", where=str(reports))
    if (reports / decision.FILE).exists():
        remedy = "name the folder that it is in"
        raise BadInput("is the folder of one run", where=str(reports), remedy=remedy)
    left_alone: list[tuple[str, str]] = []
    ended = dict(_ended(reports, left_alone))
    by_cluster: dict[str, list[Path]] = defaultdict(list)
    for folder in sorted(ended, reverse=True):
        by_cluster[ended[folder]].append(folder)
    needed = _needed(reports)
    found = []
    for folder in sorted(one for runs in by_cluster.values() for one in runs[keep:]):
        if folder in needed:
            left_alone.append(
                (folder.name, "reports/latest, or a run that is not finished, needs it")
            )
        else:
            found.append(_old(folder))
    old = tuple(one for one in found if one.names)
    return Pruning(old, len(found) - len(old), tuple(sorted(left_alone)))


def _ended(reports: Path, left_alone: list[tuple[str, str]]) -> Iterator[tuple[Path, str]]:
    """Each run that has ended, with its cluster."""
    for folder in sorted(reports.iterdir()):
        if folder.is_symlink() or not folder.is_dir():
            continue
        try:
            if _is_going_on(folder) or not (folder / MANIFEST).is_file():
                raise BadInput("it has not ended, or was cut off")
            yield folder, night_of(folder).fleet.cluster
        except BadInput as error:
            left_alone.append((folder.name, error.what))


def _is_going_on(folder: Path) -> bool:
    try:
        return is_held(folder / invocation.FILE)
    except OSError:  # a run that was reduced has no such file
        return False


def _needed(reports: Path) -> set[Path]:
    """The newest run, and those that a run which is not finished carries on."""
    needed = {(reports / "latest").resolve()}
    for folder in reports.iterdir():
        if folder.is_dir() and not (folder / MANIFEST).is_file():
            with suppress(BadInput):
                needed.update(resume.earlier(folder))
    return {reports / path.name for path in needed}


def _old(folder: Path) -> OldRun:
    own = _manifest(folder)
    names = [name for name in make.regular_files(folder) if name in own and not _stays(name)]
    size = sum((folder / name).lstat().st_size for name in names)
    return OldRun(folder, tuple(sorted(names)), size)


def _stays(name: str) -> bool:
    return name in KEPT or name.endswith(_SUFFIX)


def _manifest(folder: Path) -> Mapping[str, str]:
    """The files that the run wrote; none if that cannot be read."""
    try:
        return RunFolder(folder).manifest() or {}
    except BadInput:
        return {}


def reduce(old: OldRun, key: Ed25519PrivateKey | None) -> int:
    """Bundle the run, verify the bundle, and delete the files; return the bytes of the bundle.

    Raises ``BadInput`` if the run does not make a bundle that verifies, or is carried on by now;
    then nothing is deleted.
    """
    begun = old.folder / invocation.FILE
    if begun.is_file() and is_held(begun):
        raise BadInput("the run is in use", where=str(old.folder))
    held = held_open(begun) if begun.is_file() else None
    try:
        size = _bundled(old.folder, key)
        _delete(old)
    except OSError as error:
        raise BadInput(f"{error.strerror}", where=str(error.filename or old.folder)) from None
    finally:
        if held:
            held.close()
    return size


def _bundled(folder: Path, key: Ed25519PrivateKey | None) -> int:
    path = folder / EVIDENCE
    try:
        if path.exists() or path.is_symlink():
            _refuse_another(path, night_of(folder).run_id)
        else:
            make.make(folder, path, key, without=REPORTS)
    except RailgaugeError as error:
        where = error.where or str(path)
        raise BadInput(error.what, where=where, remedy=error.remedy) from None
    return path.stat().st_size


def _refuse_another(path: Path, run_id: str) -> None:
    """Raise an error unless the bundle is that of the run, from a pruning that was cut off."""
    if path.is_symlink() or not path.is_file():
        raise BadInput("is in the way", where=str(path), remedy="move it away")
    with archive.opened(path) as held:
        found = check.verify(held).statement.about.run_id
    if found != run_id:
        raise BadInput(f"is the bundle of another run, {found}", where=str(path))


def _delete(old: OldRun) -> None:
    """Delete the files, except those that were changed after the run."""
    own = _manifest(old.folder)
    for name in old.names:
        path = old.folder / name
        if sha256_of(path) == own[name]:
            path.unlink()
    _remove_empty(old.folder)


def _remove_empty(folder: Path) -> None:
    for parent, _, _ in os.walk(folder, topdown=False, followlinks=False):
        if Path(parent) != folder:
            with suppress(OSError):  # it is not empty
                Path(parent).rmdir()
