"""The folder of a site: what it holds, who made it, and changes to it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from railgauge import __version__
from railgauge.core import codec
from railgauge.core.digests import sha256_of
from railgauge.core.errors import BadInput
from railgauge.site import contents
from railgauge.site.state import Changes, SiteFile, Sums, compared

MANIFEST = ".railgauge.json"
BESIDE = ".new"
"""The suffix of a file of the package that is written beside the user's."""
ENVIRONMENT = ".venv"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What ``railgauge init`` wrote: the version, and the SHA-256 of each file by its path."""

    version: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def manifest(site: Path) -> Manifest:
    """Read it; it is empty if ``railgauge init`` did not make the site. Raises ``BadInput``."""
    path = site / MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Manifest()
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(
            f"cannot be read: {type(error).__name__}", where=str(path), remedy=_WITHOUT
        ) from None
    found = codec.from_plain(Manifest, data, str(path))
    for name in found.files:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise BadInput(f"{name!r} is outside the site", where=str(path), remedy=_WITHOUT)
    return found


_WITHOUT = "delete it: every file that differs then counts as yours"


def states(site: Path, made: Manifest) -> tuple[SiteFile, ...]:
    """How each file of the site differs from that of the package. Raises ``BadInput``."""
    offered = offers()
    return compared(offered, made.files, _sums(site, {*offered, *made.files}))


def offers() -> Sums:
    """The files that this version of the package gives to a site."""
    source = contents.source()
    return _sums(source, contents.names(source))


def _sums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = sha256_of(folder / name)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise BadInput(f"cannot be read: {error.strerror}", where=str(folder / name)) from None
    return found


def apply(site: Path, made: Manifest, changes: Changes) -> None:
    """Write and delete files, and note what was written. Raises ``BadInput``."""
    source, offered = contents.source(), offers()
    now = {name: offered[name] for name in (*changes.write, *changes.beside)}
    kept = {name: sha256 for name, sha256 in made.files.items() if name not in changes.delete}
    try:
        for name in changes.write:
            _copy(source / name, site / name)
        for name in changes.beside:
            _copy(source / name, site / f"{name}{BESIDE}")
        for name in changes.delete:
            (site / name).unlink(missing_ok=True)
        noted = Manifest(__version__, dict(sorted({**kept, **now}.items())))
        text = json.dumps(codec.to_plain(noted), indent=1) + "\n"
        (site / MANIFEST).write_text(text, encoding="utf-8")
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise BadInput(what, where=str(error.filename or site)) from None


def _copy(source: Path, target: Path) -> None:
    """Copy a file so that it is either the old or the new one, also if this is killed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copy(source, beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def link_environment(site: Path) -> bool:
    """Make ``.venv`` a link to the environment of this package, unless there is one already.

    Returns whether there is one now: an installation for the whole machine has no environment.
    """
    link = site / ENVIRONMENT
    if link.is_symlink() and not link.exists():
        link.unlink()  # its environment was deleted
    if not link.exists() and sys.prefix != sys.base_prefix:
        link.symlink_to(sys.prefix)
    return link.exists()
