"""Checks that the packages that railgauge needs are installed, in versions that it works with.

A missing, old or broken package says nothing about a cluster: without this module
Python would end a run with 1, the exit code of a rejected cluster.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

_PACKAGE = "railgauge"
_REMEDY = "set up the environment again (make accept), or install railgauge again with pip"


def explained(error: BaseException) -> str:
    """One line about an import that failed: the packages that are not as needed, else the error."""
    message = " ".join(str(error).split())
    if not isinstance(error, ImportError):
        at = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {message} ({Path(at.filename).name}:{at.lineno})"
    message = message or type(error).__name__
    return f"{'; '.join(complaints()) or f'an import failed: {message}'}; {_REMEDY}"


def refuse_unusable() -> None:
    """Raise ``ImportError`` if a package that railgauge needs is missing or too old."""
    if lacking := complaints():
        raise ImportError("; ".join(lacking))


def complaints() -> tuple[str, ...]:
    """What is wrong with the versions of the packages that railgauge needs; empty if nothing is.

    Nothing is known, and nothing is wrong, where railgauge itself runs without being installed.
    """
    try:
        needed = metadata.requires(_PACKAGE) or ()
    except metadata.PackageNotFoundError:
        return ()
    try:
        return tuple(_unmet(needed))
    except ImportError as error:
        return (f"packaging cannot be imported: {' '.join(str(error).split())}",)


def _unmet(needed: list[str] | tuple[str, ...]) -> Iterator[str]:
    from packaging.requirements import Requirement  # noqa: PLC0415 - may be missing itself

    for one in map(Requirement, needed):
        if one.marker is not None and not one.marker.evaluate({"extra": ""}):
            continue
        try:
            found = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            yield f"{one.name} is not installed"
            continue
        if not one.specifier.contains(found, prereleases=True):
            yield f"{one.name} {found} is installed, but railgauge needs {one.name}{one.specifier}"


def failed_import(error: BaseException | None) -> BaseException | None:
    """The error of an import, also if pytest reports it by one of its own; ``None`` if none.

    It is an ``ImportError``, or whatever a package that the suite imports raises while Python reads
    or runs it, such as a ``SyntaxError`` in a file that a disk has lost.
    """
    while error is not None:
        if isinstance(error, ImportError) or _is_of_a_package(error):
            return error
        error = getattr(error, "cause", None) or error.__cause__
    return None


_OWN = str(Path(__file__).parents[1])


def _is_of_a_package(error: BaseException) -> bool:
    """Whether the suite was importing: behind its last frame the code of a module is run."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [place for place, frame in enumerate(frames) if frame.filename.startswith(_OWN)]
    if not own:
        return False
    is_read = isinstance(error, SyntaxError) and bool(error.filename)
    return is_read or any(frame.name == "<module>" for frame in frames[own[-1] + 1 :])
